//! The browser that pages of tests are opened in.

use std::path::Path;

use crate::command::Failure;
use crate::setup::debian;

/// Where Debian's package puts it, and where the tests look for it.
const PROGRAM: &str = "/usr/bin/chromium";

/// Installs it, unless it is there.
pub(crate) fn obtain() -> Result<(), Failure> {
    if Path::new(PROGRAM).exists() {
        return Ok(());
    }
    debian::install(&["chromium"])
}
