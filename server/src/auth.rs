//! Who calls: bearer tokens, their levels and tenants.
//!
//! Tokens are never held or stored as such: what is kept is a keyed hash, and the hash is what is
//! looked up, so neither the time of a lookup nor a dump of the database tells anything of a token.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use chronq::contract::{AccessLevel, ErrorCode};
use hmac::{Hmac, KeyInit, Mac};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::Sha256;
use uuid::Uuid;

use crate::error::ApiError;
use crate::state::AppState;
use crate::store::UnixMillis;

/// The tenant of a server without tenancy.
pub const DEFAULT_TENANT: &str = "default";

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The token's name: `publish` for the publish token.
    pub name: Arc<str>,
    /// The one tenant that the token belongs to.
    pub tenant: Arc<str>,
    /// What it may do.
    pub level: AccessLevel,
    /// Its id in the store, where it has one.
    pub id: Option<Uuid>,
}

/// What a route asks of the token that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looks something up.
    Read,
    /// Adds something, and answers with no more than what was added.
    Write,
    /// Changes something that is there, and so tells whether it was.
    ReadWrite,
    /// Belongs to the operator.
    Admin,
}

impl Access {
    /// Every one.
    pub const ALL: &'static [Self] = &[Self::Read, Self::Write, Self::ReadWrite, Self::Admin];

    /// Whether a token of this level has it.
    pub const fn is_allowed_to(self, level: AccessLevel) -> bool {
        match self {
            Self::Read => level.can_read(),
            Self::Write => level.can_write(),
            Self::ReadWrite => level.can_read() && level.can_write(),
            Self::Admin => matches!(level, AccessLevel::Admin),
        }
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read and write",
            Self::Admin => "admin",
        })
    }
}

/// A keyed hash of a token: what is stored and compared.
pub type TokenHash = [u8; 32];

/// Hashes tokens under one key.
#[derive(Clone)]
pub struct TokenHasher(Hmac<Sha256>);

impl TokenHasher {
    /// A hasher under a key of any length.
    pub fn new(key: &[u8]) -> Self {
        // HMAC takes a key of any length; a long one is hashed first.
        let keyed = Hmac::<Sha256>::new_from_slice(key);
        Self(keyed.unwrap_or_else(|_| Hmac::new(&hmac::digest::array::Array::default())))
    }

    /// The keyed hash of a token.
    pub fn hash(&self, token: &str) -> TokenHash {
        let mut mac = self.0.clone();
        mac.update(token.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl std::fmt::Debug for TokenHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenHasher(…)")
    }
}

/// The tokens that this process accepts: a snapshot of the store, replaced when it changes.
#[derive(Debug)]
pub struct Credentials {
    hasher: TokenHasher,
    known: RwLock<HashMap<TokenHash, Identity>>,
    last_used: Mutex<HashMap<Uuid, UnixMillis>>,
}

impl Credentials {
    /// Accepts nothing until [`Self::replace`].
    pub fn new(hasher: TokenHasher) -> Self {
        Self { hasher, known: RwLock::default(), last_used: Mutex::default() }
    }

    /// The hasher of these tokens.
    pub fn hasher(&self) -> &TokenHasher {
        &self.hasher
    }

    /// Accepts these tokens and no others, from the next request on.
    pub fn replace(&self, known: impl IntoIterator<Item = (TokenHash, Identity)>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known.into_iter().collect();
    }

    /// Who the `Authorization` header names, if that token may do `access`.
    ///
    /// # Errors
    /// [`Denied`], saying why.
    pub fn authorize(&self, headers: &HeaderMap, access: Access, now_ms: i64) -> Result<Identity, Denied> {
        let token = bearer(headers)?;
        let hash = self.hasher.hash(token);
        let identity = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.get(&hash).cloned().ok_or(Denied::Unknown)?
        };
        sabotage!(LevelIgnored => return Ok(identity));
        if !access.is_allowed_to(identity.level) {
            return Err(Denied::TooLow { level: identity.level, access });
        }
        if let Some(id) = identity.id {
            let mut used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(id, now_ms - now_ms.rem_euclid(60_000));
        }
        Ok(identity)
    }

    /// The minutes in which tokens were last used since the last call: for the store.
    pub fn take_last_used(&self) -> Vec<(Uuid, UnixMillis)> {
        let mut used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        used.drain().collect()
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Denied> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Denied::Missing)?.to_str().map_err(|_| Denied::Unknown)?;
    if values.next().is_some() {
        return Err(Denied::Unknown);
    }
    let (scheme, token) = value.split_once(' ').ok_or(Denied::Missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Denied::Missing);
    }
    Ok(token.trim())
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No bearer token.
    #[error("this route needs the header \"Authorization: Bearer <token>\"")]
    Missing,
    /// A token that is not known, or no longer.
    #[error("the token is not known: it may have been rotated or revoked")]
    Unknown,
    /// A known token that may not do this.
    #[error("this route needs {access} access, and the token's level is {level}")]
    TooLow {
        /// What the token has.
        level: AccessLevel,
        /// What the route needs.
        access: Access,
    },
}

