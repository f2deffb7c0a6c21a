//! What the parts of one running server share.

use std::ops::Deref;
use std::sync::{Arc, Weak};

use crate::auth::Credentials;
use crate::config::{Config, Database, Mode};
use crate::delivery::{self, Engine};
use crate::dev::inbox::Inboxes;
use crate::egress::Egress;
use crate::serve::{Secrets, StartError};
use crate::service::access;
use crate::signing::SigningKeys;
use crate::store::{self, Clock, DatabaseUrl, OpenError, Role, Store};
use crate::supervise::Background;
use crate::timers::{DataKeys, Timers};

/// A handle to the server's parts; clones are the same server.
#[derive(Clone)]
pub struct AppState(Arc<App>);

/// The server's parts.
pub struct App {
    /// What it was started with.
    pub config: Config,
    /// Everything that outlives the process.
    pub store: Arc<dyn Store>,
    /// The store's clock: what the server takes as time.
    pub clock: Clock,
    /// The tokens it accepts.
    pub credentials: Credentials,
    /// The key it signs with.
    pub signing_keys: SigningKeys,
    /// Its outgoing requests.
    pub egress: Egress,
    /// What delivers.
    pub engine: Engine,
    /// Its loops, and the signal that stops them.
    pub background: Background,
    /// What the timers' routes and the sweeper share.
    pub timers: Timers,
    /// In dev mode, the inboxes.
    pub inboxes: Option<Inboxes>,
}

impl App {
    /// Opens the store and reads from it what must be known before the first request.
    pub(crate) async fn open(config: Config) -> Result<(Self, Secrets), StartError> {
        let store = open_store(&config.database, Role::Serve).await?;
        let (credentials, signing_keys, secrets) = access::open(store.as_ref(), config.mode).await?;
        let keys = match &config.data_key {
            Some(text) => DataKeys::parse(text).map_err(StartError::System)?,
            None => DataKeys::default(),
        };
        let app = Self {
            clock: store.clock().clone(),
            store,
            credentials,
            signing_keys,
            egress: Egress::new(config.egress.clone()),
            engine: Engine::default(),
            background: Background::new(),
            timers: Timers::new(keys),
            inboxes: (config.mode == Mode::Dev).then(Inboxes::default),
            config,
        };
        Ok((app, secrets))
    }
}

/// Opens the configured store.
///
/// # Errors
/// [`OpenError`], which never holds a password.
pub(crate) async fn open_store(database: &Database, role: Role) -> Result<Arc<dyn Store>, OpenError> {
    let url = match database {
        Database::Memory => DatabaseUrl::Memory,
        Database::Sqlite(path) => DatabaseUrl::Sqlite(path.clone()),
        Database::Postgres(url) => {
            url.expose().parse().map_err(|_| OpenError::BadUrl("postgres://…".to_owned()))?
        }
    };
    store::open(&url, role, Clock::new()).await
}

impl AppState {
    pub(crate) fn new(app: App) -> Self {
        Self(Arc::new(app))
    }

    /// A handle that does not keep the server alive.
    pub(crate) fn downgrade(&self) -> Weak<App> {
        Arc::downgrade(&self.0)
    }

    /// The server behind such a handle, while it lives.
    pub(crate) fn upgrade(app: &Weak<App>) -> Option<Self> {
        app.upgrade().map(Self)
    }

    /// Starts the loops; each is supervised and ends with the server.
    pub(crate) fn start_background(&self) {
        crate::metrics::instance::install();
        self.supervise("timers", crate::timers::keep_known);
        if self.config.timers.sweeper {
            let wake = Arc::clone(&self.timers.wake);
            self.store.on_timer_put(Arc::new(move |due_us| wake.timer_put(due_us)));
            self.supervise("sweeper", crate::timers::sweep);
        }
        self.supervise("refresh", crate::refresh::run);
        self.supervise("retention", crate::retention::run);
        self.supervise("scheduler", crate::scheduler::enqueuer::run);
        delivery::start(self);
    }

    fn supervise<F>(&self, name: &'static str, run: fn(Self) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let state = self.clone();
        self.background.supervise(name, move || run(state.clone()));
    }
}

impl Deref for AppState {
    type Target = App;

    fn deref(&self) -> &App {
        &self.0
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").field("config", &self.config).finish_non_exhaustive()
    }
}
