//! Schedule, reschedule, cancel, peek and list, as the routes and the admin pages call them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chronq::contract::{ErrorCode, headers, limits};
use chronq::timer::accept::{self, Put, Refused, Rules, TimerOp};
use chronq::timer::{PeekedTimer, TimerOutcome, TimerPage, rules};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::AppState;
use crate::store::StoreError;
use crate::store::timers::{PutTimer, TenantQuota, TimerCall, TimerWrite, TimersApplied};
use crate::timers::metrics::Rejection;
use crate::timers::payload;

/// The route that no gate refuses, as the hint header names it.
pub const CANCEL_ROUTE: &str = "DELETE /api/v1/timers/:queue/*timerKey";

/// A refused call: the error, and whether it should name the route that always cancels.
#[derive(Clone, Debug)]
pub struct TimersRefused {
    /// The answer.
    pub error: ApiError,
    /// The batch also held cancels, and it was a gate that refused it.
    pub hint: bool,
}

impl TimersRefused {
    fn plain(error: ApiError) -> Self {
        Self { error, hint: false }
    }

    /// Headers beside the error's own.
    pub fn headers(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        if self.hint {
            let name = HeaderName::from_static(headers::TIMERS_HINT);
            map.insert(name, HeaderValue::from_static(CANCEL_ROUTE));
        }
        map
    }
}

/// What a tenant may do: its plan within the cell's limits.
struct Plan {
    granted: bool,
    quota: Option<Arc<TenantQuota>>,
    horizon: Duration,
    max_payload_bytes: usize,
}

impl Plan {
    fn of(state: &AppState, tenant: &str) -> Self {
        let config = &state.config.timers;
        let quota = if state.config.tenancy { state.timers.quota(tenant) } else { None };
        let plan = quota.as_deref();
        let horizon_s = plan
            .and_then(|quota| quota.max_timer_horizon_seconds)
            .map_or(config.max_horizon_seconds, |own| own.min(config.max_horizon_seconds));
        let max_payload_bytes = plan
            .and_then(|quota| quota.max_payload_bytes)
            .and_then(|own| usize::try_from(own).ok())
            .map_or(config.max_payload_bytes, |own| own.min(config.max_payload_bytes));
        Self {
            granted: !state.config.tenancy || plan.is_some_and(|quota| quota.enabled),
            horizon: Duration::from_secs(horizon_s),
            max_payload_bytes: max_payload_bytes.min(limits::MAX_TIMER_PAYLOAD_BYTES),
            quota,
        }
    }
}

/// The largest body that a legal call can have.
pub fn max_body_bytes(state: &AppState) -> usize {
    const FIELDS_BYTES: usize = 8 * 1_024;
    let config = &state.config.timers;
    let operation = config.max_payload_bytes.saturating_mul(4) / 3 + FIELDS_BYTES;
    operation.saturating_mul(config.max_ops_per_call)
}

/// Applies a call of `POST /api/v1/timers`.
///
/// # Errors
/// The refusal, in the order of the contract: shape, then the gate ladder, then the store.
pub async fn apply(
    state: &AppState,
    caller: &Identity,
    body: &[u8],
) -> Result<Vec<TimerOutcome>, TimersRefused> {
    let plan = Plan::of(state, &caller.tenant);
    let (operations, encrypting) = read(state, caller, body, &plan).await.map_err(TimersRefused::plain)?;
    let is_put = |operation: &TimerOp| matches!(operation, TimerOp::Put(_));
    if operations.iter().any(is_put) {
        let hint = !operations.iter().all(is_put);
        pass_gates(state, caller, &plan).map_err(|error| TimersRefused { error, hint })?;
    }
    let hint = !operations.iter().all(is_put);
    let writes = operations
        .into_iter()
        .map(|operation| write(state, caller, operation, &encrypting))
        .collect::<Result<Vec<_>, _>>()
        .map_err(TimersRefused::plain)?;
    let call = TimerCall {
        tenant: Arc::clone(&caller.tenant),
        producer: Some(Arc::clone(&caller.name)),
        max_pending: plan.quota.as_ref().and_then(|quota| quota.max_timers),
        writes,
    };
    match state.store.apply_timer_ops(call).await {
        Ok(TimersApplied::Done(outcomes)) => Ok(outcomes),
        Ok(TimersApplied::OverQuota { held, adding }) => {
            state.timers.metrics.rejected(Rejection::Quota);
            let detail =
                format!("{held} timers are pending and the call would add {adding}, which is over the quota");
            Err(TimersRefused { error: gate(403, ErrorCode::TimersQuotaExceeded, detail), hint })
        }
        Err(error) => {
            state.timers.metrics.rejected(Rejection::Unavailable);
            Err(TimersRefused::plain(unavailable(&error)))
        }
    }
}

