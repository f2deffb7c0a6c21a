//! The table of settings, and their values with the place they came from.

use std::collections::BTreeMap;
use std::path::Path;

use super::ConfigError;

/// Where a value came from; a later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nobody gave it.
    Default,
    /// The TOML file.
    File,
    /// The environment.
    Environment,
    /// The command line.
    Flag,
}

impl Source {
    /// The setting's name as this source spells it.
    pub fn name(self, setting: Setting) -> String {
        match self {
            Self::Flag => format!("--{}", setting.flag()),
            Self::Environment => setting.variable().to_owned(),
            Self::File | Self::Default => setting.key().to_owned(),
        }
    }
}

macro_rules! settings {
    ($($variant:ident, $key:literal, $variable:literal, $flag:expr, $secret:literal, $help:literal;)+) => {
        /// One setting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Setting { $(#[doc = $help] $variant,)+ }

        impl Setting {
            /// Every setting.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its key in the file.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)+ }
            }

            /// Its environment variable.
            pub const fn variable(self) -> &'static str {
                match self { $(Self::$variant => $variable,)+ }
            }

            /// Its flag, without the hyphens before it.
            pub const fn flag(self) -> &'static str {
                match self { $(Self::$variant => $flag,)+ }
            }

            /// Whether its value must never be shown, nor stand in a process list.
            pub const fn is_secret(self) -> bool {
                match self { $(Self::$variant => $secret,)+ }
            }

            /// One line for people.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)+ }
            }
        }
    };
}

settings! {
    Listen, "listen", "CHRONQ_LISTEN", "listen", false,
        "Address and port to listen on; port 0 takes a free one (default 127.0.0.1:7460)";
    DatabaseUrl, "database_url", "CHRONQ_DATABASE_URL", "database-url", true,
        "sqlite:PATH or postgres://…";
    Egress, "egress", "CHRONQ_EGRESS", "egress", false,
        "Addresses that may be dialled: public, public-and-loopback or private";
    EgressAllow, "egress_allow", "CHRONQ_EGRESS_ALLOW", "egress-allow", false,
        "Further networks that may be dialled, as CIDRs";
    ShutdownGrace, "shutdown_grace", "CHRONQ_SHUTDOWN_GRACE", "shutdown-grace", false,
        "How long a shutdown waits for what is in flight (default 30s)";
    HeaderTimeout, "header_timeout", "CHRONQ_HEADER_TIMEOUT", "header-timeout", false,
        "How long a client may take to send a request's head (default 10s)";
    Tenancy, "tenancy", "CHRONQ_TENANCY", "tenancy", false,
        "Tell tenants apart, each with its plan (default false)";
    DataKey, "data_key", "CHRONQ_DATA_KEY", "data-key", true,
        "Keys that seal payloads at rest: ID:BASE64[,ID:BASE64…]";
    Sweeper, "sweeper", "QUEEN_SWEEPER", "sweeper", false,
        "Whether this process fires timers (default true)";
    SweeperMinSleepMs, "sweeper_min_sleep_ms", "QUEEN_SWEEPER_MIN_SLEEP_MS", "sweeper-min-sleep-ms", false,
        "Shortest pause of the sweeper (default 5)";
    SweeperMaxSleepMs, "sweeper_max_sleep_ms", "QUEEN_SWEEPER_MAX_SLEEP_MS", "sweeper-max-sleep-ms", false,
        "Longest pause of the sweeper (default 1000)";
    SweeperLeaseMs, "sweeper_lease_ms", "QUEEN_SWEEPER_LEASE_MS", "sweeper-lease-ms", false,
        "How long a claimed timer is its sweeper's (default 30000)";
    SweeperClaimBatch, "sweeper_claim_batch", "QUEEN_SWEEPER_CLAIM_BATCH", "sweeper-claim-batch", false,
        "Most timers claimed at once (default 200)";
    SweeperMaxAttempts, "sweeper_max_attempts", "QUEEN_SWEEPER_MAX_ATTEMPTS", "sweeper-max-attempts", false,
        "Failed fires before a timer is a dead letter (default 5)";
    SweeperBackoffMinMs, "sweeper_backoff_min_ms", "QUEEN_SWEEPER_BACKOFF_MIN_MS", "sweeper-backoff-min-ms", false,
        "First wait after a failed fire (default 1000)";
    SweeperBackoffMaxMs, "sweeper_backoff_max_ms", "QUEEN_SWEEPER_BACKOFF_MAX_MS", "sweeper-backoff-max-ms", false,
        "Longest wait after a failed fire (default 60000)";
    SweeperTransientBackoffMs, "sweeper_transient_backoff_ms", "QUEEN_SWEEPER_TRANSIENT_BACKOFF_MS", "sweeper-transient-backoff-ms", false,
        "Wait after a fire that failed by a passing trouble (default 1000)";
    TimersMaxPayloadBytes, "timers_max_payload_bytes", "QUEEN_TIMERS_MAX_PAYLOAD_BYTES", "timers-max-payload-bytes", false,
        "Largest decoded payload of a timer (default 1048576)";
    TimersMaxHorizonS, "timers_max_horizon_s", "QUEEN_TIMERS_MAX_HORIZON_S", "timers-max-horizon-s", false,
        "Farthest instant a timer can be set to, in seconds (default 7776000)";
    TimersMaxOpsPerCall, "timers_max_ops_per_call", "QUEEN_TIMERS_MAX_OPS_PER_CALL", "timers-max-ops-per-call", false,
        "Most operations in one timer call (default 256)";
}

