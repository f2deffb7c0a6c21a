//! Short texts across the bridge in one call each: asking for the length first, as `String` does,
//! costs as much again, and a verification takes two.

#![expect(unsafe_code, reason = "the trait's method is unsafe, and so are the two calls of Node-API in it")]

use std::str;

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{Result, Status, ValueType, sys};

/// Longer than a token or a URL usually is.
const INLINE: usize = 1_024;

/// A text, or `null`.
#[expect(clippy::large_enum_variant, reason = "the room in place is what spares the allocation")]
pub enum Text {
    /// In place.
    Short([u8; INLINE], usize),
    /// Too long for that.
    Long(String),
    /// Anything that is no text.
    None,
}

impl Text {
    /// The text.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            // Node-API writes whole characters of UTF-8 only.
            Self::Short(bytes, length) => str::from_utf8(bytes.get(..*length)?).ok(),
            Self::Long(text) => Some(text),
            Self::None => None,
        }
    }
}

impl TypeName for Text {
    fn type_name() -> &'static str {
        "string | null"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for Text {}

impl FromNapiValue for Text {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut bytes = [0; INLINE];
        let mut length = 0;
        // SAFETY: the pointer is to INLINE bytes, the capacity says so, and both outlive the call.
        let status = unsafe {
            sys::napi_get_value_string_utf8(env, value, bytes.as_mut_ptr().cast(), INLINE, &raw mut length)
        };
        match Status::from(status) {
            // A character that did not fit leaves up to three bytes unused before the terminator.
            Status::Ok if length + 4 < INLINE => Ok(Self::Short(bytes, length)),
            // SAFETY: the arguments are those of this method.
            Status::Ok => unsafe { String::from_napi_value(env, value) }.map(Self::Long),
            _ => Ok(Self::None),
        }
    }
}

/// An answer, which is ASCII unless a claim is not.
pub struct Line(pub(crate) String);

impl TypeName for Line {
    fn type_name() -> &'static str {
        "string"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for Line {
    unsafe fn to_napi_value(env: sys::napi_env, Self(text): Self) -> Result<sys::napi_value> {
        if !text.is_ascii() {
            // SAFETY: the arguments are those of this method.
            return unsafe { String::to_napi_value(env, text) };
        }
        let length = isize::try_from(text.len()).unwrap_or(isize::MAX);
        let mut value = std::ptr::null_mut();
        // SAFETY: the pointer is to `length` bytes that outlive the call; Node-API copies them.
        let status =
            unsafe { sys::napi_create_string_latin1(env, text.as_ptr().cast(), length, &raw mut value) };
        match Status::from(status) {
            Status::Ok => Ok(value),
            status => Err(napi::Error::new(status, "the answer could not be written")),
        }
    }
}
