//! Paths of the routes, without their parameters.

/// `POST {PUBLISH}{destination}`; what follows is read raw.
pub const PUBLISH: &str = "/v2/publish/";
/// `POST`
pub const BATCH: &str = "/v2/batch";
/// `GET`, `DELETE {MESSAGES}/{id}`, `POST {MESSAGES}/{id}/retry`
pub const MESSAGES: &str = "/v2/messages";
/// `GET`
pub const EVENTS: &str = "/v2/events";
/// URL groups.
pub const TOPICS: &str = "/v2/topics";
/// Queues.
pub const QUEUES: &str = "/v2/queues";
/// Schedules.
pub const SCHEDULES: &str = "/v2/schedules";
/// oRPC form of the event log.
pub const RPC_QUEUE_JOBS: &str = "/rpc/queue/jobs";
/// Named tokens.
pub const ADMIN_TOKENS: &str = "/v2/admin/tokens";
/// Rotates the publish token.
pub const ADMIN_PUBLISH_TOKEN_ROTATE: &str = "/v2/admin/publish-token/rotate";
/// Signing keys.
pub const ADMIN_KEYS: &str = "/v2/admin/keys";
/// Tenants and their quotas.
pub const ADMIN_TENANTS: &str = "/v2/admin/tenants";
/// Timers.
pub const TIMERS: &str = "/api/v1/timers";
/// Operator switches of the timers.
pub const SYSTEM_TIMERS: &str = "/api/v1/system/timers";
/// Log: queue configuration.
pub const LOG_CONFIGURE: &str = "/api/v1/configure";
/// Log: append.
pub const LOG_PUSH: &str = "/api/v1/push";
/// Log: take messages under a lease; `/{queue}[/partition/{partition}]` follows.
pub const LOG_POP_QUEUE: &str = "/api/v1/pop/queue";
/// Log: settle one message.
pub const LOG_ACK: &str = "/api/v1/ack";
/// Log: settle several.
pub const LOG_ACK_BATCH: &str = "/api/v1/ack/batch";
/// Log: look messages up.
pub const LOG_MESSAGES: &str = "/api/v1/messages";
/// Log: dead letters.
pub const LOG_DLQ: &str = "/api/v1/dlq";
/// Log: remove a queue.
pub const LOG_RESOURCES_QUEUES: &str = "/api/v1/resources/queues";
/// Prometheus metrics.
pub const METRICS: &str = "/metrics";
/// Liveness.
pub const HEALTH: &str = "/health";
/// Readiness.
pub const READY: &str = "/ready";
/// The description of these routes.
pub const OPENAPI: &str = "/openapi.json";
