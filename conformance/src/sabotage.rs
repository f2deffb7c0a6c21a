//! The sabotage run: this build's own product, wrong in one named way after the other, must be caught by the
//! ids that stand beside each. A suite that passes a broken product proves nothing.

use chronq::sabotage::Fault as Sabotage;

use crate::adapter::{Adapters, SABOTAGE_VARIABLE};
use crate::case::Case;
use crate::cases;
use crate::exemption::Exemptions;
use crate::face::Face;
use crate::fault::Fault;
use crate::outcome::Verdict;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::target::{Program, Store, Supply};
use crate::{case, runtime, scenario};

/// What must catch it, whatever else does.
const fn caught_by(sabotage: Sabotage) -> &'static [&'static str] {
    match sabotage {
        Sabotage::AlgNoneAccepted => &["verify.alg.none", "verify.alg.none_unsigned"],
        Sabotage::BodyHashSkipped => &["verify.body_hash.other", "verify.body_hash.bit"],
        Sabotage::UrlNotCompared => &["verify.url.host", "verify.url.percent_encoding"],
        Sabotage::SecondKeyIgnored => &["verify.valid.next_key", "verify.key.own_failure"],
        Sabotage::DatesIgnored => &["verify.time.expired", "verify.key.own_failure"],
        Sabotage::DestinationRewritten => &["publish.rewritten.dot_segments", "delivery.raw_target"],
        Sabotage::AbsentSaysOk => &["timers.cancel.absent", "timers.life", "timers.sdk"],
        Sabotage::TooLateIsAnError => &["timers.cancel.too_late", "timers.too_late"],
        Sabotage::RetryAfterIgnored => &["exchange.retry_after", "http.delivery.retry_after"],
        Sabotage::UnknownOptionIgnored => &["http.option.refused"],
        Sabotage::DeduplicationForgotten => &["http.duplicate", "http.duplicate.window"],
        Sabotage::CancelGated => &["timers.paused"],
        Sabotage::AcknowledgedBeforeCommit => &["delivery.survives_kill"],
        Sabotage::CallbackUnsigned => &["http.callback", "http.callback.failure"],
        Sabotage::SubNormalised => &["delivery.raw_target"],
        Sabotage::LevelIgnored => &["http.operations.tokens", "timers.levels"],
    }
}

/// Takes the way to be wrong that this process was started with.
pub(crate) fn begin() -> Result<(), Fault> {
    if let Ok(word) = std::env::var(SABOTAGE_VARIABLE) {
        let fault = word.parse::<Sabotage>();
        chronq::sabotage::choose(fault.map_err(|error| Fault::new(format!("{SABOTAGE_VARIABLE}: {error}")))?);
    }
    Ok(())
}

/// Every fault must be caught by its ids; through the Rust face, on the embedded store. The same build must
/// pass them all as long as it is told nothing: else a failure would prove nothing.
pub(crate) fn run() -> Result<bool, Fault> {
    let suite = Suite::load()?;
    let (mut held, mut broken) = (0, 0);
    let mut count = |holds: bool, complaint: &dyn Fn() -> String| {
        if holds {
            held += 1;
        } else {
            broken += 1;
            println!("{}", complaint());
        }
    };
    let mut all: Vec<&str> = Sabotage::ALL.iter().flat_map(|fault| caught_by(*fault)).copied().collect();
    all.sort_unstable();
    all.dedup();
    for (id, verdict) in all.iter().zip(suite.verdicts(None, &all)?) {
        count(verdict == Some(true), &|| format!("NOT PASSED: {id}, with nothing wrong"));
    }
    for sabotage in Sabotage::ALL.iter().copied() {
        let ids = caught_by(sabotage);
        for (id, verdict) in ids.iter().zip(suite.verdicts(Some(sabotage), ids)?) {
            count(verdict == Some(false), &|| format!("NOT CAUGHT: {sabotage}, which {id} should notice"));
        }
        println!("{:<52} {}", sabotage.as_str(), ids.join(", "));
    }
    println!("\nsabotage: {held} passed, {broken} failed");
    Ok(broken == 0)
}

struct Suite {
    cases: Vec<Case>,
    scenarios: Vec<Scenario>,
    exemptions: Exemptions,
}

impl Suite {
    fn load() -> Result<Self, Fault> {
        let cases = case::load()?;
        let exemptions = Exemptions::load(cases.iter().map(|case| case.id.as_str()))?;
        Ok(Self { cases, scenarios: scenario::load()?, exemptions })
    }

    /// Whether each of the ids passes in a product that is wrong in this way; `None` where it was not run.
    fn verdicts(&self, sabotage: Option<Sabotage>, ids: &[&str]) -> Result<Vec<Option<bool>>, Fault> {
        let chosen = |id: &String| ids.contains(&id.as_str());
        let cases: Vec<_> = self.cases.iter().filter(|case| chosen(&case.id)).cloned().collect();
        let scenarios: Vec<_> = self.scenarios.iter().filter(|one| chosen(&one.id)).cloned().collect();
        let word = sabotage.map(Sabotage::as_str);
        let adapters = Adapters::new(&[Face::Rust], word);
        let supply = Supply::Bundled { program: Program::Sabotaged(word), store: Store::Sqlite };
        let outcomes = runtime::start()?.block_on(async {
            let silent = Progress::silent();
            let mut outcomes = cases::run(&cases, &adapters, &self.exemptions, &silent).await?;
            if !scenarios.is_empty() {
                outcomes.extend(scenario::run(&scenarios, &adapters, &supply, &silent).await?);
            }
            Ok::<_, Fault>(outcomes)
        })?;
        let passes = |id: &&str| match outcomes.iter().find(|outcome| outcome.id == *id)?.verdict {
            Verdict::Passed => Some(true),
            Verdict::Failed(_) => Some(false),
            Verdict::Exempt(_) | Verdict::NotRun(_) => None,
        };
        Ok(ids.iter().map(passes).collect())
    }
}
