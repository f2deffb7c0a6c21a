//! The table of routes.

use chronq::contract::headers;

use crate::auth::Access;

/// What a route is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Publish,
    Messages,
    Groups,
    Queues,
    Schedules,
    Timers,
    Log,
    Admin,
    Service,
}

impl Tag {
    pub(super) const ALL: &'static [Self] = &[
        Self::Publish,
        Self::Messages,
        Self::Groups,
        Self::Queues,
        Self::Schedules,
        Self::Timers,
        Self::Log,
        Self::Admin,
        Self::Service,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Messages => "messages",
            Self::Groups => "URL groups",
            Self::Queues => "queues",
            Self::Schedules => "schedules",
            Self::Timers => "timers",
            Self::Log => "log",
            Self::Admin => "admin",
            Self::Service => "service",
        }
    }
}

/// A body of any content.
pub(super) const ANY: &str = "*";
/// A body of plain text.
pub(super) const TEXT: &str = "text";

type Named = (&'static str, &'static str);

/// One route.
pub(super) struct Route {
    /// In lower case, as OpenAPI has it.
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    /// What the token must allow; `None`: open.
    pub(super) access: Option<Access>,
    pub(super) query: &'static [Named],
    pub(super) headers: &'static [Named],
    /// A schema, with `[]` for a list of it, or [`ANY`].
    pub(super) body: Option<&'static str>,
    pub(super) answers: &'static [Answer],
}

/// One answer besides those that every route with a token has.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) schema: Option<&'static str>,
}

const fn answer(status: u16, description: &'static str, schema: &'static str) -> Answer {
    Answer { status, description, schema: Some(schema) }
}

const fn bare(status: u16, description: &'static str) -> Answer {
    Answer { status, description, schema: None }
}

const BAD: Answer = answer(400, "Refused: the sentence names the option", "Error");
const MISSING: Answer = answer(404, "No such thing", "Error");
const LARGE: Answer = answer(413, "Too large", "Error");
const CONFLICT: Answer = answer(409, "Its state does not allow it", "Error");
const FORM: Answer = answer(403, "A form's content type, or too low a level", "Error");

const fn route(method: &'static str, path: &'static str, tag: Tag, summary: &'static str) -> Route {
    Route { method, path, tag, summary, access: None, query: &[], headers: &[], body: None, answers: &[] }
}

