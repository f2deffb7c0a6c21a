//! The calls on schedules.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Schedule;
use super::fields::FIELDS;
use crate::contract::{Method, Missed, paths};
use crate::error::Error;
use crate::ids::{MessageId, Name, escape_segment};
use crate::json::Json;
use crate::json::shape::{Shape, nullable, or, required};
use crate::operation::{Circumstances, Endpoint, Operation, deleted, read_if, read_ok, typed};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

/// A schedule as the server knows it. Times are unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleInfo {
    /// What was put; `queue` names the queue in use, the schedule's own where none was given.
    pub schedule: Schedule,
    /// When it was first put.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// When it runs next; none while disabled, or once its rule has ended.
    pub next_run_at: Option<i64>,
    /// When it last ran by itself.
    pub last_run_at: Option<i64>,
}

/// The fields that the server adds to those of [`Schedule`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are those of the wire")]
struct Kept {
    created_at: i64,
    updated_at: i64,
    next_run_at: Option<i64>,
    last_run_at: Option<i64>,
}

impl Serialize for ScheduleInfo {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            #[serde(flatten)]
            schedule: serde_json::Value,
            #[serde(flatten)]
            kept: Kept,
        }
        let kept = Kept {
            created_at: self.created_at,
            updated_at: self.updated_at,
            next_run_at: self.next_run_at,
            last_run_at: self.last_run_at,
        };
        Shape { schedule: self.schedule.to_value(), kept }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScheduleInfo {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let mut value = serde_json::Value::deserialize(deserializer)?;
        let kept = Kept::deserialize(&value).map_err(D::Error::custom)?;
        // A newer server may say more of a schedule than this client knows.
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| FIELDS.contains(&name.as_str()));
        }
        Ok(Self {
            schedule: Schedule::from_value(&value).map_err(D::Error::custom)?,
            created_at: kept.created_at,
            updated_at: kept.updated_at,
            next_run_at: kept.next_run_at,
            last_run_at: kept.last_run_at,
        })
    }
}

/// What is left out stands at the defaults of [`Schedule::new`].
static SCHEDULE: Shape = Shape::Object(&[
    required("name", Shape::Name),
    required("cron", Shape::Text),
    required("url", Shape::Url),
    or("method", Shape::Word(Method::WORDS), "\"POST\""),
    or("headers", Shape::Texts, "{}"),
    or("body", Shape::Text, "\"\""),
    or("timezone", Shape::Text, "\"UTC\""),
    or("missed", Shape::Word(Missed::WORDS), "\"skip\""),
    or("timeoutMs", Shape::Count(u64::MAX), "30000"),
    nullable("queue", Shape::Name),
    or("enabled", Shape::Flag, "true"),
    nullable("description", Shape::Text),
    nullable("failureCallback", Shape::Url),
    required("createdAt", Shape::Integer),
    required("updatedAt", Shape::Integer),
    nullable("nextRunAt", Shape::Integer),
    nullable("lastRunAt", Shape::Integer),
]);

static RUN: Shape = Shape::Object(&[required("messageId", Shape::Text), required("queue", Shape::Name)]);

/// Makes or changes a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutSchedule {
    /// All of it: what is left out falls back to its default.
    pub schedule: Schedule,
}

/// What a put did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchedulePut {
    /// Whether it was made anew (201) or changed (200).
    pub created: bool,
    /// As it stands now.
    #[serde(flatten)]
    pub info: ScheduleInfo,
}

