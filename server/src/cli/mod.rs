//! The command line. One file per command; each turns its arguments into calls of `service/` or
//! [`crate::Server`].

mod config;
mod keys;
mod migrate;
mod run;
mod settings;
mod target;
mod tenant;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// chronq: a self-hosted HTTP queue with timers you can take back.
#[derive(Debug, Parser)]
#[command(name = "chronq", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run on this machine for development: fake fixed secrets, an inbox, a clock that can be moved
    Dev(run::DevArguments),
    /// Run for real
    Serve(run::ServeArguments),
    /// Show the settings in force, where each comes from, and all that there are
    Config(config::ConfigArguments),
    /// Make, list, revoke and rotate tokens
    Token(token::TokenArguments),
    /// List, rotate, stage, activate and prune signing keys
    Keys(keys::KeyArguments),
    /// Give, list and take tenants' grants and plans
    Tenant(tenant::TenantArguments),
    /// Make the database or bring it up to date, without serving
    Migrate(migrate::MigrateArguments),
    /// Print the description of the HTTP API (OpenAPI 3.1)
    Openapi,
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Dev(arguments) => run::dev(arguments),
        Command::Serve(arguments) => run::serve(&arguments),
        Command::Config(arguments) => config::show(&arguments),
        Command::Token(arguments) => token::run(arguments),
        Command::Keys(arguments) => keys::run(arguments),
        Command::Tenant(arguments) => tenant::run(arguments),
        Command::Migrate(arguments) => migrate::run(&arguments),
        Command::Openapi => print_openapi(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("chronq: {error}");
            ExitCode::from(2)
        }
    }
}

fn print_openapi() -> Result<ExitCode, CommandError> {
    println!("{}", serde_json::to_string_pretty(&crate::openapi::document())?);
    Ok(ExitCode::SUCCESS)
}

/// Why a command failed: one sentence for people.
pub(crate) type CommandError = Box<dyn std::error::Error + Send + Sync>;
