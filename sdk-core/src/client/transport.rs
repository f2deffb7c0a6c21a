//! Attempts over reqwest: HTTP/1.1, no redirects, no proxy, rustls with ring.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use rustls::{ClientConfig as TlsConfig, RootCertStore};

use super::driver::Transport;
use crate::call::ClientConfig;
use crate::error::Error;
use crate::exchange::Failure;
use crate::wire::{Request, Response};

/// A server that takes longer to accept a connection is as good as down, and may be tried again.
const MAX_CONNECT_TIME: Duration = Duration::from_secs(10);

/// A pool of connections to one server.
#[derive(Clone, Debug)]
pub(super) struct Pool(reqwest::Client);

impl Pool {
    pub(super) fn new(config: &ClientConfig) -> Result<Self, Error> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(config.endpoint.base().starts_with("https:"))?)
            .redirect(Policy::none())
            .no_proxy()
            .http1_only()
            .timeout(config.timeout)
            .connect_timeout(config.timeout.min(MAX_CONNECT_TIME));
        client.build().map(Self).map_err(|error| {
            Error::transport(format!("the HTTP client cannot be set up: {}", causes(error)), false)
        })
    }
}

/// The certificates that this machine trusts; an `http` server needs none.
fn tls(is_needed: bool) -> Result<TlsConfig, Error> {
    let mut roots = RootCertStore::empty();
    if is_needed {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let cause = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
            let message = format!(
                "no trusted certificates were found on this machine{cause}: install ca-certificates, or set \
                 SSL_CERT_FILE or SSL_CERT_DIR"
            );
            return Err(Error::transport(message, false));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = TlsConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::transport(format!("TLS cannot be set up: {error}"), false))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Transport for Pool {
    async fn send(&self, request: Request) -> Result<Response, Failure> {
        let mut sent = self.0.request(request.method.into(), request.url).body(request.body);
        for (name, value) in &request.headers {
            let mut value = HeaderValue::try_from(value).map_err(|error| Failure {
                message: format!("the header {name} cannot be sent: {error}"),
                may_have_been_sent: false,
            })?;
            value.set_sensitive(name == "authorization");
            sent = sent.header(name, value);
        }
        let answer = sent.send().await.map_err(failure)?;
        let status = answer.status().as_u16();
        let text = |value: &HeaderValue| Some(value.to_str().ok()?.to_owned());
        let headers = answer.headers().iter();
        let headers = headers.filter_map(|(name, value)| Some((name.to_string(), text(value)?))).collect();
        Ok(Response { status, headers, body: answer.bytes().await.map_err(failure)? })
    }
}

/// Only a connection that never stood proves that nothing was sent.
fn failure(error: reqwest::Error) -> Failure {
    let may_have_been_sent = !(error.is_connect() || error.is_builder());
    Failure { message: causes(error), may_have_been_sent }
}

/// The chain of causes in one line, without the URL: a destination in it may hold a secret.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = inner.source();
    }
    text
}
