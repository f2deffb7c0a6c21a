//! What is measured: a process of its own that takes publishes over HTTP and delivers them signed.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::{Options, Outcome};

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// A running contender.
#[derive(Debug)]
pub(crate) struct Contender {
    kind: Kind,
    child: Child,
    base: String,
    token: String,
    signing_key: String,
    // The database lives as long as the process.
    _data: TempDir,
}

impl Contender {
    /// The key under which `chronq dev` signs; the other contenders are made to sign under it too.
    pub(crate) async fn development_key(options: &Options) -> Outcome<String> {
        let contender = Self::start(Kind::Sqlite, options, "").await?;
        let key = contender.signing_key.clone();
        contender.stop().await?;
        Ok(key)
    }

    pub(crate) async fn start(kind: Kind, options: &Options, signing_key: &str) -> Outcome<Self> {
        let data = TempDir::new()?;
        let mut command = match kind {
            Kind::Sqlite | Kind::Postgres => {
                let mut command = Command::new(&options.chronq);
                command.args(["dev", "--listen", "127.0.0.1:0", "--exit-with-parent"]);
                match (kind, &options.postgres) {
                    (Kind::Postgres, Some(url)) => command.args(["--database-url", url]),
                    _ => command.arg("--data").arg(data.path()),
                };
                command
            }
            Kind::PgBoss => {
                let (Some(node), Some(folder), Some(url)) =
                    (&options.node, &options.pg_boss, &options.postgres)
                else {
                    return Err("pg-boss needs --node, --pg-boss and --postgres".into());
                };
                let mut command = Command::new(node);
                command
                    .arg("service.mjs")
                    .current_dir(folder)
                    .env("DATABASE_URL", url)
                    .env("SIGNING_KEY", signing_key);
                command
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let ready: serde_json::Value = serde_json::from_str(&line)
            .map_err(|error| format!("{} did not say that it is ready: {error}: {line}", kind.name()))?;
        let text = |name: &str| ready[name].as_str().map(str::to_owned).unwrap_or_default();
        let (base, token, signing_key) = (text("url"), text("token"), text("signingKey"));
        let contender = Self { kind, child, base, token, signing_key, _data: data };
        contender.open_wide().await?;
        Ok(contender)
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
        Ok(())
    }
}
