//! Gives a body to the answers that the HTTP parser writes by itself.
//!
//! A request that is no HTTP never reaches a route: the parser answers with a bare status. Every
//! refusal is JSON here (contract/http-queue.md, "Publishing"), so those answers are replaced on
//! their way out. They are told apart by time: nothing but the parser writes while no request is
//! being answered.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream to a client.
pub(super) struct Refusals<S> {
    stream: S,
    answering: Arc<AtomicBool>,
    unsent: Vec<u8>,
}

impl<S> Refusals<S> {
    /// `answering` is set by the service when it takes a request, and cleared here when its answer begins.
    pub(super) fn new(stream: S, answering: Arc<AtomicBool>) -> Self {
        Self { stream, answering, unsent: Vec::new() }
    }

    /// The answer to send instead, where the parser writes one of its own.
    fn replacement(&self, written: &[u8]) -> Option<Vec<u8>> {
        let line_end = written.windows(2).position(|pair| pair == b"\r\n")?;
        let line = std::str::from_utf8(&written[..line_end]).ok()?;
        let status = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "))?;
        if self.answering.swap(false, Ordering::AcqRel) || !written.ends_with(b"\r\n\r\n") {
            return None;
        }
        let sentence = match status.get(..3)? {
            "400" => {
                "the request is not HTTP/1.1: percent-encode the request target (a destination whole, or send it in a batch), and check the headers"
            }
            "414" => "the request target is too long",
            "431" => "the request's headers are too many or too long",
            _ => return None,
        };
        let body = serde_json::json!({ "error": sentence }).to_string();
        let head = format!(
            "{line}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        Some([head.into_bytes(), body.into_bytes()].concat())
    }
}

impl<S: AsyncWrite + Unpin> Refusals<S> {
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
}

impl<S: AsyncRead + Unpin> AsyncRead for Refusals<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Refusals<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        if let Some(replacement) = self.replacement(bytes) {
            self.unsent = replacement;
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        if let [only] = parts
            && let Some(replacement) = self.replacement(only)
        {
            self.unsent = replacement;
            return Poll::Ready(Ok(only.len()));
        }
        // A head with its body: the service's own.
        self.answering.store(false, Ordering::Release);
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
