//! The claim loop: wakes up when something is due, claims as many as there are free places.
//!
//! What it knows of due times is a hint, kept in memory: signals of the store bring it forward, the
//! agenda is read again when a queue has been emptied, and now and then in any case.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chronq::Name;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::slots::Reservation;
use super::{LEASE_MS, deliver};
use crate::state::AppState;
use crate::store::types::claim::{ClaimRequest, Claimed};
use crate::store::types::queue::{QueueAgenda, Wake};
use crate::store::{StoreResult, UnixMillis};

/// The safety net under the signals.
const POLL: Duration = Duration::from_secs(2);
/// The agenda is not read more often than this, however many queues are emptied.
const AGENDA_PAUSE: Duration = Duration::from_millis(5);
/// After a claim that found nothing although the agenda said so.
const EMPTY_CLAIM_PAUSE_MS: i64 = 50;
/// After the store failed.
const FAILURE_PAUSE_MS: i64 = 500;

/// What the engine was waiting for, once it is there.
enum Answer {
    Claimed { places: Reservation, claimed: StoreResult<Vec<Claimed>> },
    Agenda(StoreResult<Vec<QueueAgenda>>),
    Queues(StoreResult<Vec<(Name, usize)>>),
}

struct Loop {
    state: AppState,
    /// Queues with something to claim, and when.
    due: HashMap<Name, UnixMillis>,
    claiming: HashSet<Name>,
    /// Queues whose last claim found nothing.
    found_nothing: HashSet<Name>,
    answers: JoinSet<Answer>,
    agenda_wanted: bool,
    agenda_read_at: Option<Instant>,
    agenda_asked: bool,
}

/// Runs until the server stops.
pub(super) async fn run(state: AppState) {
    let stop = state.background.stop().clone();
    // Subscribe before you look.
    let mut wakes = state.store.wakes();
    let mut moves = state.clock.moves();
    let mut engine = Loop {
        state,
        due: HashMap::new(),
        claiming: HashSet::new(),
        found_nothing: HashSet::new(),
        answers: JoinSet::new(),
        agenda_wanted: true,
        agenda_read_at: None,
        agenda_asked: false,
    };
    engine.ask_for_queues();
    let mut poll = interval_at(Instant::now() + POLL, POLL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        engine.claim_what_is_due();
        engine.ask_for_agenda();
        let sleep = engine.sleep();
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(answer) = engine.answers.join_next() => engine.take(answer),
            wake = wakes.recv() => engine.hear(wake),
            () = engine.state.engine.slots.freed() => {}
            _ = moves.changed() => engine.agenda_wanted = true,
            _ = poll.tick() => {
                engine.agenda_wanted = true;
                engine.ask_for_queues();
            }
            () = tokio::time::sleep(sleep) => {}
        }
    }
    engine.finish().await;
}

impl Loop {
    fn claim_what_is_due(&mut self) {
        let now = self.state.clock.now_ms();
        let due: Vec<Name> = self
            .due
            .iter()
            .filter(|(queue, at)| **at <= now && !self.claiming.contains(*queue))
            .map(|(queue, _)| queue.clone())
            .collect();
        for queue in due {
            let places = self.state.engine.slots.reserve_for_claim(&queue);
            if places.count() == 0 {
                continue;
            }
            self.due.remove(&queue);
            self.claiming.insert(queue.clone());
            let store = self.state.store.clone();
            let request = ClaimRequest { queue, limit: places.count(), lease_ms: LEASE_MS };
            self.answers.spawn(async move {
                let claimed = store.claim(request).await;
                Answer::Claimed { places, claimed }
            });
        }
    }

    fn ask_for_agenda(&mut self) {
        let rested = self.agenda_read_at.is_none_or(|at| at.elapsed() >= AGENDA_PAUSE);
        if !self.agenda_wanted || self.agenda_asked || !rested {
            return;
        }
        self.agenda_wanted = false;
        self.agenda_asked = true;
        let store = self.state.store.clone();
        self.answers.spawn(async move { Answer::Agenda(store.agenda().await) });
    }

    fn ask_for_queues(&mut self) {
        let store = self.state.store.clone();
        self.answers.spawn(async move {
            let queues = store.queues().await;
            Answer::Queues(queues.map(|queues| {
                queues
                    .into_iter()
                    .map(|queue| {
                        let concurrency = queue.in_force().concurrency as usize;
                        (queue.name, concurrency)
                    })
                    .collect()
            }))
        });
    }

