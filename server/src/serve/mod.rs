//! Starts a server and stops it: opens the store, starts the loops, accepts connections.

mod accept;
mod refusals;

use std::net::SocketAddr;

use chronq::Secret;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Mode};
use crate::state::{App, AppState};
use crate::store::OpenError;

/// The server, before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Server;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store failed on the first questions.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// The signing key cannot be used.
    #[error(transparent)]
    Signing(#[from] crate::signing::SigningError),
    /// Something else is missing on this machine.
    #[error("{0}")]
    System(String),
}

/// What is told to the one who started the server, once.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// In dev mode, the token; at the first start of a real server, its admin token.
    pub token: Option<Secret>,
    /// In dev mode, the key that signs.
    pub signing_key: Option<Secret>,
    /// In dev mode, the key that receivers also accept.
    pub next_signing_key: Option<Secret>,
}

/// A running server. Dropping it does not stop it: call [`Self::shutdown`].
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    secrets: Secrets,
    state: AppState,
    stop: CancellationToken,
    main: JoinHandle<bool>,
}

impl Server {
    /// Starts everything; once this returns the server answers.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(config: Config) -> Result<Running, StartError> {
        let wanted = config.listen;
        let listening = |error| StartError::Listen { address: wanted, error };
        let listener = TcpListener::bind(wanted).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let (app, secrets) = App::open(config).await?;
        let state = AppState::new(app);
        crate::timers::read_known(&state).await?;
        state.start_background();
        let stop = CancellationToken::new();
        let main = tokio::spawn(accept::run(listener, state.clone(), stop.clone()));
        Ok(Running { address, secrets, state, stop, main })
    }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What may be told once.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Its parts, for tests.
    pub fn state(&self) -> &AppState {
        &self.state
    }

    /// Tells the server to stop; [`Self::wait`] says when it has.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// A handle that stops the server from elsewhere.
    pub fn stop_handle(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Waits until the server has stopped; true if everything in flight came to its end.
    pub async fn wait(self) -> bool {
        self.main.await.unwrap_or(false)
    }

    /// Stops, finishing what is in flight within the configured grace; true if all of it did.
    pub async fn shutdown(self) -> bool {
        self.stop();
        self.wait().await
    }

    /// The one line of JSON on stdout that says where the server is. Secrets stand in it in dev mode
    /// only, where they are fixed and fake.
    pub fn ready_line(&self) -> String {
        let url = self.url();
        let mut line = serde_json::json!({ "event": "ready", "url": url });
        if self.state.config.mode == Mode::Dev {
            let shown = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
            line["token"] = shown(&self.secrets.token).into();
            line["signingKey"] = shown(&self.secrets.signing_key).into();
            line["nextSigningKey"] = shown(&self.secrets.next_signing_key).into();
        }
        line["adminUrl"] = format!("{url}/admin").into();
        line.to_string()
    }
}
