//! Scenarios: steps against a server, with a scripted receiver of its deliveries.

mod run;
mod step;

use serde::Deserialize;

use crate::adapter::Face;
use crate::case::{ids_are_unique, json_files, read};
use crate::fault::Fault;

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
    /// Whether its calls and verifications go through every face, or through one.
    #[serde(default)]
    pub(crate) via: Via,
    pub(crate) steps: Vec<Step>,
}

/// Something that not every target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    /// A clock that can be moved. The scenario gets a server of its own, whose clock moves for it alone.
    Clock,
    /// A server that can be killed and started again on the same data; one of its own.
    Restart,
    /// A server of its own, because it changes what all share: keys, tokens, switches.
    Alone,
    /// Faults of the timers on purpose.
    Faults,
}

impl Need {
    /// For the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Clock => "a clock that can be moved",
            Self::Restart => "a server that can be killed",
            Self::Alone => "a server of its own",
            Self::Faults => "faults on purpose",
        }
    }
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
        !self.needs.is_empty()
    }
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
