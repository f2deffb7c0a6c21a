//! Instants as the timers and the log write them: UTC, six fractional digits, `Z`
//! (contract/timers.md, "The four routes"). No clock and no calendar library.

use std::fmt;
use std::str::FromStr;

use crate::input::InvalidInput;

/// An instant between 1970 and 9999, to the microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instant(i64);

const DAY_MICROS: i64 = 86_400_000_000;
/// The last microsecond of the year 9999.
const MAX_MICROS: i64 = 253_402_300_799_999_999;

impl Instant {
    /// Microseconds since 1970. An earlier instant is written as 1970, one after 9999 as its end.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(0, MAX_MICROS))
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0 / 1_000
    }

    /// Reads an instant; `option` is named in the error.
    ///
    /// # Errors
    /// [`InvalidInput`] for anything but an RFC 3339 instant in UTC.
    pub fn parse(option: &str, text: &str) -> Result<Self, InvalidInput> {
        read(text).ok_or_else(|| {
            InvalidInput::with_rule(option, "must be an instant such as 2026-11-30T12:00:00.000000Z", text)
        })
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0 / DAY_MICROS);
        let (seconds, micros) = (self.0 % DAY_MICROS / 1_000_000, self.0 % 1_000_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

impl FromStr for Instant {
    type Err = InvalidInput;
    fn from_str(text: &str) -> Result<Self, InvalidInput> {
        Self::parse("instant", text)
    }
}

impl serde::Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Instant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Year, month and day of a count of days since 1970 (the proleptic Gregorian calendar, counted in
/// eras of 400 years that begin in March).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn read(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    if bytes.len() < 20 || !text.is_ascii() {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = text.get(19..)?;
    let zone_at = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let (fraction, zone) = rest.split_at_checked(zone_at)?;
    if !matches!(zone, "Z" | "+00:00") {
        return None;
    }
    let micros = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        Some(digits) if (1..=9).contains(&digits.len()) && !digits.contains('.') => {
            let digits = digits.bytes().chain(std::iter::repeat(b'0')).take(6);
            digits.fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0'))
        }
        _ => return None,
    };
    let seconds = unix_seconds([year, month, day], [hour, minute, second])?;
    Some(Instant(seconds * 1_000_000 + micros))
}

/// Unix seconds of a date from 1970 on and a time in UTC; `None` where there is no such day or time.
pub(crate) fn unix_seconds([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<i64> {
    let days = days_since_1970(year, month, day);
    if civil(days) != (year, month, day) || hour > 23 || minute > 59 || second > 59 || year < 1970 {
        return None;
    }
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_six_fractional_digits_and_a_z() {
        assert_eq!(Instant::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Instant::from_micros(1_795_996_800_000_001).to_string(), "2026-11-30T00:00:00.000001Z");
        assert_eq!(Instant::from_micros(1_709_164_800_000_000).to_string(), "2024-02-29T00:00:00.000000Z");
        assert_eq!(Instant::from_micros(i64::MAX).to_string(), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn an_instant_before_1970_is_written_as_1970() {
        assert_eq!(Instant::from_micros(-1).to_string(), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn fewer_digits_are_read_too() {
        for text in ["2026-11-30T00:00:00Z", "2026-11-30T00:00:00.0Z", "2026-11-30T00:00:00.000+00:00"] {
            assert_eq!(
                Instant::parse("from", text).map(Instant::micros),
                Ok(1_795_996_800_000_000),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_instant_names_the_option() {
        for text in [
            "",
            "now",
            "2026-02-30T00:00:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T00:00:00",
            "2026-11-30T00:00:00.1.2Z",
        ] {
            assert_eq!(Instant::parse("from", text).expect_err(text).option(), "from");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(micros in 0..MAX_MICROS) {
            let instant = Instant::from_micros(micros);
            proptest::prop_assert_eq!(instant.to_string().parse(), Ok(instant));
        }
    }
}
