//! Publishing: one message, a batch, or one copy for each endpoint of a group.

use chronq::batch::{Batch, EntryError, EntryResult};
use chronq::contract::{Method, headers};
use chronq::group::{PublishToGroup, PublishedCopy};
use chronq::publish::{Content, Publish, PublishOptions, Published};
use chronq::{Destination, MessageId, Name};

use super::Refusal;
use crate::metrics::instance;
use crate::state::AppState;
use crate::store::StoreError;
use crate::store::types::Headers;
use crate::store::types::message::{DeduplicationKey, Due, Enqueued, NewMessage};
use crate::store::types::queue::duration_ms;

/// Publishes one message. What this answers is committed.
///
/// # Errors
/// [`Refusal`]; nothing was queued.
pub async fn publish(state: &AppState, publish: Publish) -> Result<Published, Refusal> {
    check_addresses(state, &publish.destination, &publish.options)?;
    let queue = queue_of(&publish.options);
    let message = new_message(publish.destination, &publish.content, &publish.options, Scope::Server);
    let outcome = enqueue(state, vec![message]).await?.pop();
    published(outcome, &queue)
}

/// Publishes a batch: every entry is checked first; then each is queued or refused on its own.
///
/// # Errors
/// [`Refusal::Invalid`] naming the entry's index; nothing was queued.
pub async fn publish_batch(state: &AppState, batch: Batch) -> Result<Vec<EntryResult>, Refusal> {
    for (index, entry) in batch.entries.iter().enumerate() {
        check_addresses(state, &entry.destination, &entry.options)
            .map_err(|refused| refused.at_index(index))?;
    }
    let queues: Vec<Name> = batch.entries.iter().map(|entry| queue_of(&entry.options)).collect();
    let messages = batch
        .entries
        .into_iter()
        .map(|entry| new_message(entry.destination, &entry.content, &entry.options, Scope::Server))
        .collect();
    let outcomes = enqueue(state, messages).await?;
    let results =
        outcomes.into_iter().zip(queues).map(|(outcome, queue)| match published(Some(outcome), &queue) {
            Ok(published) => Ok(Ok(published)),
            Err(refused @ (Refusal::UnknownQueue(_) | Refusal::QueueDisabled(_))) => {
                Ok(Err(EntryError { error: refused.to_string() }))
            }
            Err(refused) => Err(refused),
        });
    results.collect()
}

/// Publishes one copy for each endpoint that the group has now.
///
/// # Errors
/// [`Refusal`]; nothing was queued.
pub async fn publish_to_group(
    state: &AppState,
    publish: PublishToGroup,
) -> Result<Vec<PublishedCopy>, Refusal> {
    let PublishToGroup { group: name, content, options } = publish;
    let group = state.store.group(&name).await?;
    let group = group.ok_or_else(|| Refusal::not_found("URL group", name.as_str()))?;
    if group.endpoints.is_empty() {
        return Err(Refusal::EmptyGroup(name));
    }
    for endpoint in &group.endpoints {
        check_addresses(state, endpoint, &options)?;
    }
    let queue = queue_of(&options);
    let messages = group
        .endpoints
        .iter()
        .map(|endpoint| new_message(endpoint.clone(), &content, &options, Scope::Destination))
        .collect();
    let outcomes = enqueue(state, messages).await?;
    let copies =
        group.endpoints.into_iter().zip(outcomes).map(|(url, outcome)| {
            published(Some(outcome), &queue).map(|Published { message_id, queue, deduplicated }| {
                PublishedCopy { message_id, url, queue, deduplicated }
            })
        });
    copies.collect()
}

/// Where an explicit deduplication id is one.
#[derive(Clone, Copy, Debug)]
enum Scope {
    Server,
    Destination,
}

fn queue_of(options: &PublishOptions) -> Name {
    options.queue.clone().unwrap_or_else(Name::default_queue)
}

/// Addresses that the guard refuses whatever they resolve to, wherever in the message they stand.
fn check_addresses(
    state: &AppState,
    destination: &Destination,
    options: &PublishOptions,
) -> Result<(), chronq::InvalidInput> {
    let guard = state.egress.guard();
    guard.check_literal("destination", destination)?;
    for (option, callback) in
        [(headers::CALLBACK, &options.callback), (headers::FAILURE_CALLBACK, &options.failure_callback)]
    {
        if let Some(callback) = callback {
            guard.check_literal(option, &callback.url)?;
        }
    }
    Ok(())
}

