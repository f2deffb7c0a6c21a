//! `chronq-conformance`: one set of answers for every SDK and any server.
//!
//! * [`case`] and [`cases`]: questions to SDK faces, asked through [`adapter`]s.
//! * [`scenario`]: steps against a server, with a [`scripted`] receiver.
//! * [`report`]: the table requirement × column.
//!
//! The words, the formats and the protocol are in README.md beside this crate.

mod adapter;
mod case;
mod cases;
mod exemption;
mod fault;
mod http_client;
mod matching;
mod outcome;
mod report;
mod rust_adapter;
mod sabotage;
mod scenario;
mod scripted;
mod server;
mod target;
mod template;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use adapter::Face;
use exemption::Exemptions;
use fault::Fault;
use outcome::{Outcome, Verdict};
use report::Report;
use sabotage::Sabotage;
use target::{Access, Store, Supply};

/// One set of answers for every SDK and any server.
#[derive(Parser)]
#[command(version)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run cases and scenarios, and print the table.
    Run(RunOptions),
    /// List every case and scenario with its requirement.
    List,
    /// Break the product on purpose, in named ways, and see that the suite catches each.
    Sabotage,
    /// Serve in dev mode on PostgreSQL, until stdin closes; for the runner.
    Server {
        /// The database.
        #[arg(long)]
        database_url: String,
    },
    /// Answer questions on stdin, one line each; for the runner.
    Adapter {
        /// The face to answer for.
        #[arg(value_parser = ["rust"])]
        face: String,
    },
}

#[derive(Args)]
struct RunOptions {
    /// Only what has this text in its id or requirement.
    #[arg(long)]
    only: Option<String>,
    /// Only these faces; all by default.
    #[arg(long = "via", value_enum)]
    faces: Vec<Face>,
    /// Judge the server at this URL; without it the bundled one is started.
    #[arg(long, requires_all = ["token", "signing_key"])]
    base_url: Option<String>,
    /// A read-write token of that server.
    #[arg(long)]
    token: Option<String>,
    /// The key that the server signs with.
    #[arg(long)]
    signing_key: Option<String>,
    /// The bundled server's stores; all that can be had by default.
    #[arg(long = "store", value_enum)]
    stores: Vec<StoreName>,
    /// Only the cases, no server.
    #[arg(long, conflicts_with = "scenarios_only")]
    cases_only: bool,
    /// Only the scenarios.
    #[arg(long)]
    scenarios_only: bool,
    /// Folder for conformance.md and junit.xml.
    #[arg(long)]
    report: Option<PathBuf>,
}

/// A store of the bundled server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StoreName {
    /// Embedded.
    Sqlite,
    /// The one at `CHRONQ_TEST_DATABASE_URL`.
    Postgres,
}

