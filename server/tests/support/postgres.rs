//! A Postgres for tests: the one that `CHRONQ_TEST_DATABASE_URL` names, or a throw-away server of this
//! process. Each test has a schema of its own. Needs nothing of the crate, so unit tests and
//! integration tests share it by path.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

const START_ATTEMPTS: u32 = 400;
const START_STEP: Duration = Duration::from_millis(50);

static SERVER: OnceCell<Server> = OnceCell::const_new();
static SCHEMAS: AtomicU32 = AtomicU32::new(0);

struct Server {
    url: String,
    /// Holds the keeper's standard input open: when this process ends, however it ends, the keeper
    /// stops the server and removes its folder.
    _keeper: Option<Child>,
}

/// The URL of an empty schema. It is dropped with the throw-away server; in a database that was given
/// it stays behind, named after this process.
pub(crate) async fn fresh_url() -> String {
    let server = SERVER.get_or_init(start).await;
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    let schema = format!("test_{}_{number}_{nanos}", std::process::id());
    let mut connection = PgConnection::connect(&server.url).await.expect("connects to the test database");
    sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA {schema}")))
        .execute(&mut connection)
        .await
        .expect("makes a schema");
    let separator = if server.url.contains('?') { '&' } else { '?' };
    format!("{}{separator}options=-csearch_path%3D{schema}", server.url)
}

#[expect(clippy::zombie_processes, reason = "the keeper outlives the tests by a moment, and ends by itself")]
async fn start() -> Server {
    if let Ok(url) = std::env::var("CHRONQ_TEST_DATABASE_URL") {
        return Server { url, _keeper: None };
    }
    let binaries = binaries();
    let folder = std::env::temp_dir().join(format!("chronq-test-postgres-{}", std::process::id()));
    let port =
        TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its number").port();
    let keeper = keep(&binaries, &folder, port);
    let url = format!("postgres://chronq@127.0.0.1:{port}/postgres");
    for _ in 0..START_ATTEMPTS {
        if PgConnection::connect(&url).await.is_ok() {
            return Server { url, _keeper: Some(keeper) };
        }
        tokio::time::sleep(START_STEP).await;
    }
    panic!("Postgres did not start within 20 s in {}", folder.display());
}

/// The newest installed server.
pub(crate) fn binaries() -> PathBuf {
    let on_path = std::env::var_os("PATH").into_iter().flat_map(|path| {
        std::env::split_paths(&path).filter(|folder| folder.join("initdb").exists()).collect::<Vec<_>>()
    });
    let mut debian: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    debian.sort_by_key(|folder| {
        folder.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse::<u32>().ok())
    });
    on_path
        .chain(debian.into_iter().rev())
        .next()
        .expect("Postgres is needed: install it (Debian: postgresql), or set CHRONQ_TEST_DATABASE_URL")
}

/// Starts a shell that makes the cluster, runs the server and ends it when our end of its standard
/// input closes. initdb refuses root, so root hands over to the user `postgres`.
fn keep(binaries: &Path, folder: &Path, port: u16) -> Child {
    const SCRIPT: &str = r#"
set -e
as=
if [ "$(id -u)" = 0 ]; then as="setpriv --reuid=postgres --regid=postgres --clear-groups"; fi
$as mkdir -p "$2"
cd "$2"
$as "$1/initdb" -D "$2/data" -U chronq -A trust --no-sync -E UTF8 --locale=C >"/dev/null"
$as "$1/postgres" -D "$2/data" -h 127.0.0.1 -p "$3" -k "$2" -c fsync=off -c synchronous_commit=off \
  -c full_page_writes=off -c max_connections=400 >"/dev/null" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -INT "$server"
wait "$server" || true
rm -rf "$2"
"#;
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(SCRIPT)
        .arg("keeper")
        .args([binaries, folder])
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts a shell");
    if let Some(input) = child.stdin.as_mut() {
        input.flush().expect("an open pipe");
    }
    child
}
