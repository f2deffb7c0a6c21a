//! Scenarios: steps against a server, with a scripted receiver of its deliveries.

mod run;
mod step;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::{ids_are_unique, json_files, read};
use crate::face::Face;
use crate::fault::Fault;
use crate::outcome::{Outcome, Verdict};
use crate::target::Need;

pub(crate) use run::run;
use step::Step;

/// One scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Dotted and stable.
    pub(crate) id: String,
    /// Page and section of the contract.
    pub(crate) requirement: String,
    pub(crate) comment: String,
    /// What the target must have for it.
    #[serde(default)]
    pub(crate) needs: Vec<Need>,
    /// Environment variables for a server of its own.
    #[serde(default)]
    pub(crate) server: BTreeMap<String, String>,
    /// Whether its calls and verifications go through every face, or through one.
    #[serde(default)]
    pub(crate) via: Via,
    pub(crate) steps: Vec<Step>,
}

/// Which faces a scenario is run through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Via {
    /// One: it is about the server.
    #[default]
    One,
    /// Every face: it is about both ends together.
    All,
}

impl Scenario {
    /// Whether it runs through this face, the first of those chosen being `first`.
    pub(crate) fn goes_through(&self, face: Face, first: Face) -> bool {
        self.via == Via::All || face == first
    }

    /// Whether it gets a server of its own.
    pub(crate) fn is_alone(&self) -> bool {
        !self.server.is_empty() || self.needs.iter().any(|need| need.is_of_a_server_alone())
    }

    fn outcome(&self, face: Face, target: &str, verdict: Verdict) -> Outcome {
        Outcome {
            id: self.id.clone(),
            requirement: self.requirement.clone(),
            column: format!("{}@{target}", face.name()),
            verdict,
            seconds: 0.0,
        }
    }
}

/// How many outcomes a run of these has on one target.
pub(crate) fn count(scenarios: &[Scenario], faces: &[Face]) -> usize {
    let Some(first) = faces.first().copied() else { return 0 };
    let through =
        |scenario: &Scenario| faces.iter().filter(|face| scenario.goes_through(**face, first)).count();
    scenarios.iter().map(through).sum()
}

/// The outcomes of a face that is not here; what goes through one face only goes through another.
pub(crate) fn not_run(scenarios: &[Scenario], face: Face, target: &str, lack: &str) -> Vec<Outcome> {
    let both_ends = scenarios.iter().filter(|scenario| scenario.via == Via::All);
    both_ends.map(|scenario| scenario.outcome(face, target, Verdict::NotRun(lack.to_owned()))).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenarios: Vec<Scenario>,
}

/// Reads all scenarios.
pub(crate) fn load() -> Result<Vec<Scenario>, Fault> {
    let mut scenarios = Vec::new();
    for path in json_files("scenarios")? {
        let file: File = read(&path)?;
        scenarios.extend(file.scenarios);
    }
    ids_are_unique(scenarios.iter().map(|scenario| scenario.id.as_str()))?;
    Ok(scenarios)
}
