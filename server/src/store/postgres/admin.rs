//! Tokens, signing keys, settings.

use async_trait::async_trait;
use chronq::Secret;
use chronq::contract::KeyState;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use crate::store::encoding::word_of;
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::admin::{
    KeyActivation, KeyStaging, NewToken, Setting, SigningKey, Token, TokenKind,
};
use crate::store::{AdminStore, StoreResult};

use super::PostgresStore;
use super::error::{PgError, answered, despite_conflicts};

const TOKEN_COLUMNS: &str = "id, kind, name, level, tenant, hash, last_four, created_at, last_used_at";
const KEY_COLUMNS: &str = "id, state, key, created_at, activated_at";

/// Changes wait for each other: there is one publish token, and one key that signs.
const LOCK_TOKENS: &str = "LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE";
const LOCK_KEYS: &str = "LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE";

#[async_trait]
impl AdminStore for PostgresStore {
    async fn put_token(&self, kind: TokenKind, token: NewToken) -> StoreResult<Token> {
        let now = self.clock.now_ms();
        let id = self.ids.mint(now)?;
        despite_conflicts(|| put_token(self, now, id, kind, &token)).await
    }

    async fn tokens(&self) -> StoreResult<Vec<Token>> {
        let sql = format!("SELECT {TOKEN_COLUMNS} FROM tokens ORDER BY seq");
        let rows = answered(sqlx::query(AssertSqlSafe(sql)).fetch_all(&self.pool)).await?;
        rows.iter().map(token).collect::<Result<_, PgError>>().map_err(PgError::into_store)
    }

    async fn revoke_token(&self, id: Uuid) -> StoreResult<bool> {
        let delete = sqlx::query("DELETE FROM tokens WHERE id = $1").bind(id);
        let gone = answered(delete.execute(&self.pool)).await?;
        Ok(gone.rows_affected() > 0)
    }

    async fn touch_tokens(&self, used: Vec<(Uuid, UnixMillis)>) -> StoreResult<()> {
        let (ids, times): (Vec<Uuid>, Vec<UnixMillis>) = used.into_iter().unzip();
        let touch = sqlx::query(
            "UPDATE tokens t SET last_used_at = greatest(t.last_used_at, i.at) \
             FROM (SELECT id, max(at) AS at FROM unnest($1::uuid[], $2::bigint[]) AS u (id, at) GROUP BY id) i \
             WHERE t.id = i.id",
        )
        .bind(ids)
        .bind(times);
        answered(touch.execute(&self.pool)).await?;
        Ok(())
    }

    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>> {
        answered(async {
            let mut connection = self.pool.acquire().await?;
            keys(&mut connection).await
        })
        .await
    }

    async fn rotate_signing_key(&self, key: Secret) -> StoreResult<SigningKey> {
        let now = self.clock.now_ms();
        let id = self.ids.mint(now)?;
        let key = SigningKey { id, state: KeyState::Signing, key, created_at: now, activated_at: Some(now) };
        despite_conflicts(|| rotate(self, &key)).await?;
        Ok(key)
    }

    async fn stage_signing_key(&self, key: Secret) -> StoreResult<KeyStaging> {
        let now = self.clock.now_ms();
        let id = self.ids.mint(now)?;
        let key = SigningKey { id, state: KeyState::Staged, key, created_at: now, activated_at: None };
        despite_conflicts(|| stage(self, &key)).await
    }

    async fn activate_signing_key(&self) -> StoreResult<KeyActivation> {
        let now = self.clock.now_ms();
        despite_conflicts(|| activate(self, now)).await
    }

    async fn prune_signing_keys(&self) -> StoreResult<u64> {
        let prune = sqlx::query("DELETE FROM signing_keys WHERE state = 'verifying'");
        let gone = answered(prune.execute(&self.pool)).await?;
        Ok(gone.rows_affected())
    }

    async fn setting(&self, setting: Setting) -> StoreResult<Option<Vec<u8>>> {
        let read = sqlx::query_scalar("SELECT value FROM settings WHERE name = $1").bind(setting.as_str());
        answered(read.fetch_optional(&self.pool)).await
    }

    async fn put_setting(&self, setting: Setting, value: Vec<u8>) -> StoreResult<()> {
        let put = sqlx::query(
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2",
        )
        .bind(setting.as_str())
        .bind(value);
        answered(put.execute(&self.pool)).await?;
        Ok(())
    }

