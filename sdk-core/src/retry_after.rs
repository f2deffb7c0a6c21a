//! How long an answer asks to wait: `Retry-After` (RFC 9110 section 10.2.3) or `X-RateLimit-Reset`.

use std::time::Duration;

use crate::contract::limits;

/// The wait that an answer with these headers asks for, counted from `now_ms` (unix milliseconds), at most a day.
/// `Retry-After` in seconds or as an HTTP-date, else `X-RateLimit-Reset` in unix seconds; what is
/// unreadable or past asks for nothing (contract/http-queue.md, "Delivery").
pub fn asked_wait<'a>(header: &dyn Fn(&str) -> Option<&'a str>, now_ms: i64) -> Option<Duration> {
    sabotage!(RetryAfterIgnored => return None);
    let text = |name: &str| header(name).map(str::trim);
    let now = Duration::from_millis(u64::try_from(now_ms).ok()?);
    let wait = text("retry-after")
        .and_then(|value| seconds(value).or_else(|| instant(value)?.checked_sub(now)))
        .or_else(|| seconds(text("x-ratelimit-reset")?)?.checked_sub(now))?;
    (!wait.is_zero()).then(|| wait.min(Duration::from_millis(limits::MAX_RETRY_AFTER_MS)))
}

fn seconds(text: &str) -> Option<Duration> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // More seconds than a u64 holds is still a number, and still more than a day.
    digits.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

/// The three forms of an HTTP-date (RFC 9110 section 5.6.7), since 1970. They are told apart by their words alone.
fn instant(text: &str) -> Option<Duration> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split([' ', ',', '-', ':']).filter(|word| !word.is_empty()).collect();
    let (date, time) = match *words.as_slice() {
        [_, day, month, year, hour, minute, second, "GMT"] | [_, month, day, hour, minute, second, year] => {
            ([year, day, month], [hour, minute, second])
        }
        _ => return None,
    };
    let number = |digits: &str| {
        let is_number = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { digits.parse::<i64>().ok() } else { None }
    };
    let [year, day, month] = date;
    let month = i64::try_from(MONTHS.iter().position(|known| *known == month)?).ok()? + 1;
    // Two digits are of the years from 1970 on.
    let year = match (number(year)?, year.len()) {
        (year, 2) if year < 70 => year + 2_000,
        (year, 2) => year + 1_900,
        (year, _) => year,
    };
    let [hour, minute, second] = time.map(number);
    let seconds = crate::instant::unix_seconds([year, month, number(day)?], [hour?, minute?, second?])?;
    Some(Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &'static str, value: &str) -> Option<u64> {
        // 2026-11-30T00:00:00Z
        asked_wait(&|wanted| (wanted == name).then_some(value), 1_795_996_800_000).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_dates_and_resets_are_read() {
        assert_eq!(asked("retry-after", "120"), Some(120));
        assert_eq!(asked("retry-after", "Tue, 01 Dec 2026 00:00:30 GMT"), Some(86_400));
        assert_eq!(asked("retry-after", "Mon, 30 Nov 2026 00:00:30 GMT"), Some(30));
        assert_eq!(asked("retry-after", "Monday, 30-Nov-26 00:00:30 GMT"), Some(30));
        assert_eq!(asked("retry-after", "Mon Nov 30 00:00:30 2026"), Some(30));
        assert_eq!(asked("x-ratelimit-reset", "1795996860"), Some(60));
    }

    #[test]
    fn a_day_is_the_most() {
        assert_eq!(asked("retry-after", "86401"), Some(86_400));
        assert_eq!(asked("retry-after", "99999999999999999999999999"), Some(86_400));
    }

    #[test]
    fn unreadable_or_past_asks_for_nothing() {
        for value in [
            "",
            "soon",
            "-5",
            "1.5",
            "0",
            "+3",
            "Sun, 29 Nov 2026 00:00:00 GMT",
            "Tue, 31 Nov 2026 00:00:30 GMT",
            "Tue, 01 Dec 2026 24:00:30 GMT",
            "Tue, 01 Dec 2026 00:00:30 UTC",
        ] {
            assert_eq!(asked("retry-after", value), None, "{value}");
        }
        assert_eq!(asked("x-ratelimit-reset", "1795996799"), None);
    }

    #[test]
    fn an_unreadable_retry_after_leaves_the_reset() {
        let header = |name: &str| Some(if name == "retry-after" { "soon" } else { "1795996860" });
        assert_eq!(asked_wait(&header, 1_795_996_800_000), Some(Duration::from_mins(1)));
    }

    proptest::proptest! {
        #[test]
        fn dates_are_read_as_another_library_writes_them(seconds in 0_u64..253_402_300_800) {
            let since = Duration::from_secs(seconds);
            let written = httpdate::fmt_http_date(std::time::UNIX_EPOCH + since);
            proptest::prop_assert_eq!(instant(&written), Some(since), "{}", written);
        }

        #[test]
        fn no_date_panics(text in "[A-Za-z0-9 ,:-]{0,32}") {
            let _ = instant(&text);
        }
    }
}
