//! What the routes of timers and the log have in common: who calls, in their shape of error, and
//! their form-decoded queries.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::auth::{Identity, Requirement};
use crate::error::ApiError;
use crate::state::AppState;

/// Extractor: as [`Authorized`](crate::auth::Authorized), with refusals as `{"error": code, …}`.
#[derive(Clone, Debug)]
pub(super) struct Caller<R> {
    pub(super) identity: Identity,
    requirement: PhantomData<fn() -> R>,
}

impl<R: Requirement> FromRequestParts<AppState> for Caller<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let authorized = state.credentials.authorize(&parts.headers, R::ACCESS, state.clock.now_ms());
        let identity = authorized.map_err(crate::auth::Denied::coded)?;
        Ok(Self { identity, requirement: PhantomData })
    }
}

/// The pairs of a query, form-decoded: `+` is a space. An empty value counts as absent.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn of(uri: &http::Uri) -> Self {
        let pairs = uri.query().unwrap_or("").split('&').filter(|pair| !pair.is_empty());
        let decode = |text: &str| percent_decode(&text.replace('+', " "));
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a name, unless it is empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A whole number held within bounds; what is none is the default.
    pub(super) fn clamped(&self, name: &str, default: u32, most: u32) -> u32 {
        let number = self.text(name).and_then(|text| text.parse::<i128>().ok());
        number.map_or(default, |number| u32::try_from(number.clamp(1, i128::from(most))).unwrap_or(default))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }
}

/// Decodes percent-escapes, once; what is no escape, or no UTF-8, is kept or replaced.
pub(super) fn percent_decode(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let escaped = others.get(..2).filter(|_| *first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            digits
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit())
                .then(|| u8::from_str_radix(digits, 16).ok())?
        });
        decoded.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &others[2..] } else { others };
    }
    String::from_utf8(decoded).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_form_decoded_and_an_empty_value_is_absent() {
        let query = Query::of(&"/x?txn=a+b%2Bc&after=&limit=0&wait=true".parse().expect("uri"));
        assert_eq!(query.text("txn"), Some("a b+c"));
        assert_eq!(query.text("after"), None);
        assert_eq!(query.clamped("limit", 100, 1_000), 1);
        assert!(query.flag("wait"));
    }

    #[test]
    fn a_limit_is_clamped_and_an_unreadable_one_is_the_default() {
        for (text, limit) in [
            ("", 100),
            ("x", 100),
            ("1.5", 100),
            ("-5", 1),
            ("7", 7),
            ("1001", 1_000),
            ("99999999999999999999", 1_000),
        ] {
            let query = Query::of(&format!("/x?limit={text}").parse().expect("uri"));
            assert_eq!(query.clamped("limit", 100, 1_000), limit, "{text}");
        }
    }

    #[test]
    fn a_path_is_decoded_once() {
        assert_eq!(percent_decode("tenant%2F42"), "tenant/42");
        assert_eq!(percent_decode("a%252Fb+c"), "a%2Fb+c");
        assert_eq!(percent_decode("%zz%4"), "%zz%4");
    }
}
