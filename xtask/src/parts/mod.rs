//! What `cargo xtask test` consists of: cheap failures come first.

mod clippy;
mod conformance;
mod deny;
mod differential;
mod doc;
mod edge;
mod fmt;
mod fuzz;
mod generated;
mod node;
mod purity;
mod python;
mod readme;
mod rust;
mod wasm;

use crate::command::Failure;
use crate::context::Context;
use crate::workspace;

/// What became of a part that did not fail.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It ran, and everything it looked at is right.
    Passed,
    /// There is nothing to run; it says what is missing.
    NotThere(String),
}

/// One part of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Fmt,
    Generated,
    Purity,
    Deny,
    Clippy,
    Rust,
    Doc,
    Readme,
    Wasm,
    Python,
    Node,
    Edge,
    Differential,
    Fuzz,
    Conformance,
}

impl Part {
    /// All parts, in the order they run.
    pub(crate) const ALL: [Self; 15] = [
        Self::Fmt,
        Self::Generated,
        Self::Purity,
        Self::Deny,
        Self::Clippy,
        Self::Rust,
        Self::Doc,
        Self::Readme,
        Self::Wasm,
        Self::Python,
        Self::Node,
        Self::Edge,
        Self::Differential,
        Self::Fuzz,
        Self::Conformance,
    ];

    /// As written on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Generated => "generated",
            Self::Purity => "purity",
            Self::Deny => "deny",
            Self::Clippy => "clippy",
            Self::Rust => "rust",
            Self::Doc => "doc",
            Self::Readme => "readme",
            Self::Wasm => "wasm",
            Self::Python => "python",
            Self::Node => "node",
            Self::Edge => "edge",
            Self::Differential => "differential",
            Self::Fuzz => "fuzz",
            Self::Conformance => "conformance",
        }
    }

    /// One line for the usage.
    pub(crate) const fn purpose(self) -> &'static str {
        match self {
            Self::Fmt => "rustfmt",
            Self::Generated => "generated names are those of chronq::contract",
            Self::Purity => "the core has no runtime, client, clock or randomness",
            Self::Deny => "licences, sources and bans of dependencies",
            Self::Clippy => "lints, all targets",
            Self::Rust => "Rust tests, on SQLite and PostgreSQL",
            Self::Doc => "Rust documentation builds, its examples run",
            Self::Readme => "snippets are the files they name, links lead somewhere, the quickstart runs",
            Self::Wasm => "the edge package builds within its size budget",
            Self::Python => "ruff, mypy, stubtest, pytest",
            Self::Node => "eslint, tsc, node tests, the package as packed, in Next.js and SvelteKit",
            Self::Edge => "the edge package in Node, workerd, edge-light, Deno, Bun and Chromium",
            Self::Differential => {
                "public verifiers beside ours: the table of docs/security.md, and some 4,900 tokens"
            }
            Self::Fuzz => "the verifier's fuzzers from their kept corpus, for some seconds",
            Self::Conformance => "every SDK face and the server against one set of answers",
        }
    }

    /// The named parts in the order of [`Self::ALL`]; all of them where none is named.
    ///
    /// # Errors
    /// An unknown name, listing the known ones.
    pub(crate) fn choose(names: &[String]) -> Result<Vec<Self>, Failure> {
        if let Some(unknown) = names.iter().find(|name| !Self::ALL.iter().any(|part| part.name() == *name)) {
            let known = Self::ALL.map(Self::name).join(", ");
            return Err(Failure::new(format!("unknown part {unknown:?}; parts are: {known}")));
        }
        let chosen = |part: &Self| names.is_empty() || names.iter().any(|name| name == part.name());
        Ok(Self::ALL.into_iter().filter(chosen).collect())
    }

    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Result<Ran, Failure> {
        match self {
            Self::Fmt => fmt::run(),
            Self::Generated => generated::run(),
            Self::Purity => purity::run(),
            Self::Deny => deny::run(),
            Self::Clippy => clippy::run(),
            Self::Rust => rust::run(context),
            Self::Doc => doc::run(),
            Self::Readme => readme::run(context),
            Self::Wasm => wasm::run(context),
            Self::Python => python::run(context),
            Self::Node => node::run(context),
            Self::Edge => edge::run(context),
            Self::Differential => differential::run(context),
            Self::Fuzz => fuzz::run(),
            Self::Conformance => conformance::run(context),
        }
    }
}

/// The crates whose Rust tests run, with the features that their tests need. The bindings are tested
/// from their languages.
pub(crate) const TESTED: [&str; 12] = [
    "--package",
    "chronq",
    "--package",
    "chronq-server",
    "--package",
    "chronq-conformance",
    "--package",
    "chronq-examples",
    "--package",
    "xtask",
    "--features",
    "chronq/blocking,chronq/server",
];

/// A part whose folder has not got this file yet has nothing to run.
fn missing(path: &str) -> Option<Ran> {
    (!workspace::at(path).exists()).then(|| Ran::NotThere(format!("there is no {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_parts_run_in_the_fixed_order() {
        let chosen = Part::choose(&["python".to_owned(), "fmt".to_owned()]).expect("known parts");
        assert_eq!(chosen, [Part::Fmt, Part::Python]);
    }

    #[test]
    fn no_name_means_all_parts() {
        assert_eq!(Part::choose(&[]).expect("all"), Part::ALL);
    }

    #[test]
    fn an_unknown_part_is_refused_by_name() {
        let failure = Part::choose(&["pyhton".to_owned()]).expect_err("unknown").to_string();
        assert!(failure.starts_with("unknown part \"pyhton\"; parts are: fmt, generated"), "{failure}");
    }
}