impl Operation for PutSchedule {
    type Output = SchedulePut;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        self.schedule.check()?;
        Ok(endpoint.json_request(Method::Post, paths::SCHEDULES, &self.schedule.to_json()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        let mut answered = read_if(&[200, 201], "put schedule", &SCHEDULE, response, circumstances)?;
        if let Some(info) = &mut answered {
            info.put("created", response.status == 201);
        }
        Ok(answered)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        let created = answer.get("created") == Some(&Json::Flag(true));
        Ok(SchedulePut { created, info: typed(&answer)? })
    }
}

/// All schedules, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListSchedules;

impl Operation for ListSchedules {
    type Output = Vec<ScheduleInfo>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, paths::SCHEDULES, Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("list schedules", &Shape::List(&SCHEDULE), response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// One schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetSchedule {
    /// Its name.
    pub name: Name,
}

impl Operation for GetSchedule {
    type Output = ScheduleInfo;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, &path(&self.name), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("get schedule", &SCHEDULE, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Removes a schedule; messages of its earlier runs stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteSchedule {
    /// Its name.
    pub name: Name,
}

impl Operation for DeleteSchedule {
    type Output = ();

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Delete, &path(&self.name), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        deleted(response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Makes one run now, whether or not the schedule is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSchedule {
    /// Its name.
    pub name: Name,
}

/// The message of a run made by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleRun {
    /// Its id.
    pub message_id: MessageId,
    /// The queue it went into.
    pub queue: Name,
}

impl Operation for RunSchedule {
    type Output = ScheduleRun;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Unsafe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Post, &[&path(&self.name), "/run"].concat(), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("run schedule", &RUN, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

fn path(name: &Name) -> String {
    [paths::SCHEDULES, "/", &escape_segment(name.as_str())].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::secret::Secret;

    const FIRST: Circumstances = Circumstances { now_ms: 0, earlier_attempt_may_have_acted: false };
    const AGAIN: Circumstances = Circumstances { now_ms: 0, earlier_attempt_may_have_acted: true };
    const STORED: &str = r#"{"name":"n","cron":"@daily","url":"http://h/","method":"GET","headers":{"x-a":"1"},
        "body":"","timezone":"UTC","missed":"once","timeoutMs":5000,"queue":"schedule-n","enabled":true,
        "description":null,"failureCallback":null,"createdAt":1,"updatedAt":2,"nextRunAt":3,"lastRunAt":null,
        "sinceThisClient":true}"#;

    fn endpoint() -> Endpoint {
        Endpoint::new("http://127.0.0.1:7460/base", Secret::new("chronq_not-a-real-token"), None)
            .expect("legal")
    }

    fn answer(status: u16, body: &'static str) -> Response {
        Response::new(status, body)
    }

    fn name(text: &str) -> Name {
        Name::parse("name", text).expect("legal")
    }

    fn parse<O: Operation>(
        mut operation: O,
        response: &Response,
        circumstances: Circumstances,
    ) -> Result<O::Output, Error> {
        O::output(operation.answer(response, circumstances)?.expect("schedules take one request"))
    }

    #[test]
    fn a_put_posts_every_field_and_tells_made_from_changed() {
        let schedule = Schedule::new("n", "0 3 * * *", "http://h/").expect("legal");
        let put = PutSchedule { schedule: schedule.clone() };
        let request = put.request(&endpoint()).expect("legal");
        assert_eq!(
            (request.method, request.url.as_str()),
            (Method::Post, "http://127.0.0.1:7460/base/v2/schedules")
        );
        assert_eq!(Schedule::from_json(&request.body), Ok(schedule));
        assert!(parse(put.clone(), &answer(201, STORED), FIRST).expect("an answer").created);
        let changed = parse(put.clone(), &answer(200, STORED), FIRST).expect("an answer");
        assert!(!changed.created);
        assert_eq!(changed.info.next_run_at, Some(3));
        assert_eq!(changed.info.schedule.queue, Some(name("schedule-n")));
    }

    #[test]
    fn a_put_is_refused_before_the_network() {
        let mut schedule = Schedule::new("n", "0 3 * * *", "http://h/").expect("legal");
        schedule.timeout = std::time::Duration::ZERO;
        let error = PutSchedule { schedule }.request(&endpoint()).expect_err("zero");
        assert!(
            matches!(error.kind(), ErrorKind::InvalidInput(Some(input)) if input.option() == "timeoutMs")
        );
    }

    #[test]
    fn the_other_calls_name_the_schedule_in_the_path() {
        let get = GetSchedule { name: name("a.b") }.request(&endpoint()).expect("legal");
        assert_eq!(
            (get.method, get.url.as_str()),
            (Method::Get, "http://127.0.0.1:7460/base/v2/schedules/a.b")
        );
        let delete = DeleteSchedule { name: name("n") }.request(&endpoint()).expect("legal");
        assert_eq!(
            (delete.method, delete.url.as_str()),
            (Method::Delete, "http://127.0.0.1:7460/base/v2/schedules/n")
        );
        let run = RunSchedule { name: name("n") }.request(&endpoint()).expect("legal");
        assert_eq!(
            (run.method, run.url.as_str()),
            (Method::Post, "http://127.0.0.1:7460/base/v2/schedules/n/run")
        );
        let list = ListSchedules.request(&endpoint()).expect("legal");
        assert_eq!(
            (list.method, list.url.as_str()),
            (Method::Get, "http://127.0.0.1:7460/base/v2/schedules")
        );
    }

    #[test]
    fn only_a_run_is_unsafe_to_repeat() {
        assert_eq!(RunSchedule { name: name("n") }.idempotence(), Idempotence::Unsafe);
        assert_eq!(DeleteSchedule { name: name("n") }.idempotence(), Idempotence::Safe);
        assert_eq!(ListSchedules.idempotence(), Idempotence::Safe);
    }

    #[test]
    fn a_delete_repeated_after_a_lost_answer_is_done() {
        let delete = DeleteSchedule { name: name("n") };
        let missing = answer(404, r#"{"error":"unknown schedule: \"n\""}"#);
        assert!(matches!(
            parse(delete.clone(), &missing, FIRST).expect_err("404").kind(),
            ErrorKind::NotFound
        ));
        parse(delete.clone(), &missing, AGAIN).expect("an answer");
        parse(delete.clone(), &answer(200, "{}"), FIRST).expect("an answer");
    }

    #[test]
    fn a_run_answers_its_message() {
        let run = RunSchedule { name: name("n") };
        let output = parse(run.clone(), &answer(200, r#"{"messageId":"m1","queue":"schedule-n"}"#), FIRST)
            .expect("an answer");
        assert_eq!((output.message_id.as_str(), output.queue.as_str()), ("m1", "schedule-n"));
    }

    #[test]
    fn what_the_server_writes_reads_back() {
        let info: ScheduleInfo = serde_json::from_str(STORED).expect("legal");
        let written = serde_json::to_string(&info).expect("writable");
        assert_eq!(serde_json::from_str::<ScheduleInfo>(&written).expect("legal"), info);
        assert!(matches!(
            parse(ListSchedules, &answer(200, "{}"), FIRST).expect_err("not a list").kind(),
            ErrorKind::Protocol
        ));
    }

    #[test]
    fn the_types_are_of_the_shapes() {
        let fitted = SCHEDULE.fit(Json::parse(STORED).expect("json")).expect("of the shape").to_string();
        let info: ScheduleInfo = serde_json::from_str(STORED).expect("legal");
        assert_eq!(serde_json::from_str::<ScheduleInfo>(&fitted).expect("legal"), info);
        let written: serde_json::Value = serde_json::from_str(&fitted).expect("json");
        assert_eq!(serde_json::to_value(&info).expect("json"), written);
        let least = r#"{"name":"n","cron":"@daily","url":"http://h/","createdAt":1,"updatedAt":2}"#;
        let fitted = SCHEDULE.fit(Json::parse(least).expect("json")).expect("of the shape").to_string();
        let defaults = Schedule::new("n", "@daily", "http://h/").expect("legal");
        assert_eq!(serde_json::from_str::<ScheduleInfo>(&fitted).expect("legal").schedule, defaults);
        RUN.holds::<ScheduleRun>();
    }
}
