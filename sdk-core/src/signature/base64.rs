//! Strict base64 (RFC 4648): one text for each sequence of bytes, and no other.
//!
//! Refused are characters outside the alphabet, missing or superfluous padding, and unused bits that
//! are not zero (section 3.5), which is what lets other decoders accept several spellings of a signature.

/// Which of the two spellings.
#[derive(Clone, Copy)]
pub(crate) enum Alphabet {
    /// `-` and `_`, without padding (section 5): compact tokens.
    Url,
    /// `+` and `/`, padded (section 4): webhook secrets and signatures.
    Standard,
}

const INVALID: u8 = 0xFF;

const fn table(sixty_two: u8, sixty_three: u8) -> [u8; 256] {
    let mut table = [INVALID; 256];
    let mut value = 0;
    while value < 26 {
        table[(b'A' + value) as usize] = value;
        table[(b'a' + value) as usize] = value + 26;
        if value < 10 {
            table[(b'0' + value) as usize] = value + 52;
        }
        value += 1;
    }
    table[sixty_two as usize] = 62;
    table[sixty_three as usize] = 63;
    table
}

static URL: [u8; 256] = table(b'-', b'_');
static STANDARD: [u8; 256] = table(b'+', b'/');

/// The text of these bytes in the standard alphabet, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = DIGITS[bits >> (18 - 6 * digit) & 63];
            text.push(if digit > group.len() { '=' } else { char::from(value) });
        }
    }
    text
}

/// Bytes that `text` decodes to, if it is valid; `None` where no text of this length is.
pub(super) fn decoded_len(alphabet: Alphabet, text: &[u8]) -> Option<usize> {
    let digits = match alphabet {
        Alphabet::Url => text,
        Alphabet::Standard => unpadded(text)?,
    };
    // One digit alone cannot carry a byte.
    if digits.len() % 4 == 1 {
        None
    } else {
        Some(digits.len() / 4 * 3 + (digits.len() % 4).saturating_sub(1))
    }
}

/// Decodes `text` to the front of `out` and returns how many bytes that made; `None` where `text` is
/// not the one spelling of some bytes, or where they do not fit.
pub(super) fn decode_into(alphabet: Alphabet, text: &[u8], out: &mut [u8]) -> Option<usize> {
    let len = decoded_len(alphabet, text)?;
    let out = out.get_mut(..len)?;
    let (table, digits) = match alphabet {
        Alphabet::Url => (&URL, text),
        Alphabet::Standard => (&STANDARD, unpadded(text)?),
    };
    let (quads, rest) = digits.as_chunks::<4>();
    let (triples, tail) = out.as_chunks_mut::<3>();
    // Valid digits have two clear bits on top: their union is tested once, at the end.
    let mut seen = 0;
    for (quad, triple) in quads.iter().zip(triples) {
        let [a, b, c, d] = quad.map(|digit| table[usize::from(digit)]);
        seen |= a | b | c | d;
        *triple = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    }
    let unused = match (rest, tail) {
        ([], []) => 0,
        (&[a, b], [first]) => {
            let [a, b] = [a, b].map(|digit| table[usize::from(digit)]);
            seen |= a | b;
            *first = a << 2 | b >> 4;
            b << 4
        }
        (&[a, b, c], [first, second]) => {
            let [a, b, c] = [a, b, c].map(|digit| table[usize::from(digit)]);
            seen |= a | b | c;
            [*first, *second] = [a << 2 | b >> 4, b << 4 | c >> 2];
            c << 6
        }
        _ => return None,
    };
    (seen < 64 && unused == 0).then_some(len)
}

/// Decodes to exactly `N` bytes.
pub(super) fn decode_array<const N: usize>(alphabet: Alphabet, text: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    (decode_into(alphabet, text, &mut out)? == N).then_some(out)
}

/// Decodes to bytes of their own.
pub(crate) fn decode(alphabet: Alphabet, text: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; decoded_len(alphabet, text)?];
    decode_into(alphabet, text, &mut out)?;
    Some(out)
}

/// The digits of a padded text: its length is a multiple of four, and only the last one or two are `=`.
fn unpadded(text: &[u8]) -> Option<&[u8]> {
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    text.len().is_multiple_of(4).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Option<Vec<u8>> {
        decode(Alphabet::Url, text.as_bytes())
    }

    fn standard(text: &str) -> Option<Vec<u8>> {
        decode(Alphabet::Standard, text.as_bytes())
    }

    #[test]
    fn the_vectors_of_rfc_4648_section_10() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in vectors {
            assert_eq!(standard(text).as_deref(), Some(bytes.as_bytes()), "{text}");
            assert_eq!(url(text.trim_end_matches('=')).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
    }

    #[test]
    fn each_alphabet_refuses_the_other() {
        assert_eq!(url("-_-_"), Some(vec![0xFB, 0xFF, 0xBF]));
        assert_eq!(standard("+/+/"), Some(vec![0xFB, 0xFF, 0xBF]));
        assert_eq!(url("+/+/"), None);
        assert_eq!(standard("-_-_"), None);
    }

    #[test]
    fn padding_is_exactly_what_the_length_asks_for() {
        for text in ["Zg=", "Zg==", "Zm8=", "Zm9v=", "Zm9v====", "="] {
            assert_eq!(url(text), None, "{text}");
        }
        for text in ["Zg", "Zg=", "Zm8", "Zm8==", "Zm9v=", "Zm9v====", "====", "===", "Z===", "Zg==Zg=="] {
            assert_eq!(standard(text), None, "{text}");
        }
    }

    #[test]
    fn unused_bits_must_be_zero() {
        assert_eq!(url("AA"), Some(vec![0]));
        assert_eq!(url("AB"), None);
        assert_eq!(url("AAA"), Some(vec![0, 0]));
        assert_eq!(url("AAB"), None);
        assert_eq!(standard("AB=="), None);
        assert_eq!(standard("AAB="), None);
    }

    #[test]
    fn white_space_and_single_digits_are_refused() {
        for text in ["A", "AAAAA", " AAAA", "AAAA\n", "AA AA", "AA?A", "ÄAA"] {
            assert_eq!(url(text), None, "{text:?}");
        }
    }

    #[test]
    fn every_sequence_of_bytes_has_one_spelling() {
        // All texts of two and three digits: each value is met exactly once.
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let accepted = digits
            .iter()
            .flat_map(|a| digits.iter().map(move |b| [*a, *b]))
            .filter_map(|text| decode_array::<1>(Alphabet::Url, &text))
            .collect::<std::collections::BTreeSet<_>>();
        assert_eq!(accepted.len(), 256);
        let spellings = digits
            .iter()
            .flat_map(|a| digits.iter().map(move |b| [*a, *b]))
            .filter(|text| decode_array::<1>(Alphabet::Url, text).is_some())
            .count();
        assert_eq!(spellings, 256);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(decode_array::<2>(Alphabet::Url, b"Zm9v"), None);
        assert_eq!(decode_array::<4>(Alphabet::Url, b"Zm9v"), None);
        assert_eq!(decode_array::<3>(Alphabet::Url, b"Zm9v"), Some(*b"foo"));
    }
}
