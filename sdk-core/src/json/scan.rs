//! The words of JSON (RFC 8259): white space, strings, numbers. What stands on them decides which texts it takes.

use std::borrow::Cow;

/// The text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

/// Reads a text from its start.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// What has not been read yet.
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// What has been read since `start`, which never lies inside a character.
    fn since(&self, start: usize) -> Result<&'a str, Broken> {
        self.text.get(start..self.at).ok_or(Broken)
    }

    /// Reads one byte, if it is this one.
    pub(crate) fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    pub(crate) fn eat(&mut self, byte: u8) -> Result<(), Broken> {
        if self.takes(byte) { Ok(()) } else { Err(Broken) }
    }

    /// Reads one of these words.
    pub(crate) fn word(&mut self, words: &[&'static str]) -> Result<&'static str, Broken> {
        let word = words.iter().find(|word| self.rest().starts_with(word.as_bytes())).ok_or(Broken)?;
        self.at += word.len();
        Ok(word)
    }

    pub(crate) fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// A number as it is written, and its magnitude: digits before the point and decimal exponent together.
    pub(crate) fn number(&mut self) -> Result<(&'a str, u64), Broken> {
        let start = self.at;
        self.takes(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits()?;
        if leading_zero && digits > 1 {
            return Err(Broken);
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        let mut magnitude = digits as u64;
        if self.takes(b'e') || self.takes(b'E') {
            let negative = self.peek() == Some(b'-');
            if let Some(b'-' | b'+') = self.peek() {
                self.at += 1;
            }
            let exponent_at = self.at;
            self.digits()?;
            // An exponent too long for a u64 overflows in either direction.
            let exponent = self.since(exponent_at)?.parse().unwrap_or(u64::MAX);
            if !negative {
                magnitude = magnitude.saturating_add(exponent);
            }
        }
        Ok((self.since(start)?, magnitude))
    }

    /// One or more digits; how many.
    fn digits(&mut self) -> Result<usize, Broken> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(Broken) } else { Ok(self.at - start) }
    }

    /// A string, escapes resolved; nothing is allocated for one without any.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Broken> {
        self.eat(b'"')?;
        let start = self.at;
        self.at = start + plain_len(self.rest()).ok_or(Broken)?;
        let plain = self.since(start)?;
        if self.takes(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        self.escaped_string(plain.to_owned()).map(Cow::Owned)
    }

    /// The rest of a string from its first escape on.
    fn escaped_string(&mut self, mut text: String) -> Result<String, Broken> {
        loop {
            let Some(first) = self.text.get(self.at..).and_then(|rest| rest.chars().next()) else {
                return Err(Broken);
            };
            match first {
                '"' => {
                    self.at += 1;
                    return Ok(text);
                }
                '\\' => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                '\0'..' ' => return Err(Broken),
                other => {
                    self.at += other.len_utf8();
                    text.push(other);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Broken> {
        let letter = self.peek().ok_or(Broken)?;
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex4()?;
                let scalar = match unit {
                    0xD800..=0xDBFF => {
                        self.eat(b'\\')?;
                        self.eat(b'u')?;
                        let low = self.hex4()?;
                        // Only a low surrogate completes the pair (RFC 8259 section 8.2).
                        if !(0xDC00..=0xDFFF).contains(&low) {
                            return Err(Broken);
                        }
                        0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                    }
                    unit => unit,
                };
                char::from_u32(scalar).ok_or(Broken)?
            }
            _ => return Err(Broken),
        })
    }

    fn hex4(&mut self) -> Result<u32, Broken> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or(Broken)?;
        let unit = digits.iter().try_fold(0, |unit, digit| {
            char::from(*digit).to_digit(16).map(|digit| unit << 4 | digit).ok_or(Broken)
        })?;
        self.at += 4;
        Ok(unit)
    }
}

/// How many bytes come before the first quote, backslash or control character.
fn plain_len(bytes: &[u8]) -> Option<usize> {
    /// The same byte eight times.
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    // Eight at a time. The top bit of each byte that is below `bound` is set; above the first such byte a
    // borrow may set others, which are not looked at.
    let below = |word: u64, bound: u8| word.wrapping_sub(each(bound)) & !word & each(0x80);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let special = below(word, b' ') | below(word ^ each(b'"'), 1) | below(word ^ each(b'\\'), 1);
        if special != 0 {
            return Some(index * 8 + special.trailing_zeros() as usize / 8);
        }
    }
    let last = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    Some(words.len() * 8 + last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_string_ends_at_its_first_special_byte_wherever_that_is() {
        for length in 0..40 {
            for special in [b'"', b'\\', 0, 0x0a, 0x1f] {
                for plain in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut bytes = vec![plain; length];
                    bytes.push(special);
                    bytes.extend([b'"', 0, b'x', b'"', 0xff, b'"', b'"', b'"', b'"']);
                    assert_eq!(plain_len(&bytes), Some(length), "{special:#x} after {plain:#x}");
                    assert_eq!(plain_len(&vec![plain; length]), None);
                }
            }
        }
    }
}
