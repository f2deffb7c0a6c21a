//! A throw-away PostgreSQL: its own folder, a free loopback port, durable as by default, and gone
//! when the tests are, even if they are killed.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::command::{During, Failure, Run};

/// Where tests find their database.
pub(crate) const URL_VARIABLE: &str = "CHRONQ_TEST_DATABASE_URL";

/// The user that initdb and the server run as where we are root: both refuse root.
const USER: &str = "postgres";

/// Runs until its stdin closes, whoever closes it: a killed parent closes it too. Then it stops the
/// server and removes the folder.
const GUARD: &str = r#"
"$1/postgres" -D "$2/data" -p "$3" -k "$2" -c listen_addresses=127.0.0.1 -c max_connections=300 >"$2/log" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -INT "$server"
wait "$server"
rm -rf "$2"
"#;

/// A running database, ours or the caller's.
pub(crate) struct Postgres {
    url: String,
    guard: Option<Child>,
}

impl Postgres {
    /// The database named by `CHRONQ_TEST_DATABASE_URL`, else a new one.
    pub(crate) fn obtain() -> Result<Self, Failure> {
        match std::env::var(URL_VARIABLE) {
            Ok(url) if !url.is_empty() => Ok(Self { url, guard: None }),
            _ => Self::start(),
        }
    }

    fn start() -> Result<Self, Failure> {
        let programs = programs()?;
        let dir = private_folder()?;
        let initialise = format!(
            "{}/initdb --pgdata {}/data --auth trust --username {USER} --encoding UTF8 --no-locale",
            programs.display(),
            dir.display()
        );
        as_user(&initialise).output()?;
        let port = free_port()?;
        eprintln!("starting PostgreSQL on 127.0.0.1:{port}");
        let guard = as_user("sh -c")
            .arg(GUARD)
            .arg("postgres-guard")
            .arg(&programs)
            .arg(&dir)
            .arg(port.to_string())
            .into_command()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // An interrupt at the terminal reaches us, and through our end of the pipe the guard.
            .process_group(0)
            .spawn()
            .during("PostgreSQL could not be started")?;
        let running =
            Self { url: format!("postgres://{USER}@127.0.0.1:{port}/postgres"), guard: Some(guard) };
        wait_until_ready(port, &programs, &dir)?;
        Ok(running)
    }

    /// What to put into `CHRONQ_TEST_DATABASE_URL`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// `cargo xtask postgres`: for running tests by hand.
pub(crate) fn serve() -> Result<(), Failure> {
    let running = Postgres::obtain()?;
    println!("export {URL_VARIABLE}={}", running.url());
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).during("stdin")? > 0 {
        line.clear();
    }
    Ok(())
}

/// The folder of initdb and postgres; installed first where they are missing and we may.
fn programs() -> Result<PathBuf, Failure> {
    if let Some(found) = find_programs() {
        return Ok(found);
    }
    if is_root() && Run::line("apt-get --version").succeeds() {
        eprintln!("installing PostgreSQL");
        // No cluster of Debian's own: the tests make theirs.
        std::fs::create_dir_all("/etc/postgresql-common")
            .and_then(|()| {
                std::fs::write("/etc/postgresql-common/createcluster.conf", "create_main_cluster = false\n")
            })
            .during("/etc/postgresql-common/createcluster.conf")?;
        crate::setup::debian::install(&["postgresql"])?;
    }
    find_programs().ok_or_else(|| {
        Failure::new(format!(
            "PostgreSQL is needed: install it (15 or newer), or set {URL_VARIABLE} to a database for tests"
        ))
    })
}

fn find_programs() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    versions.sort();
    let packaged = versions.pop().map(|(_, bin)| bin);
    packaged.or_else(|| {
        let bin = PathBuf::from(Run::line("pg_config --bindir").output().ok()?.trim());
        bin.join("initdb").is_file().then_some(bin)
    })
}

fn private_folder() -> Result<PathBuf, Failure> {
    let name = format!("chronq-postgres-{}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&dir).during(dir.display())?;
    if is_root() {
        Run::line(&format!("chown {USER}")).arg(&dir).output()?;
    }
    Ok(dir)
}

fn as_user(line: &str) -> Run {
    let run = if is_root() { Run::line(&format!("runuser -u {USER} -- {line}")) } else { Run::line(line) };
    // The user may not enter the folder we are in.
    run.dir(&std::env::temp_dir())
}

fn is_root() -> bool {
    Run::line("id -u").output().is_ok_and(|id| id.trim() == "0")
}

fn free_port() -> Result<u16, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .during("a free port")
}

fn wait_until_ready(port: u16, programs: &Path, dir: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_mins(1);
    while Instant::now() < deadline {
        let ready = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
            && Run::new(programs.join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()])
                .succeeds();
        if ready {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
    Err(Failure::new(format!("PostgreSQL did not start within 60 s\n{log}")))
}
