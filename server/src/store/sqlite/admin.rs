//! Tokens, signing keys, settings.

use async_trait::async_trait;
use chronq::Secret;
use chronq::contract::KeyState;
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::store::encoding::word_of;
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::admin::{
    KeyActivation, KeyStaging, NewToken, Setting, SigningKey, Token, TokenKind,
};
use crate::store::{AdminStore, StoreResult};

use super::SqliteStore;
use super::rows::{all, column, execute, one, uuid};

const TOKEN_COLUMNS: &str = "id, kind, name, level, tenant, hash, last_four, created_at, last_used_at";
const KEY_COLUMNS: &str = "id, state, key, created_at, activated_at";

#[async_trait]
impl AdminStore for SqliteStore {
    async fn put_token(&self, kind: TokenKind, token: NewToken) -> StoreResult<Token> {
        let now = self.clock.now_ms();
        let id = self.ids.mint(now)?;
        self.write(move |writing| put_token(writing.connection, now, id, kind, token)).await
    }

    async fn tokens(&self) -> StoreResult<Vec<Token>> {
        self.read(|connection| {
            all(connection, &format!("SELECT {TOKEN_COLUMNS} FROM tokens ORDER BY seq"), [], token)
        })
        .await
    }

    async fn revoke_token(&self, id: Uuid) -> StoreResult<bool> {
        self.write(move |writing| {
            Ok(execute(writing.connection, "DELETE FROM tokens WHERE id = ?1", params![id.as_bytes()])? > 0)
        })
        .await
    }

    async fn touch_tokens(&self, used: Vec<(Uuid, UnixMillis)>) -> StoreResult<()> {
        self.write(move |writing| {
            for (id, at) in used {
                execute(
                    writing.connection,
                    "UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE id = ?1",
                    params![id.as_bytes(), at],
                )?;
            }
            Ok(())
        })
        .await
    }

    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>> {
        self.read(keys).await
    }

    async fn rotate_signing_key(&self, key: Secret) -> StoreResult<SigningKey> {
        let now = self.clock.now_ms();
        let id = self.ids.mint(now)?;
        self.write(move |writing| {
            retire_signing_key(writing.connection)?;
            let key =
                SigningKey { id, state: KeyState::Signing, key, created_at: now, activated_at: Some(now) };
            insert_key(writing.connection, &key)?;
            Ok(key)
        })
        .await
    }

    async fn stage_signing_key(&self, key: Secret) -> StoreResult<KeyStaging> {
        let now = self.clock.now_ms();
        let id = self.ids.mint(now)?;
        self.write(move |writing| {
            if keys(writing.connection)?.iter().any(|key| key.state == KeyState::Staged) {
                return Ok(KeyStaging::AlreadyStaged);
            }
            let key = SigningKey { id, state: KeyState::Staged, key, created_at: now, activated_at: None };
            insert_key(writing.connection, &key)?;
            Ok(KeyStaging::Staged(key))
        })
        .await
    }

    async fn activate_signing_key(&self) -> StoreResult<KeyActivation> {
        let now = self.clock.now_ms();
        self.write(move |writing| activate(writing.connection, now)).await
    }

    async fn prune_signing_keys(&self) -> StoreResult<u64> {
        self.write(|writing| {
            let gone = execute(writing.connection, "DELETE FROM signing_keys WHERE state = 'verifying'", [])?;
            Ok(gone as u64)
        })
        .await
    }

    async fn setting(&self, setting: Setting) -> StoreResult<Option<Vec<u8>>> {
        self.read(move |connection| read_setting(connection, setting)).await
    }

    async fn put_setting(&self, setting: Setting, value: Vec<u8>) -> StoreResult<()> {
        self.write(move |writing| {
            let sql = "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)";
            execute(writing.connection, sql, params![setting.as_str(), value]).map(drop)
        })
        .await
    }

    async fn init_setting(&self, setting: Setting, value: Vec<u8>) -> StoreResult<Vec<u8>> {
        self.write(move |writing| {
            let sql = "INSERT OR IGNORE INTO settings (name, value) VALUES (?1, ?2)";
            execute(writing.connection, sql, params![setting.as_str(), value])?;
            read_setting(writing.connection, setting)?
                .ok_or_else(|| StoreError::Internal("a setting was written and is not there".to_owned()))
        })
        .await
    }
}

fn put_token(
    connection: &Connection,
    now: UnixMillis,
    id: Uuid,
    kind: TokenKind,
    new: NewToken,
) -> Result<Token, StoreError> {
    if kind == TokenKind::Publish {
        execute(connection, "DELETE FROM tokens WHERE kind = 'publish'", [])?;
    }
    execute(
        connection,
        "INSERT INTO tokens (id, kind, name, level, tenant, hash, last_four, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            id.as_bytes(),
            kind.as_str(),
            new.name,
            new.level.as_str(),
            new.tenant,
            new.hash,
            new.last_four,
            now
        ],
    )?;
    Ok(new.stored(id, kind, now))
}

fn token(row: &Row<'_>) -> Result<Token, StoreError> {
    Ok(Token {
        id: uuid(row, 0)?,
        kind: TokenKind::of(&column::<String>(row, 1)?)?,
        name: column(row, 2)?,
        level: word_of(&column::<String>(row, 3)?)?,
        tenant: column(row, 4)?,
        hash: column(row, 5)?,
        last_four: column(row, 6)?,
        created_at: column(row, 7)?,
        last_used_at: column(row, 8)?,
    })
}

fn keys(connection: &Connection) -> Result<Vec<SigningKey>, StoreError> {
    all(connection, &format!("SELECT {KEY_COLUMNS} FROM signing_keys ORDER BY seq DESC"), [], signing_key)
}

fn signing_key(row: &Row<'_>) -> Result<SigningKey, StoreError> {
    Ok(SigningKey {
        id: uuid(row, 0)?,
        state: word_of(&column::<String>(row, 1)?)?,
        key: Secret::new(column::<String>(row, 2)?),
        created_at: column(row, 3)?,
        activated_at: column(row, 4)?,
    })
}

fn insert_key(connection: &Connection, key: &SigningKey) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO signing_keys (id, state, key, created_at, activated_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![key.id.as_bytes(), key.state.as_str(), key.key.expose(), key.created_at, key.activated_at],
    )
    .map(drop)
}

fn retire_signing_key(connection: &Connection) -> Result<(), StoreError> {
    execute(connection, "UPDATE signing_keys SET state = 'verifying' WHERE state = 'signing'", []).map(drop)
}

fn activate(connection: &Connection, now: UnixMillis) -> Result<KeyActivation, StoreError> {
    let Some(mut staged) = keys(connection)?.into_iter().find(|key| key.state == KeyState::Staged) else {
        return Ok(KeyActivation::NothingStaged);
    };
    retire_signing_key(connection)?;
    execute(
        connection,
        "UPDATE signing_keys SET state = 'signing', activated_at = ?2 WHERE id = ?1",
        params![staged.id.as_bytes(), now],
    )?;
    staged.state = KeyState::Signing;
    staged.activated_at = Some(now);
    Ok(KeyActivation::Activated(staged))
}

fn read_setting(connection: &Connection, setting: Setting) -> Result<Option<Vec<u8>>, StoreError> {
    one(connection, "SELECT value FROM settings WHERE name = ?1", params![setting.as_str()], |row| row.get(0))
}
