//! Cases: what is asked of an adapter, and what it must answer.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::fault::Fault;

/// What an adapter can be asked. Closed: an adapter answers `unsupported` to what its face cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    /// Verify a delivery with the face's `Receiver`.
    Verify,
    /// Make a call with the face's client, against a scripted server.
    Call,
    /// Drive a call in virtual time: answers, instants and jitter are given.
    Exchange,
    /// Read a duration.
    Duration,
    /// Read a destination.
    Destination,
}

impl Op {
    /// As it stands in cases and in the protocol.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Call => "call",
            Self::Exchange => "exchange",
            Self::Duration => "duration",
            Self::Destination => "destination",
        }
    }

    /// Whether every SDK face can be asked; the others are questions to the core alone.
    pub(crate) const fn is_public(self) -> bool {
        match self {
            Self::Verify | Self::Call => true,
            Self::Exchange | Self::Duration | Self::Destination => false,
        }
    }
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Dotted and stable.
    pub(crate) id: String,
    /// Page and section of the contract.
    pub(crate) requirement: String,
    pub(crate) comment: String,
    pub(crate) op: Op,
    pub(crate) input: Value,
    pub(crate) expect: Expect,
}

/// What must come of a case: a value or an error, and the requests made on the way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// `null` is a value too: some calls have nothing to say.
    #[serde(default, deserialize_with = "given")]
    pub(crate) ok: Option<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) requests: Option<Value>,
}

/// A member that stands there, whatever its value.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    requirement: String,
    op: Op,
    cases: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    requirement: Option<String>,
    comment: String,
    input: Value,
    expect: Expect,
}

/// The folder of the suite's data.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads all cases.
pub(crate) fn load() -> Result<Vec<Case>, Fault> {
    let mut cases = Vec::new();
    for path in json_files("cases")? {
        let file: File = read(&path)?;
        for entry in file.cases {
            if entry.expect.ok.is_some() == entry.expect.error.is_some() {
                return Err(Fault::new(format!("{}: expect exactly one of ok and error", entry.id)));
            }
            cases.push(Case {
                requirement: entry.requirement.unwrap_or_else(|| file.requirement.clone()),
                id: entry.id,
                comment: entry.comment,
                op: file.op,
                input: entry.input,
                expect: entry.expect,
            });
        }
    }
    ids_are_unique(cases.iter().map(|case| case.id.as_str()))?;
    Ok(cases)
}

/// Refuses an id that stands twice.
pub(crate) fn ids_are_unique<'a>(ids: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = std::collections::BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(Fault::new(format!("the id {id} stands twice")));
        }
    }
    Ok(())
}

/// The JSON files of a folder of the suite, sorted.
pub(crate) fn json_files(folder: &str) -> Result<Vec<PathBuf>, Fault> {
    let dir = root().join(folder);
    let entries = std::fs::read_dir(&dir).map_err(|error| Fault::at(&dir, &error))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// Reads a JSON file.
pub(crate) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Fault> {
    let text = std::fs::read_to_string(path).map_err(|error| Fault::at(path, &error))?;
    serde_json::from_str(&text).map_err(|error| Fault::at(path, &error))
}