    async fn init_setting(&self, setting: Setting, value: Vec<u8>) -> StoreResult<Vec<u8>> {
        let init =
            sqlx::query("INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
                .bind(setting.as_str())
                .bind(value);
        answered(init.execute(&self.pool)).await?;
        self.setting(setting)
            .await?
            .ok_or_else(|| StoreError::Internal("a setting was written and is not there".to_owned()))
    }
}

async fn put_token(
    store: &PostgresStore,
    now: UnixMillis,
    id: Uuid,
    kind: TokenKind,
    new: &NewToken,
) -> Result<Token, PgError> {
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_TOKENS).execute(&mut *transaction).await?;
    if kind == TokenKind::Publish {
        sqlx::query("DELETE FROM tokens WHERE kind = 'publish'").execute(&mut *transaction).await?;
    }
    sqlx::query(
        "INSERT INTO tokens (id, kind, name, level, tenant, hash, last_four, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(id)
    .bind(kind.as_str())
    .bind(&new.name)
    .bind(new.level.as_str())
    .bind(&new.tenant)
    .bind(new.hash.as_slice())
    .bind(&new.last_four)
    .bind(now)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(new.clone().stored(id, kind, now))
}

fn token(row: &PgRow) -> Result<Token, PgError> {
    let hash: Vec<u8> = row.try_get(5)?;
    Ok(Token {
        id: row.try_get(0)?,
        kind: TokenKind::of(row.try_get(1)?)?,
        name: row.try_get(2)?,
        level: word_of(row.try_get(3)?)?,
        tenant: row.try_get(4)?,
        hash: hash.try_into().map_err(|_| StoreError::Corrupt("a token's hash".to_owned()))?,
        last_four: row.try_get(6)?,
        created_at: row.try_get(7)?,
        last_used_at: row.try_get(8)?,
    })
}

async fn keys(connection: &mut PgConnection) -> Result<Vec<SigningKey>, PgError> {
    let sql = format!("SELECT {KEY_COLUMNS} FROM signing_keys ORDER BY seq DESC");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter().map(signing_key).collect()
}

fn signing_key(row: &PgRow) -> Result<SigningKey, PgError> {
    Ok(SigningKey {
        id: row.try_get(0)?,
        state: word_of(row.try_get(1)?)?,
        key: Secret::new(row.try_get::<String, _>(2)?),
        created_at: row.try_get(3)?,
        activated_at: row.try_get(4)?,
    })
}

async fn insert_key(connection: &mut PgConnection, key: &SigningKey) -> Result<(), PgError> {
    sqlx::query(
        "INSERT INTO signing_keys (id, state, key, created_at, activated_at) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(key.id)
    .bind(key.state.as_str())
    .bind(key.key.expose())
    .bind(key.created_at)
    .bind(key.activated_at)
    .execute(connection)
    .await?;
    Ok(())
}

async fn retire_signing_key(connection: &mut PgConnection) -> Result<(), PgError> {
    sqlx::query("UPDATE signing_keys SET state = 'verifying' WHERE state = 'signing'")
        .execute(connection)
        .await?;
    Ok(())
}

async fn rotate(store: &PostgresStore, key: &SigningKey) -> Result<(), PgError> {
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_KEYS).execute(&mut *transaction).await?;
    retire_signing_key(&mut transaction).await?;
    insert_key(&mut transaction, key).await?;
    transaction.commit().await?;
    Ok(())
}

async fn stage(store: &PostgresStore, key: &SigningKey) -> Result<KeyStaging, PgError> {
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_KEYS).execute(&mut *transaction).await?;
    if keys(&mut transaction).await?.iter().any(|key| key.state == KeyState::Staged) {
        return Ok(KeyStaging::AlreadyStaged);
    }
    insert_key(&mut transaction, key).await?;
    transaction.commit().await?;
    Ok(KeyStaging::Staged(key.clone()))
}

async fn activate(store: &PostgresStore, now: UnixMillis) -> Result<KeyActivation, PgError> {
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_KEYS).execute(&mut *transaction).await?;
    let staged = keys(&mut transaction).await?.into_iter().find(|key| key.state == KeyState::Staged);
    let Some(mut staged) = staged else { return Ok(KeyActivation::NothingStaged) };
    retire_signing_key(&mut transaction).await?;
    sqlx::query("UPDATE signing_keys SET state = 'signing', activated_at = $2 WHERE id = $1")
        .bind(staged.id)
        .bind(now)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    staged.state = KeyState::Signing;
    staged.activated_at = Some(now);
    Ok(KeyActivation::Activated(staged))
}
