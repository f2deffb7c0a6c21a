//! Exemptions: a case that an adapter need not pass, with the reason. One that passes anyway fails,
//! so that the list cannot outlive its reasons.

use serde::Deserialize;

use crate::case::{read, root};
use crate::face::Face;
use crate::fault::Fault;

/// One line of exemptions.json.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exemption {
    /// Ids of cases.
    cases: Vec<String>,
    /// Names of adapters.
    adapters: Vec<String>,
    reason: String,
}

/// All exemptions.
#[derive(Clone, Debug)]
pub(crate) struct Exemptions(Vec<Exemption>);

impl Exemptions {
    /// Reads the list; every case and adapter it names must exist.
    pub(crate) fn load<'a>(ids: impl Iterator<Item = &'a str>) -> Result<Self, Fault> {
        let list: Vec<Exemption> = read(&root().join("exemptions.json"))?;
        let ids: std::collections::BTreeSet<&str> = ids.collect();
        for exemption in &list {
            if let Some(unknown) = exemption.cases.iter().find(|id| !ids.contains(id.as_str())) {
                return Err(Fault::new(format!("exemptions.json names the case {unknown}, which is none")));
            }
            let known = |name: &String| Face::ALL.iter().any(|face| face.name() == name);
            if let Some(unknown) = exemption.adapters.iter().find(|name| !known(name)) {
                return Err(Fault::new(format!(
                    "exemptions.json names the adapter {unknown}, which is none"
                )));
            }
            if exemption.reason.trim().is_empty() {
                return Err(Fault::new("an exemption has no reason"));
            }
        }
        Ok(Self(list))
    }

    /// Why this adapter need not pass this case.
    pub(crate) fn reason(&self, case: &str, adapter: &str) -> Option<&str> {
        let fits = |exemption: &&Exemption| {
            exemption.cases.iter().any(|id| id == case)
                && exemption.adapters.iter().any(|name| name == adapter)
        };
        self.0.iter().find(fits).map(|exemption| exemption.reason.as_str())
    }
}
