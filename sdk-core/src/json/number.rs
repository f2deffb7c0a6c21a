//! Numbers between their text and integers, without floats: reading and writing those takes more code than all of
//! JSON else.

/// `written × 10^shift` as a whole number, away from zero where a half is left over, saturating at the ends of
/// `i64`; and whether nothing was left over. `written` is a JSON number.
pub(crate) fn scaled(written: &str, shift: i64) -> (i64, bool) {
    let (mantissa, exponent) = match written.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent
                .trim_start_matches('+')
                .parse()
                .unwrap_or_else(|_| if exponent.starts_with('-') { -100_000 } else { 100_000_i64 }),
        ),
        None => (written, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (negative, whole) = match whole.strip_prefix('-') {
        Some(whole) => (true, whole),
        None => (false, whole),
    };
    // How many of the digits stand before the point, once the point has moved.
    let before =
        i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(exponent).saturating_add(shift);
    let (mut number, mut exact, mut at) = (0_i64, true, 0_i64);
    for digit in whole.bytes().chain(fraction.bytes()).map(|digit| i64::from(digit - b'0')) {
        if at < before {
            number = number.saturating_mul(10).saturating_add(digit);
        } else {
            number = number.saturating_add(i64::from(at == before && digit >= 5));
            exact &= digit == 0;
        }
        at += 1;
    }
    while at < before && number != 0 && number != i64::MAX {
        number = number.saturating_mul(10);
        at += 1;
    }
    exact &= number != i64::MAX;
    (if negative { -number } else { number }, exact)
}

/// A whole number, where `written` is one; `5.0` is, but beyond 2⁵³ only without a point: other languages' floats
/// no longer tell whole numbers apart there.
pub(crate) fn whole(written: &str) -> Option<i64> {
    const EXACT: i64 = 9_007_199_254_740_992;
    written.parse().ok().or_else(|| match scaled(written, 0) {
        (number, true) if (-EXACT..=EXACT).contains(&number) => Some(number),
        _ => None,
    })
}

/// `number ÷ 10^digits` in its shortest form, with a point where `number` is not a multiple.
pub(crate) fn fixed(number: i64, digits: usize) -> String {
    let mut text = number.unsigned_abs().to_string();
    while text.len() <= digits {
        text.insert(0, '0');
    }
    text.insert(text.len() - digits, '.');
    if number < 0 {
        text.insert(0, '-');
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_and_rounded() {
        for (written, shift, expected) in [
            ("5", 0, (5, true)),
            ("5.0", 0, (5, true)),
            ("-1.5", 3, (-1_500, true)),
            ("1.5", 0, (2, false)),
            ("1.4999", 0, (1, false)),
            ("0.0005", 3, (1, false)),
            ("0.00049", 3, (0, false)),
            ("-0", 6, (0, true)),
            ("1e3", 0, (1_000, true)),
            ("1.5E+3", 0, (1_500, true)),
            ("1e-3", 6, (1_000, true)),
            ("12.345e1", 1, (1_235, false)),
            ("9223372036854775807", 0, (i64::MAX, false)),
            ("1e300", 0, (i64::MAX, false)),
            ("-1e300", 0, (-i64::MAX, false)),
            ("1e99999999999999999999", 0, (i64::MAX, false)),
            ("1e-99999999999999999999", 0, (0, false)),
            ("0e99999999999999999999", 0, (0, true)),
        ] {
            assert_eq!(scaled(written, shift), expected, "{written}");
        }
    }

    #[test]
    fn whole_numbers_may_come_as_floats() {
        assert_eq!(
            (whole("5.0"), whole("5.5"), whole("1e300"), whole("1e2")),
            (Some(5), None, None, Some(100))
        );
        assert_eq!(whole("9223372036854775807"), Some(i64::MAX));
        assert_eq!((whole("9223372036854775808"), whole("9007199254740994.0")), (None, None));
    }

    #[test]
    fn a_point_stands_only_where_it_is_needed() {
        for (number, digits, text) in [
            (0, 3, "0"),
            (1, 3, "0.001"),
            (-1_500, 3, "-1.5"),
            (250_000_000, 6, "250"),
            (1_000_500, 3, "1000.5"),
            (70, 1, "7"),
        ] {
            assert_eq!(fixed(number, digits), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(number in -(1_i64 << 60)..1 << 60, digits in 0_usize..9) {
            proptest::prop_assert_eq!(scaled(&fixed(number, digits), i64::try_from(digits).unwrap()), (number, true));
        }
    }
}
