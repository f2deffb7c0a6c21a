//! `chronq token`: named tokens and the publish token.

use std::process::ExitCode;

use chronq::contract::Method;
use chronq::contract::paths;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::CommandError;
use super::target::{self, Target, TargetArguments};
use crate::routes::admin_tokens::{TokenView, minted_view};
use crate::service::access;
use crate::service::tokens::{TokenRequest, Tokens};

#[derive(Debug, Args)]
pub(super) struct TokenArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a named token; it is shown this once
    Create {
        /// For people: which service uses it
        #[arg(long)]
        name: String,
        /// read-only, write-only, read-write or admin
        #[arg(long)]
        level: String,
        /// The tenant it belongs to
        #[arg(long)]
        tenant: Option<String>,
        #[command(flatten)]
        target: TargetArguments,
    },
    /// List tokens with their last four characters and the minute of their last use
    List {
        #[command(flatten)]
        target: TargetArguments,
    },
    /// End a named token
    Revoke {
        /// Its id, as the list shows it
        id: String,
        #[command(flatten)]
        target: TargetArguments,
    },
    /// Replace the publish token; the old one ends at once
    Rotate {
        #[command(flatten)]
        target: TargetArguments,
    },
}

pub(super) fn run(arguments: TokenArguments) -> Result<ExitCode, CommandError> {
    target::run(async {
        match arguments.action {
            Action::Create { name, level, tenant, target } => {
                let request = TokenRequest::new(&name, &level, tenant.as_deref())?;
                create(target.open().await?, request).await
            }
            Action::List { target } => list(target.open().await?).await,
            Action::Revoke { id, target } => revoke(target.open().await?, &id).await,
            Action::Rotate { target } => rotate(target.open().await?).await,
        }
    })
}

async fn create(target: Target, request: TokenRequest) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => {
            server.call(Method::Post, paths::ADMIN_TOKENS, Some(request.to_json())).await
        }
        Target::Store(store) => {
            let hasher = access::hasher(store.as_ref()).await?;
            let minted = Tokens::in_store(store.as_ref(), &hasher).create(request).await?;
            store.close().await;
            Ok(minted_view(&minted))
        }
    }
}

async fn list(target: Target) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => server.call(Method::Get, paths::ADMIN_TOKENS, None).await,
        Target::Store(store) => {
            let hasher = access::hasher(store.as_ref()).await?;
            let tokens = Tokens::in_store(store.as_ref(), &hasher).list().await?;
            let shown: Vec<TokenView> = tokens.into_iter().map(TokenView::from).collect();
            Ok(serde_json::to_value(shown)?)
        }
    }
}

async fn revoke(target: Target, id: &str) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => {
            // An id is a UUID; anything else would name another path.
            let id = uuid::Uuid::parse_str(id).map_err(|_| format!("unknown token: \"{id}\""))?;
            server.call(Method::Delete, &format!("{}/{id}", paths::ADMIN_TOKENS), None).await
        }
        Target::Store(store) => {
            let hasher = access::hasher(store.as_ref()).await?;
            Tokens::in_store(store.as_ref(), &hasher).revoke(id).await?;
            store.close().await;
            Ok(json!({ "id": id, "revoked": true }))
        }
    }
}

async fn rotate(target: Target) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => server.call(Method::Post, paths::ADMIN_PUBLISH_TOKEN_ROTATE, None).await,
        Target::Store(store) => {
            let hasher = access::hasher(store.as_ref()).await?;
            let minted = Tokens::in_store(store.as_ref(), &hasher).rotate_publish().await?;
            store.close().await;
            Ok(minted_view(&minted))
        }
    }
}
