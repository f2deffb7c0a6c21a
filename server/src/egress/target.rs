//! The request target, byte for byte.
//!
//! The `http` crate's URI type refuses some of the visible ASCII that a destination may hold (`<`,
//! `>`, `` ` ``, `"` in a query). For those a placeholder goes through the library, and the first
//! line that is written to the connection gets the real target in its place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use chronq::Destination;
use http::Uri;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
    pub(super) fn through<S>(&self, stream: S) -> Rewriting<S> {
        let target = (!self.expressible).then(|| self.text.clone());
        Rewriting { stream, target, unsent: Vec::new() }
    }
}

/// Writes the real target into the first request line, where there is one to write.
#[derive(Debug)]
pub(super) struct Rewriting<S> {
    stream: S,
    target: Option<String>,
    unsent: Vec<u8>,
}

impl<S: AsyncWrite + Unpin> Rewriting<S> {
    fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.unsent))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// The bytes with the target in place: the library writes a request line in one piece.
    fn rewrite(target: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let placeholder = format!(" {PLACEHOLDER} ");
        let at = bytes.windows(placeholder.len()).position(|window| window == placeholder.as_bytes())?;
        let (before, after) = (&bytes[..=at], &bytes[at + placeholder.len() - 1..]);
        Some([before, target.as_bytes(), after].concat())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewriting<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewriting<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        let Some(target) = self.target.take() else {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        };
        match Self::rewrite(&target, bytes) {
            Some(rewritten) => {
                self.unsent = rewritten;
                Poll::Ready(Ok(bytes.len()))
            }
            None => Poll::Ready(Err(io::Error::other("the request line was not written in one piece"))),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        if self.target.is_none() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        }
        let first = parts.iter().find(|part| !part.is_empty());
        first.map_or(Poll::Ready(Ok(0)), |first| self.poll_write(context, first))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
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
        assert_eq!(
            Rewriting::<tokio::io::DuplexStream>::rewrite("/<x>", b"POST /* HTTP/1.1\r\nhost: h\r\n\r\n")
                .as_deref(),
            Some(b"POST /<x> HTTP/1.1\r\nhost: h\r\n\r\n".as_slice())
        );
    }
}
