//! The names that Python and TypeScript take from `chronq::contract`: written by
//! `cargo xtask generate`, held to it by the part `generated`.

mod names;
mod python;
mod typescript;

use std::path::PathBuf;

use crate::command::{During, Failure};
use crate::workspace;

/// Every generated file: where it stands, and what it must hold.
fn files() -> [(&'static str, String); 2] {
    [
        ("sdk-py/python/chronq/_contract.py", python::text()),
        ("sdk-node/ts/shared/contract.ts", typescript::text()),
    ]
}

/// Writes the files that differ.
pub(crate) fn write() -> Result<(), Failure> {
    for (path, text) in files() {
        let file = workspace::at(path);
        if is_current(&file, &text) {
            continue;
        }
        let dir = file.parent().map(PathBuf::from).unwrap_or_default();
        std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&file, text)).during(path)?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Paths of the files that are not as they would be written.
pub(crate) fn stale() -> Vec<&'static str> {
    let differing = files().into_iter().filter(|(path, text)| !is_current(&workspace::at(path), text));
    differing.map(|(path, _)| path).collect()
}

fn is_current(file: &PathBuf, text: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|present| present == text)
}