/// The call's shape: what it says, and which of its queues encrypt at rest.
async fn read(
    state: &AppState,
    caller: &Identity,
    body: &[u8],
    plan: &Plan,
) -> Result<(Vec<TimerOp>, HashSet<String>), ApiError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| refused(state, accept::bad_body()))?;
    let named: Vec<String> = accept::queues_named(&body).into_iter().map(str::to_owned).collect();
    let encrypting = encrypting_queues(state, caller, named).await?;
    let rules = Rules {
        horizon: plan.horizon,
        max_payload_bytes: plan.max_payload_bytes,
        max_operations: state.config.timers.max_ops_per_call,
        encrypts: &|queue| encrypting.contains(queue),
        unpack: &payload::look_into,
    };
    let operations = accept::accept(&body, &rules).map_err(|error| refused(state, error))?;
    Ok((operations, encrypting))
}

async fn encrypting_queues(
    state: &AppState,
    caller: &Identity,
    named: Vec<String>,
) -> Result<HashSet<String>, ApiError> {
    let named: Vec<String> = named.into_iter().filter(|queue| rules::is_queue(queue)).collect();
    if named.is_empty() {
        return Ok(HashSet::new());
    }
    let options = state.store.log_options(&caller.tenant, named).await.map_err(|error| {
        state.timers.metrics.rejected(Rejection::Unavailable);
        unavailable(&error)
    })?;
    Ok(options.into_iter().filter(|(_, options)| options.encrypts).map(|(queue, _)| queue).collect())
}

fn refused(state: &AppState, refused: Refused) -> ApiError {
    state.timers.metrics.rejected(match refused.error {
        ErrorCode::TimerHorizonExceeded => Rejection::Horizon,
        ErrorCode::PayloadTooLarge => Rejection::PayloadTooLarge,
        _ => Rejection::Shape,
    });
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
    ApiError::coded(status, refused.error, Some(refused.reason.as_str()), refused.detail)
}

/// The gate ladder, outermost first; the quota is checked where the rows are counted.
fn pass_gates(state: &AppState, caller: &Identity, plan: &Plan) -> Result<(), ApiError> {
    let reject = |reason| state.timers.metrics.rejected(reason);
    if !state.timers.switches().schedule {
        reject(Rejection::Disabled);
        let detail = "an operator has paused scheduling".to_owned();
        return Err(gate(503, ErrorCode::TimersDisabled, detail).with_retry_after(1));
    }
    if !plan.granted {
        reject(Rejection::Gated);
        let detail = format!("tenant \"{}\" has no grant for timers", caller.tenant);
        return Err(gate(403, ErrorCode::FeatureGated, detail));
    }
    if let Some(quota) = &plan.quota {
        let taken = state.timers.rates.take(&caller.tenant, quota, state.clock.now_micros());
        if let Err(wait_s) = taken {
            reject(Rejection::RateLimited);
            let detail = format!("too many calls that schedule: the next one is allowed in {wait_s} s");
            return Err(gate(429, ErrorCode::RateLimited, detail).with_retry_after(wait_s));
        }
    }
    Ok(())
}

