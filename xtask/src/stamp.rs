//! Stamps: a set-up is skipped when the files it came from have not changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::command::{During, Failure};

/// Remembers the inputs of a set-up in a file next to what it made.
pub(crate) struct Stamp {
    file: PathBuf,
    value: String,
}

impl Stamp {
    /// A stamp kept in `file`, over the contents of `inputs` and over `salt`.
    pub(crate) fn new(file: PathBuf, inputs: &[PathBuf], salt: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        for input in inputs {
            input.hash(&mut hasher);
            std::fs::read(input).ok().hash(&mut hasher);
        }
        Self { file, value: format!("{:016x}\n", hasher.finish()) }
    }

    /// Whether the set-up was made from the same inputs.
    pub(crate) fn is_current(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|text| text == self.value)
    }

    /// Records that the set-up has been made.
    pub(crate) fn record(&self) -> Result<(), Failure> {
        let dir = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&self.file, &self.value))
            .during(self.file.display())
    }
}
