//! What became of one case or scenario in one column of the table.

use serde_json::Value;

/// A result.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) requirement: String,
    /// Name of the adapter, or of the store that a scenario ran on.
    pub(crate) column: String,
    pub(crate) verdict: Verdict,
    pub(crate) seconds: f64,
}

/// The verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    /// It failed, and the list says why it may.
    Exempt(String),
    /// What it needs is not there; never counted as passed.
    NotRun(String),
    Failed(Box<Failure>),
}

/// Everything that a stranger needs to understand a failure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) comment: String,
    pub(crate) input: Value,
    pub(crate) wanted: Value,
    pub(crate) got: Value,
    pub(crate) differences: Vec<String>,
}

impl Verdict {
    /// Turns a plain verdict into the one that an exemption makes of it.
    pub(crate) fn under(self, exemption: Option<&str>) -> Self {
        match (self, exemption) {
            (Self::Failed(_), Some(reason)) => Self::Exempt(reason.to_owned()),
            (Self::Passed, Some(reason)) => Self::Failed(Box::new(Failure {
                comment: format!("exempted (\"{reason}\"), yet it passes: remove the exemption"),
                input: Value::Null,
                wanted: Value::Null,
                got: Value::Null,
                differences: Vec::new(),
            })),
            (verdict, _) => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exempted_case_that_passes_fails() {
        assert!(matches!(Verdict::Passed.under(Some("no types")), Verdict::Failed(_)));
        assert_eq!(Verdict::Passed.under(None), Verdict::Passed);
    }
}
