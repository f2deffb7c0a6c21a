//! Wake-ups between processes: LISTEN and NOTIFY, as hints.
//!
//! They go out after the commit, from a task of their own that puts together what came meanwhile: a
//! NOTIFY inside the transaction would queue every commit behind one lock. A hint that is lost with its
//! process costs a poll.

use std::collections::HashMap;
use std::time::Duration;

use chronq::Name;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;

use crate::store::types::UnixMillis;
use crate::store::types::queue::Wake;

use super::error::PgError;

const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Sends hints.
#[derive(Debug)]
pub(super) struct Hints {
    outbox: mpsc::UnboundedSender<Wake>,
}

impl Hints {
    /// Listens and sends on a channel of the schema, so that several in one database don't mix.
    pub(super) async fn start(
        pool: &PgPool,
        wakes: &broadcast::Sender<Wake>,
    ) -> Result<(Self, Vec<AbortHandle>), PgError> {
        let (schema, process): (String, String) =
            sqlx::query_as("SELECT current_schema()::text, gen_random_uuid()::text").fetch_one(pool).await?;
        let channel = format!("chronq_{schema}");
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(&channel).await?;
        let (outbox, inbox) = mpsc::unbounded_channel();
        let listening = tokio::spawn(listen(listener, process.clone(), wakes.clone()));
        let sending = tokio::spawn(send(pool.clone(), channel, process, inbox));
        Ok((Self { outbox }, vec![listening.abort_handle(), sending.abort_handle()]))
    }

    /// Lets other processes know.
    pub(super) fn send(&self, wake: &Wake) {
        // Without the task there is nobody to tell: the store is closed.
        let _ = self.outbox.send(wake.clone());
    }
}

async fn listen(mut listener: PgListener, process: String, wakes: broadcast::Sender<Wake>) {
    loop {
        let wake = match listener.try_recv().await {
            Ok(Some(notification)) => read(notification.payload(), &process),
            // Whatever was said while the connection was gone is lost: look at everything.
            Ok(None) => Some(Wake::QueuesChanged),
            Err(error) => {
                tracing::warn!(%error, "cannot listen for hints");
                tokio::time::sleep(RECONNECT_DELAY).await;
                None
            }
        };
        if let Some(wake) = wake {
            // Without a listener nobody sleeps.
            let _ = wakes.send(wake);
        }
    }
}

async fn send(pool: PgPool, channel: String, process: String, mut inbox: mpsc::UnboundedReceiver<Wake>) {
    while let Some(first) = inbox.recv().await {
        let mut due: HashMap<Name, UnixMillis> = HashMap::new();
        let (mut queues, mut schedules) = (false, false);
        let mut next = Some(first);
        while let Some(wake) = next {
            match wake {
                Wake::Due { queue, at } => {
                    due.entry(queue).and_modify(|first| *first = at.min(*first)).or_insert(at);
                }
                Wake::QueuesChanged => queues = true,
                Wake::SchedulesChanged => schedules = true,
            }
            next = inbox.try_recv().ok();
        }
        let mut payloads: Vec<String> =
            due.into_iter().map(|(queue, at)| format!("{process} due {queue} {at}")).collect();
        if queues {
            payloads.push(format!("{process} queues"));
        }
        if schedules {
            payloads.push(format!("{process} schedules"));
        }
        let sent = sqlx::query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload")
            .bind(&channel)
            .bind(&payloads)
            .execute(&pool)
            .await;
        if let Err(error) = sent {
            tracing::debug!(%error, "a hint was not sent");
        }
    }
}

/// Another process's hint.
fn read(payload: &str, own: &str) -> Option<Wake> {
    let mut words = payload.split(' ');
    if words.next()? == own {
        return None;
    }
    match (words.next()?, words.next(), words.next()) {
        ("queues", None, None) => Some(Wake::QueuesChanged),
        ("schedules", None, None) => Some(Wake::SchedulesChanged),
        ("due", Some(queue), Some(at)) => {
            Some(Wake::Due { queue: Name::parse("queue", queue).ok()?, at: at.parse().ok()? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_read_unless_it_is_our_own() {
        assert_eq!(read("me queues", "me"), None);
        assert_eq!(read("you queues", "me"), Some(Wake::QueuesChanged));
        assert_eq!(read("you schedules", "me"), Some(Wake::SchedulesChanged));
        let due = Wake::Due { queue: Name::default_queue(), at: 12 };
        assert_eq!(read("you due default 12", "me"), Some(due));
        for odd in ["", "you", "you due default", "you due default x", "you due /// 1", "you nothing"] {
            assert_eq!(read(odd, "me"), None, "{odd}");
        }
    }
}
