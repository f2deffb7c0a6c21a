//! Where things are.

use std::path::{Path, PathBuf};

/// Root of the workspace.
pub(crate) fn root() -> &'static Path {
    // The manifest's folder is xtask/, one below the root.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A path below the root.
pub(crate) fn at(path: &str) -> PathBuf {
    root().join(path)
}

/// Cargo's target folder; everything that xtask makes and git ignores goes below it.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| at("target"), |dir| root().join(dir))
}

/// A program that cargo built in the dev profile.
pub(crate) fn built(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// All files below a folder whose names end so, sorted; folders made by tools are left out.
pub(crate) fn files(dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
    const MADE: [&str; 6] = ["target", "node_modules", "dist", ".venv", "__pycache__", ".git"];
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() {
                if !MADE.contains(&name.as_str()) {
                    open.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
