//! Runs scenarios against a target.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::Scenario;
use super::step::Step;
use crate::adapter::{Adapter, Face, Reply};
use crate::case::Op;
use crate::cases::join_all;
use crate::fault::Fault;
use crate::http_client::{self, Outgoing};
use crate::matching::differences;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::sabotage::Sabotage;
use crate::scripted::{After, Answer, Book, ScriptedServer};
use crate::target::{Supply, Target};
use crate::template::Variables;

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a server is asked again; it has no other way to tell us.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Scenarios at the same time: enough to hide their waits, few enough for two cores.
const AT_ONCE: usize = 12;

/// Runs all scenarios on one supply of targets.
pub(crate) async fn run(
    scenarios: &[Scenario],
    faces: &[Face],
    supply: &Supply,
    sabotage: Option<Sabotage>,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Result<Vec<Outcome>, Fault> {
    let Some(first) = faces.first().copied() else { return Ok(Vec::new()) };
    let receivers = ScriptedServer::start().await?;
    let shared = supply.start("shared").await?;
    let turns = Semaphore::new(AT_ONCE);
    let mut running = Vec::new();
    for scenario in scenarios {
        for face in faces.iter().copied().filter(|face| scenario.goes_through(*face, first)) {
            let (receivers, shared, turns) = (&receivers, &shared, &turns);
            running.push(async move {
                let turn = turns.acquire().await;
                let start = Instant::now();
                let verdict = match supply.lacks(&scenario.needs) {
                    Some(lack) => Verdict::NotRun(format!("needs {lack}")),
                    None => run_one(scenario, face, supply, shared, receivers, sabotage).await,
                };
                drop(turn);
                let outcome = Outcome {
                    id: scenario.id.clone(),
                    requirement: scenario.requirement.clone(),
                    column: format!("{}@{}", face.name(), supply.name()),
                    verdict,
                    seconds: start.elapsed().as_secs_f64(),
                };
                progress(&outcome);
                outcome
            });
        }
    }
    Ok(join_all(running).await)
}

async fn run_one(
    scenario: &Scenario,
    face: Face,
    supply: &Supply,
    shared: &Target,
    receivers: &ScriptedServer,
    sabotage: Option<Sabotage>,
) -> Verdict {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let unique = format!("s{}p{}", NUMBER.fetch_add(1, Ordering::Relaxed), std::process::id());
    let own = if scenario.is_alone() { Some(supply.start(&unique).await) } else { None };
    let own = match own {
        Some(Err(fault)) => return broken(scenario, &fault),
        Some(Ok(target)) => Some(target),
        None => None,
    };
    let mut stage = Stage {
        unique,
        adapter: Adapter::new(face, sabotage),
        receivers,
        shared,
        sabotage,
        own,
        books: Vec::new(),
        variables: Variables::default(),
    };
    stage.learn_target();
    for (index, step) in scenario.steps.iter().enumerate() {
        if let Err(miss) = Box::pin(stage.step(step)).await {
            return failed(scenario, index, step, miss);
        }
    }
    Verdict::Passed
}

fn broken(scenario: &Scenario, fault: &Fault) -> Verdict {
    let miss = Miss {
        input: Value::Null,
        wanted: Value::Null,
        got: Value::Null,
        differences: vec![fault.to_string()],
    };
    into_failure(scenario.comment.clone(), miss)
}

fn failed(scenario: &Scenario, index: usize, step: &Step, miss: Miss) -> Verdict {
    into_failure(format!("{} (step {}: {})", scenario.comment, index + 1, step.name()), miss)
}

fn into_failure(comment: String, miss: Miss) -> Verdict {
    let Miss { input, wanted, got, differences } = miss;
    Verdict::Failed(Box::new(Failure { comment, input, wanted, got, differences }))
}

/// A step that did not go as it must.
struct Miss {
    input: Value,
    wanted: Value,
    got: Value,
    differences: Vec<String>,
}

impl From<Fault> for Miss {
    fn from(fault: Fault) -> Self {
        Self {
            input: Value::Null,
            wanted: Value::Null,
            got: Value::Null,
            differences: vec![fault.to_string()],
        }
    }
}

/// What a scenario has at hand while it runs.
struct Stage<'a> {
    unique: String,
    adapter: Adapter,
    receivers: &'a ScriptedServer,
    shared: &'a Target,
    sabotage: Option<Sabotage>,
    own: Option<Target>,
    books: Vec<(String, std::sync::Arc<Book>, usize)>,
    variables: Variables,
}

