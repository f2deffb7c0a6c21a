//! Signing keys: rotate, or stage and activate; prune (contract/http-queue.md, "Operations").

use chronq::contract::{KeyState, claims};

use super::access;
use crate::serve::StartError;
use crate::signing::{SigningError, SigningKeys};
use crate::state::AppState;
use crate::store::types::admin::{KeyActivation, KeyStaging, SigningKey};
use crate::store::{Store, StoreError};

/// Why a call on signing keys was not done.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Activating needs a staged key.
    #[error("no key is staged: stage one first")]
    NothingStaged,
    /// One is staged already.
    #[error("a key is staged already: activate it first")]
    AlreadyStaged,
    /// The key cannot sign.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This machine gives no randomness.
    #[error(transparent)]
    System(#[from] StartError),
}

/// The signing keys of one server.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    store: &'a dyn Store,
    live: Option<&'a SigningKeys>,
}

impl<'a> Keys<'a> {
    /// Those of this process: a change acts at once.
    pub fn of(state: &'a AppState) -> Self {
        Self { store: state.store.as_ref(), live: Some(&state.signing_keys) }
    }

    /// Those of a database; running servers see a change within a minute.
    pub fn in_store(store: &'a dyn Store) -> Self {
        Self { store, live: None }
    }

    /// Every key, newest first.
    ///
    /// # Errors
    /// [`KeyError::Store`].
    pub async fn list(&self) -> Result<Vec<SigningKey>, KeyError> {
        Ok(self.store.signing_keys().await?)
    }

    /// Makes a key that signs at once; the one before verifies.
    ///
    /// # Errors
    /// [`KeyError`].
    pub async fn rotate(&self) -> Result<SigningKey, KeyError> {
        let key = self.store.rotate_signing_key(access::mint(claims::SIGNING_KEY_PREFIX)?).await?;
        self.sign_with(&key)?;
        Ok(key)
    }

    /// Makes a key that receivers can be given before it signs.
    ///
    /// # Errors
    /// [`KeyError::AlreadyStaged`] and the rest of [`KeyError`].
    pub async fn stage(&self) -> Result<SigningKey, KeyError> {
        match self.store.stage_signing_key(access::mint(claims::SIGNING_KEY_PREFIX)?).await? {
            KeyStaging::Staged(key) => Ok(key),
            KeyStaging::AlreadyStaged => Err(KeyError::AlreadyStaged),
        }
    }

    /// Makes the staged key sign; the one before verifies.
    ///
    /// # Errors
    /// [`KeyError::NothingStaged`] and the rest of [`KeyError`].
    pub async fn activate(&self) -> Result<SigningKey, KeyError> {
        match self.store.activate_signing_key().await? {
            KeyActivation::Activated(key) => {
                self.sign_with(&key)?;
                Ok(key)
            }
            KeyActivation::NothingStaged => Err(KeyError::NothingStaged),
        }
    }

    /// Deletes the keys that only verify; answers how many.
    ///
    /// # Errors
    /// [`KeyError::Store`].
    pub async fn prune(&self) -> Result<u64, KeyError> {
        Ok(self.store.prune_signing_keys().await?)
    }

    /// Signs with what the store says now: a change by another process.
    ///
    /// # Errors
    /// [`KeyError`].
    pub async fn refresh(&self) -> Result<(), KeyError> {
        let keys = self.list().await?;
        match keys.iter().find(|key| key.state == KeyState::Signing) {
            Some(key) => self.sign_with(key),
            None => Ok(()),
        }
    }

    fn sign_with(&self, key: &SigningKey) -> Result<(), KeyError> {
        if let Some(live) = self.live {
            live.replace(&key.key)?;
        }
        Ok(())
    }
}
