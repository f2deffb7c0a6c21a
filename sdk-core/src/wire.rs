//! A request and its answer, as plain as a driver needs them: no URL or header library, which at the edge would
//! weigh as much as the calls themselves.

use bytes::Bytes;

use crate::contract::Method;

/// Names and values, in order; names in lower case.
pub type Headers = Vec<(String, String)>;

/// A request to send.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The whole URL.
    pub url: String,
    /// All headers that a driver does not add by itself.
    pub headers: Headers,
    /// The body; empty for none.
    pub body: Bytes,
}

impl Request {
    /// The value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// Without the headers: one of them is the token.
impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status, 100 to 999.
    pub status: u16,
    /// The headers that are text.
    pub headers: Headers,
    /// The body.
    pub body: Bytes,
}

impl Response {
    /// An answer without headers.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Headers::new(), body: body.into() }
    }

    /// The value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// Names of an answer come in the case that its server chose.
fn find<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}
