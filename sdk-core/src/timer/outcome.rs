//! What became of a timer operation, and the element that says so on the wire: both directions.

use serde_json::Value;

use crate::contract::TimerStatus;
use crate::error::Error;
use crate::input::InvalidInput;
use crate::instant::Instant;
use crate::json::Json;
use crate::json::shape::{Field, Shape, nullable, required};
use crate::operation::Circumstances;

use super::settle::Settle;

/// What became of one timer operation. Closed, so that a `match` over it is complete; `absent` and
/// `too_late` are answers, not errors, and must not be dropped unread.
#[must_use = "a timer may be absent or too late although the call succeeded"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerOutcome {
    /// The timer did not exist and now does.
    Scheduled(Placed),
    /// It existed and has been replaced: a new message under an old key.
    Rescheduled(Placed),
    /// It existed, was not claimed, and is gone.
    Cancelled(Cancelled),
    /// No longer pending, and maybe already delivered. See [`Absent`].
    Absent(Absent),
    /// A live lease: it is about to be delivered. Use a new key, or wait for the delivery.
    TooLate(TooLate),
}

/// A timer that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// The transaction id that the delivered frame will carry.
    pub txn: String,
    /// The id that the delivered frame will have; minted anew at each reschedule.
    pub message_id: String,
    /// Not before this instant.
    pub deliver_at: Instant,
}

/// A timer that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// The stored timer's transaction id.
    pub txn: String,
}

/// A claimed timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
}

/// No longer pending. **It may already be delivered**: the authority is the log, and
/// [`Absent::settle`] asks it. Code that compensates must do so before it compensates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// The transaction id that the cancel carried.
    pub txn: Option<String>,
    /// An earlier attempt of this call may have reached the server, its answer lost: the timer may
    /// be absent because this very call cancelled it.
    pub after_lost_answer: bool,
}

impl Absent {
    /// The call that looks the transaction id up in the log; `since` bounds the search.
    ///
    /// # Errors
    /// [`InvalidInput`] naming `txn` where the cancel carried none.
    pub fn settle(&self, since: Option<Instant>) -> Result<Settle, InvalidInput> {
        let Some(txn) = &self.txn else {
            let message = "txn is needed to settle: pass the txn of the schedule to cancel";
            return Err(InvalidInput::new("txn", message));
        };
        Settle::new(self.queue.clone(), self.timer_key.clone(), txn.clone(), since)
    }
}

impl TimerOutcome {
    /// The status on the wire.
    pub const fn status(&self) -> TimerStatus {
        match self {
            Self::Scheduled(_) => TimerStatus::Scheduled,
            Self::Rescheduled(_) => TimerStatus::Rescheduled,
            Self::Cancelled(_) => TimerStatus::Cancelled,
            Self::Absent(_) => TimerStatus::Absent,
            Self::TooLate(_) => TimerStatus::TooLate,
        }
    }

    /// Whether the operation did what it was asked to.
    pub const fn ok(&self) -> bool {
        self.status().ok()
    }

    /// What stands on the wire.
    fn says_ok(&self) -> bool {
        sabotage!(AbsentSaysOk => if matches!(self, Self::Absent(_)) { return true });
        self.ok()
    }

    /// The queue and key that the outcome is about.
    pub fn subject(&self) -> (&str, &str) {
        match self {
            Self::Scheduled(placed) | Self::Rescheduled(placed) => (&placed.queue, &placed.timer_key),
            Self::Cancelled(it) => (&it.queue, &it.timer_key),
            Self::Absent(it) => (&it.queue, &it.timer_key),
            Self::TooLate(it) => (&it.queue, &it.timer_key),
        }
    }

    /// Reads an element. What the closed set does not hold is a protocol error: the client never
    /// guesses what an unknown status might mean.
    ///
    /// # Errors
    /// A protocol error for an unknown status, an `ok` that contradicts it, or a missing field.
    pub fn from_element(element: &Value, circumstances: Circumstances) -> Result<Self, Error> {
        Self::of(&read_element(element.clone().into(), circumstances)?)
    }

