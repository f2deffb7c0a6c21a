//! Debian packages, where we are root on a Debian.

use crate::command::{Failure, Run};

/// Installs packages without asking.
pub(crate) fn install(packages: &[&str]) -> Result<(), Failure> {
    let quiet = |run: Run| run.env("DEBIAN_FRONTEND", "noninteractive");
    quiet(Run::line("apt-get update -qq")).run()?;
    quiet(Run::line("apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold"))
        .args(packages)
        .run()
}
