//! `chronq dev` and `chronq serve`: run until told to stop.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::CommandError;
use super::settings::SettingArguments;
use crate::config::{Config, Mode};
use crate::serve::{Running, Server};

#[derive(Debug, Args)]
pub(super) struct DevArguments {
    /// Keep the data in this folder; without it, it is gone with the process
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArguments,
    #[command(flatten)]
    process: ProcessArguments,
}

#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    #[command(flatten)]
    settings: SettingArguments,
    #[command(flatten)]
    process: ProcessArguments,
}

#[derive(Debug, Args)]
struct ProcessArguments {
    /// End when stdin closes, so that the server does not outlive the process that started it
    #[arg(long)]
    exit_with_parent: bool,
}

pub(super) fn dev(arguments: DevArguments) -> Result<ExitCode, CommandError> {
    let settings = arguments.settings.settings()?;
    if let Some(folder) = &arguments.data {
        std::fs::create_dir_all(folder).map_err(|error| format!("--data {}: {error}", folder.display()))?;
    }
    run(Config::dev(arguments.data, &settings)?, &arguments.process)
}

pub(super) fn serve(arguments: &ServeArguments) -> Result<ExitCode, CommandError> {
    let settings = arguments.settings.settings()?;
    run(Config::serve(&settings)?, &arguments.process)
}

fn run(config: Config, process: &ProcessArguments) -> Result<ExitCode, CommandError> {
    log_to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let drained = runtime.block_on(async {
        let running = Server::start(config).await?;
        let signals = stop_on_signals(running.stop_handle())?;
        if process.exit_with_parent {
            stop_when_stdin_closes(running.stop_handle());
        }
        announce(&running);
        let drained = running.wait().await;
        signals.abort();
        Ok::<_, CommandError>(drained)
    })?;
    // Threads that block on stdin or on a name lookup are left behind.
    runtime.shutdown_background();
    if !drained {
        tracing::warn!("stopped before everything in flight had come to its end");
    }
    Ok(if drained { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn log_to_stderr() {
    use tracing_subscriber::{EnvFilter, fmt};
    let filter = EnvFilter::try_from_env("CHRONQ_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let json = std::env::var("CHRONQ_LOG_FORMAT").is_ok_and(|format| format == "json");
    let log = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second call, in tests, finds the log set up already.
    let _ = if json { log.json().try_init() } else { log.with_ansi(false).try_init() };
}

/// SIGTERM and SIGINT drain; a second one ends the process at once.
#[cfg(unix)]
fn stop_on_signals(stop: CancellationToken) -> std::io::Result<tokio::task::JoinHandle<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stop.is_cancelled() {
                std::process::exit(1);
            }
            tracing::info!("stopping: finishing what is in flight; a second signal ends at once");
            stop.cancel();
        }
    }))
}

#[cfg(not(unix))]
fn stop_on_signals(stop: CancellationToken) -> std::io::Result<tokio::task::JoinHandle<()>> {
    Ok(tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if stop.is_cancelled() {
                std::process::exit(1);
            }
            stop.cancel();
        }
    }))
}

fn stop_when_stdin_closes(stop: CancellationToken) {
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        let mut stdin = std::io::stdin().lock();
        while matches!(stdin.read(&mut buffer), Ok(1..)) {}
        stop.cancel();
    });
}

fn announce(running: &Running) {
    println!("{}", running.ready_line());
    let secrets = running.secrets();
    match running.state().config.mode {
        Mode::Dev => eprintln!("{}", crate::dev::banner(&running.url())),
        Mode::Serve => {
            eprintln!("chronq listens on {}", running.url());
            if let Some(token) = &secrets.token {
                eprintln!("admin token, shown this once: {}", token.expose());
            }
        }
    }
}
