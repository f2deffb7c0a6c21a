//! The duration grammar of options and settings (contract/http-queue.md, "Option headers").
//!
//! `<digits><unit>` with units `ms`, `s`, `m`, `h`, `d`, in descending order, each at most once:
//! `500ms`, `45s`, `1d10h30m`. A bare integer is milliseconds. Zero is not a duration.

use std::time::Duration;

use crate::input::InvalidInput;

/// What a duration must look like, for error messages.
pub const RULE: &str = "must be a duration such as 500ms, 45s, 2m, 1h or 1d10h30m";

/// Units from the largest, with their milliseconds. `ms` stands before `m` and `s` when matching by
/// prefix, so the parser takes the longest unit that fits.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads a duration; `option` is named in the error.
///
/// # Errors
/// [`InvalidInput`] for anything outside the grammar, zero, or more than 2⁶⁴ − 1 milliseconds.
pub fn parse(option: &str, text: &str) -> Result<Duration, InvalidInput> {
    parse_ms(text).map(Duration::from_millis).ok_or_else(|| InvalidInput::with_rule(option, RULE, text))
}

/// Reads a duration that must not exceed `max_ms` milliseconds.
///
/// # Errors
/// As [`parse`], and where the duration is longer than `max_ms`.
pub fn parse_up_to(option: &str, text: &str, max_ms: u64) -> Result<Duration, InvalidInput> {
    let duration = parse(option, text)?;
    check(option, duration, max_ms)?;
    Ok(duration)
}

/// Holds an already typed duration to the same rules: whole milliseconds, at least one, at most `max_ms`.
///
/// # Errors
/// [`InvalidInput`] naming the option and the rule.
pub fn check(option: &str, duration: Duration, max_ms: u64) -> Result<(), InvalidInput> {
    let ms = millis(duration);
    if ms == 0 {
        return Err(InvalidInput::with_rule(
            option,
            "must be at least 1ms",
            &format!("{}ns", duration.subsec_nanos()),
        ));
    }
    if ms > max_ms {
        let rule = format!("must be at most {}", format(Duration::from_millis(max_ms)));
        return Err(InvalidInput::with_rule(option, rule, &format(duration)));
    }
    Ok(())
}

/// Writes a duration in the grammar, to the millisecond: `90000 ms` is `1m30s`.
pub fn format(duration: Duration) -> String {
    let mut rest = millis(duration);
    let mut text = String::new();
    for (unit, ms) in UNITS {
        let count = rest / ms;
        rest %= ms;
        if count > 0 {
            text.push_str(&count.to_string());
            text.push_str(unit);
        }
    }
    if text.is_empty() { "0ms".to_owned() } else { text }
}

/// Whole milliseconds, saturating.
pub(crate) fn millis(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000).saturating_add(u64::from(duration.subsec_millis()))
}

fn parse_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        if rest.is_empty() && next_unit == 0 {
            return (count > 0).then_some(count);
        }
        let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        let position =
            UNITS.iter().skip(next_unit).position(|(unit, _)| rest.get(..letters) == Some(unit))? + next_unit;
        total = total.checked_add(count.checked_mul(UNITS[position].1)?)?;
        next_unit = position + 1;
        rest = rest.get(letters..)?;
    }
    (total > 0).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_accepts() {
        for (text, ms) in [
            ("500ms", 500),
            ("45s", 45_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("1d10h30m", 124_200_000),
            ("1000", 1_000),
            ("1m1ms", 60_001),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse("delay", text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn the_grammar_refuses() {
        for text in [
            "",
            "0",
            "0s",
            "0d0ms",
            "-1s",
            "+1s",
            "1.5s",
            "1 s",
            " 1s",
            "1s ",
            "1S",
            "1H",
            "1w",
            "1s1m",
            "1s1s",
            "1ms1s",
            "s",
            "1d10",
            "ten",
            "1e3",
            "18446744073709551616",
            "18446744073709551615s",
            "٣s",
            "1ſ",
        ] {
            let error = parse("chronq-delay", text).expect_err(text);
            assert_eq!(
                error.to_string(),
                format!(
                    "chronq-delay must be a duration such as 500ms, 45s, 2m, 1h or 1d10h30m, got \"{text}\""
                )
            );
        }
    }

    #[test]
    fn a_limit_is_named_in_the_grammar() {
        let error = parse_up_to("chronq-timeout", "3h", 7_200_000).expect_err("over");
        assert_eq!(error.to_string(), "chronq-timeout must be at most 2h, got \"3h\"");
        assert_eq!(parse_up_to("chronq-timeout", "2h", 7_200_000), Ok(Duration::from_hours(2)));
    }

    #[test]
    fn format_is_the_shortest_spelling() {
        assert_eq!(format(Duration::from_mins(2_070)), "1d10h30m");
        assert_eq!(format(Duration::from_millis(1)), "1ms");
        assert_eq!(format(Duration::from_millis(90_001)), "1m30s1ms");
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(ms in 1_u64..u64::MAX / 2) {
            let duration = Duration::from_millis(ms);
            proptest::prop_assert_eq!(parse("delay", &format(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse("delay", &text);
        }
    }
}
