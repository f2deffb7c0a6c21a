//! `chronq config`: the settings in force, and all that there are.

use std::process::ExitCode;

use clap::Args;

use super::CommandError;
use super::settings::SettingArguments;
use crate::config::{Setting, Settings};

#[derive(Debug, Args)]
pub(super) struct ConfigArguments {
    #[command(flatten)]
    settings: SettingArguments,
}

pub(super) fn show(arguments: &ConfigArguments) -> Result<ExitCode, CommandError> {
    let settings = arguments.settings.settings()?;
    print!("{}", render(&settings));
    Ok(ExitCode::SUCCESS)
}

/// A TOML file that would give the same, with every other setting as a comment.
fn render(settings: &Settings) -> String {
    let given: std::collections::BTreeMap<_, _> = settings.shown().collect();
    let mut text = String::new();
    for setting in Setting::ALL {
        let head = format!("# {} ({}, --{})\n", setting.help(), setting.variable(), setting.flag());
        let line = match given.get(setting.key()) {
            Some((source, value)) => {
                format!("{} = {value:?} # from {}\n\n", setting.key(), source.name(*setting))
            }
            None => format!("# {} =\n\n", setting.key()),
        };
        text.push_str(&head);
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    #[test]
    fn what_is_shown_is_a_file_that_gives_the_same_and_hides_secrets() {
        let mut settings = Settings::default();
        settings.set(Setting::Listen, Source::Environment, "127.0.0.1:0".to_owned());
        settings.set(Setting::DatabaseUrl, Source::Flag, "postgres://u:not-a-real-password@h/d".to_owned());
        let text = render(&settings);
        assert!(text.contains("listen = \"127.0.0.1:0\" # from CHRONQ_LISTEN\n"), "{text}");
        assert!(text.contains("database_url = \"…\" # from --database-url\n"), "{text}");
        assert!(text.parse::<toml::Table>().is_ok(), "{text}");
    }
}
