//! The same client for code without an async runtime: calls block their thread.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, mpsc};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::builder::ClientBuilder;
use super::surface::prelude::*;
use super::surface::with_calls;
use crate::call::ClientConfig;
use crate::operation::Operation;
use crate::secret::Secret;
use crate::timer::{List, TimerRow};

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A blocking client of one server. Cheap to clone; clones share their connections and the one thread
/// that drives them, which ends with the last clone. Calls of several threads run side by side.
///
/// ```no_run
/// use chronq::client::blocking::Client;
/// use chronq::publish::{Content, PublishOptions};
///
/// # fn example() -> Result<(), chronq::Error> {
/// let client = Client::from_env()?;
/// client.publish("https://example.com/hook", Content::text("hello"), PublishOptions::default())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    inner: super::Client,
    jobs: Arc<UnboundedSender<Job>>,
}

impl Client {
    /// A client with the defaults: 30 s per attempt, four attempts.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`].
    pub fn new(url: impl Into<String>, token: impl Into<Secret>) -> Result<Self, Error> {
        Self::builder().url(url).token(token).build_blocking()
    }

    /// A client of `CHRONQ_URL` with `CHRONQ_TOKEN`.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`]: a missing variable is named.
    pub fn from_env() -> Result<Self, Error> {
        Self::builder().build_blocking()
    }

    /// A client with more to say about it; see [`ClientBuilder::build_blocking`].
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client of a configuration that was read elsewhere.
    ///
    /// # Errors
    /// A transport error where an https server's certificate could not be checked on this machine, or
    /// where no thread can be started.
    pub fn from_config(config: ClientConfig) -> Result<Self, Error> {
        let inner = super::Client::from_config(config)?;
        let cannot_start =
            |error: std::io::Error| Error::transport(format!("no thread for the client: {error}"), false);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
        let (jobs, mut waiting) = unbounded_channel::<Job>();
        std::thread::Builder::new()
            .name("chronq-client".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    while let Some(job) = waiting.recv().await {
                        tokio::spawn(job);
                    }
                });
            })
            .map_err(cannot_start)?;
        Ok(Self { inner, jobs: Arc::new(jobs) })
    }

    /// Base URL of the server.
    pub fn url(&self) -> &str {
        self.inner.url()
    }

    /// Makes any call and waits for its end.
    ///
    /// # Errors
    /// What the call says, and a transport error where no answer came.
    pub fn execute<O>(&self, operation: O) -> Result<O::Output, Error>
    where
        O: Operation + Send + Sync + 'static,
        O::Output: Send + 'static,
    {
        let (report, result) = mpsc::sync_channel(1);
        let client = self.inner.clone();
        let job = async move {
            // The caller waits below until this is sent; only a killed thread takes it away.
            let _ = report.send(client.execute(operation).await);
        };
        let gone = |_| Error::transport("the client's thread has ended", true);
        self.jobs
            .send(Box::pin(job))
            .map_err(|_| Error::transport("the client's thread has ended", false))?;
        result.recv().map_err(gone)?
    }
}

macro_rules! blocking {
    (
        Client { $( $(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty $body:block )+ }
        $(
            $(#[$group_meta:meta])*
            $group:ident: $handle:ident {
                $( $(#[$call_meta:meta])* fn $call:ident($($call_arg:ident: $call_type:ty),*) -> $call_output:ty $call_body:block )+
            }
        )+
    ) => {
        impl Client {
            $(
                $(#[$meta])*
                pub fn $name(&self, $($arg: $type),*) -> Result<$output, Error> {
                    let operation: Result<_, Error> = $body;
                    self.execute(operation?)
                }
            )+
            $(
                $(#[$group_meta])*
                pub const fn $group(&self) -> $handle<'_> {
                    $handle { client: self }
                }
            )+
        }

        $(
            $(#[$group_meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $handle<'c> {
                client: &'c Client,
            }

            impl $handle<'_> {
                $(
                    $(#[$call_meta])*
                    pub fn $call(&self, $($call_arg: $call_type),*) -> Result<$call_output, Error> {
                        let operation: Result<_, Error> = $call_body;
                        self.client.execute(operation?)
                    }
                )+
            }
        )+
    };
}

with_calls!(blocking);

impl Timers<'_> {
    /// The pending timers of a queue in the order of their keys; pages are fetched as they are needed.
    pub fn list(&self, queue: &str) -> TimerRows {
        let first = List { queue: queue.to_owned(), after: None, limit: None };
        TimerRows { client: self.client.clone(), rows: VecDeque::new(), next: Some(first) }
    }
}

/// Timers of a queue, one after another. After an error the same page is tried again.
#[derive(Debug)]
pub struct TimerRows {
    client: Client,
    rows: VecDeque<TimerRow>,
    next: Option<List>,
}

impl Iterator for TimerRows {
    type Item = Result<TimerRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.rows.is_empty()
            && let Some(list) = self.next.clone()
        {
            match self.client.execute(list.clone()) {
                Ok(page) => {
                    self.next = list.next(&page);
                    self.rows = page.rows.into();
                }
                Err(error) => return Some(Err(error)),
            }
        }
        self.rows.pop_front().map(Ok)
    }
}
