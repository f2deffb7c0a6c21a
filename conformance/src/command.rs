//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::adapter::Adapters;
use crate::cases;
use crate::exemption::Exemptions;
use crate::face::Face;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::report::Report;
use crate::target::{Access, Program, Store, Supply};
use crate::{case, runtime, rust_adapter, scenario, server};

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
    #[cfg(feature = "sabotage")]
    Sabotage,
    /// Serve in dev mode on any database, until stdin closes; for the runner.
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
    /// Only these faces; all that are built here by default.
    #[arg(long = "via", value_enum)]
    faces: Vec<Face>,
    /// Judge the server at this URL; without it the bundled one is started.
    #[arg(long, requires_all = ["token", "signing_key"])]
    base_url: Option<String>,
    /// A read-write token of that server.
    #[arg(long)]
    token: Option<String>,
    /// The token has admin level: what needs one is run too.
    #[arg(long)]
    admin: bool,
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

/// Does what the command line says.
pub fn main() -> ExitCode {
    #[cfg(feature = "sabotage")]
    if let Err(fault) = crate::sabotage::begin() {
        eprintln!("chronq-sabotaged: {fault}");
        return ExitCode::from(2);
    }
    let outcome = match Command::parse().what {
        What::Run(options) => run(&options),
        What::List => list(),
        #[cfg(feature = "sabotage")]
        What::Sabotage => crate::sabotage::run(),
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
    let mut cases: Vec<_> = all.into_iter().filter(|case| wanted(&case.id, &case.requirement)).collect();
    let mut scenarios: Vec<_> = scenario::load()?
        .into_iter()
        .filter(|scenario| wanted(&scenario.id, &scenario.requirement))
        .collect();
    if options.scenarios_only {
        cases.clear();
    }
    if options.cases_only {
        scenarios.clear();
    }
    let faces = Faces::choose(&options.faces)?;
    let adapters = Adapters::new(&faces.here, None);
    let supplies = supplies(options)?;
    let total = cases::count(&cases, &faces.here) + scenario::count(&scenarios, &faces.here) * supplies.len();
    let progress = Progress::of(total);
    let mut outcomes = runtime::start()?.block_on(async {
        let mut outcomes = cases::run(&cases, &adapters, &exemptions, &progress).await?;
        for supply in &supplies {
            outcomes.extend(scenario::run(&scenarios, &adapters, supply, &progress).await?);
        }
        Ok::<_, Fault>(outcomes)
    })?;
    progress.end();
    for (face, lack) in &faces.missing {
        outcomes.extend(cases::not_run(&cases, *face, lack));
        for supply in &supplies {
            outcomes.extend(scenario::not_run(&scenarios, *face, &supply.name(), lack));
        }
    }
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

/// The faces to go through, and those that are not here.
#[derive(Default)]
struct Faces {
    here: Vec<Face>,
    /// Each with what it lacks.
    missing: Vec<(Face, String)>,
}

impl Faces {
    /// One that was asked for by name must be here.
    fn choose(chosen: &[Face]) -> Result<Self, Fault> {
        let wanted = if chosen.is_empty() { Face::ALL.as_slice() } else { chosen };
        let mut faces = Self::default();
        for face in wanted.iter().copied() {
            match face.lacks() {
                None => faces.here.push(face),
                Some(lack) if chosen.is_empty() => faces.missing.push((face, lack)),
                Some(lack) => return Err(Fault::new(format!("--via {}: {lack}", face.name()))),
            }
        }
        Ok(faces)
    }
}

/// The targets to judge: the one that was named, else the bundled server on each store.
fn supplies(options: &RunOptions) -> Result<Vec<Supply>, Fault> {
    if let (Some(url), Some(token), Some(signing_key)) =
        (&options.base_url, &options.token, &options.signing_key)
    {
        let access = Access { url: url.clone(), token: token.clone(), signing_key: signing_key.clone() };
        return Ok(vec![Supply::Given { access, admin: options.admin }]);
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
    let program = Program::Chronq(server_program()?);
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
