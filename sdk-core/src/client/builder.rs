//! What a client is made of, with the environment as fallback (contract/sdk.md).

use std::time::Duration;

use super::Client;
use crate::call::ClientConfig;
use crate::contract::{environment, limits};
use crate::error::Error;
use crate::input::InvalidInput;
use crate::operation::Endpoint;
use crate::retry::RetryPolicy;
use crate::secret::Secret;

/// Makes a [`Client`]. What is not given comes from `CHRONQ_URL` and `CHRONQ_TOKEN`, then from the
/// defaults: 30 s per attempt, four attempts.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder makes nothing until it is built"]
pub struct ClientBuilder {
    url: Option<String>,
    token: Option<Secret>,
    timeout: Option<Duration>,
    retry: Option<RetryPolicy>,
    user_agent: Option<String>,
}

impl ClientBuilder {
    /// Base URL of the server.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The token that calls carry.
    pub fn token(mut self, token: impl Into<Secret>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Bound of one attempt, not of the call.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How often and how patiently a call is repeated; [`RetryPolicy::off`] never does.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// What is added to the user agent, to tell your service from another.
    pub fn user_agent(mut self, suffix: impl Into<String>) -> Self {
        self.user_agent = Some(suffix.into());
        self
    }

    /// Makes the client. Nothing is sent.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the option, and its environment variable where it is missing; a transport
    /// error where an https server's certificate could not be checked on this machine.
    pub fn build(self) -> Result<Client, Error> {
        Client::from_config(self.config()?)
    }

    /// Makes a client for code without an async runtime.
    ///
    /// # Errors
    /// As [`Self::build`].
    #[cfg(feature = "blocking")]
    pub fn build_blocking(self) -> Result<super::blocking::Client, Error> {
        super::blocking::Client::from_config(self.config()?)
    }

    fn config(self) -> Result<ClientConfig, Error> {
        let url = self.url.or_else(|| variable(environment::URL));
        let url = url.ok_or_else(|| missing("url", environment::URL))?;
        let token = self.token.or_else(|| variable(environment::TOKEN).map(Secret::new));
        let token = token.ok_or_else(|| missing("token", environment::TOKEN))?;
        let timeout = self.timeout.unwrap_or(Duration::from_millis(limits::DEFAULT_CLIENT_TIMEOUT_MS));
        if timeout.is_zero() {
            return Err(InvalidInput::with_rule("timeout", "must be a duration above zero", "0").into());
        }
        Ok(ClientConfig {
            endpoint: Endpoint::new(&url, token, self.user_agent.as_deref())?,
            retry: self.retry.unwrap_or_default(),
            timeout,
        })
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn missing(option: &str, variable: &str) -> InvalidInput {
    InvalidInput::new(option, format!("{option} is missing: pass it or set {variable}"))
}
