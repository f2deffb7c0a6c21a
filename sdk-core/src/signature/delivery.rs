//! What a receiver is given: the signature, the body and the URL of one delivery, in every shape that a
//! host language can hold them, and the moment at which it is judged.

use super::error::SignatureError;
use crate::contract::limits::{CLOCK_TOLERANCE_SECONDS, MAX_NOW_SECONDS};
use crate::input::InvalidInput;

/// One delivery, as it came in.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Value of the signature header.
    pub signature: SignatureValue<'a>,
    /// The raw body.
    pub body: Body<'a>,
    /// The URL at which the delivery should have arrived, as it was published: configured, never taken
    /// from the request. `None` leaves it unchecked.
    pub url: Option<&'a str>,
}

/// The value of one header, in whatever shape a framework hands it out.
///
/// Bindings convert and do not judge: which shape is which error is decided by the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureValue<'a> {
    /// The header was not sent.
    Absent,
    /// One value. It need not be text: what is not ASCII is refused as malformed.
    One(&'a [u8]),
    /// More than one value: a list, or the same header twice.
    Several,
    /// Something that is neither text nor bytes.
    NotText,
}

impl<'a> From<&'a str> for SignatureValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::One(text.as_bytes())
    }
}

impl<'a> From<&'a String> for SignatureValue<'a> {
    fn from(text: &'a String) -> Self {
        Self::One(text.as_bytes())
    }
}

impl<'a> From<&'a [u8]> for SignatureValue<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::One(bytes)
    }
}

impl<'a> From<&'a http::HeaderValue> for SignatureValue<'a> {
    fn from(value: &'a http::HeaderValue) -> Self {
        Self::One(value.as_bytes())
    }
}

impl<T: Into<Self>> From<Option<T>> for SignatureValue<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

impl FromIterator<Self> for SignatureValue<'_> {
    /// A list of one is that one; an empty list is no value.
    fn from_iter<I: IntoIterator<Item = Self>>(values: I) -> Self {
        values.into_iter().fold(Self::Absent, Self::and)
    }
}

impl<'a> SignatureValue<'a> {
    /// This value and another of the same header.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Absent, value) | (value, Self::Absent) => value,
            _ => Self::Several,
        }
    }

    /// The one value, without spaces and tabs at its ends, or why there is none; `header` is named in it.
    pub(super) fn only(self, header: &str) -> Result<&'a [u8], SignatureError> {
        let value = match self {
            Self::Absent => return Err(SignatureError::missing(header)),
            Self::Several => return Err(SignatureError::ambiguous(header)),
            Self::NotText => {
                return Err(SignatureError::malformed(format_args!(
                    "is not text: pass the value of the header {header} as it came"
                )));
            }
            Self::One(value) => trim(value),
        };
        if value.is_empty() { Err(SignatureError::missing(header)) } else { Ok(value) }
    }
}

/// Optional white space of HTTP field values (RFC 9110 section 5.6.3); nothing else is taken off.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The body of a delivery. It is hashed, never parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// The bytes as they arrived, or the UTF-8 of a text.
    Raw(&'a [u8]),
    /// A text of the host language that has no UTF-8 form.
    LoneSurrogate,
    /// Anything that is neither bytes nor text, by the name of its type: a parsed body.
    NotRaw(&'a str),
}

impl<'a> Body<'a> {
    pub(super) fn raw(self) -> Result<&'a [u8], SignatureError> {
        match self {
            Self::Raw(bytes) => Ok(bytes),
            Self::LoneSurrogate => Err(SignatureError::body_without_utf8()),
            Self::NotRaw(got) => Err(SignatureError::body_parsed(got)),
        }
    }
}

impl<'a> From<&'a [u8]> for Body<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Raw(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Body<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Raw(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Body<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Raw(bytes)
    }
}

impl<'a> From<&'a bytes::Bytes> for Body<'a> {
    fn from(bytes: &'a bytes::Bytes) -> Self {
        Self::Raw(bytes)
    }
}

