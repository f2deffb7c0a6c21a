//! Gives a body to the answers that the HTTP parser writes by itself.
//!
//! A request that is no HTTP never reaches a route: the parser answers with a bare status. Every
//! refusal is JSON here (contract/http-queue.md, "Publishing"), so those answers are replaced on
//! their way out. They are told apart by time: nothing but the parser writes while no request is
//! being answered.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::rewriting::{Rewrite, Rewriting};

/// A stream to a client. `answering` is set by the service when it takes a request, and cleared here
/// when its answer begins.
pub(super) fn through<S>(stream: S, answering: Arc<AtomicBool>) -> Rewriting<S, Refusals> {
    Rewriting::new(stream, Refusals { answering })
}

/// Tells the parser's own answers from the service's.
pub(super) struct Refusals {
    answering: Arc<AtomicBool>,
}

impl Refusals {
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

impl Rewrite for Refusals {
    fn rewrite(&mut self, bytes: &[u8], alone: bool) -> io::Result<Option<Vec<u8>>> {
        if alone {
            return Ok(self.replacement(bytes));
        }
        // A head with its body: the service's own.
        self.answering.store(false, Ordering::Release);
        Ok(None)
    }
}
