//! Every error class from a real server's answer, through the async client and the blocking one.

#![expect(clippy::expect_used, reason = "a server that does not come up is a failed test")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chronq::call::Call;
use chronq::client::{Client, blocking};
use chronq::contract::{MessageState, Method};
use chronq::json::Json;
use chronq::message::{CancelMessage, GetMessage};
use chronq::operation::{self, Circumstances, Endpoint, Operation};
use chronq::publish::{Content, Publish, PublishOptions};
use chronq::queue::ListQueues;
use chronq::retry::{Idempotence, RetryPolicy};
use chronq::signature::{Body, Receiver, SignatureValue};
use chronq::timer::{NewTimer, Schedule};
use chronq::wire::{Request, Response};
use chronq::{Error, ErrorKind, MessageId, Name};
use chronq_server::config::Config;
use chronq_server::testing::TestServer;
use serde_json::{Value, json};

const UNKNOWN: &str = "01936b0e-8d2c-7c3a-9f00-000000000001";

/// A call that only an operator makes, and so no client has.
#[derive(Clone)]
struct Operate(Method, String, Value);

impl Operation for Operate {
    type Output = Value;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.json_request(self.0, &self.1, &self.2.clone().into()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if !(200..300).contains(&response.status) {
            return Err(operation::refusal(response, circumstances));
        }
        Ok(std::str::from_utf8(&response.body).ok().and_then(Json::parse))
    }

    fn output(answer: Json) -> Result<Value, Error> {
        Ok(serde_json::from_str(&answer.to_string()).expect("JSON"))
    }
}

/// Both clients of one token, that repeat nothing.
struct Clients(Client, blocking::Client);

impl Clients {
    fn new(url: &str, token: &str) -> Self {
        let builder = || Client::builder().url(url).token(token).retry(RetryPolicy::off());
        Self(builder().build().expect("a client"), builder().build_blocking().expect("a client"))
    }

    /// The error of a call, which is the same through either client.
    async fn refused(&self, call: impl Into<Call>) -> Error {
        let call = call.into();
        let error = self.0.execute(call.clone()).await.expect_err("a refusal");
        let blocking = self.1.execute(call).expect_err("a refusal");
        assert_eq!(error, blocking);
        error
    }
}

/// Class, code, status, reason, seconds of `retry_after`.
type Seen<'e> = (&'static str, &'static str, Option<u16>, Option<&'e str>, Option<u64>);

fn seen(error: &Error) -> Seen<'_> {
    let reason = error.context().reason.as_deref();
    (
        error.kind().name(),
        error.code(),
        error.status(),
        reason,
        error.retry_after().map(|wait| wait.as_secs()),
    )
}

struct World {
    server: TestServer,
    admin: Clients,
}

impl World {
    async fn start() -> Self {
        let config = Config { tenancy: true, ..Config::for_tests() };
        let server = TestServer::start_with(config).await.expect("a server");
        let admin = Clients::new(&server.url(), server.token());
        Self { server, admin }
    }

    async fn operate(&self, method: Method, path: &str, body: Value) -> Value {
        self.admin.0.execute(Operate(method, path.to_owned(), body)).await.expect("an operator may")
    }

    /// Clients of a tenant, which has this plan, or none.
    async fn tenant(&self, tenant: &str, level: &str, plan: Option<Value>) -> Clients {
        if let Some(plan) = plan {
            self.operate(Method::Put, &format!("/v2/admin/tenants/{tenant}"), plan).await;
        }
        let token = json!({"name": format!("{tenant}-{level}"), "level": level, "tenant": tenant});
        let minted = self.operate(Method::Post, "/v2/admin/tokens", token).await;
        Clients::new(&self.server.url(), minted["token"].as_str().expect("a token"))
    }
}

fn publish(queue: Option<&str>) -> Publish {
    let mut publish = Publish::to("http://127.0.0.1:1/", Content::text("x")).expect("legal");
    publish.options.queue = queue.map(|queue| Name::parse("queue", queue).expect("legal"));
    publish
}