impl Route {
    const fn needs(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    const fn query(mut self, query: &'static [Named]) -> Self {
        self.query = query;
        self
    }

    const fn headers(mut self, headers: &'static [Named]) -> Self {
        self.headers = headers;
        self
    }

    const fn takes(mut self, schema: &'static str) -> Self {
        self.body = Some(schema);
        self
    }

    const fn answers(mut self, answers: &'static [Answer]) -> Self {
        self.answers = answers;
        self
    }
}

const OPTIONS: &[Named] = &[
    (headers::METHOD, "GET, POST, PUT, PATCH or DELETE; POST"),
    (headers::QUEUE, "Name of an existing, enabled queue; default"),
    (headers::TIMEOUT, "Duration to 2h; the queue's, else 30s"),
    (headers::RETRIES, "0 to 100; the queue's, else 3"),
    (headers::RETRY_DELAY, "Duration to 1d; the queue's, else 10s"),
    (headers::DELAY, "Duration to 365d"),
    (headers::NOT_BEFORE, "Unix seconds; wins over the delay"),
    (headers::DEDUPLICATION_ID, "1 to 512 bytes"),
    (headers::CONTENT_BASED_DEDUPLICATION, "true or false"),
    (headers::CALLBACK, "URL called once when the destination accepted"),
    (headers::CALLBACK_METHOD, "Method of the callback; POST"),
    (headers::CALLBACK_TIMEOUT, "Duration to 2h; 30s"),
    (headers::FAILURE_CALLBACK, "URL called once when the message failed for good"),
    (headers::FAILURE_CALLBACK_METHOD, "Method of the failure callback; POST"),
    (headers::FAILURE_CALLBACK_TIMEOUT, "Duration to 2h; 30s"),
    (headers::LABEL, "Labels, comma-separated, to 10"),
];

const EVENT_FILTERS: &[Named] = &[
    ("queue", "Of this queue"),
    ("state", "In this state"),
    ("label", "With this label"),
    ("cronjob", "Runs of this schedule"),
    ("limit", "How many at most"),
    ("offset", "How many of the newest to skip"),
];

const POP_OPTIONS: &[Named] = &[
    ("batch", "How many at most"),
    ("wait", "true waits for the first"),
    ("timeout", "How long, milliseconds"),
    ("consumerGroup", "Whose position"),
    ("subscriptionMode", "Where a new group begins"),
    ("autoAck", "true settles at once"),
];

/// Every route of `chronq serve`.
pub(super) const ROUTES: &[Route] = &[
    route(
        "post",
        "/v2/publish/{target}",
        Tag::Publish,
        "Publishes one message. The target is read raw: a URL, a queue and a URL, or a URL group",
    )
    .needs(Access::Write)
    .headers(OPTIONS)
    .takes(ANY)
    .answers(&[
        answer(200, "Queued; to a group, one entry per endpoint", "PublishAnswer"),
        answer(202, "Duplicate inside 10 minutes", "PublishAnswer"),
        BAD,
        FORM,
        MISSING,
        LARGE,
    ]),
    route("post", "/v2/batch", Tag::Publish, "Publishes up to 100 messages")
        .needs(Access::Write)
        .takes("BatchEntry[]")
        .answers(&[answer(200, "One result per entry, in order", "BatchResult[]"), BAD, FORM, LARGE]),
    route("get", "/v2/messages/{id}", Tag::Messages, "Looks a message up")
        .needs(Access::Read)
        .answers(&[answer(200, "The message", "Message"), MISSING]),
    route("delete", "/v2/messages/{id}", Tag::Messages, "Takes a message back")
        .needs(Access::ReadWrite)
        .answers(&[answer(200, "Cancelled", "MessageStateAnswer"), MISSING, CONFLICT]),
    route("post", "/v2/messages/{id}/retry", Tag::Messages, "Gives a failed message one more attempt")
        .needs(Access::ReadWrite)
        .answers(&[answer(200, "It waits for the attempt", "MessageStateAnswer"), MISSING, CONFLICT]),
    route("get", "/v2/events", Tag::Messages, "Reads the event log, newest first")
        .needs(Access::Read)
        .query(EVENT_FILTERS)
        .answers(&[answer(200, "A page", "Events"), BAD]),
    route("post", "/rpc/queue/jobs", Tag::Messages, "Reads the event log, in oRPC's envelope")
        .needs(Access::Read)
        .takes("RpcJobsRequest")
        .answers(&[answer(200, "A page", "RpcJobsAnswer"), BAD]),
    route("get", "/v2/topics", Tag::Groups, "Lists URL groups").needs(Access::Read).answers(&[answer(
        200,
        "All groups",
        "Group[]",
    )]),
    route("get", "/v2/topics/{name}", Tag::Groups, "Reads a URL group")
        .needs(Access::Read)
        .answers(&[answer(200, "The group", "Group"), MISSING]),
    route("delete", "/v2/topics/{name}", Tag::Groups, "Deletes a URL group")
        .needs(Access::ReadWrite)
        .answers(&[bare(200, "Deleted"), MISSING]),
    route(
        "post",
        "/v2/topics/{name}/endpoints",
        Tag::Groups,
        "Adds endpoints, making the group if it is missing",
    )
    .needs(Access::Write)
    .takes("Endpoints")
    .answers(&[answer(200, "The group", "Group"), BAD]),
    route("delete", "/v2/topics/{name}/endpoints", Tag::Groups, "Removes endpoints")
        .needs(Access::ReadWrite)
        .takes("Endpoints")
        .answers(&[answer(200, "The group", "Group"), BAD, MISSING]),
    route("get", "/v2/queues", Tag::Queues, "Lists queues").needs(Access::Read).answers(&[answer(
        200,
        "All queues",
        "Queue[]",
    )]),
    route("get", "/v2/queues/{name}", Tag::Queues, "Reads a queue")
        .needs(Access::Read)
        .answers(&[answer(200, "The queue", "Queue"), MISSING]),
    route("put", "/v2/queues/{name}", Tag::Queues, "Makes or changes a queue")
        .needs(Access::Write)
        .takes("QueueSettings")
        .answers(&[answer(200, "Changed", "Queue"), answer(201, "Made", "Queue"), BAD]),
    route("delete", "/v2/queues/{name}", Tag::Queues, "Deletes a queue and its messages")
        .needs(Access::ReadWrite)
        .answers(&[bare(200, "Deleted"), BAD, MISSING, CONFLICT]),
    route("get", "/v2/schedules", Tag::Schedules, "Lists schedules").needs(Access::Read).answers(&[answer(
        200,
        "All schedules",
        "ScheduleInfo[]",
    )]),
    route("post", "/v2/schedules", Tag::Schedules, "Makes or changes a schedule")
        .needs(Access::Write)
        .takes("Schedule")
        .answers(&[answer(200, "Changed", "ScheduleInfo"), answer(201, "Made", "ScheduleInfo"), BAD, LARGE]),
    route("get", "/v2/schedules/{name}", Tag::Schedules, "Reads a schedule")
        .needs(Access::Read)
        .answers(&[answer(200, "The schedule", "ScheduleInfo"), MISSING]),
    route("delete", "/v2/schedules/{name}", Tag::Schedules, "Deletes a schedule")
        .needs(Access::ReadWrite)
        .answers(&[bare(200, "Deleted"), MISSING]),
    route("post", "/v2/schedules/{name}/run", Tag::Schedules, "Makes one run now")
        .needs(Access::Write)
        .answers(&[answer(200, "The run's message", "ScheduleRun"), BAD, MISSING]),
    route(
        "post",
        "/api/v1/timers",
        Tag::Timers,
        "Schedules, reschedules and cancels timers, to 256 in one call",
    )
    .needs(Access::Write)
    .takes("TimerOperations")
    .answers(&[
        answer(200, "One element per operation, in order", "TimerResults"),
        BAD,
        answer(403, "Horizon, quota or plan", "Error"),
        LARGE,
        answer(429, "Too fast", "Error"),
        answer(503, "Paused or unavailable", "Error"),
    ]),
    route("get", "/api/v1/timers/{queue}", Tag::Timers, "Lists a queue's timers by key")
        .needs(Access::Read)
        .query(&[("after", "The last key of the page before"), ("limit", "1 to 1000; 100")])
        .answers(&[answer(200, "A page", "TimerPage")]),
    route("get", "/api/v1/timers/{queue}/{timerKey}", Tag::Timers, "Looks at one timer")
        .needs(Access::Read)
        .answers(&[answer(200, "The timer, or found: false", "Timer")]),
    route("delete", "/api/v1/timers/{queue}/{timerKey}", Tag::Timers, "Takes a timer back")
        .needs(Access::ReadWrite)
        .query(&[("txn", "The transaction id to answer with where the timer is absent")])
        .answers(&[answer(200, "What became of it", "TimerElement")]),
    route("get", "/api/v1/system/timers", Tag::Timers, "Reads the operator's switches")
        .needs(Access::Admin)
        .answers(&[answer(200, "The switches", "TimerSwitches")]),
    route("post", "/api/v1/system/timers", Tag::Timers, "Pauses or resumes scheduling and firing")
        .needs(Access::Admin)
        .takes("TimerSwitches")
        .answers(&[answer(200, "The switches", "TimerSwitches"), BAD]),
    route("post", "/api/v1/configure", Tag::Log, "Sets the options of a queue of the log")
        .needs(Access::ReadWrite)
        .takes("LogObject")
        .answers(&[answer(200, "Configured", "LogObject"), BAD]),
    route("post", "/api/v1/push", Tag::Log, "Appends messages")
        .needs(Access::Write)
        .takes("LogObject")
        .answers(&[answer(201, "One result per item", "LogObject[]"), BAD]),
    route("get", "/api/v1/pop/queue/{queue}", Tag::Log, "Takes messages under a lease")
        .needs(Access::ReadWrite)
        .query(POP_OPTIONS)
        .answers(&[answer(200, "Messages", "LogObject"), bare(204, "None")]),
    route("get", "/api/v1/pop/queue/{queue}/partition/{partition}", Tag::Log, "The same, from one partition")
        .needs(Access::ReadWrite)
        .query(POP_OPTIONS)
        .answers(&[answer(200, "Messages", "LogObject"), bare(204, "None")]),
    route("post", "/api/v1/ack", Tag::Log, "Settles a message")
        .needs(Access::ReadWrite)
        .takes("LogObject")
        .answers(&[answer(200, "What became of it", "LogObject[]"), BAD]),
    route("post", "/api/v1/ack/batch", Tag::Log, "Settles messages")
        .needs(Access::ReadWrite)
        .takes("LogObject")
        .answers(&[answer(200, "What became of each", "LogObject[]"), BAD]),
    route("post", "/api/v1/lease/{lease}/extend", Tag::Log, "Prolongs a lease on messages of the log")
        .needs(Access::ReadWrite)
        .takes("LogObject")
        .answers(&[answer(200, "Until when it holds", "LogObject"), BAD, MISSING]),
    route("get", "/api/v1/messages", Tag::Log, "Finds messages of the log")
        .needs(Access::Read)
        .query(&[
            ("queue", "Of this queue"),
            ("transactionId", "With this transaction id"),
            ("from", "Since"),
            ("to", "Until"),
            ("limit", "How many at most"),
        ])
        .answers(&[answer(200, "Messages", "LogObject"), BAD]),
    route("get", "/api/v1/messages/{partitionId}/{transactionId}", Tag::Log, "Reads one message of the log")
        .needs(Access::Read)
        .answers(&[answer(200, "The message", "LogObject"), MISSING]),
    route("get", "/api/v1/dlq", Tag::Log, "Lists dead letters, newest first")
        .needs(Access::Read)
        .query(&[
            ("queue", "Of this queue"),
            ("consumerGroup", "Of this group"),
            ("limit", "How many at most"),
            ("offset", "How many of the newest to skip"),
        ])
        .answers(&[answer(200, "Dead letters", "LogObject")]),
    route("post", "/api/v1/dlq/{id}/replay", Tag::Log, "Puts a dead letter back")
        .needs(Access::ReadWrite)
        .answers(&[answer(200, "Replayed", "LogObject"), MISSING, CONFLICT]),
    route("delete", "/api/v1/resources/queues/{queue}", Tag::Log, "Removes a queue with its log and timers")
        .needs(Access::Admin)
        .answers(&[answer(200, "Removed", "LogObject"), MISSING]),
    route("get", "/v2/admin/tokens", Tag::Admin, "Lists tokens, never the tokens themselves")
        .needs(Access::Admin)
        .answers(&[answer(200, "All tokens", "Token[]")]),
    route("post", "/v2/admin/tokens", Tag::Admin, "Makes a named token; it is shown this once")
        .needs(Access::Admin)
        .takes("TokenRequest")
        .answers(&[answer(201, "Made", "MintedToken"), BAD]),
    route("delete", "/v2/admin/tokens/{id}", Tag::Admin, "Revokes a token")
        .needs(Access::Admin)
        .answers(&[bare(200, "Revoked"), MISSING]),
    route(
        "post",
        "/v2/admin/publish-token/rotate",
        Tag::Admin,
        "Replaces the publish token; the old one ends at once",
    )
    .needs(Access::Admin)
    .answers(&[answer(200, "The new token, this once", "MintedToken")]),
    route("get", "/v2/admin/keys", Tag::Admin, "Lists signing keys, newest first")
        .needs(Access::Admin)
        .answers(&[answer(200, "All signing keys", "SigningKey[]")]),
    route("post", "/v2/admin/keys/rotate", Tag::Admin, "Makes a signing key that signs at once")
        .needs(Access::Admin)
        .answers(&[answer(200, "The new key", "SigningKey")]),
    route("post", "/v2/admin/keys/stage", Tag::Admin, "Makes a signing key that signs once it is activated")
        .needs(Access::Admin)
        .answers(&[answer(200, "The staged key", "SigningKey"), CONFLICT]),
    route("post", "/v2/admin/keys/activate", Tag::Admin, "Makes the staged key sign")
        .needs(Access::Admin)
        .answers(&[answer(200, "The key that signs now", "SigningKey"), CONFLICT]),
    route("post", "/v2/admin/keys/prune", Tag::Admin, "Deletes the keys that only verify")
        .needs(Access::Admin)
        .answers(&[answer(200, "How many", "Pruned")]),
    route("get", "/v2/admin/tenants", Tag::Admin, "Lists tenants with their quotas")
        .needs(Access::Admin)
        .answers(&[answer(200, "All tenants", "Tenant[]")]),
    route("get", "/v2/admin/tenants/{name}", Tag::Admin, "Reads a tenant's quota")
        .needs(Access::Admin)
        .answers(&[answer(200, "The quota", "Tenant"), MISSING]),
    route("put", "/v2/admin/tenants/{name}", Tag::Admin, "Makes or changes a tenant's quota")
        .needs(Access::Admin)
        .takes("Tenant")
        .answers(&[answer(200, "Changed", "Tenant"), BAD]),
    route("delete", "/v2/admin/tenants/{name}", Tag::Admin, "Deletes a tenant's quota")
        .needs(Access::Admin)
        .answers(&[bare(200, "Deleted"), MISSING]),
    route("get", "/metrics", Tag::Service, "Prometheus metrics").needs(Access::Read).answers(&[answer(
        200,
        "The text format",
        TEXT,
    )]),
    route("get", "/health", Tag::Service, "Whether the process lives").answers(&[bare(200, "It does")]),
    route("get", "/ready", Tag::Service, "Whether the store answers")
        .answers(&[bare(200, "It does"), bare(503, "It does not")]),
    route("get", "/openapi.json", Tag::Service, "This document").answers(&[answer(
        200,
        "OpenAPI 3.1",
        "OpenApi",
    )]),
];
