//! One suite for every store: the behaviours that the rest of the server relies on.
//!
//! Each function is a sentence of the contract and takes a fresh store. `behaviours!` lists them once;
//! each store's module turns the list into its tests.

#[path = "../../tests/support/postgres.rs"]
mod postgres_server;

mod admin;
mod deduplication;
mod delivery;
mod events;
mod retention;
mod schedules;
mod topology;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chronq::contract::{MessageState, limits};
use chronq::{Destination, Name};
use uuid::Uuid;

use super::Store;
use super::clock::Clock;
use super::types::claim::{AttemptResponse, AttemptVerdict, ClaimRequest, Claimed, Settlement};
use super::types::event::Message;
use super::types::message::{Due, Enqueued, HandOver, NewMessage};

macro_rules! behaviours {
    ($($module:ident :: { $($behaviour:ident),+ $(,)? })+) => {
        /// Makes one test per behaviour; `$open` is an async function that gives a fresh store.
        macro_rules! run_suite {
            ($open:path) => {
                $( $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $behaviour() {
                        let (store, _keep) = $open().await;
                        $crate::store::suite::$module::$behaviour(store).await;
                    }
                )+ )+
            };
        }
    };
}

behaviours! {
    delivery::{
        a_message_is_claimed_once_with_all_that_an_attempt_needs,
        options_fall_back_to_the_queue_and_then_to_the_default,
        nothing_is_claimed_before_it_is_due,
        the_oldest_due_comes_first,
        what_becomes_due_behind_the_last_claim_is_still_claimed,
        a_far_message_is_claimed_when_its_time_comes,
        an_unknown_queue_is_answered_and_nothing_is_made,
        a_disabled_queue_refuses_publishes_and_still_delivers,
        messages_due_now_are_handed_over_under_a_lease,
        a_completed_message_is_never_claimed_again,
        a_retry_waits_and_keeps_its_raised_base,
        a_stale_lease_writes_nothing,
        a_passed_lease_is_rescued_and_the_attempt_is_made_again,
        a_rescued_retry_stays_a_retry,
        concurrent_claims_never_share_a_message,
        the_agenda_names_queues_that_wait,
        a_publish_wakes_who_sleeps,
        a_failed_message_leaves_a_copy_in_the_dead_letter_queue,
        a_missing_dead_letter_queue_loses_nothing_else,
    }
    deduplication::{
        a_second_publish_in_the_window_answers_the_first_id,
        the_window_starts_at_the_first_publish,
        duplicates_in_one_batch_are_one_message,
        a_refused_publish_takes_no_key,
        a_failed_message_keeps_its_key,
        concurrent_publishes_of_one_key_make_one_message,
    }
    events::{
        a_lookup_shows_the_whole_life_of_a_message,
        an_unknown_message_is_not_found,
        a_waiting_message_is_cancelled_and_not_delivered,
        a_retrying_message_is_cancelled,
        an_active_or_finished_message_is_not_cancelled,
        a_failed_message_gets_one_more_attempt_under_its_id,
        only_a_failed_message_is_retried_by_hand,
        events_are_newest_first_with_a_total,
        events_are_filtered_by_queue_state_label_and_schedule,
        figures_cover_what_finished_since,
        headers_and_bodies_come_back_byte_for_byte,
    }
    topology::{
        the_default_queue_is_always_there,
        a_queue_is_created_then_updated,
        a_dead_letter_queue_must_exist_and_not_lead_back,
        a_deleted_queue_takes_its_messages_with_it,
        a_queue_made_anew_does_not_inherit_messages,
        the_default_queue_cannot_be_deleted,
        a_queue_that_a_schedule_uses_stays,
        a_group_is_made_by_its_first_endpoint_and_keeps_known_ones,
        a_group_holds_a_hundred_endpoints,
        endpoints_are_removed_and_a_group_may_be_empty,
        a_group_is_deleted_once,
    }
    retention::{
        finished_messages_go_after_keep_completed,
        waiting_messages_go_after_keep_queued_past_their_due_instant,
        a_purge_is_bounded_and_can_be_repeated,
        deduplication_keys_go_after_their_window,
    }
    schedules::{
        a_schedule_is_created_then_updated,
        a_schedule_without_a_queue_gets_its_own,
        an_unknown_queue_is_refused,
        a_due_schedule_is_claimed_by_one,
        a_run_and_the_move_are_one_transaction,
        a_lease_that_passed_is_claimed_again,
        an_edit_ends_the_lease,
        a_disabled_schedule_is_never_due,
        a_skipped_occurrence_moves_the_schedule_without_a_run,
        a_run_into_a_disabled_queue_is_refused_and_the_schedule_moves_on,
        a_deleted_schedule_is_gone,
    }
    admin::{
        a_token_is_stored_listed_touched_and_revoked,
        a_new_publish_token_replaces_the_old_one,
        a_rotated_key_signs_and_the_old_one_verifies,
        a_staged_key_signs_when_it_is_activated,
        pruning_keeps_what_signs_and_what_is_staged,
        the_first_value_of_a_setting_wins,
    }
}
pub(crate) use run_suite;