impl Denied {
    /// 401, or 403 for a known token.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Missing | Self::Unknown => StatusCode::UNAUTHORIZED,
            Self::TooLow { .. } => StatusCode::FORBIDDEN,
        }
    }

    /// The refusal in the shape of the timer routes: `unauthorized` or `forbidden`, and the sentence.
    pub fn coded(self) -> ApiError {
        let code = match self {
            Self::Missing | Self::Unknown => ErrorCode::Unauthorized,
            Self::TooLow { .. } => ErrorCode::Forbidden,
        };
        ApiError::coded(self.status(), code, None, self.to_string())
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let mut response = ApiError::new(self.status(), self.to_string()).into_response();
        if self.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// What a route asks for, as a type: see [`Authorized`].
pub trait Requirement: Send + Sync {
    /// The access asked for.
    const ACCESS: Access;
}

macro_rules! requirements {
    ($($(#[$meta:meta])* $name:ident,)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}
        impl Requirement for $name {
            const ACCESS: Access = Access::$name;
        }
    )+};
}

requirements! {
    /// [`Access::Read`].
    Read,
    /// [`Access::Write`].
    Write,
    /// [`Access::ReadWrite`].
    ReadWrite,
    /// [`Access::Admin`].
    Admin,
}

/// Extractor: the caller, proven to have the access that `R` names. Stands before the body's
/// extractor, so that nothing is read for a caller who may not call.
#[derive(Clone, Debug)]
pub struct Authorized<R> {
    /// Who calls.
    pub identity: Identity,
    requirement: PhantomData<fn() -> R>,
}

impl<R: Requirement> FromRequestParts<AppState> for Authorized<R> {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Denied> {
        let identity = state.credentials.authorize(&parts.headers, R::ACCESS, state.clock.now_ms())?;
        Ok(Self { identity, requirement: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        let credentials = Credentials::new(TokenHasher::new(b"not a real key"));
        let identity = Identity {
            name: "reader".into(),
            tenant: DEFAULT_TENANT.into(),
            level: AccessLevel::ReadOnly,
            id: Some(Uuid::from_u128(1)),
        };
        credentials.replace([(credentials.hasher().hash("chronq_not-a-real-token"), identity)]);
        credentials
    }

    fn ask(authorization: &str, access: Access) -> Result<Arc<str>, Denied> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, authorization.parse().expect("header value"));
        credentials().authorize(&headers, access, 0).map(|identity| identity.name)
    }

    #[test]
    fn each_level_allows_what_its_name_says() {
        let allowed = |level: AccessLevel| {
            Access::ALL.iter().copied().filter(|access| access.is_allowed_to(level)).collect::<Vec<_>>()
        };
        assert_eq!(allowed(AccessLevel::ReadOnly), [Access::Read]);
        assert_eq!(allowed(AccessLevel::WriteOnly), [Access::Write]);
        assert_eq!(allowed(AccessLevel::ReadWrite), [Access::Read, Access::Write, Access::ReadWrite]);
        assert_eq!(allowed(AccessLevel::Admin), Access::ALL);
    }

    #[test]
    fn a_known_token_is_served_to_its_level() {
        assert_eq!(ask("Bearer chronq_not-a-real-token", Access::Read).as_deref(), Ok("reader"));
        assert_eq!(ask("bearer chronq_not-a-real-token", Access::Read).as_deref(), Ok("reader"));
        let denied = ask("Bearer chronq_not-a-real-token", Access::Write).expect_err("read-only");
        assert_eq!(denied.status(), 403);
        assert_eq!(denied.to_string(), "this route needs write access, and the token's level is read-only");
    }

    #[test]
    fn everything_else_is_unauthorized() {
        for wrong in
            ["Bearer chronq_other", "Bearer ", "Basic chronq_not-a-real-token", "chronq_not-a-real-token"]
        {
            assert_eq!(ask(wrong, Access::Read).expect_err(wrong).status(), 401, "{wrong}");
        }
        let missing = credentials().authorize(&HeaderMap::new(), Access::Read, 0).expect_err("missing");
        assert_eq!(missing, Denied::Missing);
    }

    #[test]
    fn use_is_recorded_to_the_minute_and_taken_once() {
        let credentials = credentials();
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer chronq_not-a-real-token"));
        credentials.authorize(&headers, Access::Read, 125_000).expect("known");
        assert_eq!(credentials.take_last_used(), [(Uuid::from_u128(1), 120_000)]);
        assert_eq!(credentials.take_last_used(), []);
    }
}
