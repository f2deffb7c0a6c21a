//! Runs the cases through the adapters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::adapter::{Adapter, Face, Reply};
use crate::case::{Case, Op};
use crate::exemption::Exemptions;
use crate::fault::Fault;
use crate::matching::differences;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::sabotage::Sabotage;
use crate::scripted::{After, Answer, ScriptedServer};
use crate::template::Variables;

/// The token of every client under test; obviously none.
pub(crate) const TOKEN: &str = "chronq_test_token_that_opens_nothing";

/// Runs every case through every face that can be asked it; the faces at the same time, each face
/// one case after the other.
pub(crate) async fn run(
    cases: &[Case],
    faces: &[Face],
    exemptions: &Exemptions,
    sabotage: Option<Sabotage>,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Result<Vec<Outcome>, Fault> {
    let server = ScriptedServer::start().await?;
    let mut running = Vec::new();
    for face in faces {
        running.push(run_face(cases, *face, &server, exemptions, sabotage, progress));
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
    server: &ScriptedServer,
    exemptions: &Exemptions,
    sabotage: Option<Sabotage>,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Result<Vec<Outcome>, Fault> {
    let mut adapter = Adapter::new(face, sabotage);
    let mut outcomes = Vec::new();
    for case in cases.iter().filter(|case| face.answers(case.op)) {
        let start = Instant::now();
        let verdict = run_case(case, &mut adapter, server).await?;
        let outcome = Outcome {
            id: case.id.clone(),
            requirement: case.requirement.clone(),
            column: face.name().to_owned(),
            verdict: verdict.under(exemptions.reason(&case.id, face.name())),
            seconds: start.elapsed().as_secs_f64(),
        };
        progress(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
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

/// Drives all futures to their end at the same time.
pub(crate) async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pinned: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        let mut pending = false;
        for (future, output) in &mut pinned {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(ready) => *output = Some(ready),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(pinned.iter_mut().filter_map(|(_, output)| output.take()).collect())
    })
    .await
}