fn gate(status: u16, code: ErrorCode, detail: String) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    ApiError::coded(status, code, Some(code.as_str()), detail)
}

/// Store trouble, in the shape of the timer routes.
pub fn unavailable(error: &StoreError) -> ApiError {
    tracing::warn!(%error, "the store could not serve a timer call");
    let detail = "the timer store is in trouble: nothing is acknowledged, try again".to_owned();
    gate(503, ErrorCode::TimersUnavailable, detail).with_retry_after(1)
}

/// An accepted operation as the store takes it; the payload of an encrypting queue is sealed now,
/// so that it never stands in clear while the timer waits.
fn write(
    state: &AppState,
    caller: &Identity,
    operation: TimerOp,
    encrypting: &HashSet<String>,
) -> Result<TimerWrite, ApiError> {
    match operation {
        TimerOp::Cancel { queue, timer_key, txn } => Ok(TimerWrite::Cancel { queue, timer_key, txn }),
        TimerOp::Put(put) => {
            let sealed = encrypting.contains(&put.queue);
            let put = if sealed { seal(state, caller, put)? } else { put };
            Ok(TimerWrite::Put(PutTimer { put, message_id: Uuid::now_v7(), sealed }))
        }
    }
}

fn seal(state: &AppState, caller: &Identity, put: Put) -> Result<Put, ApiError> {
    let Some(envelope) = state.timers.keys.seal(&caller.tenant, &put.queue, &put.payload) else {
        tracing::error!(queue = put.queue, "the queue encrypts at rest and CHRONQ_DATA_KEY is not set");
        let detail =
            format!("queue \"{}\" encrypts at rest, and this server has no key to seal with", put.queue);
        return Err(gate(503, ErrorCode::TimersUnavailable, detail).with_retry_after(1));
    };
    Ok(Put { payload: Bytes::from(envelope), ..put })
}

/// Takes one timer back, past every gate.
///
/// # Errors
/// Only store trouble.
pub async fn cancel(
    state: &AppState,
    caller: &Identity,
    queue: String,
    timer_key: String,
    txn: Option<String>,
) -> Result<TimerOutcome, ApiError> {
    sabotage!(CancelGated => pass_gates(state, caller, &Plan::of(state, &caller.tenant))?);
    let call = TimerCall {
        tenant: Arc::clone(&caller.tenant),
        producer: None,
        max_pending: None,
        writes: vec![TimerWrite::Cancel { queue, timer_key, txn }],
    };
    match state.store.apply_timer_ops(call).await {
        Ok(TimersApplied::Done(mut outcomes)) if outcomes.len() == 1 => {
            outcomes.pop().ok_or_else(ApiError::internal)
        }
        Ok(_) => Err(ApiError::internal()),
        Err(error) => Err(unavailable(&error)),
    }
}

/// One timer with its payload as stored.
///
/// # Errors
/// Only store trouble.
pub async fn peek(
    state: &AppState,
    caller: &Identity,
    queue: &str,
    timer_key: &str,
) -> Result<Option<PeekedTimer>, ApiError> {
    state.store.peek_timer(&caller.tenant, queue, timer_key).await.map_err(|error| unavailable(&error))
}

/// A page of a queue's timers; `limit` is already within its bounds.
///
/// # Errors
/// Only store trouble.
pub async fn list(
    state: &AppState,
    caller: &Identity,
    queue: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<TimerPage, ApiError> {
    let found = state.store.list_timers(&caller.tenant, queue, after, limit + 1).await;
    let mut rows = found.map_err(|error| unavailable(&error))?;
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let truncated = rows.len() > page;
    rows.truncate(page);
    let next_after = rows.last().filter(|_| truncated).map(|row| row.timer_key.clone());
    Ok(TimerPage { rows, truncated, next_after })
}