/// How many slips of the hand make one variable's name of another's.
const TYPO: usize = 2;

/// The values given, each with its source.
#[derive(Clone, Default)]
pub struct Settings {
    values: BTreeMap<Setting, (Source, String)>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.shown()).finish()
    }
}

impl Settings {
    /// Takes a value unless a stronger source gave one already.
    pub fn set(&mut self, setting: Setting, source: Source, text: String) {
        match self.values.get(&setting) {
            Some((present, _)) if *present > source => {}
            Some(_) | None => {
                self.values.insert(setting, (source, text));
            }
        }
    }

    /// Takes what the environment says. The environment is shared with clients, tests and whatever else
    /// runs here, so a name that is nobody's is not ours to refuse; one that looks like a slip of a
    /// setting's name must not pass silently.
    ///
    /// # Errors
    /// [`ConfigError`] for a variable that is almost a setting's.
    pub fn set_from_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (name, value) in variables {
            if let Some(setting) = Setting::ALL.iter().find(|setting| setting.variable() == name) {
                self.set(*setting, Source::Environment, value);
            } else if let Some(meant) = almost(&name) {
                let message =
                    format!("{name} is no setting: is {} meant? See `chronq config`", meant.variable());
                return Err(ConfigError::new(message));
            }
        }
        Ok(())
    }

    /// Takes what a TOML file says.
    ///
    /// # Errors
    /// [`ConfigError`] for a file that cannot be read, and for an unknown key.
    pub fn set_from_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::new(format!("{}: {error}", path.display())))?;
        self.set_from_toml(&path.display().to_string(), &text)
    }

    fn set_from_toml(&mut self, file: &str, text: &str) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            // The parser's own words would show the line, and a line may hold a secret.
            ConfigError::new(format!("{file} is not TOML: {}", error.message()))
        })?;
        for (key, value) in table {
            let setting = Setting::ALL.iter().find(|setting| setting.key() == key).ok_or_else(|| {
                ConfigError::new(format!("{file}: {key} is no setting: see `chronq config`"))
            })?;
            let text = as_text(&value).ok_or_else(|| {
                ConfigError::new(format!(
                    "{file}: {key} must be a text, a whole number, true or false, or a list of texts"
                ))
            })?;
            self.set(*setting, Source::File, text);
        }
        Ok(())
    }

    /// Reads a value with its parser; the parser's error is the rule, as a sentence.
    ///
    /// # Errors
    /// [`ConfigError`] naming the setting as its source spells it.
    pub fn read<T>(
        &self,
        setting: Setting,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some((source, text)) = self.values.get(&setting) else { return Ok(None) };
        parse(text).map(Some).map_err(|rule| {
            let name = source.name(setting);
            ConfigError::new(if setting.is_secret() || rule.contains("got \"") {
                format!("{name} {rule}")
            } else {
                format!("{name} {rule}, got \"{text}\"")
            })
        })
    }

    /// Where a setting was given, if it was.
    pub fn source(&self, setting: Setting) -> Option<Source> {
        self.values.get(&setting).map(|(source, _)| *source)
    }

    /// The error of a setting that is needed and not given.
    pub(super) fn missing(what: &str, setting: Setting) -> ConfigError {
        ConfigError::new(format!(
            "{what} is needed: give --{}, {} or {} in the file",
            setting.flag(),
            setting.variable(),
            setting.key()
        ))
    }

    /// Each value given, with secrets hidden: for `chronq config`.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, (Source, &str))> {
        self.values.iter().map(|(setting, (source, text))| {
            (setting.key(), (*source, if setting.is_secret() { "…" } else { text.as_str() }))
        })
    }
}

