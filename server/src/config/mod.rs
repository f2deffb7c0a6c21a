//! What a server is told at its start: flag over environment over file over default.
//!
//! Every setting is one row of [`settings::Setting`]; the flag, the variable and the file's key all
//! follow from it, and each value is read by one parser wherever it came from.

pub mod egress;
pub mod settings;
pub mod timers;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chronq::Secret;
use chronq::duration;

pub use egress::{Cidr, EgressPolicy, EgressRules};
pub use settings::{Setting, Settings, Source};
pub use timers::TimersConfig;

/// Where `chronq serve` listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7460";
/// How long a shutdown waits for what is in flight.
const DEFAULT_SHUTDOWN_GRACE: Duration = Duration::from_secs(30);
/// How long a client may take to send its request's head.
const DEFAULT_HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// A setting that cannot be used: names it as the caller spelled it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// An error that names the setting and its source.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Everything a server needs to start.
#[derive(Clone, Debug)]
pub struct Config {
    /// Dev mode or not.
    pub mode: Mode,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where messages are kept.
    pub database: Database,
    /// What destinations may be dialled.
    pub egress: EgressRules,
    /// How long a shutdown waits for what is in flight.
    pub shutdown_grace: Duration,
    /// How long a client may take to send its request's head.
    pub header_timeout: Duration,
    /// Whether tenants are told apart (contract/timers.md, "Tenancy, encryption").
    pub tenancy: bool,
    /// `ID:BASE64[,ID:BASE64…]`: keys that seal payloads at rest.
    pub data_key: Option<Secret>,
    /// The sweeper and the limits of timers.
    pub timers: TimersConfig,
}

/// How the server is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For a developer's machine: fixed fake secrets, an inbox, a movable clock; loopback only.
    Dev,
    /// For real.
    Serve,
}

/// Where messages are kept.
#[derive(Clone, Debug)]
pub enum Database {
    /// Embedded, gone with the process.
    Memory,
    /// Embedded, in this file.
    Sqlite(PathBuf),
    /// A server; the URL may hold a password.
    Postgres(Secret),
}

impl Database {
    /// Reads `sqlite::memory:`, `sqlite:PATH` or `postgres://…`.
    ///
    /// # Errors
    /// The rule, as a sentence without the value, which may hold a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Secret::new(text)));
        }
        match text.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path)) {
            Some(":memory:") => Ok(Self::Memory),
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            Some(_) | None => Err("must be sqlite:PATH, sqlite::memory: or postgres://…".to_owned()),
        }
    }
}

impl Config {
    /// A dev server on a free loopback port, in memory: what tests start.
    pub fn for_tests() -> Self {
        Self {
            mode: Mode::Dev,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            database: Database::Memory,
            egress: EgressRules::default_for(true),
            shutdown_grace: Duration::from_secs(5),
            header_timeout: DEFAULT_HEADER_TIMEOUT,
            tenancy: false,
            data_key: None,
            timers: TimersConfig::default(),
        }
    }

    /// What `chronq serve` runs with.
    ///
    /// # Errors
    /// [`ConfigError`] naming the setting, and where it was set.
    pub fn serve(settings: &Settings) -> Result<Self, ConfigError> {
        let database = settings
            .read(Setting::DatabaseUrl, Database::parse)?
            .ok_or_else(|| Settings::missing("a database", Setting::DatabaseUrl))?;
        Self::read(Mode::Serve, database, settings)
    }

    /// What `chronq dev` runs with; with `data` the database lives in that folder.
    ///
    /// # Errors
    /// As [`Self::serve`], and for an address that is not loopback.
    pub fn dev(data: Option<PathBuf>, settings: &Settings) -> Result<Self, ConfigError> {
        if let Some(source) = settings.source(Setting::DatabaseUrl) {
            let name = source.name(Setting::DatabaseUrl);
            return Err(ConfigError::new(format!(
                "{name} is not for dev mode: use --data DIR to keep its data"
            )));
        }
        let database = data.map_or(Database::Memory, |folder| Database::Sqlite(folder.join("chronq.sqlite")));
        let config = Self::read(Mode::Dev, database, settings)?;
        if !config.listen.ip().is_loopback() {
            let name = settings.source(Setting::Listen).unwrap_or(Source::Default).name(Setting::Listen);
            return Err(ConfigError::new(format!(
                "{name} must be a loopback address in dev mode, whose token and keys are public, got \"{}\"",
                config.listen
            )));
        }
        Ok(config)
    }

    fn read(mode: Mode, database: Database, settings: &Settings) -> Result<Self, ConfigError> {
        let listen = match settings.read(Setting::Listen, address)? {
            Some(listen) => listen,
            None => address(DEFAULT_LISTEN).map_err(ConfigError::new)?,
        };
        let mut egress = EgressRules::default_for(listen.ip().is_loopback());
        if let Some(policy) =
            settings.read(Setting::Egress, |text| text.parse::<EgressPolicy>().map_err(str::to_owned))?
        {
            egress.policy = policy;
        }
        if let Some(allowed) = settings.read(Setting::EgressAllow, Cidr::parse_list)? {
            egress.allowed = allowed;
        }
        Ok(Self {
            mode,
            listen,
            database,
            egress,
            shutdown_grace: settings.read(Setting::ShutdownGrace, grammar)?.unwrap_or(DEFAULT_SHUTDOWN_GRACE),
            header_timeout: settings.read(Setting::HeaderTimeout, grammar)?.unwrap_or(DEFAULT_HEADER_TIMEOUT),
            tenancy: settings.read(Setting::Tenancy, settings::boolean)?.unwrap_or(false),
            data_key: settings.read(Setting::DataKey, |text| Ok(Secret::new(text)))?,
            timers: TimersConfig::read(settings)?,
        })
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "must be an address and a port such as 127.0.0.1:7460".to_owned())
}

fn grammar(text: &str) -> Result<Duration, String> {
    duration::parse("value", text).map_err(|_| duration::RULE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(Setting, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (setting, text) in pairs {
            settings.set(*setting, Source::Flag, (*text).to_owned());
        }
        settings
    }

    #[test]
    fn dev_refuses_to_listen_beyond_loopback() {
        let error = Config::dev(None, &settings(&[(Setting::Listen, "0.0.0.0:7460")])).expect_err("public");
        assert!(error.to_string().starts_with("--listen must be a loopback address in dev mode"), "{error}");
        assert!(Config::dev(None, &settings(&[(Setting::Listen, "[::1]:0")])).is_ok());
    }

    #[test]
    fn the_outbound_policy_follows_the_listening_address() {
        let policy = |listen| {
            let settings =
                settings(&[(Setting::Listen, listen), (Setting::DatabaseUrl, "sqlite:/nowhere/x.sqlite")]);
            Config::serve(&settings).expect("config").egress.policy
        };
        assert_eq!(policy("127.0.0.1:7460"), EgressPolicy::PublicAndLoopback);
        assert_eq!(policy("0.0.0.0:7460"), EgressPolicy::Public);
    }

    #[test]
    fn an_error_names_the_setting_and_hides_what_may_be_secret() {
        let url = "mysql://root:not-a-real-password@db";
        let error = Config::serve(&settings(&[(Setting::DatabaseUrl, url)])).expect_err("unknown database");
        assert_eq!(error.to_string(), "--database-url must be sqlite:PATH, sqlite::memory: or postgres://…");
        let error = Config::serve(&settings(&[])).expect_err("missing");
        assert_eq!(
            error.to_string(),
            "a database is needed: give --database-url, CHRONQ_DATABASE_URL or database_url in the file"
        );
    }
}
