//! A Postgres of one test's own, to be stopped and started under its servers. It keeps what it
//! committed when it is stopped, and is gone when the test is, even if the test is killed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::postgres::binaries;

/// Ports below those that outgoing connections are given: while the server is stopped, nobody else
/// comes to sit on its port.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// Makes the cluster and starts it, then does what each line says, and ends with its input.
const SCRIPT: &str = r#"
set -e
as=
if [ "$(id -u)" = 0 ]; then as="setpriv --reuid=postgres --regid=postgres --clear-groups"; fi
$as mkdir -p "$2"
cd "$2"
control() { $as "$1/pg_ctl" --silent --pgdata "$2/data" --wait "$4" "$5" "$6" >/dev/null 2>&1 </dev/null; }
start() {
  $as "$1/pg_ctl" --silent --pgdata "$2/data" --log "$2/log" --wait start \
    --options "-h 127.0.0.1 -p $3 -k $2 -c fsync=off -c max_connections=200" >/dev/null 2>&1 </dev/null
}
signal() {
  master=$(head -n 1 "$2/data/postmaster.pid")
  for stat in /proc/[0-9]*/stat; do
    if read -r pid _ _ parent _ 2>/dev/null <"$stat" && [ "$parent" = "$master" ]; then kill "-$3" "$pid"; fi
  done
  kill "-$3" "$master"
}
$as "$1/initdb" -D "$2/data" -U chronq -A trust --no-sync -E UTF8 --locale=C >/dev/null
start "$1" "$2" "$3"
echo done
while read -r verb mode; do
  case "$verb" in
    start) start "$1" "$2" "$3" ;;
    stop) control "$1" "$2" "$3" stop --mode "$mode" ;;
    pause) signal "$1" "$2" STOP ;;
    resume) signal "$1" "$2" CONT ;;
  esac
  echo done
done
signal "$1" "$2" CONT || true
control "$1" "$2" "$3" stop --mode immediate || true
cd /
rm -rf "$2"
"#;

/// How a running server is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// As by a crash: nothing is written down, the next start recovers.
    Immediate,
    /// Connections are cut off, then all is written down.
    Fast,
}

/// A Postgres that can be stopped and started.
pub(crate) struct OwnPostgres {
    keeper: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl OwnPostgres {
    /// Makes it and starts it.
    pub(crate) fn start_new() -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("chronq-own-postgres-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let port = free_port(std::process::id().wrapping_mul(7).wrapping_add(number * 1_000));
        let mut keeper = Command::new("sh")
            .arg("-c")
            .arg(SCRIPT)
            .arg("keeper")
            .args([&binaries(), &folder])
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts a shell");
        let input = keeper.stdin.take();
        let output = BufReader::new(keeper.stdout.take().expect("stdout"));
        let mut postgres = Self { keeper, input, output, port };
        postgres.hear_done();
        postgres
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://chronq@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns once it is down.
    pub(crate) fn stop(&mut self, stop: Stop) {
        let mode = match stop {
            Stop::Immediate => "immediate",
            Stop::Fast => "fast",
        };
        self.tell(&format!("stop {mode}"));
    }

    /// Returns once it takes connections.
    pub(crate) fn start(&mut self) {
        self.tell("start");
    }

    /// All of its processes stand still, with their connections open.
    pub(crate) fn pause(&mut self) {
        self.tell("pause");
    }

    /// They go on.
    pub(crate) fn resume(&mut self) {
        self.tell("resume");
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("an open pipe"), "{line}").expect("the keeper lives");
        self.hear_done();
    }

    fn hear_done(&mut self) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the keeper lives");
        assert_eq!(line, "done\n", "Postgres could not be started or stopped");
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.keeper.wait();
    }
}

/// Tests that run at once begin to look at different ports.
fn free_port(seed: u32) -> u16 {
    let first = u16::try_from(seed % u32::from(PORTS)).unwrap_or(0);
    (0..PORTS)
        .map(|step| FIRST_PORT + (first + step) % PORTS)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}