/// Reads `true` or `false`.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            items.map(|items| items.join(","))
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

/// The setting whose variable differs from `name` by a slip or two.
fn almost(name: &str) -> Option<Setting> {
    let near = |setting: &&Setting| strsim::osa_distance(setting.variable(), name) <= TYPO;
    Setting::ALL.iter().find(near).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        let mut settings = Settings::default();
        settings.set(Setting::Listen, Source::Flag, "flag".to_owned());
        settings
            .set_from_environment([
                pair("CHRONQ_LISTEN", "env"),
                pair("CHRONQ_EGRESS", "env"),
                pair("HOME", "/"),
            ])
            .expect("known");
        settings
            .set_from_toml("chronq.toml", "listen = \"file\"\negress = \"file\"\nsweeper = false\negress_allow = [\"10.0.0.0/8\", \"fd00::/8\"]")
            .expect("known");
        let read = |setting| settings.read(setting, |text| Ok(text.to_owned())).expect("text");
        assert_eq!(read(Setting::Listen).as_deref(), Some("flag"));
        assert_eq!(read(Setting::Egress).as_deref(), Some("env"));
        assert_eq!(read(Setting::Sweeper).as_deref(), Some("false"));
        assert_eq!(read(Setting::EgressAllow).as_deref(), Some("10.0.0.0/8,fd00::/8"));
    }

    #[test]
    fn unknown_keys_are_errors() {
        let mut settings = Settings::default();
        let error = settings.set_from_environment([pair("CHRONQ_LISTNE", "x")]).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "CHRONQ_LISTNE is no setting: is CHRONQ_LISTEN meant? See `chronq config`"
        );
        assert!(settings.set_from_environment([pair("QUEEN_SWEEPER_LEASE_M", "1")]).is_err());
        let error = settings.set_from_toml("chronq.toml", "listne = 1").expect_err("unknown");
        assert_eq!(error.to_string(), "chronq.toml: listne is no setting: see `chronq config`");
    }

    #[test]
    fn the_variables_of_clients_and_tests_are_not_ours_to_refuse() {
        for name in [
            "CHRONQ_URL",
            "CHRONQ_TOKEN",
            "CHRONQ_CURRENT_SIGNING_KEY",
            "CHRONQ_NEXT_SIGNING_KEY",
            "CHRONQ_SERVER_BIN",
            "CHRONQ_TEST_DATABASE_URL",
            "QUEEN_PORT",
        ] {
            assert!(Settings::default().set_from_environment([pair(name, "x")]).is_ok(), "{name}");
        }
    }

    #[test]
    fn secrets_are_never_shown() {
        let mut settings = Settings::default();
        settings.set(Setting::DatabaseUrl, Source::Flag, "postgres://u:not-a-real-password@h/d".to_owned());
        settings.set(Setting::DataKey, Source::Flag, "k1:not-a-real-key".to_owned());
        assert!(!format!("{settings:?}").contains("not-a-real"));
    }
}
