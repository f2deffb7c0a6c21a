//! The server under test: one that this suite starts, or any other by its URL.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::fault::Fault;
use crate::scenario::Need;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the target keeps its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Embedded.
    Sqlite,
    /// On this server; each start gets a database of its own.
    Postgres(String),
}

impl Store {
    /// For the table.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }
}

/// What a target is known by.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Access {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) signing_key: String,
}

/// Where targets come from.
#[derive(Clone, Debug)]
pub(crate) enum Supply {
    /// The bundled server, started as often as needed.
    Bundled {
        /// The program `chronq`.
        program: PathBuf,
        store: Store,
    },
    /// One that runs already.
    Given(Access),
}

/// A running target; a bundled one ends when this is dropped.
pub(crate) struct Target {
    access: Access,
    bundled: Option<Bundled>,
}

struct Bundled {
    program: PathBuf,
    store: Store,
    data: PathBuf,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Supply {
    /// For the table.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bundled { store, .. } => store.name().to_owned(),
            Self::Given(access) => access.url.clone(),
        }
    }

    /// What the target lacks for these needs.
    pub(crate) fn lacks(&self, needs: &[Need]) -> Option<&'static str> {
        match self {
            Self::Bundled { .. } => None,
            Self::Given(_) => needs.first().map(|need| need.name()),
        }
    }

    /// A target; `name` tells the data folders of one run apart.
    pub(crate) async fn start(&self, name: &str) -> Result<Target, Fault> {
        match self {
            Self::Given(access) => Ok(Target { access: access.clone(), bundled: None }),
            Self::Bundled { program, store } => {
                let data = std::env::temp_dir().join(format!("chronq-{}-{name}", std::process::id()));
                let (access, child, stdin) = launch(program, store, &data).await?;
                let bundled = Bundled { program: program.clone(), store: store.clone(), data, child, stdin };
                Ok(Target { access, bundled: Some(bundled) })
            }
        }
    }
}

impl Target {
    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// Kills the server without warning and starts it on the same data; its address changes.
    pub(crate) async fn restart(&mut self) -> Result<(), Fault> {
        let Some(bundled) = &mut self.bundled else {
            return Err(Fault::new("a target that was given cannot be restarted"));
        };
        bundled.child.kill().await.map_err(|error| Fault::new(format!("kill: {error}")))?;
        let (access, child, stdin) = launch(&bundled.program, &bundled.store, &bundled.data).await?;
        self.access = access;
        bundled.child = child;
        bundled.stdin = stdin;
        Ok(())
    }
}

impl Drop for Bundled {
    fn drop(&mut self) {
        // A server ends when its stdin closes, also when we are killed; killed here, it ends at once.
        drop(self.stdin.take());
        let _ = self.child.start_kill();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

async fn launch(
    program: &PathBuf,
    store: &Store,
    data: &PathBuf,
) -> Result<(Access, Child, Option<ChildStdin>), Fault> {
    std::fs::create_dir_all(data).map_err(|error| Fault::at(data, &error))?;
    let mut command = match store {
        Store::Sqlite => {
            let mut command = Command::new(program);
            command.args(["dev", "--listen", "127.0.0.1:0", "--exit-with-parent", "--data"]).arg(data);
            command
        }
        Store::Postgres(url) => {
            let own = std::env::current_exe().map_err(|error| Fault::at(program, &error))?;
            let mut command = Command::new(own);
            command.args(["server", "--database-url", &database_of(url, data).await?]);
            command
        }
    };
    // The settings of a server under test are the suite's alone.
    for (name, _) in std::env::vars_os() {
        if ["CHRONQ_", "QUEEN_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    let log = std::fs::File::create(data.join("server.log")).map_err(|error| Fault::at(data, &error))?;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Fault::at(program, &format!("did not start: {error}")))?;
    let ready = tokio::time::timeout(PATIENCE, ready_line(&mut child)).await;
    match ready.unwrap_or_else(|_| Err(Fault::new("no ready line in time"))) {
        Ok(access) => {
            let stdin = child.stdin.take();
            Ok((access, child, stdin))
        }
        Err(fault) => {
            let said = std::fs::read_to_string(data.join("server.log")).unwrap_or_default();
            Err(Fault::new(format!("the server did not become ready: {fault}\n{said}")))
        }
    }
}

/// A database of its own for each data folder, made at its first start. The whole PostgreSQL is
/// thrown away after the tests, so nobody drops it.
async fn database_of(url: &str, data: &Path) -> Result<String, Fault> {
    use sqlx::Connection;
    let name = data.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    let fault = |error: sqlx::Error| Fault::new(format!("{name} could not be made: {error}"));
    if !data.join("database").exists() {
        let mut connection = sqlx::PgConnection::connect(url).await.map_err(fault)?;
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE \"{name}\""));
        sqlx::query(create).execute(&mut connection).await.map_err(fault)?;
        std::fs::write(data.join("database"), &name).map_err(|error| Fault::at(data, &error))?;
    }
    let base = url.rsplit_once('/').map_or(url, |(base, _)| base);
    Ok(format!("{base}/{name}"))
}

async fn ready_line(child: &mut Child) -> Result<Access, Fault> {
    let stdout = child.stdout.take().ok_or_else(|| Fault::new("no stdout"))?;
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await.map_err(|error| Fault::new(error.to_string()))? {
        let event: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        if event["event"] == json!("ready") {
            // Nothing else comes on stdout; kept open so that the server never writes to a closed pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return serde_json::from_value(event).map_err(|error| Fault::new(error.to_string()));
        }
    }
    Err(Fault::new("stdout ended"))
}
