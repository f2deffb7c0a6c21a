//! One measurement each, on one server.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use bytes::Bytes;
use chronq::contract::paths;
use serde_json::{Value, json};

use super::site::Site;
use super::{CALLERS, OPERATIONS, far_us, now_us};
use crate::load::{self, BODY_BYTES};
use crate::receiver::Tally;
use crate::{Outcome, rate};

/// What the measurements share.
#[derive(Debug)]
pub(super) struct Loads {
    pub(super) tally: Arc<Tally>,
    pub(super) destination: String,
    /// Timers of one measurement of lag.
    pub(super) punctual: usize,
}

/// A rate, and what the measured future gave.
pub(super) async fn timed<T>(count: usize, work: impl Future<Output = Outcome<T>>) -> Outcome<(f64, T)> {
    let started = Instant::now();
    let done = work.await?;
    Ok((rate(count, started.elapsed()), done))
}

/// Answered calls.
pub(super) struct Answered {
    elapsed: Duration,
    results: Vec<Value>,
}

impl Answered {
    pub(super) fn rate(&self, count: usize) -> f64 {
        rate(count, self.elapsed)
    }
}

/// Sends operations in calls as large as they may be; each must be answered with this status.
async fn apply(site: &Site, operations: Vec<Value>, callers: usize, status: &str) -> Outcome<Answered> {
    let count = operations.len();
    let bodies = operations.chunks(OPERATIONS).map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let sending = load::send_all(&site.server, paths::TIMERS, bodies, callers)?;
    let started = Instant::now();
    let answers: Vec<Bytes> = sending.await?;
    let elapsed = started.elapsed();
    let mut results = Vec::with_capacity(count);
    for answer in answers {
        let mut answer: Value = serde_json::from_slice(&answer)?;
        match answer["results"].take() {
            Value::Array(elements) => results.extend(elements),
            other => return Err(format!("a call was answered without results: {other}").into()),
        }
    }
    if let Some(other) = results.iter().find(|result| result["status"] != status) {
        return Err(format!("an operation was not {status}: {other}").into());
    }
    if results.len() != count {
        return Err(format!("{count} operations were answered with {} results", results.len()).into());
    }
    Ok(Answered { elapsed, results })
}

fn puts(queue: &str, count: usize, delay_us: impl Fn(usize) -> i64) -> Vec<Value> {
    let payload = base64::engine::general_purpose::STANDARD.encode([b'x'; BODY_BYTES]);
    (0..count)
        .map(|number| {
            // Fractions of a millisecond are legal.
            #[expect(clippy::cast_precision_loss, reason = "a delay is far below 2^53 microseconds")]
            let delay = delay_us(number) as f64 / 1_000.0;
            json!({
                "op": "schedule", "queue": queue, "timerKey": format!("{queue}-{number}"),
                "txn": format!("{queue}-txn-{number}"), "delayMs": delay, "payload": payload,
            })
        })
        .collect()
}

/// Schedules timers over several connections.
pub(super) async fn schedule(
    site: &Site,
    queue: &str,
    count: usize,
    delay_us: impl Fn(usize) -> i64,
) -> Outcome<Answered> {
    apply(site, puts(queue, count, delay_us), CALLERS, "scheduled").await
}

async fn cancel(site: &Site, queue: &str, count: usize) -> Outcome<Answered> {
    let operations = (0..count)
        .map(|number| json!({"op": "cancel", "queue": queue, "timerKey": format!("{queue}-{number}")}))
        .collect();
    apply(site, operations, CALLERS, "cancelled").await
}

/// The operator's switch.
pub(super) async fn switch_fire(site: &Site, fire: bool) -> Outcome<()> {
    load::send_once(&site.server, "POST", paths::SYSTEM_TIMERS, json!({ "fire": fire }).to_string()).await
}