impl Stage<'_> {
    fn target(&self) -> &Target {
        self.own.as_ref().unwrap_or(self.shared)
    }

    fn learn_target(&mut self) {
        let access = self.target().access().clone();
        self.variables.set("url", access.url);
        self.variables.set("token", access.token);
        self.variables.set("signing_key", access.signing_key);
        self.variables.set("unique", self.unique.clone());
        let bases: Map<String, Value> =
            self.books.iter().map(|(name, _, _)| (name.clone(), self.base(name).into())).collect();
        self.variables.set("receiver", bases);
    }

    fn base(&self, name: &str) -> String {
        self.receivers.base(&format!("{}-{name}", self.unique))
    }

    async fn step(&mut self, step: &Step) -> Result<(), Miss> {
        match step {
            Step::Receiver { name, respond } => self.receiver(name, respond),
            Step::Call { call, options, expect, token, keep } => {
                let options = self.variables.fill(&Value::Object(options.clone()))?;
                let expect = self.variables.fill(expect)?;
                let token = self.variables.fill(token.as_ref().unwrap_or(&json!("{{token}}")))?;
                let url = self.target().access().url.clone();
                let input = json!({"url": url, "token": token, "call": call, "options": options});
                let reply = self.adapter.ask(Op::Call, &input).await;
                if let (Some(keep), Reply::Ok(value) | Reply::Error(value)) = (keep, &reply) {
                    self.variables.set(keep, value.clone());
                }
                compare(input, expect, reply.to_json())
            }
            Step::Http { expect, until, keep, .. } => {
                let expect = self.variables.fill(expect)?;
                self.http(step, &expect, *until, keep.as_deref()).await
            }
            Step::Deliveries { to, expect, signed_for, keep, within_ms } => {
                let patience = within_ms.map_or(PATIENCE, Duration::from_millis);
                self.deliveries(to, expect, signed_for.as_ref(), keep.as_deref(), patience).await
            }
            Step::Silence { to, for_ms } => self.silence(to, Duration::from_millis(*for_ms)).await,
            Step::Advance { ms } => {
                let outgoing = Outgoing {
                    method: "POST".to_owned(),
                    target: "/dev/clock/advance".to_owned(),
                    headers: headers_to_send(&Map::new(), &self.variables.fill(&json!("{{token}}"))?, true),
                    body: json!({"ms": ms}).to_string().into(),
                };
                let got = http_client::send(&self.target().access().url, outgoing).await?;
                compare(json!({"ms": ms}), json!({"status": 200}), got)
            }
            Step::Restart => {
                let Some(own) = &mut self.own else {
                    return Err(Fault::new("a scenario that restarts says so in its needs").into());
                };
                own.restart().await?;
                self.learn_target();
                Ok(())
            }
            Step::Distinct { values } => {
                let values = self.variables.fill(&Value::Array(values.clone()))?;
                let texts: Vec<String> =
                    values.as_array().into_iter().flatten().map(Value::to_string).collect();
                let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
                compare(values.clone(), json!(texts.len()), json!(distinct.len()))
            }
            Step::Check { value, expect } => {
                let got = self.variables.fill(value)?;
                compare(value.clone(), self.variables.fill(expect)?, got)
            }
            Step::ForEach { values, steps } => {
                for value in values {
                    let value = self.variables.fill(value)?;
                    self.variables.set("each", value);
                    for step in steps {
                        Box::pin(self.step(step)).await?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Opens a receiver before its script is filled in: an answer may point to itself.
    fn receiver(&mut self, name: &str, respond: &[Value]) -> Result<(), Miss> {
        if !self.books.iter().any(|(known, _, _)| known == name) {
            let book = self.receivers.open(&format!("{}-{name}", self.unique), Vec::new(), After::Repeat);
            self.books.push((name.to_owned(), book, 0));
            self.learn_target();
        }
        let mut script = self.variables.fill(&Value::Array(respond.to_vec()))?;
        if let Some(sabotage) = self.sabotage {
            sabotage.script(&mut script);
        }
        let script: Vec<Answer> = serde_json::from_value(script)
            .map_err(|error| Fault::new(format!("the script of {name}: {error}")))?;
        if let Some((_, book, _)) = self.books.iter().find(|(known, _, _)| known == name) {
            book.rescript(script);
        }
        Ok(())
    }

    async fn http(
        &mut self,
        step: &Step,
        expect: &Value,
        until: bool,
        keep: Option<&str>,
    ) -> Result<(), Miss> {
        let Step::Http { method, path, headers, body, base64, json, token, .. } = step else { return Ok(()) };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let path = text(&self.variables.fill(&Value::String(path.clone()))?);
        let headers = self.variables.fill(&Value::Object(headers.clone()))?;
        let token = self.variables.fill(token)?;
        let sent: Bytes = match (body, base64, json) {
            (Some(body), _, _) => text(&self.variables.fill(body)?).into(),
            (_, Some(encoded), _) => STANDARD.decode(encoded).unwrap_or_default().into(),
            (_, _, Some(json)) => self.variables.fill(json)?.to_string().into(),
            _ => Bytes::new(),
        };
        let headers = headers.as_object().cloned().unwrap_or_default();
        let headers = headers_to_send(&headers, &token, json.is_some());
        let shown: Vec<_> = headers.iter().filter(|(name, _)| name != "authorization").collect();
        let input =
            json!({"method": method, "path": path, "headers": shown, "body": String::from_utf8_lossy(&sent)});
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut outgoing = Outgoing {
                method: method.clone(),
                target: path.clone(),
                headers: headers.clone(),
                body: sent.clone(),
            };
            if let Some(sabotage) = self.sabotage {
                sabotage.request(&mut outgoing);
            }
            let mut got = http_client::send(&self.target().access().url, outgoing).await?;
            if let Some(sabotage) = self.sabotage {
                sabotage.response(method, &mut got);
            }
            let compared = compare(input.clone(), expect.clone(), got.clone());
            if compared.is_ok() || !until || Instant::now() > deadline {
                if let Some(keep) = keep {
                    self.variables.set(keep, got);
                }
                return compared;
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn deliveries(
        &mut self,
        to: &str,
        expect: &[Value],
        signed_for: Option<&Value>,
        keep: Option<&str>,
        patience: Duration,
    ) -> Result<(), Miss> {
        let Some(position) = self.books.iter().position(|(name, _, _)| name == to) else {
            return Err(Fault::new(format!("no receiver {to}")).into());
        };
        let (_, book, seen) = &self.books[position];
        let (book, seen) = (std::sync::Arc::clone(book), *seen);
        book.wait_for(seen + expect.len(), patience).await;
        let mut came: Vec<Value> = book.requests().split_off(seen);
        self.books[position].2 = seen + came.len();
        if let Some(sabotage) = self.sabotage {
            for request in &mut came {
                sabotage.delivery(to, request);
            }
        }
        let wanted = self.variables.fill(&Value::Array(expect.to_vec()))?;
        if let Some(url) = signed_for {
            let url = self.variables.fill(url)?;
            for request in &mut came {
                let claims = self.verify(request, &url).await?;
                request["claims"] = claims;
            }
        }
        if let Some(keep) = keep {
            self.variables.set(keep, came.clone());
        }
        compare(json!({"deliveries to": to}), wanted, Value::Array(came))
    }

    /// Verifies a delivery through the face, at the time it came.
    async fn verify(&mut self, request: &Value, url: &Value) -> Result<Value, Miss> {
        let key = self.variables.fill(&json!("{{signing_key}}"))?;
        let input = json!({
            "receiver": {"currentSigningKey": key},
            "signature": request["headers"]["chronq-signature"],
            "body": {"base64": request["base64"]},
            "url": url,
            "now": request["receivedAt"].as_u64().unwrap_or_default() / 1_000,
        });
        match self.adapter.ask(Op::Verify, &input).await {
            Reply::Ok(claims) => Ok(claims),
            refused => Err(Miss {
                input,
                wanted: json!({"ok": {}}),
                got: refused.to_json(),
                differences: vec!["a delivery does not verify".to_owned()],
            }),
        }
    }

    /// The one wait that has no signal: for something not to happen.
    async fn silence(&mut self, to: &str, time: Duration) -> Result<(), Miss> {
        let Some((_, book, seen)) = self.books.iter().find(|(name, _, _)| name == to) else {
            return Err(Fault::new(format!("no receiver {to}")).into());
        };
        book.wait_for(seen + 1, time).await;
        compare(json!({"silence of": to}), json!([]), Value::Array(book.requests().split_off(*seen)))
    }
}

fn compare(input: Value, wanted: Value, got: Value) -> Result<(), Miss> {
    let differences = differences(&wanted, &got);
    if differences.is_empty() { Ok(()) } else { Err(Miss { input, wanted, got, differences }) }
}

/// Headers of a request by hand; a list sends its header once for each item.
fn headers_to_send(given: &Map<String, Value>, token: &Value, json: bool) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in given {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        headers
            .extend(values.iter().map(|value| (name.clone(), value.as_str().unwrap_or_default().to_owned())));
    }
    if let Some(token) = token.as_str() {
        headers.push(("authorization".to_owned(), format!("Bearer {token}")));
    }
    if json && !given.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    headers
}
