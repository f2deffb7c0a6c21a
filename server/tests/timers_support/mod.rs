//! A server in this process, asked through its router.
#![allow(dead_code, reason = "each test binary uses its part")]

use axum::body::Body;
use chronq_server::config::{Config, Database, Mode};
use chronq_server::{Running, Server, routes};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// One test per store from one sentence.
macro_rules! on_both {
    ($($behaviour:ident,)+) => {
        mod on_sqlite { $(
            #[tokio::test]
            async fn $behaviour() { super::$behaviour(chronq_server::config::Database::Memory).await; }
        )+ }
        mod on_postgres { $(
            #[tokio::test]
            async fn $behaviour() {
                let url = crate::postgres_server::fresh_url().await;
                super::$behaviour(chronq_server::config::Database::Postgres(url.into())).await;
            }
        )+ }
    };
}
pub(crate) use on_both;

/// A schedule of key `key` on queue `q` with txn `txn-key` and payload `{"n":1}`.
pub(crate) fn schedule(key: &str, delay_ms: i64) -> Value {
    json!({"op": "schedule", "queue": "q", "timerKey": key, "delayMs": delay_ms,
           "txn": format!("txn-{key}"), "payload": "eyJuIjoxfQ=="})
}

pub(crate) struct Api {
    pub(crate) server: Running,
    token: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    /// The keys of the object, in the order of the wire.
    pub(crate) fn keys(&self) -> Vec<String> {
        struct Keys(Vec<String>);
        impl<'de> serde::Deserialize<'de> for Keys {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = Keys;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                        let mut keys = Vec::new();
                        while let Some((key, _)) = map.next_entry::<String, serde::de::IgnoredAny>()? {
                            keys.push(key);
                        }
                        Ok(Keys(keys))
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
        serde_json::from_slice::<Keys>(&self.body).expect("object").0
    }
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn on(database: Database) -> Self {
        Self::on_with(database, |_| {}).await
    }

    pub(crate) async fn on_with(database: Database, change: impl FnOnce(&mut Config)) -> Self {
        Self::start_with(|config| {
            config.database = database;
            change(config);
        })
        .await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::for_tests();
        config.mode = Mode::Dev;
        change(&mut config);
        let server = Server::start(config).await.expect("starts");
        Self { server, token: chronq_server::dev::TOKEN.to_owned() }
    }

    pub(crate) async fn call(&self, token: &str, method: Method, path: &str, body: Vec<u8>) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Body::from(body))
            .expect("request");
        let router = routes::router(self.server.state().clone());
        let (parts, body) = router.oneshot(request).await.expect("answers").into_parts();
        let body = body.collect().await.expect("body").to_bytes().to_vec();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(&self.token, Method::GET, path, Vec::new()).await
    }

    pub(crate) async fn get_as(&self, token: &str, path: &str) -> Answer {
        self.call(token, Method::GET, path, Vec::new()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(&self.token, Method::DELETE, path, Vec::new()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call(&self.token, Method::PUT, path, body.to_string().into_bytes()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string()).await
    }

    pub(crate) async fn post_text(&self, path: &str, body: &str) -> Answer {
        self.call(&self.token, Method::POST, path, body.as_bytes().to_vec()).await
    }

    /// The results of a call that is served.
    pub(crate) async fn apply(&self, operations: Value) -> Vec<Value> {
        let answer = self.post("/api/v1/timers", &json!({ "operations": operations })).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["results"].as_array().expect("results").clone()
    }

    pub(crate) async fn until_claimed(&self, path: &str) {
        self.until(|peek| peek["claimed"] == json!(true), path).await;
    }

    /// Looks until it is so: there is no signal for what a sweeper does between two commits.
    pub(crate) async fn until(&self, is_so: impl Fn(&Value) -> bool, path: &str) {
        for _ in 0..2_000 {
            if is_so(&self.get(path).await.json()) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("{path} stays {}", self.get(path).await.text());
    }
}
