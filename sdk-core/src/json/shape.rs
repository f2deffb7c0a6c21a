//! Shapes of answers: tables that one reader interprets, where a visitor per type would be most of a WebAssembly
//! module. The typed outputs of the Rust API are read from what has passed here.

use super::{Json, number};
use crate::destination::Destination;
use crate::duration;
use crate::ids::Name;
use crate::instant::Instant;

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Anything, kept as it is.
    Any,
    /// A string.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to this.
    Count(u64),
    /// A whole number of 64 bits with a sign.
    Integer,
    /// A name of a queue, group or schedule.
    Name,
    /// A destination.
    Url,
    /// An instant, written anew with six fractional digits.
    Instant,
    /// A duration in the grammar, written anew in its shortest form.
    Duration,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An object whose values are strings.
    Texts,
    /// An array.
    List(&'static Shape),
    /// An object with these members; others are left out: a newer server may say more.
    Object(&'static [Field]),
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    name: &'static str,
    shape: Shape,
    absent: Absent,
}

/// What becomes of a member that is absent or `null`.
#[derive(Clone, Copy, Debug)]
enum Absent {
    /// The answer is refused.
    Refused,
    /// It stays away.
    LeftOut,
    /// This JSON stands in for it.
    Reads(&'static str),
}

/// A member that must be there.
pub(crate) const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, absent: Absent::Refused }
}

/// A member that is `null` where it is absent.
pub(crate) const fn nullable(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, absent: Absent::Reads("null") }
}

/// A member that may be absent.
pub(crate) const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, absent: Absent::LeftOut }
}

/// A member that has a default, given as JSON.
pub(crate) const fn or(name: &'static str, shape: Shape, default: &'static str) -> Field {
    Field { name, shape, absent: Absent::Reads(default) }
}

/// A count of 32 bits.
pub(crate) const COUNT: Shape = Shape::Count(u32::MAX as u64);

impl Shape {
    /// The value in this shape, or a sentence about what does not fit.
    pub(crate) fn fit(&self, value: Json) -> Result<Json, String> {
        Ok(match (self, value) {
            (Self::Any, value)
            | (Self::Flag, value @ Json::Flag(_))
            | (Self::Text, value @ Json::Text(_)) => value,
            (Self::Count(most), Json::Number(written)) => match written.parse::<u64>() {
                Ok(count) if count <= *most => Json::Number(written),
                _ => return Err(["has a number that is no count: ", &written].concat()),
            },
            (Self::Integer, Json::Number(written)) => match written.parse::<i64>() {
                Ok(_) => Json::Number(written),
                Err(_) => return Err(["has a number that is not whole: ", &written].concat()),
            },
            (Self::Name | Self::Url | Self::Instant | Self::Duration | Self::Word(_), Json::Text(text)) => {
                Json::Text(self.fit_text(text)?)
            }
            (Self::Texts, Json::Object(members))
                if members.iter().all(|(_, value)| matches!(value, Json::Text(_))) =>
            {
                Json::Object(members)
            }
            (Self::List(shape), Json::List(list)) => {
                Json::List(list.into_iter().map(|value| shape.fit(value)).collect::<Result<_, _>>()?)
            }
            (Self::Object(fields), value @ Json::Object(_)) => fit_object(fields, &value)?,
            (_, other) => return Err(["has ", other.kind(), " where it may not stand"].concat()),
        })
    }

    fn fit_text(&self, text: String) -> Result<String, String> {
        let refuse = |error: crate::InvalidInput| error.to_string();
        Ok(match self {
            Self::Name => Name::parse("name", &text).map(|_| text).map_err(refuse)?,
            Self::Url => Destination::parse("url", &text).map(|_| text).map_err(refuse)?,
            Self::Instant => Instant::parse("instant", &text).map_err(refuse)?.to_string(),
            Self::Duration => duration::format(duration::parse("a duration", &text).map_err(refuse)?),
            Self::Word(words) if !words.contains(&text.as_str()) => {
                return Err(["has \"", &text, "\" in place of one of ", &words.join(", ")].concat());
            }
            _ => text,
        })
    }
}

fn fit_object(fields: &[Field], value: &Json) -> Result<Json, String> {
    let mut members = Vec::with_capacity(fields.len());
    for field in fields {
        let value = match (value.get(field.name), field.absent) {
            (Some(value), _) if *value != Json::Null || matches!(field.shape, Shape::Any) => {
                field.shape.fit(value.clone()).map_err(|fault| [field.name, " ", &fault].concat())?
            }
            (_, Absent::Reads(default)) => Json::parse(default).unwrap_or_default(),
            (_, Absent::LeftOut) => continue,
            (_, Absent::Refused) => return Err([field.name, " is missing"].concat()),
        };
        members.push((field.name.to_owned(), value));
    }
    Ok(Json::Object(members))
}