fn timer(key: &str, payload: &'static str, delay: Duration) -> Schedule {
    Schedule::new(NewTimer { txn: Some("t".to_owned()), ..NewTimer::new("q", key, payload, delay) })
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn every_class_is_raised_by_a_real_servers_answer() {
    let world = World::start().await;
    let admin = &world.admin;

    let error = admin.refused(publish(Some("nope"))).await;
    assert_eq!(seen(&error), ("InvalidInput", "invalid_input", Some(400), None, None));
    assert_eq!(error.kind(), &ErrorKind::InvalidInput(None), "the server names no option of the client's");

    let stranger = Clients::new(&world.server.url(), "chronq_not-a-real-token");
    let error = stranger.refused(ListQueues).await;
    assert_eq!(seen(&error), ("Unauthorized", "unauthorized", Some(401), None, None));

    let reader = world.tenant("acme", "read-only", None).await;
    let error = reader.refused(publish(None)).await;
    assert_eq!(seen(&error), ("Forbidden", "forbidden", Some(403), None, None));

    let error = admin.refused(GetMessage { id: MessageId::new(UNKNOWN).expect("an id") }).await;
    assert_eq!(seen(&error), ("NotFound", "not_found", Some(404), None, None));
    assert_eq!((error.attempts(), error.may_have_been_sent()), (1, false));

    let options = PublishOptions { delay: Some(MINUTE), ..PublishOptions::default() };
    let taken = admin.0.publish("http://127.0.0.1:1/", Content::text("x"), options).await.expect("published");
    admin.0.messages().cancel(taken.message_id.as_str()).await.expect("taken back");
    let error = admin.refused(CancelMessage { id: taken.message_id }).await;
    assert_eq!(seen(&error), ("Conflict", "conflict", Some(409), None, None));
    assert_eq!(error.kind(), &ErrorKind::Conflict(Some(MessageState::Cancelled)));

    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_class_of_a_plans_and_an_operators_refusals_is_raised_by_a_real_servers_answer() {
    let world = World::start().await;
    let plan = json!({"maxTimers": 1, "maxTimerHorizonSeconds": 3_600, "maxPayloadBytes": 8});
    let acme = world.tenant("acme", "read-write", Some(plan)).await;
    let first = acme.0.execute(timer("a", "12345678", MINUTE)).await.expect("within the plan");
    assert!(first.ok());

    let error = acme.refused(timer("a", "123456789", MINUTE)).await;
    let reason = Some("timers_payload_too_large");
    assert_eq!(seen(&error), ("TooLarge", "payload_too_large", Some(413), reason, None));

    let error = acme.refused(timer("b", "x", MINUTE)).await;
    let reason = Some("timers_quota_exceeded");
    assert_eq!(seen(&error), ("QuotaExceeded", "timers_quota_exceeded", Some(403), reason, None));
    assert_eq!(error.context().detail.as_deref(), Some(error.to_string().as_str()));

    let error = acme.refused(timer("a", "x", Duration::from_hours(2))).await;
    let reason = Some("timers_horizon");
    assert_eq!(seen(&error), ("HorizonExceeded", "timer_horizon_exceeded", Some(403), reason, None));

    let gated = world.tenant("gated", "read-write", None).await;
    let error = gated.refused(timer("a", "x", MINUTE)).await;
    assert_eq!(seen(&error), ("FeatureGated", "feature_gated", Some(403), Some("feature_gated"), None));

    // The next call would be allowed in twelve days; an SDK believes in one at most.
    let plan = json!({"maxSchedulesPerSecond": 0.000_001, "burst": 1});
    let slow = world.tenant("slow", "read-write", Some(plan)).await;
    let first = slow.0.execute(timer("a", "x", MINUTE)).await.expect("the first of a burst");
    assert!(first.ok());
    let error = slow.refused(timer("a", "x", MINUTE)).await;
    assert_eq!(seen(&error), ("Throttled", "rate_limited", Some(429), Some("rate_limited"), Some(86_400)));

    world.operate(Method::Post, "/api/v1/system/timers", json!({"schedule": false})).await;
    let error = acme.refused(timer("a", "x", MINUTE)).await;
    assert_eq!(seen(&error), ("Unavailable", "timers_disabled", Some(503), Some("timers_disabled"), Some(1)));

    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_good_server_answers_has_its_class_too() {
    let world = World::start().await;

    let nonsense = world.server.inbox_url("nonsense");
    let script = json!({"respond": [{"status": 200, "body": "nothing of the contract"}]});
    world.operate(Method::Put, "/dev/inbox/nonsense/script", script).await;
    let error = Clients::new(&nonsense, world.server.token()).refused(ListQueues).await;
    assert_eq!(seen(&error), ("Protocol", "protocol", Some(200), None, None));

    let url = world.server.inbox_url("signed");
    let publish = Publish::to(&url, Content::text("signed")).expect("legal");
    world.admin.0.execute(publish).await.expect("published");
    let arrived = world.server.received("signed", 1, Duration::from_secs(10)).await;
    let headers = arrived[0].headers.iter();
    let headers = headers.map(|(name, value)| (name, SignatureValue::from(value.as_str())));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs().cast_signed();
    let receiver = Receiver::new(world.server.signing_keys().0, None).expect("keys");
    let error =
        receiver.verify_headers(headers, Body::Raw(b"other"), Some(&url), now).expect_err("another body");
    assert_eq!(seen(&error), ("SignatureError", "body_mismatch", None, None, None));

    let closed = world.server.url();
    world.server.shutdown().await;
    let error = Clients::new(&closed, "chronq_not-a-real-token").refused(ListQueues).await;
    assert_eq!(seen(&error), ("Transport", "transport", None, None, None));
    assert_eq!((error.attempts(), error.may_have_been_sent()), (1, false));
}