impl<'a> From<&'a str> for Body<'a> {
    fn from(text: &'a str) -> Self {
        Self::Raw(text.as_bytes())
    }
}

impl<'a> From<&'a String> for Body<'a> {
    fn from(text: &'a String) -> Self {
        Self::Raw(text.as_bytes())
    }
}

/// When a delivery is judged, and how far the two clocks may be apart.
///
/// An `i64` becomes one with the receiver's own tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    now: i64,
    tolerance: Option<i64>,
}

impl Moment {
    /// `now` in whole unix seconds: of the machine's clock, or, for a delivery that was queued before it
    /// is verified, of its arrival.
    pub const fn at(now: i64) -> Self {
        Self { now, tolerance: None }
    }

    /// Replaces the receiver's clock tolerance for this one verification; `None` keeps it. Seconds, 0 to 300.
    #[must_use]
    pub const fn with_tolerance(mut self, seconds: Option<i64>) -> Self {
        self.tolerance = seconds;
        self
    }

    /// Both numbers, once they are known to be in range.
    pub(super) fn checked(self, receivers_tolerance: i64) -> Result<CheckedMoment, InvalidInput> {
        if !(0..=MAX_NOW_SECONDS).contains(&self.now) {
            let rule = if self.now > MAX_NOW_SECONDS {
                "must be whole unix seconds (this looks like milliseconds: divide by 1000)"
            } else {
                "must be whole unix seconds, not negative"
            };
            return Err(InvalidInput::with_rule("now", rule, &self.now.to_string()));
        }
        let tolerance = match self.tolerance {
            Some(seconds) => checked_tolerance(seconds)?,
            None => receivers_tolerance,
        };
        Ok(CheckedMoment { now: self.now, tolerance })
    }
}

impl From<i64> for Moment {
    fn from(now: i64) -> Self {
        Self::at(now)
    }
}

/// A [`Moment`] whose numbers are in range: sums of them cannot overflow.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedMoment {
    pub(super) now: i64,
    pub(super) tolerance: i64,
}

impl CheckedMoment {
    /// `exp` is the first second at which a signature is too old, `nbf` the first at which it is valid.
    pub(super) fn check(self, exp: i64, nbf: i64) -> Result<(), SignatureError> {
        sabotage!(DatesIgnored => return Ok(()));
        if self.now >= exp + self.tolerance {
            return Err(SignatureError::expired(self.now - exp - self.tolerance));
        }
        if self.now + self.tolerance < nbf {
            return Err(SignatureError::not_yet_valid(nbf - self.now - self.tolerance));
        }
        Ok(())
    }
}

pub(super) fn checked_tolerance(seconds: i64) -> Result<i64, InvalidInput> {
    if CLOCK_TOLERANCE_SECONDS.contains(&seconds) {
        Ok(seconds)
    } else {
        Err(InvalidInput::with_rule(
            "clock_tolerance",
            format_args!(
                "must be whole seconds from {} to {}",
                CLOCK_TOLERANCE_SECONDS.start(),
                CLOCK_TOLERANCE_SECONDS.end()
            ),
            &seconds.to_string(),
        ))
    }
}

/// Whole seconds from a host language's one number type; `option` is `now` or `clock_tolerance`. The range
/// is checked by the verification itself.
pub fn whole_seconds(option: &str, value: f64) -> Result<i64, InvalidInput> {
    // 2^53: every integer up to here is exact, and the ranges in force end far below.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "the value is integral and below 2^53")]
        Ok(value as i64)
    } else {
        Err(not_whole_seconds(option, &value.to_string()))
    }
}

/// The refusal of a `now` or `clock_tolerance` that is not a whole number; `shown` is the value as text.
pub fn not_whole_seconds(option: &str, shown: &str) -> InvalidInput {
    InvalidInput::with_rule(option, "must be a whole number of seconds", shown)
}
