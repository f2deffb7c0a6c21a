//! Searches in text that bring little code along: those of `str`, for patterns longer than one character, weigh
//! more in a WebAssembly module than all of the base64 and JSON of a signature together.

/// Where `part` begins in `text`, in bytes.
pub(crate) fn find(text: &str, part: &str) -> Option<usize> {
    text.as_bytes().windows(part.len().max(1)).position(|window| window == part.as_bytes())
}

/// Whether `part` stands somewhere in `text`.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    find(text, part).is_some()
}

/// What stands before the first `mark`, and what after it.
pub(crate) fn split_once<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let at = find(text, mark)?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

/// `text` with the first `from` in it replaced.
pub(crate) fn replace_first(text: &str, from: &str, to: &str) -> String {
    match split_once(text, from) {
        Some((before, after)) => [before, to, after].concat(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_occurrence_counts() {
        assert_eq!(find("a://b://c", "://"), Some(1));
        assert_eq!((find("ab", "abc"), find("", "a"), find("é-", "-")), (None, None, Some(2)));
        assert_eq!(split_once("a://b://c", "://"), Some(("a", "b://c")));
        assert_eq!(split_once("://", "://"), Some(("", "")));
        assert_eq!(replace_first("to_to", "to", "from"), "from_to");
        assert_eq!(replace_first("none", "x", "y"), "none");
        assert!(contains("a-----BEGIN", "-----BEGIN") && !contains("BEGI", "BEGIN"));
    }
}
