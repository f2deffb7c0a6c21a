//! The async client.

use std::collections::VecDeque;
use std::sync::Arc;

use super::builder::ClientBuilder;
use super::driver;
use super::surface::prelude::*;
use super::surface::with_calls;
use super::transport::Pool;
use crate::call::ClientConfig;
use crate::operation::Operation;
use crate::secret::Secret;
use crate::timer::{List, TimerRow};

/// An async client of one server. Cheap to clone; clones share their connections.
///
/// Dropping a call's future cancels the call: nothing more is sent. Every call fails with an
/// [`Error`] that says whether the server may have acted.
///
/// ```no_run
/// use std::time::Duration;
///
/// use chronq::client::Client;
/// use chronq::timer::{NewTimer, TimerOutcome};
///
/// # async fn example() -> Result<(), chronq::Error> {
/// let client = Client::new("https://queue.example.com", "chronq_not-a-real-token")?;
/// let timer = NewTimer::new("reminders", "trial:acme:day7", "{}", Duration::from_secs(7 * 86_400));
/// if let TimerOutcome::Scheduled(placed) = client.timers().schedule(timer).await? {
///     println!("not before {}", placed.deliver_at);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: ClientConfig,
    pool: Pool,
}

impl Client {
    /// A client with the defaults: 30 s per attempt, four attempts.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`].
    pub fn new(url: impl Into<String>, token: impl Into<Secret>) -> Result<Self, Error> {
        Self::builder().url(url).token(token).build()
    }

    /// A client of `CHRONQ_URL` with `CHRONQ_TOKEN`.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`]: a missing variable is named.
    pub fn from_env() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// A client with more to say about it.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client of a configuration that was read elsewhere.
    ///
    /// # Errors
    /// A transport error where an https server's certificate could not be checked on this machine.
    pub fn from_config(config: ClientConfig) -> Result<Self, Error> {
        let pool = Pool::new(&config)?;
        Ok(Self(Arc::new(Inner { config, pool })))
    }

    /// Base URL of the server.
    pub fn url(&self) -> &str {
        self.0.config.endpoint.base()
    }

    /// Makes any call.
    ///
    /// # Errors
    /// What the call says, and a transport error where no answer came.
    pub async fn execute<O: Operation>(&self, operation: O) -> Result<O::Output, Error> {
        driver::run(operation, &self.0.config, &self.0.pool).await
    }
}

macro_rules! asynchronous {
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
                pub async fn $name(&self, $($arg: $type),*) -> Result<$output, Error> {
                    let operation: Result<_, Error> = $body;
                    self.execute(operation?).await
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
                    pub async fn $call(&self, $($call_arg: $call_type),*) -> Result<$call_output, Error> {
                        let operation: Result<_, Error> = $call_body;
                        self.client.execute(operation?).await
                    }
                )+
            }
        )+
    };
}

with_calls!(asynchronous);

impl Timers<'_> {
    /// The pending timers of a queue in the order of their keys; pages are fetched as they are needed.
    pub fn list(&self, queue: &str) -> TimerRows {
        let first = List { queue: queue.to_owned(), after: None, limit: None };
        TimerRows { client: self.client.clone(), rows: VecDeque::new(), next: Some(first) }
    }
}

/// Timers of a queue, one after another.
#[derive(Debug)]
pub struct TimerRows {
    client: Client,
    rows: VecDeque<TimerRow>,
    next: Option<List>,
}

impl TimerRows {
    /// The next timer, or `None` after the last.
    ///
    /// # Errors
    /// Where a page cannot be read; the next call tries that page again.
    pub async fn next(&mut self) -> Result<Option<TimerRow>, Error> {
        while self.rows.is_empty()
            && let Some(list) = self.next.clone()
        {
            let page = self.client.execute(list.clone()).await?;
            self.next = list.next(&page);
            self.rows = page.rows.into();
        }
        Ok(self.rows.pop_front())
    }
}