/// A store as a behaviour takes it.
type Fresh = Arc<dyn Store>;

const LEASE_MS: u64 = 5_000;

fn name(text: &str) -> Name {
    Name::parse("name", text).expect("a name")
}

fn destination(text: &str) -> Destination {
    Destination::parse("destination", text).expect("a destination")
}

fn message(queue: &str) -> NewMessage {
    NewMessage::new(name(queue), destination("https://example.com/hook?a=1"), "{\"orderId\":42}")
}

async fn publish(store: &Fresh, message: NewMessage) -> Uuid {
    match publish_outcome(store, message).await {
        Enqueued::Queued { id, .. } => id,
        other => panic!("not queued: {other:?}"),
    }
}

async fn publish_outcome(store: &Fresh, message: NewMessage) -> Enqueued {
    let mut answer = store.enqueue(vec![message], HandOver::default()).await.expect("enqueues");
    assert_eq!((answer.outcomes.len(), answer.claimed.len()), (1, 0));
    answer.outcomes.remove(0)
}

async fn claim(store: &Fresh, queue: &str, limit: usize) -> Vec<Claimed> {
    store.claim(ClaimRequest { queue: name(queue), limit, lease_ms: LEASE_MS }).await.expect("claims")
}

async fn claim_one(store: &Fresh, queue: &str) -> Claimed {
    let mut claimed = claim(store, queue, 10).await;
    assert_eq!(claimed.len(), 1);
    claimed.remove(0)
}

fn response(status: u16) -> AttemptResponse {
    AttemptResponse {
        status,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: Bytes::from_static(b"answer"),
        truncated: false,
        duration_ms: 132,
    }
}

fn settlement(claimed: &Claimed, status: u16, verdict: AttemptVerdict) -> Settlement {
    Settlement { lease: claimed.lease, response: response(status).into(), verdict }
}

async fn settle(
    store: &Fresh,
    claimed: &Claimed,
    status: u16,
    verdict: AttemptVerdict,
) -> super::types::claim::Settled {
    let settled = store.settle(vec![settlement(claimed, status, verdict)]).await.expect("settles");
    assert_eq!(settled.len(), 1);
    settled[0]
}

/// Publishes one and brings it to an end.
async fn finished(store: &Fresh, message: NewMessage, verdict: AttemptVerdict) -> Uuid {
    let queue = message.queue.to_string();
    let id = publish(store, message).await;
    let claimed = claim_one(store, &queue).await;
    assert_eq!(claimed.id, id);
    settle(store, &claimed, 200, verdict).await;
    id
}

async fn look_up(store: &Fresh, id: Uuid) -> Message {
    store.message(id).await.expect("reads").expect("is there")
}

async fn state(store: &Fresh, id: Uuid) -> MessageState {
    look_up(store, id).await.state
}

fn advance(store: &Fresh, ms: u64) {
    store.clock().advance(Duration::from_millis(ms));
}

fn later(ms: u64) -> Due {
    Due::After(ms)
}

mod embedded {
    use super::*;
    use crate::store::{DatabaseUrl, Role, open};

    async fn in_memory() -> (Fresh, ()) {
        (open(&DatabaseUrl::Memory, Role::Serve, Clock::new()).await.expect("opens"), ())
    }

    async fn in_a_file() -> (Fresh, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let url = DatabaseUrl::Sqlite(folder.path().join("chronq.sqlite"));
        (open(&url, Role::Serve, Clock::new()).await.expect("opens"), folder)
    }

    mod memory {
        super::super::run_suite!(super::in_memory);
    }

    mod file {
        super::super::run_suite!(super::in_a_file);
    }
}

mod postgres {
    use super::*;
    use crate::store::{DatabaseUrl, Role, open};

    async fn in_a_schema() -> (Fresh, ()) {
        let url = DatabaseUrl::Postgres(postgres_server::fresh_url().await.into());
        (open(&url, Role::Serve, Clock::new()).await.expect("opens"), ())
    }

    super::run_suite!(in_a_schema);
}
