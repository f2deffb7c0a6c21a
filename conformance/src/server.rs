//! `chronq-conformance server`: the bundled server in dev mode on PostgreSQL, which `chronq dev` does
//! not offer, with the same ready line. Ends when its stdin closes.

use std::io::Read;

use chronq_server::config::{Config, Database};
use chronq_server::serve::Server;
use serde_json::json;

use crate::fault::Fault;

/// Runs until stdin closes.
pub(crate) fn run(database_url: &str) -> Result<bool, Fault> {
    let database = Database::parse(database_url).map_err(Fault::new)?;
    let config = Config { database, ..Config::for_tests() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let running = Server::start(config).await.map_err(|error| Fault::new(error.to_string()))?;
        let secrets = running.secrets();
        let ready = json!({
            "event": "ready",
            "url": running.url(),
            "token": secrets.token.as_ref().map(chronq::Secret::expose),
            "signingKey": secrets.signing_key.as_ref().map(chronq::Secret::expose),
        });
        println!("{ready}");
        let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        let _ = closed.await;
        Ok(true)
    })
}
