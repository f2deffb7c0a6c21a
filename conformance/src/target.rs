//! The server under test: one that this suite starts, or any other by its URL.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::adapter::SABOTAGE_VARIABLE;
use crate::fault::Fault;

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

/// Something that not every target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    /// A clock that can be moved. The scenario gets a server of its own, whose clock moves for it alone.
    Clock,
    /// A server that can be killed and started again on the same data; one of its own.
    Restart,
    /// A server of its own, because it changes what all share: keys, tokens, switches.
    Alone,
    /// Faults of the timers on purpose.
    Faults,
    /// A token of admin level.
    Admin,
    /// A store that several servers can share; each scenario has its own.
    Several,
}

impl Need {
    /// For the table.
    const fn name(self) -> &'static str {
        match self {
            Self::Clock => "a clock that can be moved",
            Self::Restart => "a server that can be killed",
            Self::Alone => "a server of its own",
            Self::Faults => "faults on purpose",
            Self::Admin => "an admin token",
            Self::Several => "a store that several servers can share",
        }
    }

    /// Whether only a server of the scenario's own has it.
    pub(crate) const fn is_of_a_server_alone(self) -> bool {
        !matches!(self, Self::Admin)
    }
}

/// The bundled server's program.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// `chronq`, as users have it.
    Chronq(PathBuf),
    /// This program itself, in a test build, wrong in this way.
    #[cfg_attr(not(feature = "sabotage"), expect(dead_code, reason = "made by the sabotage run"))]
    Sabotaged(Option<&'static str>),
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
    Bundled { program: Program, store: Store },
    /// One that runs already.
    Given {
        access: Access,
        /// Whether the token has admin level.
        admin: bool,
    },
}

/// A running target; a bundled one ends when this is dropped.
pub(crate) struct Target {
    access: Access,
    bundled: Option<Bundled>,
}

struct Bundled {
    launch: Launch,
    process: Process,
    /// Several servers on one store: the first of them clears up.
    owns_data: bool,
}

/// How a server is started, again and again.
#[derive(Clone)]
struct Launch {
    program: Program,
    store: Store,
    data: PathBuf,
    variables: BTreeMap<String, String>,
}

struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Supply {
    /// For the table.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bundled { store, .. } => store.name().to_owned(),
            Self::Given { access, .. } => access.url.clone(),
        }
    }

    /// What the target lacks for these needs.
    pub(crate) fn lacks(&self, needs: &[Need]) -> Option<&'static str> {
        let has = |need: &Need| match (self, need) {
            (Self::Bundled { store, .. }, Need::Several) => *store != Store::Sqlite,
            (Self::Bundled { .. }, _) => true,
            (Self::Given { admin, .. }, Need::Admin) => *admin,
            (Self::Given { .. }, _) => false,
        };
        needs.iter().find(|need| !has(need)).map(|need| need.name())
    }

    /// A target; `name` tells the data folders of one run apart, `variables` are for its environment.
    pub(crate) async fn start(
        &self,
        name: &str,
        variables: &BTreeMap<String, String>,
    ) -> Result<Target, Fault> {
        match self {
            Self::Given { access, .. } => Ok(Target { access: access.clone(), bundled: None }),
            Self::Bundled { program, store } => {
                let data = std::env::temp_dir().join(format!("chronq-{}-{name}", std::process::id()));
                let launch = Launch {
                    program: program.clone(),
                    store: store.clone(),
                    data,
                    variables: variables.clone(),
                };
                let (access, process) = launch.start().await?;
                Ok(Target { access, bundled: Some(Bundled { launch, process, owns_data: true }) })
            }
        }
    }
}

impl Target {
    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// Kills the server without warning and starts it on the same data, `pause` later; its address changes.
    pub(crate) async fn restart(&mut self, pause: Duration) -> Result<(), Fault> {
        let Some(bundled) = &mut self.bundled else {
            return Err(Fault::new("a target that was given cannot be restarted"));
        };
        bundled.process.child.kill().await.map_err(|error| Fault::new(format!("kill: {error}")))?;
        tokio::time::sleep(pause).await;
        (self.access, bundled.process) = bundled.launch.start().await?;
        Ok(())
    }

    /// Another server on the same data.
    pub(crate) async fn sibling(&self) -> Result<Self, Fault> {
        let Some(bundled) = &self.bundled else {
            return Err(Fault::new("a target that was given has no siblings"));
        };
        let launch = bundled.launch.clone();
        let (access, process) = launch.start().await?;
        Ok(Self { access, bundled: Some(Bundled { launch, process, owns_data: false }) })
    }
}

impl Drop for Bundled {
    fn drop(&mut self) {
        // A server ends when its stdin closes, also when we are killed; killed here, it ends at once.
        drop(self.process.stdin.take());
        let _ = self.process.child.start_kill();
        if self.owns_data {
            let _ = std::fs::remove_dir_all(&self.launch.data);
        }
    }
}

impl Launch {
    async fn start(&self) -> Result<(Access, Process), Fault> {
        let data = &self.data;
        std::fs::create_dir_all(data).map_err(|error| Fault::at(data, &error))?;
        let mut command = self.command().await?;
        // The settings of a server under test are the suite's alone.
        for (name, _) in std::env::vars_os() {
            if ["CHRONQ_", "QUEEN_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        if let Program::Sabotaged(Some(word)) = self.program {
            command.env(SABOTAGE_VARIABLE, word);
        }
        let log = std::fs::File::create(data.join("server.log")).map_err(|error| Fault::at(data, &error))?;
        let mut child = command
            .envs(&self.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Fault::new(format!("the server did not start: {error}")))?;
        let ready = tokio::time::timeout(PATIENCE, ready_line(&mut child)).await;
        match ready.unwrap_or_else(|_| Err(Fault::new("no ready line in time"))) {
            Ok(access) => {
                let stdin = child.stdin.take();
                Ok((access, Process { child, stdin }))
            }
            Err(fault) => {
                let said = std::fs::read_to_string(data.join("server.log")).unwrap_or_default();
                Err(Fault::new(format!("the server did not become ready: {fault}\n{said}")))
            }
        }
    }

    async fn command(&self) -> Result<Command, Fault> {
        let database = match (&self.store, &self.program) {
            (Store::Sqlite, Program::Chronq(program)) => {
                let mut command = Command::new(program);
                command.args(["dev", "--listen", "127.0.0.1:0", "--exit-with-parent", "--data"]);
                command.arg(&self.data);
                return Ok(command);
            }
            (Store::Sqlite, Program::Sabotaged(_)) => {
                format!("sqlite:{}", self.data.join("chronq.sqlite").display())
            }
            (Store::Postgres(url), _) => database_of(url, &self.data).await?,
        };
        let own = std::env::current_exe().map_err(|error| Fault::new(format!("our own path: {error}")))?;
        let mut command = Command::new(own);
        command.args(["server", "--database-url", &database]);
        Ok(command)
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
