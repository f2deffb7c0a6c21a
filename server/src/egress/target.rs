//! The request target, byte for byte.
//!
//! The `http` crate's URI type refuses some of the visible ASCII that a destination may hold (`<`,
//! `>`, `` ` ``, `"` in a query). For those a placeholder goes through the library, and the first
//! line that is written to the connection gets the real target in its place.

use std::io;

use chronq::Destination;
use http::Uri;

use crate::rewriting::{Rewrite, Rewriting};

/// What stands in the library's request for a target that it cannot hold.
const PLACEHOLDER: &str = "/*";

/// A request target.
#[derive(Clone, Debug)]
pub(super) struct Target {
    text: String,
    uri: Uri,
    expressible: bool,
}

impl Target {
    pub(super) fn of(destination: &Destination) -> Self {
        let text = destination.request_target();
        match text.parse::<Uri>() {
            // The library must print exactly what it was given.
            Ok(uri) if uri.to_string() == text => Self { text, uri, expressible: true },
            Ok(_) | Err(_) => Self { text, uri: Uri::from_static(PLACEHOLDER), expressible: false },
        }
    }

    /// Whether the library writes this target as it is.
    pub(super) fn is_expressible(&self) -> bool {
        self.expressible
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The stream through which a request with this target must go.
    pub(super) fn through<S>(&self, stream: S) -> Rewriting<S, RequestLine> {
        Rewriting::new(stream, RequestLine((!self.expressible).then(|| self.text.clone())))
    }
}

/// The real target, until the first request line is written, where the library cannot hold it.
#[derive(Debug)]
pub(super) struct RequestLine(Option<String>);

impl Rewrite for RequestLine {
    fn rewrite(&mut self, bytes: &[u8], _alone: bool) -> io::Result<Option<Vec<u8>>> {
        let Some(target) = self.0.take() else { return Ok(None) };
        // The library writes a request line in one piece.
        let placeholder = format!(" {PLACEHOLDER} ");
        let at = bytes.windows(placeholder.len()).position(|window| window == placeholder.as_bytes());
        let at = at.ok_or_else(|| io::Error::other("the request line was not written in one piece"))?;
        let (before, after) = (&bytes[..=at], &bytes[at + placeholder.len() - 1..]);
        Ok(Some([before, target.as_bytes(), after].concat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::of(&Destination::parse("destination", url).expect(url))
    }

    #[test]
    fn what_the_library_can_hold_it_prints_as_it_is() {
        for url in
            ["http://h/a/../b%2f?x=1&y=%20", "http://h", "http://h?x", "http://h//", "http://h/'(*)!;{}|^\\"]
        {
            assert!(target(url).is_expressible(), "{url}");
        }
    }

    #[test]
    fn the_rest_is_written_in_the_placeholders_stead() {
        for url in ["http://h/<>", "http://h/?q=\"x\"", "http://h/`"] {
            assert!(!target(url).is_expressible(), "{url}");
        }
        let mut line = RequestLine(Some("/<x>".to_owned()));
        let head = b"POST /* HTTP/1.1\r\nhost: h\r\n\r\n";
        let rewritten = line.rewrite(head, true).expect("in one piece");
        assert_eq!(rewritten.as_deref(), Some(b"POST /<x> HTTP/1.1\r\nhost: h\r\n\r\n".as_slice()));
        assert_eq!(line.rewrite(head, true).expect("as it is"), None);
    }
}