fn main() -> ExitCode {
    let outcome = match Command::parse().what {
        What::Run(options) => run(&options),
        What::List => list(),
        What::Sabotage => sabotage_all(),
        What::Server { database_url } => server::run(&database_url),
        What::Adapter { .. } => rust_adapter::serve()
            .map(|()| true)
            .map_err(|error| Fault::new(format!("the adapter's stdin or stdout: {error}"))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("chronq-conformance: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result<bool, Fault> {
    for case in case::load()? {
        println!("{}\t{}\t{}", case.id, case.requirement, case.comment);
    }
    for scenario in scenario::load()? {
        println!("{}\t{}\t{}", scenario.id, scenario.requirement, scenario.comment);
    }
    Ok(true)
}

fn run(options: &RunOptions) -> Result<bool, Fault> {
    let all = case::load()?;
    let exemptions = Exemptions::load(all.iter().map(|case| case.id.as_str()))?;
    let wanted = |id: &str, requirement: &str| {
        options.only.as_deref().is_none_or(|only| id.contains(only) || requirement.contains(only))
    };
    let cases: Vec<_> = all.into_iter().filter(|case| wanted(&case.id, &case.requirement)).collect();
    let faces: Vec<Face> = match options.faces.as_slice() {
        [] => Face::ALL.into_iter().filter(|face| face.is_there()).collect(),
        chosen => chosen.to_vec(),
    };
    let scenarios: Vec<_> = scenario::load()?
        .into_iter()
        .filter(|scenario| wanted(&scenario.id, &scenario.requirement))
        .collect();
    let supplies = supplies(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("no runtime: {error}")))?;
    let outcomes = runtime.block_on(async {
        let mut outcomes = Vec::new();
        if !options.scenarios_only {
            outcomes.extend(cases::run(&cases, &faces, &exemptions, None, &announce).await?);
        }
        if !options.cases_only && !scenarios.is_empty() {
            for supply in &supplies {
                outcomes.extend(scenario::run(&scenarios, &faces, supply, None, &announce).await?);
            }
        }
        Ok::<_, Fault>(outcomes)
    })?;
    let report = Report::new(outcomes);
    print!("{}", report.failures());
    println!("\n{}", report.table());
    print!("{}", report.reasons());
    if let Some(dir) = &options.report {
        report.write(dir)?;
    }
    println!("\n{}", report.closing_line());
    Ok(report.failed() == 0)
}

/// Every fault must be caught by its ids; through the Rust face, on the embedded store.
fn sabotage_all() -> Result<bool, Fault> {
    let all = case::load()?;
    let exemptions = Exemptions::load(all.iter().map(|case| case.id.as_str()))?;
    let supply = Supply::Bundled { program: server_program()?, store: Store::Sqlite };
    let scenarios = scenario::load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("no runtime: {error}")))?;
    let (mut caught, mut escaped) = (0, 0);
    for sabotage in Sabotage::ALL {
        let ids = sabotage.caught_by();
        let cases: Vec<_> = all.iter().filter(|case| ids.contains(&case.id.as_str())).cloned().collect();
        let steps: Vec<_> =
            scenarios.iter().filter(|scenario| ids.contains(&scenario.id.as_str())).cloned().collect();
        let outcomes = runtime.block_on(async {
            let silent = |_: &Outcome| {};
            let mut outcomes =
                cases::run(&cases, &[Face::Rust], &exemptions, Some(sabotage), &silent).await?;
            if !steps.is_empty() {
                outcomes
                    .extend(scenario::run(&steps, &[Face::Rust], &supply, Some(sabotage), &silent).await?);
            }
            Ok::<_, Fault>(outcomes)
        })?;
        let failed = |id: &str| {
            outcomes.iter().any(|outcome| outcome.id == id && matches!(outcome.verdict, Verdict::Failed(_)))
        };
        for id in ids {
            if failed(id) {
                caught += 1;
            } else {
                escaped += 1;
                println!("NOT CAUGHT: {}, which {id} should notice", sabotage.name());
            }
        }
        println!("{:<34} {}", sabotage.name(), ids.join(", "));
    }
    println!("\nsabotage: {caught} passed, {escaped} failed");
    Ok(escaped == 0)
}

/// The targets to judge: the one that was named, else the bundled server on each store.
fn supplies(options: &RunOptions) -> Result<Vec<Supply>, Fault> {
    if let (Some(url), Some(token), Some(signing_key)) =
        (&options.base_url, &options.token, &options.signing_key)
    {
        let access = Access { url: url.clone(), token: token.clone(), signing_key: signing_key.clone() };
        return Ok(vec![Supply::Given(access)]);
    }
    let postgres = std::env::var("CHRONQ_TEST_DATABASE_URL").ok().filter(|url| !url.is_empty());
    let chosen = |name: StoreName| options.stores.is_empty() || options.stores.contains(&name);
    let mut stores = Vec::new();
    if chosen(StoreName::Sqlite) {
        stores.push(Store::Sqlite);
    }
    match postgres {
        Some(url) if chosen(StoreName::Postgres) => stores.push(Store::Postgres(url)),
        None if options.stores.contains(&StoreName::Postgres) => {
            return Err(Fault::new("--store postgres needs CHRONQ_TEST_DATABASE_URL"));
        }
        Some(_) | None => {}
    }
    let program = server_program()?;
    Ok(stores.into_iter().map(|store| Supply::Bundled { program: program.clone(), store }).collect())
}

/// The program `chronq`: `CHRONQ_SERVER_BIN`, else the one that was built beside us.
fn server_program() -> Result<PathBuf, Fault> {
    if let Some(path) = std::env::var_os("CHRONQ_SERVER_BIN") {
        return Ok(path.into());
    }
    let own = std::env::current_exe().map_err(|error| Fault::new(format!("our own path: {error}")))?;
    Ok(own.with_file_name("chronq"))
}

/// The progress line: failures as they come; everything else is in the table.
fn announce(outcome: &Outcome) {
    if let Verdict::Failed(_) = outcome.verdict {
        eprintln!("failed: {} [{}]", outcome.id, outcome.column);
    }
}
