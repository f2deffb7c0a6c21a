//! Publish → delivered, measured: the server on SQLite and Postgres, pg-boss behind a small publish
//! route, and a bare hyper client as the ceiling, interleaved in one run.
//!
//! A message counts when the receiver has verified its signature and its id was not seen before; a
//! round is over when as many distinct ids were received as were published.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::contender::{Contender, Kind, Programs};
use crate::receiver::{self, Tally};
use crate::report::{self, Table};
use crate::{Outcome, load, rate};

/// How a run is laid out.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    programs: Programs,
    /// Rounds per contender; medians are reported.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Messages per round of the fast contenders; pg-boss gets a fifth.
    #[arg(long, default_value_t = 20_000)]
    messages: usize,
    /// Connections that publish at once.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Only these contenders.
    #[arg(long, value_enum)]
    only: Vec<Kind>,
}

/// Runs it and prints the table.
pub(crate) async fn run(options: &Options) -> Outcome<()> {
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
    if let Some(url) = &options.programs.postgres {
        report::postgres(url).await?;
    }
    table.print(options.rounds);
    Ok(())
}

fn kinds(options: &Options) -> Vec<Kind> {
    let mut kinds = vec![Kind::Sqlite];
    if options.programs.postgres.is_some() {
        kinds.push(Kind::Postgres);
        if options.programs.node.is_some() {
            kinds.push(Kind::PgBoss);
        }
    }
    kinds.retain(|kind| options.only.is_empty() || options.only.contains(kind));
    kinds
}

async fn measure(
    options: &Options,
    kind: Kind,
    destination: &str,
    tally: &Arc<Tally>,
    table: &mut Table,
) -> Outcome<()> {
    let contender = Contender::start(kind, &options.programs).await?;
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
