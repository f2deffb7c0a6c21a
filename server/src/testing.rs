//! A real server in one call, for tests: on a free loopback port, with its inbox and its clock.

use std::time::Duration;

use crate::config::Config;
use crate::dev::inbox::Recorded;
use crate::dev::{NEXT_SIGNING_KEY, SIGNING_KEY, TOKEN};
use crate::serve::{Running, Server, StartError};
use crate::state::AppState;
use crate::store::Clock;

/// A dev server that tests talk to.
#[derive(Debug)]
pub struct TestServer {
    running: Running,
}

impl TestServer {
    /// Starts one in memory.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start() -> Result<Self, StartError> {
        Self::start_with(Config::for_tests()).await
    }

    /// Starts one as told.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_with(config: Config) -> Result<Self, StartError> {
        Ok(Self { running: Server::start(config).await? })
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        self.running.url()
    }

    /// The address it listens on.
    pub fn address(&self) -> std::net::SocketAddr {
        self.running.address()
    }

    /// Its token: admin, fixed, fake.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// The key that signs, and the one that receivers also accept.
    pub fn signing_keys(&self) -> (&'static str, &'static str) {
        (SIGNING_KEY, NEXT_SIGNING_KEY)
    }

    /// Its clock.
    pub fn clock(&self) -> &Clock {
        &self.state().clock
    }

    /// Its parts.
    pub fn state(&self) -> &AppState {
        self.running.state()
    }

    /// The URL of an inbox.
    pub fn inbox_url(&self, name: &str) -> String {
        format!("{}/dev/inbox/{name}", self.url())
    }

    /// Waits until an inbox has received `count` requests, and answers all it has received; fewer
    /// after `patience`.
    pub async fn received(&self, name: &str, count: usize, patience: Duration) -> Vec<Recorded> {
        let Some(inboxes) = self.state().inboxes.as_ref() else { return Vec::new() };
        // Subscribe before you look.
        let mut arrivals = inboxes.arrivals();
        let _ = tokio::time::timeout(patience, async {
            while inboxes.requests(name).len() < count && arrivals.changed().await.is_ok() {}
        })
        .await;
        inboxes.requests(name)
    }

    /// Stops it; true if everything in flight came to its end.
    pub async fn shutdown(self) -> bool {
        self.running.shutdown().await
    }
}
