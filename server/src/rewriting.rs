//! A stream that may write other bytes than it is given: for the few that a library prints wrongly.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Decides what is written.
pub(crate) trait Rewrite {
    /// What to write in place of `bytes`, if anything else. `alone` tells whether the library writes
    /// nothing else with them.
    ///
    /// # Errors
    /// Where they cannot be written as they are, and not otherwise either.
    fn rewrite(&mut self, bytes: &[u8], alone: bool) -> io::Result<Option<Vec<u8>>>;
}

/// A stream whose writes pass a [`Rewrite`]; reads are as they were.
#[derive(Debug)]
pub(crate) struct Rewriting<S, R> {
    stream: S,
    rewrite: R,
    unsent: Vec<u8>,
}

impl<S, R> Rewriting<S, R> {
    /// Lets what is written to `stream` pass `rewrite`.
    pub(crate) fn new(stream: S, rewrite: R) -> Self {
        Self { stream, rewrite, unsent: Vec::new() }
    }
}

impl<S: AsyncWrite + Unpin, R> Rewriting<S, R> {
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

impl<S: AsyncRead + Unpin, R: Unpin> AsyncRead for Rewriting<S, R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin, R: Rewrite + Unpin> AsyncWrite for Rewriting<S, R> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        if let Some(instead) = self.rewrite.rewrite(bytes, true)? {
            self.unsent = instead;
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
        let mut filled = parts.iter().filter(|part| !part.is_empty());
        if let Some(first) = filled.next()
            && let Some(instead) = self.rewrite.rewrite(first, filled.next().is_none())?
        {
            self.unsent = instead;
            return Poll::Ready(Ok(first.len()));
        }
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
