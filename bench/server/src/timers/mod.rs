//! Timers: scheduled and fired over the same rows written by hand, how late they fire, and what a million
//! pending timers and delayed messages cost in speed and memory.
//!
//! Per store three servers run at once: an empty one, one with ten thousand pending, one with a million;
//! every round measures all of them in turn. Answers are read, and every timer that is counted stands
//! in the log exactly once, and not before its time.

mod measure;
mod raw;
mod site;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Outcome;
use crate::contender::{Kind, Programs};
use crate::receiver::{self, Tally};
use crate::report::{self, Comparison, Goal};
use measure::Loads;
use raw::Raw;
use site::{Database, Site};

/// How a run is laid out.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    programs: Programs,
    /// Rounds per store; medians are reported.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Timers scheduled and fired per round.
    #[arg(long, default_value_t = 20_480)]
    timers: usize,
    /// Timers whose lag is measured per round, one a millisecond.
    #[arg(long, default_value_t = 2_000)]
    punctual: usize,
    /// Timers, and messages, per round where many and few pending are compared.
    #[arg(long, default_value_t = 5_120)]
    compared: usize,
    /// Far timers, and as many delayed messages, that are pending.
    #[arg(long, default_value_t = 1_000_000)]
    pending: usize,
}

const TENANT: &str = "default";
/// Connections that schedule at once.
const CALLERS: usize = 4;
/// Operations of one call: as many as the contract allows.
const OPERATIONS: usize = chronq::contract::limits::MAX_TIMER_OPERATIONS;
/// Timers that the sweeper claims at once, unless it is told otherwise.
const CLAIM: u32 = 200;
/// What "few" is beside the many that are pending.
const FEW: usize = 10_000;

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A month of instants beginning in two days, spread evenly and out of order.
fn far_us(number: usize) -> i64 {
    const DAY_US: u64 = 86_400_000_000;
    let spread = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (30 * DAY_US);
    i64::try_from(2 * DAY_US + spread).unwrap_or(i64::MAX)
}

/// The servers on one store.
struct Sites {
    kind: Kind,
    empty: Site,
    few: Site,
    many: Site,
    raw: Raw,
    /// Where `raw` writes.
    _raw: Database,
}

impl Sites {
    async fn start(kind: Kind, options: &Options) -> Outcome<Self> {
        let database = Database::make(kind, &options.programs, "raw").await?;
        Ok(Self {
            kind,
            many: Site::start(kind, &options.programs, "many", options.pending).await?,
            few: Site::start(kind, &options.programs, "few", FEW).await?,
            empty: Site::start(kind, &options.programs, "empty", 0).await?,
            raw: database.raw().await?,
            _raw: database,
        })
    }

    async fn stop(self) -> Outcome<()> {
        self.empty.stop().await?;
        self.few.stop().await?;
        self.many.stop().await
    }
}

/// Runs it and prints the table.
pub(crate) async fn run(options: &Options) -> Outcome<()> {
    let tally = Arc::new(Tally::default());
    let destination = format!("http://{}/hook", receiver::start(Arc::clone(&tally)).await?);
    let loads = Loads { tally, destination, punctual: options.punctual };
    let mut kinds = vec![Kind::Sqlite];
    if options.programs.postgres.is_some() {
        kinds.push(Kind::Postgres);
    }
    let mut all = Vec::new();
    for kind in kinds {
        all.push(Sites::start(kind, options).await?);
    }
    let mut table = Comparison::default();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        for sites in &mut all {
            over_raw(sites, options, round, &mut table).await?;
            lag(sites, &loads, round, &mut table).await?;
            many_over_few(sites, &loads, options, round, &mut table).await?;
        }
    }
    for sites in &all {
        memory(sites, options, &mut table)?;
    }
    for sites in all {
        sites.stop().await?;
    }
    report::machine();
    if let Some(url) = &options.programs.postgres {
        report::postgres(url).await?;
    }
    table.print(options.rounds);
    Ok(())
}

/// Goals 12 and 13.
async fn over_raw(sites: &mut Sites, options: &Options, round: usize, table: &mut Comparison) -> Outcome<()> {
    let (store, count) = (sites.kind.store(), options.timers);
    let queue = format!("due-{round}");
    measure::switch_fire(&sites.empty, false).await?;
    let scheduled = measure::schedule(&sites.empty, &queue, count, |_| 0).await?;
    let inserted = measure::timed(count, sites.raw.insert(count)).await?.0;
    let fired = measure::fire_all(&sites.empty, &queue, count).await?;
    let (taken, rows) = measure::timed(count, sites.raw.take()).await?;
    if rows != count {
        return Err(format!("the raw side took {rows} of {count} rows").into());
    }
    sites.empty.forget(&queue).await?;
    let goal = Goal::RatioAtLeast(0.4);
    table.add(
        format!("{store}: timers scheduled /s over raw inserts"),
        goal,
        scheduled.rate(count),
        Some(inserted),
    );
    table.add(format!("{store}: timers fired /s over raw claim + delete"), goal, fired, Some(taken));
    Ok(())
}

/// Goal 14.
async fn lag(sites: &Sites, loads: &Loads, round: usize, table: &mut Comparison) -> Outcome<()> {
    let store = sites.kind.store();
    let queue = format!("lag-{round}");
    let none = measure::lag(&sites.empty, loads, &queue).await?;
    let many = measure::lag(&sites.many, loads, &queue).await?;
    table.add(format!("{store}: fire lag p50 ms, none pending"), Goal::Told, none.p50_ms, None);
    table.add(format!("{store}: fire lag p99 ms, none pending"), Goal::AtMost(15.0), none.p99_ms, None);
    let (p50, p99) = ("fire lag p50 ms, many pending over none", "fire lag p99 ms, many pending over none");
    table.add(format!("{store}: {p50}"), Goal::Told, many.p50_ms, Some(none.p50_ms));
    table.add(format!("{store}: {p99}"), Goal::RatioAtMost(1.5), many.p99_ms, Some(none.p99_ms));
    Ok(())
}

/// Goal 17.
async fn many_over_few(
    sites: &Sites,
    loads: &Loads,
    options: &Options,
    round: usize,
    table: &mut Comparison,
) -> Outcome<()> {
    let (store, count) = (sites.kind.store(), options.compared);
    let few = measure::rates(&sites.few, loads, count, round).await?;
    let many = measure::rates(&sites.many, loads, count, round).await?;
    for ((what, few), (_, many)) in few.into_iter().zip(many) {
        let what = format!("{store}: {what} /s, many pending over {FEW}");
        table.add(what, Goal::RatioAtLeast(0.7), many, Some(few));
    }
    Ok(())
}

/// Goal 16. Both servers have had the same traffic; the difference is what the pending rows cost. All
/// of it is charged to the timers, and again to the messages, so that each costs at most so much.
#[expect(clippy::cast_precision_loss, reason = "a count of rows is far below 2^53")]
fn memory(sites: &Sites, options: &Options, table: &mut Comparison) -> Outcome<()> {
    const MEGABYTE: f64 = 1_048_576.0;
    let store = sites.kind.store();
    let (few, many) = (sites.few.server.resident_megabytes()?, sites.many.server.resident_megabytes()?);
    let bytes = (many - few) * MEGABYTE / options.pending.saturating_sub(FEW).max(1) as f64;
    table.add(format!("{store}: resident MB, many pending over {FEW}"), Goal::Told, many, Some(few));
    table.add(
        format!("{store}: resident bytes per far timer or delayed message, at most"),
        Goal::AtMost(100.0),
        bytes,
        None,
    );
    Ok(())
}
