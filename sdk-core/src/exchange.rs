//! The retry machine of one call. It never sleeps, looks at a clock or opens a socket: a driver asks
//! what is next, does it, and reports what came.
//!
//! ```text
//!            step()                 respond() / fail()
//! [ready] ──────────▶ Send ────────▶ [answered] ──▶ Done
//!    ▲                                   │
//!    └────────── step(): Wait ◀── [waiting]   (repeatable, attempts left)
//! ```

use std::time::Duration;

use crate::contract::limits;
use crate::error::Error;
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation};
use crate::retry::{RetryPolicy, Verdict};
use crate::wire::{Request, Response};

/// What a driver does next.
#[derive(Debug)]
pub enum Step<T> {
    /// Send this request, then call [`Exchange::respond`] or [`Exchange::fail`].
    Send(Box<Request>),
    /// Sleep that long, then ask again.
    Wait(Duration),
    /// The call is over.
    Done(Result<T, Error>),
}

/// Why no answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A sentence for people.
    pub message: String,
    /// Whether the request may have reached the server. A driver that cannot tell says `true`.
    pub may_have_been_sent: bool,
}

/// One call in progress.
#[derive(Debug)]
pub struct Exchange<O: Operation> {
    operation: O,
    endpoint: Endpoint,
    policy: RetryPolicy,
    state: State<O::Output>,
    /// Attempts made of the request at hand.
    attempts: u32,
    earlier_attempt_may_have_acted: bool,
}

#[derive(Debug)]
enum State<T> {
    Ready,
    Sent,
    Waiting(Duration),
    Done(Option<Result<T, Error>>),
}

impl<O: Operation> Exchange<O> {
    /// Starts a call; `mint` gives it the ids that make repeating safe.
    pub fn new(mut operation: O, endpoint: Endpoint, policy: RetryPolicy, mint: &mut Mint) -> Self {
        operation.prepare(mint);
        Self {
            operation,
            endpoint,
            policy,
            state: State::Ready,
            attempts: 0,
            earlier_attempt_may_have_acted: false,
        }
    }

    /// What to do next. After `Send`, the same request is given again until its outcome is reported;
    /// after `Done`, a protocol error.
    pub fn step(&mut self) -> Step<O::Output> {
        match &mut self.state {
            State::Ready | State::Sent => match self.operation.request(&self.endpoint) {
                Ok(request) => {
                    self.state = State::Sent;
                    Step::Send(Box::new(request))
                }
                Err(error) => {
                    self.state = State::Done(None);
                    Step::Done(Err(error))
                }
            },
            State::Waiting(duration) => {
                let duration = *duration;
                self.state = State::Ready;
                Step::Wait(duration)
            }
            State::Done(result) => {
                Step::Done(result.take().unwrap_or_else(|| {
                    Err(Error::protocol("this call is over: its result was already taken"))
                }))
            }
        }
    }

    /// Reports an answer, at `now_ms` (unix milliseconds); `jitter` in 0..=1 spreads the next wait.
    pub fn respond(&mut self, response: &Response, now_ms: i64, jitter: f64) {
        self.attempts += 1;
        let circumstances =
            Circumstances { now_ms, earlier_attempt_may_have_acted: self.earlier_attempt_may_have_acted };
        match self
            .operation
            .answer(response, circumstances)
            .and_then(|answer| answer.map(O::output).transpose())
        {
            Ok(Some(output)) => self.state = State::Done(Some(Ok(output))),
            Ok(None) => {
                self.attempts = 0;
                self.earlier_attempt_may_have_acted = false;
                self.state = State::Ready;
            }
            Err(error) => self.decide(error, jitter),
        }
    }

    /// Reports that no answer came.
    pub fn fail(&mut self, failure: Failure, jitter: f64) {
        self.attempts += 1;
        self.decide(Error::transport(failure.message, failure.may_have_been_sent), jitter);
    }

    fn decide(&mut self, error: Error, jitter: f64) {
        let verdict = Verdict::on(&error);
        self.earlier_attempt_may_have_acted |= verdict == Verdict::IfSafe;
        let patient = error
            .retry_after()
            .is_none_or(|wait| wait.as_millis() <= u128::from(limits::MAX_CLIENT_RETRY_AFTER_MS));
        if verdict.allows(self.operation.idempotence()) && self.attempts < self.policy.attempts() && patient {
            self.state = State::Waiting(self.policy.wait(self.attempts, error.retry_after(), jitter));
            return;
        }
        let (attempts, may_have_acted) = (self.attempts, self.earlier_attempt_may_have_acted);
        self.state = State::Done(Some(Err(error.with_context(|context| {
            context.attempts = attempts;
            context.may_have_been_sent |= may_have_acted;
        }))));
    }
}
