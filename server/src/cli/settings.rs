//! Every setting as a flag, and the values that flags, environment and file give together.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use crate::config::{ConfigError, Setting, Settings, Source};

/// The arguments of every command that needs the server's settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingArguments {
    file: Option<PathBuf>,
    given: Vec<(Setting, String)>,
}

impl SettingArguments {
    /// Flags over environment over file.
    ///
    /// # Errors
    /// [`ConfigError`] for an unknown variable or key, and for a file that cannot be read.
    pub(crate) fn settings(&self) -> Result<Settings, ConfigError> {
        let mut settings = Settings::default();
        let file = self.file.clone().or_else(|| std::env::var_os("CHRONQ_CONFIG").map(PathBuf::from));
        if let Some(file) = file {
            settings.set_from_file(&file)?;
        }
        settings.set_from_environment(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )?;
        for (setting, text) in &self.given {
            settings.set(*setting, Source::Flag, text.clone());
        }
        Ok(settings)
    }
}

/// A key on the command line would stand in the process list.
fn flags() -> impl Iterator<Item = Setting> {
    Setting::ALL.iter().copied().filter(|setting| *setting != Setting::DataKey)
}

fn argument(setting: Setting) -> Arg {
    let argument = Arg::new(setting.key()).long(setting.flag()).help(format!(
        "{} (or {})",
        setting.help(),
        setting.variable()
    ));
    match setting {
        Setting::EgressAllow => argument.action(ArgAction::Append).value_name("CIDR"),
        Setting::Tenancy | Setting::Sweeper => {
            argument.num_args(0..=1).default_missing_value("true").value_name("BOOL")
        }
        _ => argument.value_name("VALUE"),
    }
}

impl Args for SettingArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("A TOML file with settings (or CHRONQ_CONFIG)");
        flags().fold(command.arg(file), |command, setting| command.arg(argument(setting)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.file = matches.get_one::<PathBuf>("config").cloned();
        self.given = flags()
            .filter_map(|setting| {
                let values: Vec<&str> =
                    matches.get_many::<String>(setting.key())?.map(String::as_str).collect();
                Some((setting, values.join(",")))
            })
            .collect();
        Ok(())
    }
}