/// Lets timers fire that are due and held back by the switch; answers how many a second entered the log,
/// from the switch to the last frame. The log itself tells when that was, so that it need not be watched.
pub(super) async fn fire_all(site: &Site, queue: &str, count: usize) -> Outcome<f64> {
    let before = load::counter(&site.server, "queen_timers_fired_total").await?;
    let (started, started_us) = (Instant::now(), now_us());
    switch_fire(site, true).await?;
    #[expect(clippy::cast_precision_loss, reason = "a count of timers is far below 2^53")]
    while load::counter(&site.server, "queen_timers_fired_total").await? - before < count as f64 {
        if started.elapsed() > Duration::from_mins(2) {
            return Err(format!("{count} timers were not fired in two minutes").into());
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let frames = site.frames(queue).await?;
    let distinct: HashSet<&str> = frames.iter().map(|frame| frame.txn.as_str()).collect();
    if (frames.len(), distinct.len()) != (count, count) {
        return Err(format!("{count} timers left {} frames in the log", frames.len()).into());
    }
    let last_us = frames.iter().map(|frame| frame.created_us).max().unwrap_or(started_us);
    let elapsed_us = u64::try_from(last_us - started_us)?.max(1);
    Ok(rate(count, Duration::from_micros(elapsed_us)))
}

/// How late timers entered the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lag {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// A thousand timers a second, one each millisecond.
pub(super) async fn lag(site: &Site, loads: &Loads, queue: &str) -> Outcome<Lag> {
    const LEAD_US: i64 = 500_000;
    let count = loads.punctual;
    let due = |number: usize| LEAD_US + i64::try_from(number).unwrap_or(0) * 1_000;
    let answered = apply(site, puts(queue, count, due), 1, "scheduled").await?;
    let mut promised: HashMap<&str, i64> = HashMap::with_capacity(count);
    for result in &answered.results {
        let txn = result["txn"].as_str().ok_or("no txn")?;
        let deliver_at = result["deliverAt"].as_str().ok_or("no deliverAt")?;
        promised.insert(txn, chronq::Instant::parse("deliverAt", deliver_at)?.micros());
    }
    tokio::time::sleep(Duration::from_micros(u64::try_from(due(count))?)).await;
    site.wait_for_frames(queue, count).await?;
    // One that would come twice is given time to.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let frames = site.frames(queue).await?;
    let mut lags = Vec::with_capacity(count);
    for frame in &frames {
        let due_us =
            promised.remove(frame.txn.as_str()).ok_or_else(|| format!("{} came twice", frame.txn))?;
        if frame.created_us < due_us {
            return Err(format!("{} came early", frame.txn).into());
        }
        #[expect(clippy::cast_precision_loss, reason = "a lag is far below 2^53 microseconds")]
        lags.push((frame.created_us - due_us) as f64 / 1_000.0);
    }
    if lags.len() != count {
        return Err(format!("{} of {count} timers are in the log", lags.len()).into());
    }
    lags.sort_by(f64::total_cmp);
    site.forget(queue).await?;
    Ok(Lag { p50_ms: lags[count / 2], p99_ms: lags[count * 99 / 100] })
}

/// Rates that a million pending must not spoil.
pub(super) async fn rates(
    site: &Site,
    loads: &Loads,
    count: usize,
    round: usize,
) -> Outcome<Vec<(&'static str, f64)>> {
    const PATIENCE: Duration = Duration::from_mins(1);
    let queue = format!("far-{round}");
    let scheduled = schedule(site, &queue, count, far_us).await?.rate(count);
    let cancelled = cancel(site, &queue, count).await?.rate(count);

    loads.tally.trust(site.server.signing_key())?;
    loads.tally.reset();
    let started = Instant::now();
    load::publish_singly(&site.server, &loads.destination, count, 64).await?;
    loads.tally.wait_for(count, PATIENCE).await?;
    let single = rate(count, started.elapsed());

    loads.tally.reset();
    let batches = count / 100 * 100;
    let started = Instant::now();
    load::publish_batches(&site.server, &loads.destination, batches).await?;
    loads.tally.wait_for(batches, PATIENCE).await?;
    let claimed = rate(batches, started.elapsed());
    Ok(vec![
        ("timers scheduled", scheduled),
        ("timers cancelled", cancelled),
        ("published singly and delivered", single),
        ("published in batches, claimed and delivered", claimed),
    ])
}
