//! Wake-ups between processes: LISTEN and NOTIFY, as hints.
//!
//! They go out after the commit, from a task of their own that puts together what came meanwhile: a
//! NOTIFY inside the transaction would queue every commit behind one lock. A hint that is lost with its
//! process costs a poll.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chronq::Name;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;

use crate::store::timers::UnixMicros;
use crate::store::types::UnixMillis;
use crate::store::types::queue::Wake;

use super::error::PgError;

const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Who is told in this process when a timer is put.
pub(super) type OnTimerPut = Arc<dyn Fn(UnixMicros) + Send + Sync>;

/// What processes tell each other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hint {
    Wake(Wake),
    TimerPut(UnixMicros),
}

/// Sends hints.
#[derive(Debug)]
pub(super) struct Hints {
    outbox: mpsc::UnboundedSender<Hint>,
}

impl Hints {
    /// Listens and sends on a channel of the schema, so that several in one database don't mix.
    pub(super) async fn start(
        pool: &PgPool,
        wakes: &broadcast::Sender<Wake>,
        on_timer_put: &Arc<OnceLock<OnTimerPut>>,
    ) -> Result<(Self, Vec<AbortHandle>), PgError> {
        let (schema, process): (String, String) =
            sqlx::query_as("SELECT current_schema()::text, gen_random_uuid()::text").fetch_one(pool).await?;
        let channel = format!("chronq_{schema}");
        let (outbox, inbox) = mpsc::unbounded_channel();
        let listening = tokio::spawn(listen(
            connect(pool, &channel).await?,
            Channel { pool: pool.clone(), name: channel.clone(), process: process.clone() },
            Sleepers { wakes: wakes.clone(), on_timer_put: Arc::clone(on_timer_put) },
        ));
        let sending = tokio::spawn(send(Channel { pool: pool.clone(), name: channel, process }, inbox));
        Ok((Self { outbox }, vec![listening.abort_handle(), sending.abort_handle()]))
    }

    /// Lets other processes know.
    pub(super) fn send(&self, wake: &Wake) {
        self.post(Hint::Wake(wake.clone()));
    }

    /// Lets the sweepers of other processes know of a timer.
    pub(super) fn send_timer_put(&self, due_us: UnixMicros) {
        self.post(Hint::TimerPut(due_us));
    }

    fn post(&self, hint: Hint) {
        // Without the task there is nobody to tell: the store is closed.
        let _ = self.outbox.send(hint);
    }
}

/// Where hints go and come from, and who we are there.
struct Channel {
    pool: PgPool,
    name: String,
    process: String,
}

/// Who is woken in this process.
struct Sleepers {
    wakes: broadcast::Sender<Wake>,
    on_timer_put: Arc<OnceLock<OnTimerPut>>,
}

impl Sleepers {
    fn wake(&self, hint: Hint) {
        match hint {
            Hint::Wake(wake) => {
                // Without a listener nobody sleeps.
                let _ = self.wakes.send(wake);
            }
            Hint::TimerPut(due_us) => {
                if let Some(on_timer_put) = self.on_timer_put.get() {
                    on_timer_put(due_us);
                }
            }
        }
    }

    /// Whatever was said while the connection was gone is lost: look at everything.
    fn wake_all(&self) {
        self.wake(Hint::Wake(Wake::QueuesChanged));
        self.wake(Hint::Wake(Wake::SchedulesChanged));
        self.wake(Hint::TimerPut(UnixMicros::MIN));
    }
}

async fn connect(pool: &PgPool, channel: &str) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(channel).await?;
    Ok(listener)
}

async fn listen(mut listener: PgListener, channel: Channel, sleepers: Sleepers) {
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) => {
                if let Some(hint) = read(notification.payload(), &channel.process) {
                    sleepers.wake(hint);
                }
            }
            Ok(None) => sleepers.wake_all(),
            Err(error) => {
                tracing::warn!(%error, "cannot listen for hints");
                // The listener would connect again by itself, but not say when it has.
                listener = reconnect(&channel).await;
                sleepers.wake_all();
            }
        }
    }
}

async fn reconnect(channel: &Channel) -> PgListener {
    loop {
        tokio::time::sleep(RECONNECT_DELAY).await;
        match connect(&channel.pool, &channel.name).await {
            Ok(listener) => return listener,
            Err(error) => tracing::debug!(%error, "still cannot listen for hints"),
        }
    }
}

async fn send(channel: Channel, mut inbox: mpsc::UnboundedReceiver<Hint>) {
    while let Some(first) = inbox.recv().await {
        let mut due: HashMap<Name, UnixMillis> = HashMap::new();
        let mut timer: Option<UnixMicros> = None;
        let (mut queues, mut schedules) = (false, false);
        let mut next = Some(first);
        while let Some(hint) = next {
            match hint {
                Hint::Wake(Wake::Due { queue, at }) => {
                    due.entry(queue).and_modify(|first| *first = at.min(*first)).or_insert(at);
                }
                Hint::Wake(Wake::QueuesChanged) => queues = true,
                Hint::Wake(Wake::SchedulesChanged) => schedules = true,
                Hint::TimerPut(due_us) => timer = Some(timer.map_or(due_us, |first| first.min(due_us))),
            }
            next = inbox.try_recv().ok();
        }
        let process = &channel.process;
        let mut payloads: Vec<String> =
            due.into_iter().map(|(queue, at)| format!("{process} due {queue} {at}")).collect();
        if queues {
            payloads.push(format!("{process} queues"));
        }
        if schedules {
            payloads.push(format!("{process} schedules"));
        }
        if let Some(due_us) = timer {
            payloads.push(format!("{process} timer {due_us}"));
        }
        let sent = sqlx::query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload")
            .bind(&channel.name)
            .bind(&payloads)
            .execute(&channel.pool)
            .await;
        if let Err(error) = sent {
            tracing::debug!(%error, "a hint was not sent");
        }
    }
}

/// Another process's hint.
fn read(payload: &str, own: &str) -> Option<Hint> {
    let mut words = payload.split(' ');
    if words.next()? == own {
        return None;
    }
    match (words.next()?, words.next(), words.next()) {
        ("queues", None, None) => Some(Hint::Wake(Wake::QueuesChanged)),
        ("schedules", None, None) => Some(Hint::Wake(Wake::SchedulesChanged)),
        ("due", Some(queue), Some(at)) => {
            Some(Hint::Wake(Wake::Due { queue: Name::parse("queue", queue).ok()?, at: at.parse().ok()? }))
        }
        ("timer", Some(due_us), None) => Some(Hint::TimerPut(due_us.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_read_unless_it_is_our_own() {
        assert_eq!(read("me queues", "me"), None);
        assert_eq!(read("you queues", "me"), Some(Hint::Wake(Wake::QueuesChanged)));
        assert_eq!(read("you schedules", "me"), Some(Hint::Wake(Wake::SchedulesChanged)));
        let due = Wake::Due { queue: Name::default_queue(), at: 12 };
        assert_eq!(read("you due default 12", "me"), Some(Hint::Wake(due)));
        assert_eq!(read("you timer -7", "me"), Some(Hint::TimerPut(-7)));
        for odd in [
            "",
            "you",
            "you due default",
            "you due default x",
            "you due /// 1",
            "you timer",
            "you timer x",
            "you nothing",
        ] {
            assert_eq!(read(odd, "me"), None, "{odd}");
        }
    }
}
