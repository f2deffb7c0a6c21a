//! Running other programs: echoed, without stdin, with an error that says which command failed.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a part did not pass, as a sentence for people.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Adds what was being done to an error of the operating system.
pub(crate) trait During<T> {
    fn during(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T> During<T> for std::io::Result<T> {
    fn during(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("{what}: {error}")))
    }
}

/// A command to run.
pub(crate) struct Run {
    command: Command,
    shown: String,
}

impl Run {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(crate::workspace::root());
        // What cargo tells us about xtask, build scripts of dependencies would read as their own, and be run
        // again at each change between `cargo xtask` and cargo alone.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_about_us(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        Self { command, shown: shorten(&program.to_string_lossy()) }
    }

    /// A command line without quoting: split at spaces.
    pub(crate) fn line(line: &str) -> Self {
        let mut words = line.split_whitespace();
        words.clone().skip(1).fold(Self::new(words.next().unwrap_or_default()), Self::arg)
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        let argument = argument.as_ref();
        self.shown.push(' ');
        self.shown.push_str(&shorten(&argument.to_string_lossy()));
        self.command.arg(argument);
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = S>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Runs it, its output going where ours goes.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        eprintln!("$ {}", self.shown);
        let status = self.command.status().map_err(|error| self.not_started(&error))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("`{}` failed ({status})", self.shown)))
    }

    /// Runs it and gives what it printed on stdout.
    pub(crate) fn output(mut self) -> Result<String, Failure> {
        let output = self.command.output().map_err(|error| self.not_started(&error))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(Failure::new(format!("`{}` failed ({})\n{}", self.shown, output.status, stderr.trim_end())))
    }

    /// Whether it can be started and succeeds; what it prints is not shown.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// The command for what these methods do not cover.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("`{}` could not be started: {error}", self.shown))
    }
}

fn is_about_us(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

/// Paths below the workspace are shown relative to it, the cargo that runs us by its name.
fn shorten(text: &str) -> String {
    let root = format!("{}/", crate::workspace::root().display());
    if text == crate::workspace::cargo().to_string_lossy() {
        "cargo".to_owned()
    } else {
        text.replace(&root, "")
    }
}
