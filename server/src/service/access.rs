//! Tokens and signing keys as they stand when a server starts.

use chronq::Secret;
use chronq::contract::{AccessLevel, KeyState, claims};

use crate::auth::{Credentials, DEFAULT_TENANT, Identity, TokenHasher};
use crate::config::Mode;
use crate::dev;
use crate::serve::{Secrets, StartError};
use crate::signing::SigningKeys;
use crate::store::types::admin::{NewToken, Setting, Token, TokenKind};
use crate::store::{Store, StoreError};

/// What the store holds. At the first start an admin token is made, to be shown once, and a signing
/// key; in dev mode these are the fixed, public ones.
///
/// # Errors
/// [`StartError`] where the store fails or this machine has no randomness.
pub async fn open(store: &dyn Store, mode: Mode) -> Result<(Credentials, SigningKeys, Secrets), StartError> {
    let credentials = Credentials::new(hasher(store).await?);
    let secrets = match mode {
        Mode::Dev => dev_secrets(store, credentials.hasher()).await?,
        Mode::Serve => {
            let token = first_admin_token(store, credentials.hasher()).await?;
            Secrets { token, ..Secrets::default() }
        }
    };
    reload_tokens(store, &credentials).await?;
    let signing_keys = SigningKeys::new(&current_signing_key(store).await?)?;
    Ok((credentials, signing_keys, secrets))
}

/// The hasher of this store's tokens; its key is made with the first question.
///
/// # Errors
/// [`StartError`] where the store fails or this machine has no randomness.
pub async fn hasher(store: &dyn Store) -> Result<TokenHasher, StartError> {
    Ok(TokenHasher::new(&store.init_setting(Setting::TokenHashKey, random()?.to_vec()).await?))
}

/// Puts the fixed token and keys into the store, so that they are rotated and revoked like any other;
/// answers those in force.
async fn dev_secrets(store: &dyn Store, hasher: &TokenHasher) -> Result<Secrets, StartError> {
    let token = Secret::from(dev::TOKEN);
    let hash = hasher.hash(token.expose());
    if !store.tokens().await?.iter().any(|known| known.hash == hash) {
        store.put_token(TokenKind::Named, admin_token("dev", hasher, &token)).await?;
    }
    if store.signing_keys().await?.is_empty() {
        store.rotate_signing_key(Secret::from(dev::NEXT_SIGNING_KEY)).await?;
        store.rotate_signing_key(Secret::from(dev::SIGNING_KEY)).await?;
    }
    let keys = store.signing_keys().await?;
    let newest = |state| keys.iter().find(|key| key.state == state).map(|key| key.key.clone());
    Ok(Secrets {
        token: Some(token),
        signing_key: newest(KeyState::Signing),
        next_signing_key: newest(KeyState::Verifying),
    })
}

/// Takes over the tokens that the store holds now.
///
/// # Errors
/// [`StoreError`].
pub async fn reload_tokens(store: &dyn Store, credentials: &Credentials) -> Result<(), StoreError> {
    let tokens = store.tokens().await?;
    credentials.replace(tokens.into_iter().map(|token| (token.hash, identity(token))));
    Ok(())
}

fn identity(token: Token) -> Identity {
    Identity { name: token.name.into(), tenant: token.tenant.into(), level: token.level, id: Some(token.id) }
}

async fn first_admin_token(store: &dyn Store, hasher: &TokenHasher) -> Result<Option<Secret>, StartError> {
    if store.setting(Setting::FirstStart).await?.is_some() {
        return Ok(None);
    }
    // The token before the mark: a start that breaks off in between leaves one that nobody knows, and the
    // next start makes another. The other way round no start would ever make one.
    let token = mint(claims::TOKEN_PREFIX)?;
    let made = store.put_token(TokenKind::Named, admin_token("first-admin", hasher, &token)).await?;
    let own_mark = random()?.to_vec();
    if store.init_setting(Setting::FirstStart, own_mark.clone()).await? == own_mark {
        return Ok(Some(token));
    }
    // Of several processes that start at once, one keeps the token.
    store.revoke_token(made.id).await?;
    Ok(None)
}

fn admin_token(name: &str, hasher: &TokenHasher, token: &Secret) -> NewToken {
    NewToken {
        name: name.to_owned(),
        level: AccessLevel::Admin,
        tenant: DEFAULT_TENANT.to_owned(),
        hash: hasher.hash(token.expose()),
        last_four: last_four(token),
    }
}

async fn current_signing_key(store: &dyn Store) -> Result<Secret, StartError> {
    let keys = store.signing_keys().await?;
    match keys.into_iter().find(|key| key.state == KeyState::Signing) {
        Some(key) => Ok(key.key),
        None => Ok(store.rotate_signing_key(mint(claims::SIGNING_KEY_PREFIX)?).await?.key),
    }
}

/// A fresh secret: the prefix and 43 base64url characters of 32 random bytes.
///
/// # Errors
/// [`StartError::System`] where this machine has no randomness.
pub fn mint(prefix: &str) -> Result<Secret, StartError> {
    use base64::Engine;
    let random = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random()?);
    Ok(Secret::new(format!("{prefix}{random}")))
}

/// What a list shows of a token.
pub fn last_four(token: &Secret) -> String {
    let text = token.expose();
    text.get(text.len().saturating_sub(4)..).unwrap_or_default().to_owned()
}

fn random() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::System(format!("this machine gives no randomness: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Clock, DatabaseUrl, Role, open};

    #[tokio::test]
    async fn starts_at_once_keep_one_admin_token_and_later_ones_make_none() {
        let store = open(&DatabaseUrl::Memory, Role::Serve, Clock::new()).await.expect("opens");
        let hasher = hasher(store.as_ref()).await.expect("a hasher");
        let first = || first_admin_token(store.as_ref(), &hasher);
        let (a, b, c) = tokio::join!(first(), first(), first());
        let made: Vec<Secret> = [a, b, c].into_iter().filter_map(|made| made.expect("starts")).collect();
        assert_eq!(made.len(), 1);
        let kept = store.tokens().await.expect("reads");
        assert_eq!(kept.iter().map(|token| token.hash).collect::<Vec<_>>(), [hasher.hash(made[0].expose())]);
        assert_eq!(first().await.expect("starts"), None);
    }

    #[tokio::test]
    async fn a_first_start_that_broke_off_is_made_up_for_by_the_next() {
        let store = open(&DatabaseUrl::Memory, Role::Serve, Clock::new()).await.expect("opens");
        let hasher = hasher(store.as_ref()).await.expect("a hasher");
        let unknown = mint(claims::TOKEN_PREFIX).expect("randomness");
        let token = admin_token("first-admin", &hasher, &unknown);
        store.put_token(TokenKind::Named, token).await.expect("puts");
        assert!(first_admin_token(store.as_ref(), &hasher).await.expect("starts").is_some());
    }

    #[test]
    fn a_minted_key_is_its_prefix_and_43_characters() {
        let key = mint("sig_").expect("randomness");
        assert_eq!(key.expose().len(), 47);
        assert!(key.expose().starts_with("sig_"));
        assert_ne!(key, mint("sig_").expect("randomness"));
        assert_eq!(last_four(&Secret::from("chronq_abcd")), "abcd");
    }
}
