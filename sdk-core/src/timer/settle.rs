//! What became of an absent timer: the log is asked, then the timer, then the log again.

use bytes::Bytes;
use http::{Request, Response};

use crate::error::Error;
use crate::input::InvalidInput;
use crate::instant::Instant;
use crate::log::{Find, LogMessage};
use crate::operation::{Circumstances, Endpoint, Operation, Parsed};
use crate::retry::Idempotence;

use super::read::{Peek, PeekedTimer};
use super::write::{check_identity, check_txn};

/// What became of a timer.
#[must_use = "whether the timer was delivered decides whether to compensate"]
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It is in the log.
    Delivered(Box<LogMessage>),
    /// It is pending (again), with this very txn.
    Pending(Box<PeekedTimer>),
    /// Neither pending nor in the log since then: it was cancelled or replaced, or never scheduled,
    /// or the log no longer keeps it.
    NotFound {
        /// Where the search began; `None` is the whole log.
        since: Option<Instant>,
    },
}

/// Looks a timer's `txn` up. The second look into the log closes the gap in which the timer was
/// delivered between the first look and the peek.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    find: Find,
    peek: Peek,
    look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Log,
    Timer,
    LogAgain,
}

impl Settle {
    /// `since` bounds the search in the log.
    ///
    /// # Errors
    /// [`InvalidInput`] naming queue, `timer_key` or txn.
    pub fn new(
        queue: String,
        timer_key: String,
        txn: String,
        since: Option<Instant>,
    ) -> Result<Self, InvalidInput> {
        check_identity(&queue, &timer_key)?;
        check_txn(&txn)?;
        let find = Find { queue: queue.clone(), txn, since };
        Ok(Self { find, peek: Peek { queue, timer_key }, look: Look::Log })
    }

    fn go_on(&self, look: Look) -> Parsed<Self> {
        Parsed::Next(Box::new(Self { look, ..self.clone() }))
    }
}

impl Operation for Settle {
    type Output = Settled;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        match self.look {
            Look::Log | Look::LogAgain => self.find.request(endpoint),
            Look::Timer => self.peek.request(endpoint),
        }
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        if self.look == Look::Timer {
            let timer = done(self.peek.parse(response, circumstances)?)?;
            return Ok(match timer {
                Some(timer) if timer.row.txn == self.find.txn => {
                    Parsed::Done(Settled::Pending(Box::new(timer)))
                }
                _ => self.go_on(Look::LogAgain),
            });
        }
        let first = done(self.find.parse(response, circumstances)?)?.into_iter().next();
        Ok(match (first, self.look) {
            (Some(message), _) => Parsed::Done(Settled::Delivered(Box::new(message))),
            (None, Look::Log) => self.go_on(Look::Timer),
            (None, Look::Timer | Look::LogAgain) => {
                Parsed::Done(Settled::NotFound { since: self.find.since })
            }
        })
    }
}

fn done<O: Operation>(parsed: Parsed<O>) -> Result<O::Output, Error> {
    match parsed {
        Parsed::Done(output) => Ok(output),
        Parsed::Next(_) => Err(Error::protocol("a look into the log cannot go on by itself")),
    }
}
