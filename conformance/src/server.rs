//! `chronq-conformance server`: the bundled server in dev mode on any database, PostgreSQL included, which
//! `chronq dev` does not offer, with the same ready line and settings. Ends when its stdin closes.

use std::io::Read;

use chronq_server::config::{Config, Database, Setting, Settings, Source};
use chronq_server::serve::Server;

use crate::adapter::SABOTAGE_VARIABLE;
use crate::fault::Fault;

/// Runs until stdin closes.
pub(crate) fn run(database_url: &str) -> Result<bool, Fault> {
    let database = Database::parse(database_url).map_err(Fault::new)?;
    let config = Config { database, ..Config::dev(None, &settings()?).map_err(told)? };
    let runtime = crate::runtime::start()?;
    runtime.block_on(async {
        let running = Server::start(config).await.map_err(told)?;
        println!("{}", running.ready_line());
        let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        let _ = closed.await;
        Ok(true)
    })
}

/// The environment's, on a free port.
fn settings() -> Result<Settings, Fault> {
    let mut settings = Settings::default();
    let variables = std::env::vars().filter(|(name, _)| name != SABOTAGE_VARIABLE);
    settings.set_from_environment(variables).map_err(told)?;
    settings.set(Setting::Listen, Source::Flag, "127.0.0.1:0".to_owned());
    Ok(settings)
}

fn told(error: impl std::fmt::Display) -> Fault {
    Fault::new(error.to_string())
}