fn new_message(
    destination: Destination,
    content: &Content,
    options: &PublishOptions,
    scope: Scope,
) -> NewMessage {
    let sent = sent_headers(content, options);
    let deduplication = deduplication(&destination, content, &sent, options, scope);
    NewMessage {
        queue: queue_of(options),
        destination,
        method: options.method.unwrap_or(Method::Post),
        headers: sent,
        body: content.body().clone(),
        due: due(options),
        retries: options.retries,
        timeout_ms: options.timeout.map(duration_ms),
        retry_delay_ms: options.retry_delay.map(duration_ms),
        labels: options.labels.clone(),
        callback: options.callback.clone(),
        failure_callback: options.failure_callback.clone(),
        deduplication,
        schedule: None,
    }
}

fn deduplication(
    destination: &Destination,
    content: &Content,
    sent: &Headers,
    options: &PublishOptions,
    scope: Scope,
) -> Option<DeduplicationKey> {
    sabotage!(DeduplicationForgotten => return None);
    match (&options.deduplication_id, scope) {
        (Some(id), Scope::Server) => Some(DeduplicationKey::explicit(id)),
        (Some(id), Scope::Destination) => Some(DeduplicationKey::per_destination(id, destination)),
        (None, _) => options
            .content_based_deduplication
            .unwrap_or(false)
            .then(|| DeduplicationKey::content(destination, content.body(), sent)),
    }
}

/// Content type first; one that is forwarded by name replaces it.
fn sent_headers(content: &Content, options: &PublishOptions) -> Headers {
    let own = content.content_type().filter(|_| options.headers.get("content-type").is_none());
    own.map(|content_type| ("content-type".to_owned(), content_type.to_owned()))
        .into_iter()
        .chain(options.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect()
}

fn due(options: &PublishOptions) -> Due {
    match (options.not_before, options.delay) {
        (Some(seconds), _) => Due::At(seconds.saturating_mul(1_000)),
        (None, Some(delay)) => Due::After(duration_ms(delay)),
        (None, None) => Due::Now,
    }
}

fn published(outcome: Option<Enqueued>, asked: &Name) -> Result<Published, Refusal> {
    let (id, queue, deduplicated) = match outcome {
        Some(Enqueued::Queued { id, queue }) => (id, queue, false),
        Some(Enqueued::Duplicate { id, queue }) => (id, queue, true),
        Some(Enqueued::UnknownQueue) => return Err(Refusal::UnknownQueue(asked.clone())),
        Some(Enqueued::QueueDisabled) => return Err(Refusal::QueueDisabled(asked.clone())),
        None => return Err(StoreError::Internal("enqueue answered too little".to_owned()).into()),
    };
    Ok(Published { message_id: MessageId::new(id.to_string())?, queue, deduplicated })
}

/// Commits messages together with what is published at the same time; what is due and has a place is
/// delivered at once. It is carried through also where the publisher hangs up.
async fn enqueue(state: &AppState, messages: Vec<NewMessage>) -> Result<Vec<Enqueued>, Refusal> {
    sabotage!(AcknowledgedBeforeCommit => return Ok(crate::sabotage::acknowledge_before_commit(state, messages)));
    let outcomes = state.engine.publisher(state).publish(messages).await?;
    let count = |wanted: fn(&Enqueued) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count();
    let queued = count(|outcome| matches!(outcome, Enqueued::Queued { .. }));
    let duplicates = count(|outcome| matches!(outcome, Enqueued::Duplicate { .. }));
    instance::published(queued as u64, duplicates as u64);
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> PublishOptions {
        PublishOptions::from_headers(pairs.iter().map(|(name, value)| (*name, value.as_bytes())))
            .expect("options")
    }

    #[test]
    fn not_before_wins_over_delay() {
        assert_eq!(due(&options(&[])), Due::Now);
        assert_eq!(due(&options(&[("chronq-delay", "3s")])), Due::After(3_000));
        let both = options(&[("chronq-delay", "3s"), ("chronq-not-before", "1796083200")]);
        assert_eq!(due(&both), Due::At(1_796_083_200_000));
    }

    #[test]
    fn the_content_type_is_sent_once() {
        let content = Content::text("x");
        let sent = sent_headers(&content, &options(&[("chronq-forward-x-a", "1")]));
        assert_eq!(
            sent,
            [("content-type".to_owned(), "text/plain".to_owned()), ("x-a".to_owned(), "1".to_owned())]
        );
        let sent = sent_headers(&content, &options(&[("chronq-forward-content-type", "text/csv")]));
        assert_eq!(sent, [("content-type".to_owned(), "text/csv".to_owned())]);
    }
}
