//! `chronq keys`: signing keys.

use std::process::ExitCode;

use chronq::contract::Method;
use chronq::contract::paths;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::CommandError;
use super::target::{self, Target, TargetArguments};
use crate::routes::admin_keys::KeyView;
use crate::service::keys::Keys;

#[derive(Debug, Args)]
pub(super) struct KeyArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the signing keys, newest first
    List {
        #[command(flatten)]
        target: TargetArguments,
    },
    /// Make a key that signs at once; the one before verifies
    Rotate {
        #[command(flatten)]
        target: TargetArguments,
    },
    /// Make a key that signs once it is activated, so that receivers can have it first
    Stage {
        #[command(flatten)]
        target: TargetArguments,
    },
    /// Make the staged key sign
    Activate {
        #[command(flatten)]
        target: TargetArguments,
    },
    /// Delete the keys that only verify
    Prune {
        #[command(flatten)]
        target: TargetArguments,
    },
}

pub(super) fn run(arguments: KeyArguments) -> Result<ExitCode, CommandError> {
    target::run(async {
        let (verb, target) = match arguments.action {
            Action::List { target } => (Verb::List, target),
            Action::Rotate { target } => (Verb::Rotate, target),
            Action::Stage { target } => (Verb::Stage, target),
            Action::Activate { target } => (Verb::Activate, target),
            Action::Prune { target } => (Verb::Prune, target),
        };
        match target.open().await? {
            Target::Server(server) => {
                let (method, path) = verb.route();
                server.call(method, &path, None).await
            }
            Target::Store(store) => {
                let answer = verb.apply(Keys::in_store(store.as_ref())).await?;
                store.close().await;
                Ok(answer)
            }
        }
    })
}

#[derive(Clone, Copy)]
enum Verb {
    List,
    Rotate,
    Stage,
    Activate,
    Prune,
}

impl Verb {
    fn route(self) -> (Method, String) {
        let post = |verb: &str| (Method::Post, format!("{}/{verb}", paths::ADMIN_KEYS));
        match self {
            Self::List => (Method::Get, paths::ADMIN_KEYS.to_owned()),
            Self::Rotate => post("rotate"),
            Self::Stage => post("stage"),
            Self::Activate => post("activate"),
            Self::Prune => post("prune"),
        }
    }

    async fn apply(self, keys: Keys<'_>) -> Result<Value, CommandError> {
        let key = match self {
            Self::List => {
                let keys = keys.list().await?;
                return Ok(serde_json::to_value(keys.iter().map(KeyView::from).collect::<Vec<_>>())?);
            }
            Self::Prune => return Ok(json!({ "pruned": keys.prune().await? })),
            Self::Rotate => keys.rotate().await?,
            Self::Stage => keys.stage().await?,
            Self::Activate => keys.activate().await?,
        };
        Ok(serde_json::to_value(KeyView::from(&key))?)
    }
}