    /// How long there is nothing to do unless a signal comes.
    fn sleep(&self) -> Duration {
        let now = self.state.clock.now_ms();
        let next = self
            .due
            .values()
            .filter(|at| **at > now)
            .map(|at| Duration::from_millis(u64::try_from(at - now).unwrap_or_default()))
            .min()
            .unwrap_or(POLL);
        if self.agenda_wanted && !self.agenda_asked { next.min(AGENDA_PAUSE) } else { next }
    }

    fn take(&mut self, answer: Result<Answer, tokio::task::JoinError>) {
        match answer {
            Ok(Answer::Claimed { places, claimed }) => self.take_claimed(places, claimed),
            Ok(Answer::Agenda(agenda)) => {
                self.agenda_asked = false;
                self.agenda_read_at = Some(Instant::now());
                match agenda {
                    Ok(agenda) => self.take_agenda(agenda),
                    Err(error) => tracing::warn!(%error, "cannot read what is due"),
                }
            }
            Ok(Answer::Queues(Ok(limits))) => self.state.engine.slots.set_limits(limits),
            Ok(Answer::Queues(Err(error))) => tracing::warn!(%error, "cannot read the queues"),
            Err(error) => {
                // The supervisor starts the loop anew, with nothing half known.
                tracing::error!(%error, "a question to the store died");
                self.claiming.clear();
                self.agenda_asked = false;
                self.agenda_wanted = true;
            }
        }
    }

    fn take_claimed(&mut self, places: Reservation, claimed: StoreResult<Vec<Claimed>>) {
        let (queue, asked) = (places.queue().clone(), places.count());
        self.claiming.remove(&queue);
        let now = self.state.clock.now_ms();
        match claimed {
            Ok(claimed) => {
                if claimed.is_empty() {
                    self.found_nothing.insert(queue.clone());
                } else {
                    self.found_nothing.remove(&queue);
                }
                if claimed.len() >= asked {
                    self.state.engine.slots.behind(&queue);
                    self.due.insert(queue, now);
                } else {
                    // Emptied, unless a signal came while it was being claimed from.
                    let more = self.due.get(&queue).is_some_and(|at| *at <= now);
                    self.state.engine.slots.caught_up(&queue, more);
                    self.agenda_wanted = true;
                }
                deliver(&self.state, places, claimed);
            }
            Err(error) => {
                tracing::warn!(%error, %queue, "cannot claim");
                self.due.insert(queue, now + FAILURE_PAUSE_MS);
            }
        }
    }

    fn take_agenda(&mut self, agenda: Vec<QueueAgenda>) {
        let now = self.state.clock.now_ms();
        for QueueAgenda { queue, next_due } in agenda {
            if self.claiming.contains(&queue) {
                self.agenda_wanted = true;
                continue;
            }
            // "It may be early": what just turned out to be nothing is not asked for at once again.
            let at = if self.found_nothing.contains(&queue) {
                next_due.max(now + EMPTY_CLAIM_PAUSE_MS)
            } else {
                next_due
            };
            self.bring_forward(queue, at);
        }
    }

    fn hear(&mut self, wake: Result<Wake, RecvError>) {
        match wake {
            Ok(Wake::Due { queue, at }) => {
                self.found_nothing.remove(&queue);
                self.bring_forward(queue, at);
            }
            Ok(Wake::QueuesChanged) => {
                // Said also where hints may have been lost.
                self.agenda_wanted = true;
                self.ask_for_queues();
            }
            Ok(Wake::SchedulesChanged) => {}
            Err(broadcast::error::RecvError::Lagged(_) | RecvError::Closed) => self.agenda_wanted = true,
        }
    }

    fn bring_forward(&mut self, queue: Name, at: UnixMillis) {
        self.due.entry(queue).and_modify(|known| *known = at.min(*known)).or_insert(at);
    }

    /// No further claim is made; those under way are delivered, since nobody else can before their
    /// leases pass.
    async fn finish(mut self) {
        self.state.engine.slots.close();
        while let Some(answer) = self.answers.join_next().await {
            if let Ok(Answer::Claimed { places, claimed: Ok(claimed) }) = answer {
                deliver(&self.state, places, claimed);
            }
        }
    }
}
