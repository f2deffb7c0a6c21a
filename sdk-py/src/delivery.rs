//! Deliveries as Python holds them: bodies without a copy, header values of every shape.
//!
//! Nothing here judges: what is neither bytes nor text is handed on as such, and the core says which
//! error that is.

use chronq::signature::{Body, SignatureValue};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString, PyTuple};

/// A body, held as long as its bytes are looked at.
pub(crate) enum Held<'a, 'py> {
    Bytes(&'a Bound<'py, PyBytes>),
    Text(&'a str),
    /// Lent by a bytearray or memoryview: it may change, so the GIL is kept while it is read.
    Lent(PyUntypedBuffer),
    Copied(Bound<'py, PyBytes>),
    LoneSurrogate,
    NotRaw(String),
}

impl<'a, 'py> Held<'a, 'py> {
    pub(crate) fn new(body: &'a Bound<'py, PyAny>) -> Self {
        if let Ok(bytes) = body.cast::<PyBytes>() {
            return Self::Bytes(bytes);
        }
        if let Ok(text) = body.cast::<PyString>() {
            return text.to_str().map_or(Self::LoneSurrogate, Self::Text);
        }
        if body.is_instance_of::<PyByteArray>() || body.is_instance_of::<PyMemoryView>() {
            match PyUntypedBuffer::get(body) {
                Ok(buffer) if buffer.is_c_contiguous() => return Self::Lent(buffer),
                // A view with gaps has to be copied to be hashed.
                Ok(_) => {
                    let copied = body.call_method0("tobytes").ok();
                    if let Some(bytes) = copied.and_then(|bytes| bytes.cast_into::<PyBytes>().ok()) {
                        return Self::Copied(bytes);
                    }
                }
                // A memoryview that was released.
                Err(_) => {}
            }
        }
        Self::NotRaw(type_name(body))
    }

    /// Whether other threads may run while the bytes are read: only what cannot change allows it.
    pub(crate) fn is_immutable(&self) -> bool {
        matches!(self, Self::Bytes(_) | Self::Text(_))
    }

    pub(crate) fn body(&self, _py: Python<'_>) -> Body<'_> {
        match self {
            Self::Bytes(bytes) => Body::Raw(bytes.as_bytes()),
            Self::Text(text) => Body::Raw(text.as_bytes()),
            Self::Lent(buffer) => Body::Raw(lent(buffer)),
            Self::Copied(bytes) => Body::Raw(bytes.as_bytes()),
            Self::LoneSurrogate => Body::LoneSurrogate,
            Self::NotRaw(name) => Body::NotRaw(name),
        }
    }
}

/// The bytes of a contiguous buffer.
fn lent(buffer: &PyUntypedBuffer) -> &[u8] {
    let length = buffer.len_bytes();
    if length == 0 {
        return &[];
    }
    // SAFETY: the buffer is C-contiguous, so its `len_bytes` bytes stand from `buf_ptr` on; it is exported
    // until `buffer` is dropped, so they are neither moved nor freed; no Python code runs while they are
    // read, because the GIL is kept (`is_immutable`), so they do not change.
    #[expect(unsafe_code, reason = "the one way to read a buffer of the host without copying it")]
    unsafe {
        std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), length)
    }
}

/// The name of an object's type, for people.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    use pyo3::types::PyTypeMethods;
    if object.is_none() {
        return "None".to_owned();
    }
    let name = object.get_type().name().ok();
    name.and_then(|name| name.to_str().map(str::to_owned).ok()).unwrap_or_else(|| "an object".to_owned())
}

/// A header's value, reduced to the one object that may be it.
pub(crate) enum Value<'py> {
    Absent,
    One(Bound<'py, PyAny>),
    Several,
}

impl<'py> Value<'py> {
    /// A list of one is that one.
    pub(crate) fn new(object: &Bound<'py, PyAny>) -> Self {
        let items = if object.is_none() {
            return Self::Absent;
        } else if let Ok(list) = object.cast::<PyList>() {
            list.to_tuple()
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            tuple.clone()
        } else {
            return Self::One(object.clone());
        };
        match items.len() {
            0 => Self::Absent,
            1 => items
                .get_item(0)
                .map_or(Self::Absent, |item| if item.is_none() { Self::Absent } else { Self::One(item) }),
            _ => Self::Several,
        }
    }

    pub(crate) fn signature(&self) -> SignatureValue<'_> {
        match self {
            Self::Absent => SignatureValue::Absent,
            Self::Several => SignatureValue::Several,
            Self::One(object) => text_or_bytes(object).map_or(SignatureValue::NotText, SignatureValue::One),
        }
    }
}

fn text_or_bytes<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    if let Ok(text) = object.cast::<PyString>() {
        return text.to_str().ok().map(str::as_bytes);
    }
    object.cast::<PyBytes>().ok().map(PyBytesMethods::as_bytes)
}

/// Headers as frameworks have them: a mapping, or pairs; names and values text or bytes.
pub(crate) struct Headers<'py>(Vec<(Bound<'py, PyAny>, Value<'py>)>);

impl<'py> Headers<'py> {
    /// `None` where the object is no such thing.
    pub(crate) fn new(headers: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(map) = headers.cast_exact::<PyDict>() {
            let pairs = map.iter().map(|(name, value)| (name, Value::new(&value)));
            return Ok(Some(Self(pairs.collect())));
        }
        match Self::collect(headers) {
            Ok(pairs) => Ok(pairs),
            // Whatever the object raised says that it holds no headers; only an interrupt goes on.
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(headers.py()) => Ok(None),
            Err(interrupt) => Err(interrupt),
        }
    }

    fn collect(headers: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let pairs = match headers.getattr_opt("items")? {
            Some(items) => items.call0()?,
            None => headers.clone(),
        };
        let mut collected = Vec::new();
        for pair in pairs.try_iter()? {
            let pair = pair?;
            let pair = match pair.cast::<PyTuple>() {
                Ok(pair) => pair.clone(),
                Err(_) => match pair.cast::<PyList>() {
                    Ok(pair) => pair.to_tuple(),
                    Err(_) => return Ok(None),
                },
            };
            if pair.len() != 2 {
                return Ok(None);
            }
            collected.push((pair.get_item(0)?, Value::new(&pair.get_item(1)?)));
        }
        Ok(Some(Self(collected)))
    }

    /// The pairs; a name that is neither text nor bytes is no header's.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&[u8], SignatureValue<'_>)> {
        self.0.iter().filter_map(|(name, value)| Some((text_or_bytes(name)?, value.signature())))
    }
}
