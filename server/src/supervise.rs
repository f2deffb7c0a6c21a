//! Keeps the background loops alive: one that dies is started again, loudly.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The background work of one server: what runs, and how it is told to stop.
#[derive(Clone, Debug, Default)]
pub struct Background {
    stop: CancellationToken,
    tasks: TaskTracker,
}

const RESTART_FIRST: Duration = Duration::from_millis(100);
const RESTART_CAP: Duration = Duration::from_secs(10);

impl Background {
    /// Nothing runs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancelled when the server begins to stop: a loop takes nothing new from then on, finishes
    /// what it has, and returns.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Runs `make()` until it returns after [`Self::stop`]; a panic or an early return is logged and
    /// the loop is made anew, after a pause that grows.
    pub fn supervise<F>(&self, name: &'static str, make: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let mut pause = RESTART_FIRST;
            loop {
                let began = tokio::time::Instant::now();
                let end = tokio::spawn(make()).await;
                if stop.is_cancelled() {
                    return;
                }
                match end {
                    Ok(()) => {
                        tracing::error!(name, "a background loop returned too early; starting it again");
                    }
                    Err(error) => {
                        tracing::error!(name, %error, "a background loop died; starting it again");
                    }
                }
                if began.elapsed() > RESTART_CAP {
                    pause = RESTART_FIRST;
                }
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = stop.cancelled() => return,
                }
                pause = (pause * 2).min(RESTART_CAP);
            }
        });
    }

    /// Runs one piece of work that a shutdown waits for, such as a callback.
    pub fn spawn<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(work);
    }

    /// Tells everything to stop and waits for it, at most `grace`; true if all of it came to its end.
    pub async fn shutdown(&self, grace: Duration) -> bool {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(grace, self.tasks.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_dies_is_started_again_and_stops_when_told() {
        let background = Background::new();
        let starts = Arc::new(AtomicU32::new(0));
        let (third, reached) = tokio::sync::watch::channel(0);
        background.supervise("test", {
            let (starts, stop) = (Arc::clone(&starts), background.stop().clone());
            move || {
                let (nth, stop, third) = (starts.fetch_add(1, Ordering::SeqCst), stop.clone(), third.clone());
                async move {
                    match nth {
                        0 => {}
                        1 => panic!("as a loop may"),
                        _ => {
                            third.send_replace(nth);
                            stop.cancelled().await;
                        }
                    }
                }
            }
        });
        let mut reached = reached;
        reached.wait_for(|nth| *nth == 2).await.expect("third start");
        assert!(background.shutdown(Duration::from_secs(1)).await);
        assert_eq!(starts.load(Ordering::SeqCst), 3);
    }
}
