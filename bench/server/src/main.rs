//! Publish → delivered, measured: the server on SQLite and Postgres, pg-boss behind a small publish
//! route, and a bare hyper client as the ceiling, interleaved in one run.
//!
//! A message counts when the receiver has verified its signature and its id was not seen before; a
//! round is over when as many distinct ids were received as were published.

mod contender;
mod load;
mod receiver;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;

use contender::{Contender, Kind};
use receiver::Tally;
use report::Table;

/// What goes wrong in a benchmark ends it, with a sentence.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How a run is laid out.
#[derive(Debug, Parser)]
struct Options {
    /// The server's binary, built with --release.
    #[arg(long)]
    chronq: PathBuf,
    /// A Postgres to use; without one only SQLite is measured.
    #[arg(long)]
    postgres: Option<String>,
    /// Node 22 or newer and the folder of the pg-boss service; without both it is left out.
    #[arg(long, requires = "pg_boss")]
    node: Option<PathBuf>,
    /// Folder with service.mjs and its installed `node_modules`.
    #[arg(long, requires = "node")]
    pg_boss: Option<PathBuf>,
    /// Rounds per contender; medians are reported.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Messages per round of the fast contenders; pg-boss gets a fifth.
    #[arg(long, default_value_t = 20_000)]
    messages: usize,
    /// Connections that publish at once.
    #[arg(long, default_value_t = 64)]
    connections: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(&options)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Outcome<()> {
    let tally = Arc::new(Tally::default());
    let address = receiver::start(Arc::clone(&tally)).await?;
    let destination = format!("http://{address}/hook");
    let mut table = Table::default();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        let ceiling = load::signed_ceiling(&destination, options.messages, &tally).await?;
        table.add("ceiling: bare signed hyper", "single", ceiling);
        for kind in kinds(options) {
            measure(options, kind, &destination, &tally, &mut table).await?;
        }
    }
    report::machine();
    table.print(options.rounds);
    Ok(())
}

fn kinds(options: &Options) -> Vec<Kind> {
    let mut kinds = vec![Kind::Sqlite];
    if options.postgres.is_some() {
        kinds.push(Kind::Postgres);
        if options.node.is_some() {
            kinds.push(Kind::PgBoss);
        }
    }
    kinds
}

async fn measure(
    options: &Options,
    kind: Kind,
    destination: &str,
    tally: &Arc<Tally>,
    table: &mut Table,
) -> Outcome<()> {
    let contender = Contender::start(kind, options).await?;
    tally.trust(contender.signing_key())?;
    let count = if kind == Kind::PgBoss { options.messages / 5 } else { options.messages };
    let name = kind.name();

    tally.reset();
    let started = Instant::now();
    load::publish_singly(&contender, destination, count, options.connections).await?;
    let published = started.elapsed();
    tally.wait_for(count, Duration::from_mins(2)).await?;
    table.add(name, "single", rate(count, started.elapsed()));
    table.add(name, "publish alone", rate(count, published));

    tally.reset();
    let started = Instant::now();
    load::publish_batches(&contender, destination, count).await?;
    tally.wait_for(count, Duration::from_mins(2)).await?;
    table.add(name, "batch", rate(count, started.elapsed()));
    table.add(name, "memory MB", contender.resident_megabytes()?);

    let mut waits = Vec::new();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        tally.reset();
        let started = Instant::now();
        load::publish_singly(&contender, destination, 1, 1).await?;
        tally.wait_for(1, Duration::from_secs(10)).await?;
        waits.push(tally.last().duration_since(started).as_secs_f64() * 1_000.0);
    }
    waits.sort_by(f64::total_cmp);
    table.add(name, "idle p50 ms", waits[waits.len() / 2]);
    table.add(name, "idle p99 ms", waits[waits.len() * 99 / 100]);
    contender.stop().await
}

#[expect(clippy::cast_precision_loss, reason = "a count of messages is far below 2^53")]
fn rate(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}
