//! What is measured: a process of its own that takes publishes over HTTP and delivers them signed.

use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::Outcome;

/// Obviously not a secret: what the ceiling and pg-boss sign under.
pub(crate) const SIGNING_KEY: &str = "sig_bench-key-not-a-secret-bench-key-not-a-secret";

/// The programs to measure, and where.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Programs {
    /// The server's binary, built with --release.
    #[arg(long)]
    pub(crate) chronq: PathBuf,
    /// A Postgres to use; without one only SQLite is measured.
    #[arg(long)]
    pub(crate) postgres: Option<String>,
    /// Node 22 or newer and the folder of the pg-boss service; without both it is left out.
    #[arg(long, requires = "pg_boss")]
    pub(crate) node: Option<PathBuf>,
    /// Folder with service.mjs and its installed `node_modules`.
    #[arg(long, requires = "node")]
    pub(crate) pg_boss: Option<PathBuf>,
}

/// What the command line prints on a database.
async fn administer(options: &Programs, database: &str, arguments: &[&str]) -> Outcome<serde_json::Value> {
    let output =
        Command::new(&options.chronq).args(arguments).args(["--database-url", database]).output().await?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("chronq {}: {error}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into()
    })
}

/// An admin token, made before the server starts, so that it knows it.
async fn make_token(options: &Programs, database: &str) -> Outcome<String> {
    let migrated =
        Command::new(&options.chronq).args(["migrate", "--database-url", database]).output().await?;
    if !migrated.status.success() {
        return Err(format!("chronq migrate: {}", String::from_utf8_lossy(&migrated.stderr)).into());
    }
    let made =
        administer(options, database, &["token", "create", "--name", "bench", "--level", "admin"]).await?;
    Ok(made["token"].as_str().ok_or("no token was made")?.to_owned())
}

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    PgBoss,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "chronq on SQLite, synchronous FULL",
            Self::Postgres => "chronq on Postgres",
            Self::PgBoss => "pg-boss 12 on Postgres",
        }
    }

    /// The store alone.
    pub(crate) const fn store(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres | Self::PgBoss => "Postgres",
        }
    }
}

/// A running contender.
#[derive(Debug)]
pub(crate) struct Contender {
    kind: Kind,
    child: Child,
    base: String,
    token: String,
    signing_key: String,
    /// A database of its own lives as long as the process.
    data: Option<TempDir>,
}

impl Contender {
    /// Starts it on a database of its own; on Postgres, the one that is named.
    pub(crate) async fn start(kind: Kind, options: &Programs) -> Outcome<Self> {
        let data = TempDir::new()?;
        let database = match (kind, &options.postgres) {
            (Kind::Sqlite, _) => format!("sqlite:{}", data.path().join("chronq.db").display()),
            (Kind::Postgres | Kind::PgBoss, Some(url)) => url.clone(),
            (Kind::Postgres | Kind::PgBoss, None) => {
                return Err("Postgres is measured with --postgres".into());
            }
        };
        let mut contender = Self::on(kind, options, database).await?;
        contender.data = Some(data);
        Ok(contender)
    }

    /// Starts it on a database that is somebody else's to keep.
    pub(crate) async fn on(kind: Kind, options: &Programs, database: String) -> Outcome<Self> {
        let token = match kind {
            Kind::Sqlite | Kind::Postgres => Some(make_token(options, &database).await?),
            Kind::PgBoss => None,
        };
        let mut command = match (kind, &options.node, &options.pg_boss) {
            (Kind::Sqlite | Kind::Postgres, ..) => {
                let mut command = Command::new(&options.chronq);
                command.args(["serve", "--listen", "127.0.0.1:0", "--exit-with-parent"]);
                command.args(["--database-url", &database]);
                command
            }
            (Kind::PgBoss, Some(node), Some(folder)) => {
                let mut command = Command::new(node.canonicalize()?);
                command.arg("service.mjs").current_dir(folder).env("DATABASE_URL", &database);
                command.env("SIGNING_KEY", SIGNING_KEY);
                command
            }
            (Kind::PgBoss, ..) => return Err("pg-boss is measured with --node and --pg-boss".into()),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let ready: serde_json::Value = serde_json::from_str(&line)
            .map_err(|error| format!("{} did not say that it is ready: {error}: {line}", kind.name()))?;
        let base = ready["url"].as_str().ok_or("the ready line has no url")?.to_owned();
        let mut contender =
            Self { kind, child, base, token: String::new(), signing_key: SIGNING_KEY.to_owned(), data: None };
        if let Some(token) = token {
            contender.token = token;
            let keys = administer(options, &database, &["keys", "list"]).await?;
            let signing = keys.as_array().into_iter().flatten().find(|key| key["state"] == "signing");
            let key = signing.and_then(|key| key["key"].as_str()).ok_or("no key signs")?;
            key.clone_into(&mut contender.signing_key);
        }
        contender.open_wide().await?;
        Ok(contender)
    }

    /// The key that its deliveries are signed under.
    pub(crate) fn signing_key(&self) -> &str {
        &self.signing_key
    }

    /// Lets the default queue deliver as much at once as a queue may.
    async fn open_wide(&self) -> Outcome<()> {
        if self.kind == Kind::PgBoss {
            return Ok(());
        }
        let body = r#"{"concurrency":100}"#.to_owned();
        crate::load::send_once(self, "PUT", "/v2/queues/default", body).await
    }

    /// `host:port`.
    pub(crate) fn authority(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Memory in use now, as the system counts it.
    pub(crate) fn resident_megabytes(&self) -> Outcome<f64> {
        let id = self.child.id().ok_or("the process has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes / 1_024.0)
    }

    /// Ends it by closing its stdin.
    pub(crate) async fn stop(mut self) -> Outcome<()> {
        drop(self.child.stdin.take());
        tokio::time::timeout(std::time::Duration::from_secs(20), self.child.wait()).await??;
        drop(self.data.take());
        Ok(())
    }
}
