//! Documents: snippets are the files they name, links lead somewhere.
//!
//! A snippet is a line `<!-- file: examples/… -->` with a fenced block after it. The block is written
//! from the file, never by hand, because the file is what tests run.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::command::{During, Failure};
use crate::workspace;

const MARK: &str = "<!-- file: ";
const FENCE: &str = "```";

/// Copies the files into the documents.
pub(crate) fn write() -> Result<(), Failure> {
    for document in documents() {
        let text = std::fs::read_to_string(&document).during(document.display())?;
        let filled = fill(&text, &read_snippet)?;
        if filled != text {
            std::fs::write(&document, filled).during(document.display())?;
            println!("wrote {}", shown(&document));
        }
    }
    Ok(())
}

/// What is wrong with the documents, one sentence each.
pub(crate) fn faults() -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).during(document.display())?;
        let name = shown(&document);
        if fill(&text, &read_snippet)? != text {
            faults.push(format!("{name}: a snippet is not the file it names; run `cargo xtask readme`"));
        }
        let folder = document.parent().unwrap_or(Path::new("."));
        let dead = links(&text).into_iter().filter(|link| !folder.join(link).exists());
        faults.extend(dead.map(|link| format!("{name}: {link} leads nowhere")));
    }
    Ok(faults)
}

fn documents() -> Vec<PathBuf> {
    workspace::files(workspace::root(), &[".md"])
}

fn shown(document: &Path) -> String {
    document.strip_prefix(workspace::root()).unwrap_or(document).display().to_string()
}

fn read_snippet(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(workspace::at(path)).during(path)
}

/// The document with each snippet taken from its file.
fn fill(text: &str, read: &dyn Fn(&str) -> Result<String, Failure>) -> Result<String, Failure> {
    let mut filled = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled.push_str(line);
        filled.push('\n');
        let Some(path) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let Some(open) = lines.next().filter(|next| next.starts_with(FENCE)) else {
            return Err(Failure::new(format!("`{line}` is not followed by a fenced block")));
        };
        if !lines.by_ref().any(|next| next == FENCE) {
            return Err(Failure::new(format!("the block after `{line}` does not end")));
        }
        // Writing to a String cannot fail.
        let _ = write!(filled, "{open}\n{}\n{FENCE}\n", read(path)?.trim_end());
    }
    Ok(filled)
}

/// Relative links of a document, without their anchors.
fn links(text: &str) -> Vec<&str> {
    let mut outside = true;
    let prose = text.lines().filter(move |line| {
        outside ^= line.starts_with(FENCE);
        outside
    });
    prose
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|link| !link.is_empty() && !link.contains(':'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "it stands in for a read that can fail")]
    fn from_memory(path: &str) -> Result<String, Failure> {
        Ok(format!("contents of {path}\n"))
    }

    #[test]
    fn a_snippet_is_its_file() {
        let text = "a\n<!-- file: examples/x.py -->\n```python\nold\n```\nb\n";
        let filled = "a\n<!-- file: examples/x.py -->\n```python\ncontents of examples/x.py\n```\nb\n";
        assert_eq!(fill(text, &from_memory).expect("well formed"), filled);
    }

    #[test]
    fn a_snippet_without_a_block_is_refused() {
        assert!(fill("<!-- file: x -->\ntext\n", &from_memory).is_err());
        assert!(fill("<!-- file: x -->\n```\ntext\n", &from_memory).is_err());
    }

    #[test]
    fn relative_links_are_found_outside_of_code() {
        let text =
            "[a](docs/a.md#top) [b](https://example.com) ![c](c.svg)\n```\n[d](d.md)\n```\n[e](#here)\n";
        assert_eq!(links(text), ["docs/a.md", "c.svg"]);
    }
}
