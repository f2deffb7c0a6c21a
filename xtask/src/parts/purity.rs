//! The core is pure: by its dependencies, and by what its own sources reach for.

use super::Ran;
use crate::command::{During, Failure, Run};
use crate::workspace;

/// Crates that would bring a runtime, a client, a clock or randomness into the core.
const IMPURE: [&str; 23] = [
    "async-std",
    "chrono",
    "fastrand",
    "futures-timer",
    "getrandom",
    "hyper",
    "hyper-util",
    "instant",
    "isahc",
    "jiff",
    "js-sys",
    "mio",
    "rand",
    "rand_core",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "time",
    "tokio",
    "ureq",
    "wasm-bindgen",
    "web-time",
];

/// What the core's own sources must not reach for; the drivers below client/ may.
const REACHES: [&str; 6] =
    ["SystemTime::now", "Instant::now", "std::thread", "std::fs", "TcpStream", "UdpSocket"];

pub(super) fn run() -> Result<Ran, Failure> {
    let tree = Run::new(workspace::cargo())
        .args(["tree", "--locked", "--package", "chronq", "--edges", "normal", "--no-default-features"])
        .args(["--prefix", "none", "--format", "{p}"])
        .output()?;
    let mut faults: Vec<String> =
        impure_crates(&tree).map(|name| format!("chronq depends on {name}")).collect();
    let core = workspace::at("sdk-core/src");
    let mut sources = Vec::new();
    for file in workspace::files(&core, &[".rs"]) {
        let source = std::fs::read_to_string(&file).during(file.display())?;
        sources.push((file, source));
    }
    let tests: Vec<String> = sources.iter().flat_map(|(_, source)| test_modules(source)).collect();
    for (file, source) in &sources {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        if file.starts_with(core.join("client")) || tests.contains(&stem.into_owned()) {
            continue;
        }
        let shown = file.strip_prefix(workspace::root()).unwrap_or(file).display();
        faults.extend(reaches(source).map(|reach| format!("{shown} uses {reach}")));
    }
    if faults.is_empty() {
        return Ok(Ran::Passed);
    }
    Err(Failure::new(format!("the core is not pure: {}", faults.join("; "))))
}

fn impure_crates(tree: &str) -> impl Iterator<Item = &'static str> {
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let found: Vec<&'static str> = IMPURE.into_iter().filter(|impure| names.contains(impure)).collect();
    found.into_iter()
}

/// Names of the modules that are compiled for tests alone and stand in files of their own.
fn test_modules(source: &str) -> Vec<String> {
    let after = source.split("#[cfg(test)]").skip(1);
    let declared = after.filter_map(|rest| rest.trim_start().strip_prefix("mod ")?.split_once(';'));
    declared.map(|(name, _)| name.to_owned()).filter(|name| !name.contains('{')).collect()
}

/// What stands before the tests of a file decides.
fn reaches(source: &str) -> impl Iterator<Item = &'static str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let found: Vec<&'static str> = REACHES.into_iter().filter(|reach| code.contains(reach)).collect();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impure_dependency_is_named() {
        let tree = "chronq v0.1.0 (/x)\nbytes v1.0.0\ngetrandom v0.4.1\n";
        assert_eq!(impure_crates(tree).collect::<Vec<_>>(), ["getrandom"]);
    }

    #[test]
    fn a_test_module_in_its_own_file_is_known() {
        let source = "mod a;\n#[cfg(test)]\nmod vectors;\n#[cfg(test)]\nmod tests { mod b; }";
        assert_eq!(test_modules(source), ["vectors"]);
    }

    #[test]
    fn a_look_at_the_clock_is_named_outside_tests_only() {
        assert_eq!(reaches("let now = Instant::now();").collect::<Vec<_>>(), ["Instant::now"]);
        assert_eq!(reaches("fn f() {}\n#[cfg(test)]\nmod tests { use std::thread; }").count(), 0);
    }
}
