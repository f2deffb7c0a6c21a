//! What the faults of [`chronq::sabotage`] need here, in a test build that has them.

use std::time::Duration;

use uuid::Uuid;

use crate::state::AppState;
use crate::store::types::message::{Enqueued, NewMessage};

/// How late an acknowledged publish is committed: long enough that a server killed after its answer has lost it.
const COMMIT_LAG: Duration = Duration::from_secs(1);

/// Answers at once, and commits later.
pub(crate) fn acknowledge_before_commit(state: &AppState, messages: Vec<NewMessage>) -> Vec<Enqueued> {
    let acknowledged =
        messages.iter().map(|message| Enqueued::Queued { id: Uuid::now_v7(), queue: message.queue.clone() });
    let acknowledged = acknowledged.collect();
    let publisher = state.engine.publisher(state).clone();
    tokio::spawn(async move {
        tokio::time::sleep(COMMIT_LAG).await;
        publisher.publish(messages).await
    });
    acknowledged
}

/// A URL without its dot segments, as URL libraries write it.
pub(crate) fn normalised(url: &str) -> String {
    let (path, query) = url.split_once('?').map_or((url, None), |(path, query)| (path, Some(query)));
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let path = segments.join("/");
    query.map_or(path.clone(), |query| format!("{path}?{query}"))
}