impl Json {
    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The whole number that it is.
    pub(crate) fn whole(&self) -> Option<i64> {
        match self {
            Self::Number(written) => number::whole(written),
            _ => None,
        }
    }
}

/// A value that fills the shape: what holds the derived types to the tables.
#[cfg(test)]
impl Shape {
    pub(crate) fn sample(&self) -> Json {
        match self {
            Self::Any => Json::parse(r#"{"any":[1.5]}"#).expect("json"),
            Self::Text => "text".into(),
            Self::Flag => true.into(),
            Self::Count(most) => (*most).into(),
            Self::Integer => Json::Number(i64::MIN.to_string()),
            Self::Name => "name".into(),
            Self::Url => "https://example.com/a".into(),
            Self::Instant => "2026-11-30T00:00:00.000000Z".into(),
            Self::Duration => "1m30s".into(),
            Self::Word(words) => words[0].into(),
            Self::Texts => Json::object([("x-a", "1".into())]),
            Self::List(shape) => vec![shape.sample()].into(),
            Self::Object(fields) => Json::Object(
                fields.iter().map(|field| (field.name.to_owned(), field.shape.sample())).collect(),
            ),
        }
    }

    /// Holds a derived type to the shape: with every member it is read and written without loss, and what the
    /// shape lets be absent, the type does too.
    pub(crate) fn holds<T: serde::Serialize + serde::de::DeserializeOwned>(&self) {
        let value = |json: &Json| serde_json::from_str::<serde_json::Value>(&json.to_string()).expect("json");
        let full = self.sample();
        assert_eq!(self.fit(full.clone()).as_ref(), Ok(&full));
        let read: T = serde_json::from_value(value(&full)).expect("of the shape");
        assert_eq!(serde_json::to_value(&read).expect("json"), value(&full));
        let Self::Object(fields) = self else { return };
        for field in *fields {
            let Json::Object(mut members) = full.clone() else { return };
            members.retain(|(name, _)| name != field.name);
            match (self.fit(Json::Object(members)), field.absent) {
                (Ok(fitting), Absent::LeftOut | Absent::Reads(_)) => {
                    let read: T = serde_json::from_value(value(&fitting)).expect(field.name);
                    assert_eq!(serde_json::to_value(&read).expect("json"), value(&fitting), "{}", field.name);
                }
                (Err(fault), Absent::Refused) => assert_eq!(fault, format!("{} is missing", field.name)),
                (fitted, _) => panic!("{}: {fitted:?}", field.name),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static INNER: Shape = Shape::Object(&[required("n", Shape::Count(9))]);
    static OUTER: Shape = Shape::Object(&[
        required("name", Shape::Name),
        nullable("at", Shape::Instant),
        optional("wait", Shape::Duration),
        or("on", Shape::Flag, "true"),
        required("inner", Shape::List(&INNER)),
        nullable("any", Shape::Any),
    ]);

    fn fit(text: &str) -> Result<String, String> {
        OUTER.fit(Json::parse(text).expect("json")).map(|json| json.to_string())
    }

    #[test]
    fn a_fitting_value_is_completed_and_written_in_one_spelling() {
        assert_eq!(
            fit(r#"{"name":"q","at":"2026-11-30T00:00:00Z","wait":"90s","inner":[{"n":9,"more":1}],"any":1e400,"more":2}"#),
            Ok(r#"{"name":"q","at":"2026-11-30T00:00:00.000000Z","wait":"1m30s","on":true,"inner":[{"n":9}],"any":1e400}"#.to_owned())
        );
        assert_eq!(
            fit(r#"{"name":"q","inner":[],"at":null}"#),
            Ok(r#"{"name":"q","at":null,"on":true,"inner":[],"any":null}"#.to_owned())
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (text, fault) in [
            ("[]", "has a list where it may not stand"),
            (r#"{"name":"q"}"#, "inner is missing"),
            (r#"{"name":1,"inner":[]}"#, "name has a number where it may not stand"),
            (r#"{"name":"q","inner":[{"n":10}]}"#, "inner n has a number that is no count: 10"),
            (r#"{"name":"q","inner":[{"n":-1}]}"#, "inner n has a number that is no count: -1"),
            (r#"{"name":"q","inner":[{"n":1.0}]}"#, "inner n has a number that is no count: 1.0"),
        ] {
            assert_eq!(fit(text), Err(fault.to_owned()), "{text}");
        }
        assert!(
            fit(r#"{"name":"a b","inner":[]}"#).expect_err("name").starts_with("name name must be 1 to 64")
        );
        assert!(
            fit(r#"{"name":"q","inner":[],"at":"now"}"#).expect_err("at").starts_with("at instant must be")
        );
        assert_eq!(
            Shape::Word(&["a", "b"]).fit("c".into()),
            Err("has \"c\" in place of one of a, b".to_owned())
        );
    }
}
