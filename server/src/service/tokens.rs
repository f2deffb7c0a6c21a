//! Tokens: named ones and the publish token (contract/http-queue.md, "Operations").
//!
//! The same calls serve the routes, where a change acts at once in this process, and the command
//! line, which works on the database alone.

use chronq::contract::{AccessLevel, claims};
use chronq::{InvalidInput, Secret};
use uuid::Uuid;

use super::access;
use crate::auth::{Credentials, DEFAULT_TENANT, TokenHasher};
use crate::serve::StartError;
use crate::state::AppState;
use crate::store::types::admin::{NewToken, Token, TokenKind};
use crate::store::{Store, StoreError};

/// Name under which the publish token is listed.
pub const PUBLISH_TOKEN: &str = "publish";

const MAX_NAME_BYTES: usize = 100;

/// Why a call on tokens was not done.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A field that the contract refuses.
    #[error(transparent)]
    Refused(#[from] InvalidInput),
    /// No such token.
    #[error("unknown token: \"{0}\"")]
    NotFound(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This machine gives no randomness.
    #[error(transparent)]
    System(#[from] StartError),
}

/// A named token to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    name: String,
    level: AccessLevel,
    tenant: String,
}

impl TokenRequest {
    /// A token for `name`; the one tenant of a server without tenancy unless another is named.
    ///
    /// # Errors
    /// [`InvalidInput`] naming `name`, `level` or `tenant`.
    pub fn new(name: &str, level: &str, tenant: Option<&str>) -> Result<Self, InvalidInput> {
        check_name("name", name)?;
        let tenant = tenant.unwrap_or(DEFAULT_TENANT);
        check_name("tenant", tenant)?;
        let level = level.parse().map_err(|error: chronq::contract::UnknownWord| {
            InvalidInput::new("level", error.to_string()).with_value(level)
        })?;
        Ok(Self { name: name.to_owned(), level, tenant: tenant.to_owned() })
    }

    /// As the route takes it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "name": self.name, "level": self.level, "tenant": self.tenant })
    }
}

/// Names are for people and stand in lists and logs: one line, and not a secret by mistake.
fn check_name(option: &str, text: &str) -> Result<(), InvalidInput> {
    if text.starts_with(claims::TOKEN_PREFIX) || text.starts_with(claims::SIGNING_KEY_PREFIX) {
        let message = format!("{option} must not begin as a token or key does: it is shown in lists");
        return Err(InvalidInput::new(option, message));
    }
    let fits = (1..=MAX_NAME_BYTES).contains(&text.len()) && text.trim() == text;
    if fits && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let rule = format!("must be 1 to {MAX_NAME_BYTES} bytes without control characters or outer spaces");
    Err(InvalidInput::with_rule(option, rule, text))
}

/// A token as it is shown once, with what stays of it.
#[derive(Clone, Debug)]
pub struct Minted {
    /// The token itself; nobody can read it again.
    pub token: Secret,
    /// What the store keeps.
    pub kept: Token,
}

/// The tokens of one server.
#[derive(Clone, Copy)]
pub struct Tokens<'a> {
    store: &'a dyn Store,
    hasher: &'a TokenHasher,
    live: Option<&'a Credentials>,
}

impl<'a> Tokens<'a> {
    /// Those of this process: a change acts at once.
    pub fn of(state: &'a AppState) -> Self {
        Self {
            store: state.store.as_ref(),
            hasher: state.credentials.hasher(),
            live: Some(&state.credentials),
        }
    }

    /// Those of a database; running servers see a change within a minute.
    pub fn in_store(store: &'a dyn Store, hasher: &'a TokenHasher) -> Self {
        Self { store, hasher, live: None }
    }

    /// Makes a named token.
    ///
    /// # Errors
    /// [`TokenError`].
    pub async fn create(&self, request: TokenRequest) -> Result<Minted, TokenError> {
        self.mint(TokenKind::Named, request).await
    }

    /// Replaces the publish token; the old one ends at once.
    ///
    /// # Errors
    /// [`TokenError`].
    pub async fn rotate_publish(&self) -> Result<Minted, TokenError> {
        let request = TokenRequest {
            name: PUBLISH_TOKEN.to_owned(),
            level: AccessLevel::ReadWrite,
            tenant: DEFAULT_TENANT.to_owned(),
        };
        self.mint(TokenKind::Publish, request).await
    }

    /// Every token, oldest first.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub async fn list(&self) -> Result<Vec<Token>, TokenError> {
        self.note_use().await?;
        Ok(self.store.tokens().await?)
    }

    /// Ends a token; the next request with it is refused.
    ///
    /// # Errors
    /// [`TokenError::NotFound`], [`TokenError::Store`].
    pub async fn revoke(&self, id: &str) -> Result<(), TokenError> {
        let parsed = Uuid::parse_str(id).map_err(|_| TokenError::NotFound(id.to_owned()))?;
        if !self.store.revoke_token(parsed).await? {
            return Err(TokenError::NotFound(id.to_owned()));
        }
        self.take_over().await;
        Ok(())
    }

    async fn mint(&self, kind: TokenKind, request: TokenRequest) -> Result<Minted, TokenError> {
        let token = access::mint(claims::TOKEN_PREFIX)?;
        let new = NewToken {
            name: request.name,
            level: request.level,
            tenant: request.tenant,
            hash: self.hasher.hash(token.expose()),
            last_four: access::last_four(&token),
        };
        let kept = self.store.put_token(kind, new).await?;
        self.take_over().await;
        Ok(Minted { token, kept })
    }

    /// Writes down which tokens were used since the last time.
    async fn note_use(&self) -> Result<(), StoreError> {
        let used = self.live.map(Credentials::take_last_used).unwrap_or_default();
        if used.is_empty() { Ok(()) } else { self.store.touch_tokens(used).await }
    }

    /// Accepts from now on what the store holds. The change itself is committed: where the store does
    /// not answer here, the refresh that comes by itself takes it over.
    async fn take_over(&self) {
        if let Some(credentials) = self.live
            && let Err(error) = access::reload_tokens(self.store, credentials).await
        {
            tracing::error!(%error, "tokens were changed but cannot be read; trying again within a minute");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_a_name_a_level_and_a_tenant() {
        let request = TokenRequest::new("billing service", "write-only", None).expect("legal");
        assert_eq!((request.level, request.tenant.as_str()), (AccessLevel::WriteOnly, "default"));
        let error = TokenRequest::new("x", "root", None).expect_err("level");
        assert_eq!(
            error.to_string(),
            "level must be one of read-only, write-only, read-write, admin, got \"root\""
        );
        for name in ["", " x", "a\nb", &"a".repeat(101)] {
            let error = TokenRequest::new(name, "admin", None).expect_err("name");
            assert_eq!(error.option(), "name");
        }
        assert_eq!(TokenRequest::new("x", "admin", Some("")).expect_err("tenant").option(), "tenant");
    }

    #[test]
    fn a_token_pasted_as_a_name_is_refused_without_being_shown() {
        let error = TokenRequest::new("chronq_not-a-real-token", "admin", None).expect_err("token");
        assert!(!error.to_string().contains("not-a-real-token"));
        assert_eq!(error.value(), None);
    }
}
