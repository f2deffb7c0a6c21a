//! Where a command acts: on a running server over HTTP, or on the database itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chronq::contract::Method;
use chronq::operation::{Circumstances, Endpoint, refusal};
use chronq::wire::{Request, Response};
use chronq::{Destination, Secret};
use clap::Args;
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::CommandError;
use crate::config::{Cidr, Database, EgressPolicy, EgressRules, Setting, Settings, Source};
use crate::egress::{Egress, Outgoing};
use crate::state::open_store;
use crate::store::{Role, Store};

/// An admin's answers are small; what is larger is not one.
const MAX_ANSWER_BYTES: usize = 16 * 1_048_576;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Says where: `--url` with an admin token, else the configured database, else `CHRONQ_URL`.
#[derive(Debug, Args)]
pub(super) struct TargetArguments {
    /// Of a running server; needs an admin token
    #[arg(long, value_name = "URL", conflicts_with = "database_url")]
    url: Option<String>,
    /// The admin token for --url (or `CHRONQ_TOKEN`, which keeps it out of the process list)
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The database itself: sqlite:PATH or postgres://… (or `CHRONQ_DATABASE_URL`)
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// A TOML file with settings (or `CHRONQ_CONFIG`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Where a command acts.
pub(super) enum Target {
    /// A running server.
    Server(Remote),
    /// The database; servers on it see the change within a minute.
    Store(Arc<dyn Store>),
}

impl TargetArguments {
    /// Finds out where.
    pub(super) async fn open(self) -> Result<Target, CommandError> {
        if let Some(url) = &self.url {
            return Ok(Target::Server(Remote::new(url, self.token)?));
        }
        let variable = std::env::var("CHRONQ_URL").ok().filter(|url| !url.is_empty());
        match (self.database()?, variable) {
            (Some(database), _) => Ok(Target::Store(open_existing(&database).await?)),
            (None, Some(url)) => Ok(Target::Server(Remote::new(&url, self.token)?)),
            (None, None) => Err("say where: --url URL with an admin token, or --database-url URL".into()),
        }
    }

    /// The configured database, if any.
    pub(super) fn database(&self) -> Result<Option<Database>, CommandError> {
        let mut settings = Settings::default();
        let file = self.config.clone().or_else(|| std::env::var_os("CHRONQ_CONFIG").map(PathBuf::from));
        if let Some(file) = file {
            settings.set_from_file(&file)?;
        }
        let named = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        settings.set_from_environment(std::env::vars_os().filter_map(named))?;
        if let Some(url) = &self.database_url {
            settings.set(Setting::DatabaseUrl, Source::Flag, url.clone());
        }
        Ok(settings.read(Setting::DatabaseUrl, Database::parse)?)
    }
}

/// A mistyped path must not become an empty database.
async fn open_existing(database: &Database) -> Result<Arc<dyn Store>, CommandError> {
    match database {
        Database::Memory => return Err("a database in memory belongs to its server: use --url".into()),
        Database::Sqlite(path) if !path.exists() => {
            let sentence = format!("no database at {}: `chronq migrate` makes one", path.display());
            return Err(sentence.into());
        }
        Database::Sqlite(_) | Database::Postgres(_) => {}
    }
    Ok(open_store(database, Role::Tool).await?)
}

/// A running server, spoken to with an admin token.
pub(super) struct Remote {
    endpoint: Endpoint,
}

impl Remote {
    fn new(url: &str, token: Option<String>) -> Result<Self, CommandError> {
        let token = token.or_else(|| std::env::var("CHRONQ_TOKEN").ok());
        let token = token.ok_or("--url needs an admin token: set CHRONQ_TOKEN or give --token")?;
        Ok(Self { endpoint: Endpoint::new(url, Secret::new(token), Some("chronq-cli"))? })
    }

    /// One call; a refusal is the server's own sentence.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, CommandError> {
        let request = match body {
            Some(body) => self.endpoint.json_request(method, path, &body.into()),
            None => self.endpoint.request(method, path, Bytes::new()),
        };
        let response = send(request).await?;
        if !(200..300).contains(&response.status) {
            let circumstances = Circumstances { now_ms: 0, earlier_attempt_may_have_acted: false };
            return Err(refusal(&response, circumstances).into());
        }
        let unreadable = |error| format!("the answer of {} is no JSON: {error}", self.endpoint.base());
        Ok(serde_json::from_slice(&response.body).map_err(unreadable)?)
    }
}

/// Through the server's own client: one HTTP stack in the binary. An operator names any address.
async fn send(request: Request) -> Result<Response, CommandError> {
    let anywhere =
        EgressRules { policy: EgressPolicy::Private, allowed: Cidr::parse_list("0.0.0.0/0,::/0")? };
    let client = Egress::new(anywhere).with_kept_body(MAX_ANSWER_BYTES);
    let destination = Destination::parse("url", &request.url)?;
    let header = |(name, value): &(String, String)| -> Result<_, CommandError> {
        Ok((HeaderName::try_from(name)?, HeaderValue::try_from(value)?))
    };
    let headers = request.headers.iter().map(header).collect::<Result<Vec<_>, _>>()?;
    let outgoing = Outgoing {
        destination: &destination,
        method: request.method,
        headers: &headers,
        body: &request.body,
        timeout: TIMEOUT,
    };
    let answer = client.send(outgoing).await?;
    if answer.truncated {
        return Err("the server's answer is too large".into());
    }
    Ok(Response::new(answer.status, answer.body))
}

/// Runs a command that talks to a server or a database, and prints its answer as JSON.
pub(super) fn run<F>(command: F) -> Result<std::process::ExitCode, CommandError>
where
    F: Future<Output = Result<Value, CommandError>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(command)?;
    println!("{}", serde_json::to_string_pretty(&answer)?);
    Ok(std::process::ExitCode::SUCCESS)
}
