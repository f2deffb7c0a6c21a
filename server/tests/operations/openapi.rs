//! Every route is in the description, and nothing else is.

use std::collections::BTreeSet;

use chronq_server::{Running, routes};

use chronq::contract::AccessLevel;
use chronq_server::auth::Access;
use serde_json::{Value, json};

use crate::server::{Kind, call, call_as, start};

const METHODS: [&str; 5] = ["GET", "PUT", "POST", "PATCH", "DELETE"];

/// The paths that the router knows, as its debug output shows them.
fn routed_paths(server: &Running) -> BTreeSet<String> {
    let debug = format!("{:?}", routes::router(server.state().clone()));
    let quoted = debug.split('"').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with('/') && !text.starts_with("/dev/")).map(str::to_owned).collect()
}

/// Parameters have other names on both sides: `/v2/messages/{}`. Where the router takes all that
/// follows, it is one parameter.
fn shape(path: &str, routed: &BTreeSet<String>) -> String {
    let prefixes = routed.iter().filter_map(|routed| routed.split_once("{*")).map(|(prefix, _)| prefix);
    if let Some(prefix) = prefixes.into_iter().find(|prefix| prefix.len() > 1 && path.starts_with(prefix)) {
        return format!("{prefix}{{}}");
    }
    let segment = |segment: &str| if segment.starts_with('{') { "{}".to_owned() } else { segment.to_owned() };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// A path with something in the place of each parameter.
fn example(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn every_route_is_in_the_description() {
    let server = start(Kind::Sqlite).await;
    let document = call_as(&server, None, "GET", "/openapi.json", None).await;
    assert_eq!(document.status, 200);
    let document = document.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document, chronq_server::openapi::document());

    let paths = routed_paths(&server);
    assert!(paths.contains("/openapi.json"), "the router shows its paths: {paths:?}");
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in operations.as_object().expect("operations").keys() {
            described.insert((shape(path, &paths), method.to_ascii_uppercase()));
        }
    }
    let mut routed = BTreeSet::new();
    for path in &paths {
        for method in METHODS {
            let answer = call_as(&server, None, method, &example(path), None).await;
            // The router's fallback stands among its paths.
            let is_fallback = answer.status == 404 && answer.body.contains("no route");
            if answer.status != 405 && !is_fallback {
                routed.insert((shape(path, &paths), method.to_owned()));
            }
        }
    }
    let missing: Vec<_> = routed.difference(&described).collect();
    assert!(missing.is_empty(), "not described: {missing:?}");
    let invented: Vec<_> = described.difference(&routed).collect();
    assert!(invented.is_empty(), "described, but no route: {invented:?}");
    server.shutdown().await;
}

/// What the description says that a token must allow.
fn described_access(operation: &Value) -> Option<Access> {
    let sentence = operation["description"].as_str()?;
    let named = |access: &&Access| sentence == format!("Needs a token with {access} access.");
    Some(*Access::ALL.iter().find(named).unwrap_or_else(|| panic!("no access in {sentence}")))
}

#[tokio::test]
async fn every_route_asks_for_the_access_that_the_description_names() {
    let server = start(Kind::Sqlite).await;
    let mut tokens = Vec::new();
    for level in [AccessLevel::ReadOnly, AccessLevel::WriteOnly, AccessLevel::ReadWrite] {
        let body = json!({ "name": level.as_str(), "level": level });
        let made = call(&server, "POST", "/v2/admin/tokens", Some(body)).await.json();
        tokens.push((level, made["token"].as_str().expect("a token").to_owned()));
    }
    let document = chronq_server::openapi::document();
    let mut wrong = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let example = example(path);
        for (method, operation) in operations.as_object().expect("operations") {
            let method = method.to_ascii_uppercase();
            let anonymous = call_as(&server, None, &method, &example, None).await;
            let access = described_access(operation);
            if (anonymous.status == 401) != access.is_some() {
                wrong.push(format!("{method} {path} without a token: {}", anonymous.status));
            }
            for (level, token) in &tokens {
                let answer = call_as(&server, Some(token), &method, &example, None).await;
                let allowed = access.is_none_or(|access| access.is_allowed_to(*level));
                if (answer.status == 403) == allowed {
                    wrong.push(format!("{method} {path} as {level}: {}", answer.status));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    server.shutdown().await;
}