    /// The typed form of an element that was read.
    pub(super) fn of(element: &Json) -> Result<Self, Error> {
        let text = |name: &str| {
            let text = element.text(name).map(str::to_owned);
            text.ok_or_else(|| broken(&format!("has no text {name}")))
        };
        let (queue, timer_key) = (text("queue")?, text("timerKey")?);
        Ok(match status_of(element)? {
            status @ (TimerStatus::Scheduled | TimerStatus::Rescheduled) => {
                let deliver_at = Instant::parse("deliverAt", &text("deliverAt")?)?;
                let (txn, message_id) = (text("txn")?, text("messageId")?);
                let placed = Placed { queue, timer_key, txn, message_id, deliver_at };
                if status == TimerStatus::Scheduled {
                    Self::Scheduled(placed)
                } else {
                    Self::Rescheduled(placed)
                }
            }
            TimerStatus::Cancelled => Self::Cancelled(Cancelled { queue, timer_key, txn: text("txn")? }),
            TimerStatus::Absent => Self::Absent(Absent {
                queue,
                timer_key,
                txn: element.text("txn").map(str::to_owned),
                after_lost_answer: element.get(AFTER_LOST_ANSWER) == Some(&Json::Flag(true)),
            }),
            TimerStatus::TooLate => Self::TooLate(TooLate { queue, timer_key }),
        })
    }
}

/// The member that the client adds to an absent timer's element.
const AFTER_LOST_ANSWER: &str = "afterLostAnswer";

const OK: Field = required("ok", Shape::Flag);
const STATUS: Field = required("status", Shape::Word(TimerStatus::WORDS));
const QUEUE: Field = required("queue", Shape::Text);
const TIMER_KEY: Field = required("timerKey", Shape::Text);
const TXN: Field = required("txn", Shape::Text);

static PLACED: Shape = Shape::Object(&[
    OK,
    STATUS,
    QUEUE,
    TIMER_KEY,
    TXN,
    required("messageId", Shape::Text),
    required("deliverAt", Shape::Instant),
]);
static CANCELLED: Shape = Shape::Object(&[OK, STATUS, QUEUE, TIMER_KEY, TXN]);
static ABSENT: Shape = Shape::Object(&[OK, STATUS, QUEUE, TIMER_KEY, nullable("txn", Shape::Text)]);
static TOO_LATE: Shape = Shape::Object(&[OK, STATUS, QUEUE, TIMER_KEY]);

pub(super) fn status_of(element: &Json) -> Result<TimerStatus, Error> {
    let word = element.text("status").ok_or_else(|| broken("has no text status"))?;
    word.parse().map_err(|error: crate::contract::UnknownWord| broken(&["has ", &error.to_string()].concat()))
}

/// Reads an element as [`TimerOutcome::from_element`] does; an absent timer's says whether its answer may be this
/// call's own doing.
pub(super) fn read_element(element: Json, circumstances: Circumstances) -> Result<Json, Error> {
    let status = status_of(&element)?;
    let shape = match status {
        TimerStatus::Scheduled | TimerStatus::Rescheduled => &PLACED,
        TimerStatus::Cancelled => &CANCELLED,
        TimerStatus::Absent => &ABSENT,
        TimerStatus::TooLate => &TOO_LATE,
    };
    let mut element = shape.fit(element).map_err(|fault| broken(&fault))?;
    if element.get("ok") != Some(&Json::Flag(status.ok())) {
        return Err(broken(&["has an ok that contradicts its status ", status.as_str()].concat()));
    }
    sabotage!(TooLateIsAnError => if status == TimerStatus::TooLate { return Err(broken("is too late")) });
    if status == TimerStatus::Absent {
        sabotage!(AbsentSaysOk => element.replace("ok", true));
        element.put(AFTER_LOST_ANSWER, circumstances.earlier_attempt_may_have_acted);
    }
    Ok(element)
}

