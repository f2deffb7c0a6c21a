//! Runs scenarios against a target.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::Scenario;
use super::step::Step;
use crate::adapter::{Adapters, Reply};
use crate::case::Op;
use crate::face::Face;
use crate::fault::Fault;
use crate::http_client::{self, Outgoing};
use crate::matching::differences;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress::Progress;
use crate::runtime::join_all;
use crate::scripted::{After, Answer, Book, ScriptedServer};
use crate::target::{Need, Supply, Target};
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
    adapters: &Adapters,
    supply: &Supply,
    progress: &Progress,
) -> Result<Vec<Outcome>, Fault> {
    let faces = adapters.faces();
    let (Some(first), false) = (faces.first().copied(), scenarios.is_empty()) else { return Ok(Vec::new()) };
    let receivers = ScriptedServer::start().await?;
    let shared = supply.start("shared", &BTreeMap::new()).await?;
    let surroundings = Surroundings { adapters, supply, shared: &shared, receivers: &receivers };
    let turns = Semaphore::new(AT_ONCE);
    let mut running = Vec::new();
    for scenario in scenarios {
        for face in faces.iter().copied().filter(|face| scenario.goes_through(*face, first)) {
            let (surroundings, turns) = (&surroundings, &turns);
            running.push(async move {
                let turn = turns.acquire().await;
                let start = Instant::now();
                let verdict = match surroundings.lack(scenario) {
                    Some(lack) => Verdict::NotRun(format!("needs {lack}")),
                    None => surroundings.run_one(scenario, face).await,
                };
                drop(turn);
                let outcome = Outcome {
                    seconds: start.elapsed().as_secs_f64(),
                    ..scenario.outcome(face, &supply.name(), verdict)
                };
                progress.step(&outcome);
                outcome
            });
        }
    }
    Ok(join_all(running).await)
}

/// What all scenarios of a run share.
struct Surroundings<'a> {
    adapters: &'a Adapters,
    supply: &'a Supply,
    shared: &'a Target,
    receivers: &'a ScriptedServer,
}

impl Surroundings<'_> {
    fn lack(&self, scenario: &Scenario) -> Option<&'static str> {
        let own_settings = if scenario.server.is_empty() { &[][..] } else { &[Need::Alone][..] };
        self.supply.lacks(&scenario.needs).or_else(|| self.supply.lacks(own_settings))
    }

    async fn run_one(&self, scenario: &Scenario, face: Face) -> Verdict {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let unique = format!("s{}p{}", NUMBER.fetch_add(1, Ordering::Relaxed), std::process::id());
        let own = if scenario.is_alone() {
            match self.supply.start(&unique, &scenario.server).await {
                Ok(target) => Some(target),
                Err(fault) => return broken(scenario, &fault),
            }
        } else {
            None
        };
        let mut stage = Stage {
            unique,
            face,
            surroundings: self,
            own,
            siblings: Vec::new(),
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
    face: Face,
    surroundings: &'a Surroundings<'a>,
    /// Further servers on the same data, by name. They go before the first, whose data it is.
    siblings: Vec<(String, Target)>,
    own: Option<Target>,
    books: Vec<(String, std::sync::Arc<Book>, usize)>,
    variables: Variables,
}

impl Stage<'_> {
    fn target(&self) -> &Target {
        self.own.as_ref().unwrap_or(self.surroundings.shared)
    }

    /// The URL of the server, or of a sibling by its name.
    fn url(&self, at: Option<&String>) -> Result<String, Fault> {
        let Some(at) = at else { return Ok(self.target().access().url.clone()) };
        let sibling = self.siblings.iter().find(|(name, _)| name == at);
        let (_, sibling) = sibling.ok_or_else(|| Fault::new(format!("no server {at}")))?;
        Ok(sibling.access().url.clone())
    }

    async fn ask(&self, op: Op, input: &Value) -> Result<Reply, Fault> {
        Ok(self.surroundings.adapters.of(self.face).await?.ask(op, input).await)
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
        self.surroundings.receivers.base(&format!("{}-{name}", self.unique))
    }

    async fn step(&mut self, step: &Step) -> Result<(), Miss> {
        match step {
            Step::Receiver { name, respond } => self.receiver(name, respond),
            Step::Call { call, options, expect, token, at, keep } => {
                let options = self.variables.fill(&Value::Object(options.clone()))?;
                let expect = self.variables.fill(expect)?;
                let token = self.variables.fill(token.as_ref().unwrap_or(&json!("{{token}}")))?;
                let url = self.url(at.as_ref())?;
                let input = json!({"url": url, "token": token, "call": call, "options": options});
                let reply = self.ask(Op::Call, &input).await?;
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
            Step::Advance { ms, to, at } => {
                let url = self.url(at.as_ref())?;
                let ms = match (ms, to) {
                    (Some(ms), None) => *ms,
                    (None, Some(to)) => until(to, self.advance(&url, 0).await?)?,
                    _ => return Err(Fault::new("advance takes either ms or to").into()),
                };
                self.advance(&url, ms).await.map(|_| ())
            }
            Step::Restart { after_ms } => {
                let Some(own) = &mut self.own else {
                    return Err(Fault::new("a scenario that restarts says so in its needs").into());
                };
                own.restart(Duration::from_millis(*after_ms)).await?;
                self.learn_target();
                Ok(())
            }
            Step::Server { name } => {
                let sibling = self.target().sibling().await?;
                self.siblings.push((name.clone(), sibling));
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

    /// Moves a server's clock, and answers its time: unix milliseconds.
    async fn advance(&self, url: &str, ms: u64) -> Result<i64, Miss> {
        let outgoing = Outgoing {
            method: "POST".to_owned(),
            target: "/dev/clock/advance".to_owned(),
            headers: headers_to_send(&Map::new(), &self.variables.fill(&json!("{{token}}"))?, true),
            body: json!({"ms": ms}).to_string().into(),
        };
        let got = http_client::send(url, outgoing).await?;
        let now = got["json"]["now"].as_i64().unwrap_or_default();
        compare(json!({"ms": ms}), json!({"status": 200, "json": {"now": {"$any": "integer"}}}), got)?;
        Ok(now)
    }

    /// Opens a receiver before its script is filled in: an answer may point to itself.
    fn receiver(&mut self, name: &str, respond: &[Value]) -> Result<(), Miss> {
        if !self.books.iter().any(|(known, _, _)| known == name) {
            let book = self.surroundings.receivers.open(
                &format!("{}-{name}", self.unique),
                Vec::new(),
                After::Repeat,
            );
            self.books.push((name.to_owned(), book, 0));
            self.learn_target();
        }
        let script = self.variables.fill(&Value::Array(respond.to_vec()))?;
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
        let Step::Http { method, path, headers, body, base64, json, token, at, .. } = step else {
            return Ok(());
        };
        let url = self.url(at.as_ref())?;
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
            let outgoing = Outgoing {
                method: method.clone(),
                target: path.clone(),
                headers: headers.clone(),
                body: sent.clone(),
            };
            let got = http_client::send(&url, outgoing).await?;
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
        match self.ask(Op::Verify, &input).await? {
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

/// Milliseconds from `now` to an instant ahead of it.
fn until(instant: &str, now: i64) -> Result<u64, Fault> {
    let told = chronq::Instant::parse("to", instant).map_err(|error| Fault::new(error.to_string()))?;
    u64::try_from(told.millis() - now)
        .map_err(|_| Fault::new(format!("advance to {instant}: the server's clock is past it")))
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
