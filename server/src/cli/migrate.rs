//! `chronq migrate`: makes the database or brings it up to date, without serving.

use std::process::ExitCode;

use clap::Args;

use super::CommandError;
use super::target::TargetArguments;
use crate::config::Database;
use crate::state::open_store;
use crate::store::Role;

#[derive(Debug, Args)]
pub(super) struct MigrateArguments {
    #[command(flatten)]
    target: TargetArguments,
}

pub(super) fn run(arguments: &MigrateArguments) -> Result<ExitCode, CommandError> {
    let database = arguments.target.database()?.ok_or("say which database: --database-url URL")?;
    if matches!(database, Database::Memory) {
        return Err("a database in memory is made by its server".into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Opening migrates; a server does the same at its start.
        let store = open_store(&database, Role::Tool).await?;
        store.ping().await?;
        store.close().await;
        Ok::<_, CommandError>(())
    })?;
    eprintln!("the database is up to date");
    Ok(ExitCode::SUCCESS)
}