/// The element on the wire, keys in the order of the seed.
impl serde::Serialize for TimerOutcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let (queue, timer_key) = self.subject();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ok", &self.says_ok())?;
        map.serialize_entry("status", &self.status())?;
        map.serialize_entry("queue", queue)?;
        map.serialize_entry("timerKey", timer_key)?;
        match self {
            Self::Scheduled(placed) | Self::Rescheduled(placed) => {
                map.serialize_entry("txn", &placed.txn)?;
                map.serialize_entry("messageId", &placed.message_id)?;
                map.serialize_entry("deliverAt", &placed.deliver_at)?;
            }
            Self::Cancelled(cancelled) => map.serialize_entry("txn", &cancelled.txn)?,
            Self::Absent(absent) => map.serialize_entry("txn", &absent.txn)?,
            Self::TooLate(_) => {}
        }
        map.end()
    }
}

fn broken(what: &str) -> Error {
    Error::protocol(
        ["a timer's result ", what, ": the outcome is unknown, look the txn up in the log"].concat(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CALM: Circumstances = Circumstances { now_ms: 0, earlier_attempt_may_have_acted: false };

    #[test]
    fn an_element_is_written_and_read_back() {
        let scheduled = json!({
            "ok": true, "status": "scheduled", "queue": "reminders", "timerKey": "trial:acme:day7",
            "txn": "trial-acme-day7-v1", "messageId": "01936b0e-8d2c-7c3a-9f00-000000000001",
            "deliverAt": "2026-12-07T00:00:00.000000Z",
        });
        for element in [
            scheduled,
            json!({"ok": true, "status": "cancelled", "queue": "q", "timerKey": "k", "txn": "t"}),
            json!({"ok": false, "status": "absent", "queue": "q", "timerKey": "k", "txn": null}),
            json!({"ok": false, "status": "too_late", "queue": "q", "timerKey": "k"}),
        ] {
            let outcome = TimerOutcome::from_element(&element, CALM).expect("known");
            assert_eq!(serde_json::to_value(&outcome).expect("json"), element);
        }
    }

    #[test]
    fn the_keys_stand_in_the_order_of_the_seed() {
        let absent = TimerOutcome::Absent(Absent {
            queue: "reminders".into(),
            timer_key: "trial:acme:day7".into(),
            txn: Some("trial-acme-day7-v1".into()),
            after_lost_answer: true,
        });
        let expected = r#"{"ok":false,"status":"absent","queue":"reminders","timerKey":"trial:acme:day7","txn":"trial-acme-day7-v1"}"#;
        assert_eq!(serde_json::to_string(&absent).expect("json"), expected);
    }

    #[test]
    fn an_unknown_status_or_a_contradicting_ok_is_a_protocol_error() {
        for element in [
            json!({"ok": true, "status": "paused", "queue": "q", "timerKey": "k"}),
            json!({"ok": true, "status": "absent", "queue": "q", "timerKey": "k", "txn": null}),
            json!({"ok": false, "status": "cancelled", "queue": "q", "timerKey": "k", "txn": "t"}),
            json!({"status": "too_late", "queue": "q", "timerKey": "k"}),
            json!({"ok": true, "status": "scheduled", "queue": "q", "timerKey": "k", "txn": "t"}),
            json!("absent"),
        ] {
            let error = TimerOutcome::from_element(&element, CALM).expect_err("unknown");
            assert_eq!(error.code(), "protocol", "{element}");
        }
    }

    #[test]
    fn settling_needs_the_txn() {
        let absent = Absent { queue: "q".into(), timer_key: "k".into(), txn: None, after_lost_answer: false };
        assert_eq!(absent.settle(None).expect_err("no txn").option(), "txn");
    }
}
