//! `cargo xtask bench`: starts the benchmarks that stand under bench/, each a folder with a `run` script.

use std::path::PathBuf;

use crate::command::{Failure, Run};
use crate::workspace;

/// Runs the named benchmark with the rest of the arguments; without a name, lists them.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let known = names();
    let Some((name, rest)) = arguments.split_first() else {
        println!("benchmarks: {}", listed(&known));
        return Ok(());
    };
    if !known.contains(name) {
        return Err(Failure::new(format!("unknown benchmark {name:?}; there are: {}", listed(&known))));
    }
    Run::new(script(name)).args(rest).run()
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none in this tree".to_owned() } else { names.join(", ") }
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(workspace::at("bench"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| script(name).is_file())
        .collect();
    names.sort();
    names
}

fn script(name: &str) -> PathBuf {
    workspace::at("bench").join(name).join("run")
}
