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
mod matching;
mod outcome;
mod report;
mod rust_adapter;
mod scripted;
mod template;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use adapter::Face;
use exemption::Exemptions;
use fault::Fault;
use outcome::{Outcome, Verdict};
use report::Report;

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
    /// Folder for conformance.md and junit.xml.
    #[arg(long)]
    report: Option<PathBuf>,
}

fn main() -> ExitCode {
    let outcome = match Command::parse().what {
        What::Run(options) => run(&options),
        What::List => list(),
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
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("no runtime: {error}")))?;
    let outcomes = runtime.block_on(cases::run(&cases, &faces, &exemptions, &announce))?;
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

/// The progress line: failures as they come; everything else is in the table.
fn announce(outcome: &Outcome) {
    if let Verdict::Failed(_) = outcome.verdict {
        eprintln!("failed: {} [{}]", outcome.id, outcome.column);
    }
}
