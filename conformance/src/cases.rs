//! Runs the cases through the adapters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::adapter::{Adapter, Adapters, Reply};
use crate::case::{Case, Op};
use crate::exemption::Exemptions;
use crate::face::Face;
use crate::fault::Fault;
use crate::matching::differences;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress::Progress;
use crate::runtime::join_all;
use crate::scripted::{After, Answer, ScriptedServer};
use crate::template::Variables;

/// The token of every client under test; obviously none.
pub(crate) const TOKEN: &str = "chronq_test_token_that_opens_nothing";

/// Runs every case through every face that can be asked it; the faces at the same time, each face
/// one case after the other.
pub(crate) async fn run(
    cases: &[Case],
    adapters: &Adapters,
    exemptions: &Exemptions,
    progress: &Progress,
) -> Result<Vec<Outcome>, Fault> {
    let server = ScriptedServer::start().await?;
    let mut running = Vec::new();
    for face in adapters.faces() {
        running.push(run_face(cases, face, adapters, &server, exemptions, progress));
    }
    let mut outcomes = Vec::new();
    for finished in join_all(running).await {
        outcomes.extend(finished?);
    }
    Ok(outcomes)
}

async fn run_face(
    cases: &[Case],
    face: Face,
    adapters: &Adapters,
    server: &ScriptedServer,
    exemptions: &Exemptions,
    progress: &Progress,
) -> Result<Vec<Outcome>, Fault> {
    let mut adapter = adapters.of(face).await?;
    let mut outcomes = Vec::new();
    for case in asked(cases, face) {
        let start = Instant::now();
        let verdict = run_case(case, &mut adapter, server).await?;
        let verdict = verdict.under(exemptions.reason(&case.id, face.name()));
        let outcome = Outcome { seconds: start.elapsed().as_secs_f64(), ..outcome(case, face, verdict) };
        progress.step(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// How many outcomes a run of these has.
pub(crate) fn count(cases: &[Case], faces: &[Face]) -> usize {
    faces.iter().map(|face| asked(cases, *face).count()).sum()
}

/// The outcomes of a face that is not here.
pub(crate) fn not_run(cases: &[Case], face: Face, lack: &str) -> Vec<Outcome> {
    asked(cases, face).map(|case| outcome(case, face, Verdict::NotRun(lack.to_owned()))).collect()
}

fn asked(cases: &[Case], face: Face) -> impl Iterator<Item = &Case> {
    cases.iter().filter(move |case| face.answers(case.op))
}

fn outcome(case: &Case, face: Face, verdict: Verdict) -> Outcome {
    Outcome {
        id: case.id.clone(),
        requirement: case.requirement.clone(),
        column: face.name().to_owned(),
        verdict,
        seconds: 0.0,
    }
}

async fn run_case(case: &Case, adapter: &mut Adapter, server: &ScriptedServer) -> Result<Verdict, Fault> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("c{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut variables = Variables::default();
    variables.set("server", server.base(&name));
    let mut input = variables.fill(&case.input)?;
    let book = if case.op == Op::Call {
        let script = take_answers(&case.id, &mut input)?;
        complete_call(&mut input, &server.base(&name));
        Some(server.open(&name, script, After::Refuse))
    } else {
        None
    };
    let reply = adapter.ask(case.op, &input).await;
    let mut wanted = json!({});
    if let Some(ok) = &case.expect.ok {
        wanted["ok"] = variables.fill(ok)?;
    }
    if let Some(error) = &case.expect.error {
        wanted["error"] = variables.fill(error)?;
    }
    let mut got = reply.to_json();
    if let Some(book) = &book {
        got["requests"] = Value::Array(book.requests());
        // A call that is refused before the network makes no request, unless the case says otherwise.
        let none = json!([]);
        let requests = case.expect.requests.as_ref().or(case.expect.error.as_ref().map(|_| &none));
        if let Some(requests) = requests {
            wanted["requests"] = variables.fill(requests)?;
        }
    }
    let mut differences = differences(&wanted, &got);
    if let Reply::Broken(reason) | Reply::Unsupported(reason) = &reply {
        differences = vec![reason.clone()];
    }
    if differences.is_empty() {
        return Ok(Verdict::Passed);
    }
    let comment = case.comment.clone();
    Ok(Verdict::Failed(Box::new(Failure { comment, input, wanted, got, differences })))
}

/// The script is for the server; the adapter does not see it.
fn take_answers(id: &str, input: &mut Value) -> Result<Vec<Answer>, Fault> {
    let answers = input.as_object_mut().and_then(|members| members.remove("answers"));
    serde_json::from_value(answers.unwrap_or_else(|| json!([])))
        .map_err(|error| Fault::new(format!("{id}: answers: {error}")))
}

/// Fills in what most calls share.
fn complete_call(input: &mut Value, base: &str) {
    let defaults = [("url", json!(base)), ("token", json!(TOKEN)), ("options", json!({}))];
    for (name, value) in defaults {
        if input.get(name).is_none() {
            input[name] = value;
        }
    }
}
