//! What became of an absent timer: the log is asked, then the timer, then the log again.

use crate::error::Error;
use crate::input::InvalidInput;
use crate::instant::Instant;
use crate::json::Json;
use crate::log::{Find, LogMessage};
use crate::operation::{Circumstances, Endpoint, Operation, typed};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

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
}

impl Operation for Settle {
    type Output = Settled;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        match self.look {
            Look::Log | Look::LogAgain => self.find.request(endpoint),
            Look::Timer => self.peek.request(endpoint),
        }
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        let look = self.look;
        if look == Look::Timer {
            let timer = self.peek.answer(response, circumstances)?.unwrap_or_default();
            if timer.text("txn") == Some(&self.find.txn) {
                return Ok(Some(settled("pending", "timer", timer)));
            }
            self.look = Look::LogAgain;
            return Ok(None);
        }
        let found = self.find.answer(response, circumstances)?;
        let first = if let Some(Json::List(found)) = found { found.into_iter().next() } else { None };
        Ok(match (first, look) {
            (Some(message), _) => Some(settled("delivered", "message", message)),
            (None, Look::Log) => {
                self.look = Look::Timer;
                None
            }
            (None, Look::Timer | Look::LogAgain) => {
                Some(settled("not_found", "since", self.find.since.map(|since| since.to_string()).into()))
            }
        })
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        let part = |name: &str| answer.get(name).cloned().unwrap_or_default();
        Ok(match answer.text("settled") {
            Some("delivered") => Settled::Delivered(Box::new(typed(&part("message"))?)),
            Some("pending") => match Peek::output(part("timer"))? {
                Some(timer) => Settled::Pending(Box::new(timer)),
                None => return Err(Error::protocol("a pending timer is missing")),
            },
            _ => Settled::NotFound { since: typed(&part("since"))? },
        })
    }
}

/// `{"settled": "delivered", "message"}`, `{"settled": "pending", "timer"}` or `{"settled": "not_found", "since"}`.
fn settled(word: &str, name: &str, what: Json) -> Json {
    Json::object([("settled", word.into()), (name, what)])
}
