//! Reads options from a JSON object, naming each as the caller's language spells it.

use std::time::Duration;

use crate::destination::Destination;
use crate::duration;
use crate::ids::Name;
use crate::input::InvalidInput;
use crate::json::{Json, number};

/// How a language spells the names of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `retry_delay`
    Snake,
    /// `retryDelay`
    Camel,
}

impl Spelling {
    /// The spelling of a name given in snake case.
    pub fn of(self, name: &str) -> String {
        match self {
            Self::Snake => name.to_owned(),
            // JavaScript's numbers tell no unit, so the name does.
            Self::Camel if name == "clock_tolerance" => "clockToleranceSeconds".to_owned(),
            Self::Camel => {
                let mut words = name.split('_');
                let mut spelled = words.next().unwrap_or_default().to_owned();
                for word in words {
                    let mut letters = word.chars();
                    spelled.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
                    spelled.push_str(letters.as_str());
                }
                spelled
            }
        }
    }
}

/// The options of one call, taken one by one; what is left over is unknown.
#[derive(Debug)]
pub struct Fields {
    members: Vec<(String, Json)>,
    spelling: Spelling,
}

impl Fields {
    /// `what` names the object in the error.
    ///
    /// # Errors
    /// [`InvalidInput`] where the value is no object.
    pub fn new(what: &str, value: impl Into<Json>, spelling: Spelling) -> Result<Self, InvalidInput> {
        match value.into() {
            Json::Object(members) => Ok(Self { members, spelling }),
            other => Err(wrong_type(&spelling.of(what), "an object of options", &other)),
        }
    }

    /// The spelling of an option of these.
    pub fn name(&self, option: &str) -> String {
        self.spelling.of(option)
    }

    /// The spelling in use, for nested objects.
    pub fn spelling(&self) -> Spelling {
        self.spelling
    }

    /// The value of an option; `null` is not given.
    pub fn take(&mut self, option: &str) -> Option<Json> {
        let name = self.spelling.of(option);
        let at = self.members.iter().rposition(|(known, _)| *known == name)?;
        let (_, value) = self.members.remove(at);
        (value != Json::Null).then_some(value)
    }

    fn required<T>(&self, option: &str, value: Option<T>) -> Result<T, InvalidInput> {
        let name = self.name(option);
        value.ok_or_else(|| InvalidInput::new(name.clone(), format!("{name} is missing")))
    }

    /// A text.
    ///
    /// # Errors
    /// [`InvalidInput`] for another type.
    pub fn text(&mut self, option: &str) -> Result<Option<String>, InvalidInput> {
        match self.take(option) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(&self.name(option), "text", &other)),
        }
    }

    /// A text that must be given.
    ///
    /// # Errors
    /// [`InvalidInput`] where it is missing or of another type.
    pub fn required_text(&mut self, option: &str) -> Result<String, InvalidInput> {
        let text = self.text(option)?;
        self.required(option, text)
    }

    /// True or false.
    ///
    /// # Errors
    /// [`InvalidInput`] for another type.
    pub fn flag(&mut self, option: &str) -> Result<Option<bool>, InvalidInput> {
        match self.take(option) {
            None => Ok(None),
            Some(Json::Flag(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong_type(&self.name(option), "true or false", &other)),
        }
    }

    /// A whole number; `5.0` is one.
    ///
    /// # Errors
    /// [`InvalidInput`] for another type or a fraction.
    pub fn integer(&mut self, option: &str) -> Result<Option<i64>, InvalidInput> {
        self.take(option)
            .map(|value| {
                value.whole().ok_or_else(|| wrong_type(&self.name(option), "a whole number", &value))
            })
            .transpose()
    }

    /// A whole number from 0 to 2³² − 1.
    ///
    /// # Errors
    /// [`InvalidInput`] for another type, a fraction, or one out of range.
    pub fn count(&mut self, option: &str) -> Result<Option<u32>, InvalidInput> {
        let Some(number) = self.integer(option)? else { return Ok(None) };
        u32::try_from(number).map(Some).map_err(|_| {
            InvalidInput::with_rule(&self.name(option), "must be a whole number from 0", &number.to_string())
        })
    }

    /// Text in the duration grammar, or `{"milliseconds": n}` made from the language's own type.
    ///
    /// # Errors
    /// [`InvalidInput`]; a bare number is refused because its unit cannot be told.
    pub fn duration(&mut self, option: &str) -> Result<Option<Duration>, InvalidInput> {
        let name = self.name(option);
        self.take(option).map(|value| read_duration(&name, &value)).transpose()
    }

    /// A name of a queue, group or schedule.
    ///
    /// # Errors
    /// [`InvalidInput`] for what is no name.
    pub fn ident(&mut self, option: &str) -> Result<Option<Name>, InvalidInput> {
        let name = self.name(option);
        self.text(option)?.map(|text| Name::parse(&name, &text)).transpose()
    }

    /// A name that must be given.
    ///
    /// # Errors
    /// [`InvalidInput`] where it is missing or no name.
    pub fn required_ident(&mut self, option: &str) -> Result<Name, InvalidInput> {
        let ident = self.ident(option)?;
        self.required(option, ident)
    }

    /// A URL that must be given.
    ///
    /// # Errors
    /// [`InvalidInput`] where it is missing or no destination.
    pub fn required_destination(&mut self, option: &str) -> Result<Destination, InvalidInput> {
        let text = self.required_text(option)?;
        Destination::parse(&self.name(option), &text)
    }

    /// A list.
    ///
    /// # Errors
    /// [`InvalidInput`] for another type.
    pub fn list(&mut self, option: &str) -> Result<Vec<Json>, InvalidInput> {
        match self.take(option) {
            None => Ok(Vec::new()),
            Some(Json::List(list)) => Ok(list),
            Some(other) => Err(wrong_type(&self.name(option), "a list", &other)),
        }
    }

    /// A list of texts.
    ///
    /// # Errors
    /// [`InvalidInput`] for another type.
    pub fn texts(&mut self, option: &str) -> Result<Vec<String>, InvalidInput> {
        let name = self.name(option);
        let text = |value| match value {
            Json::Text(text) => Ok(text),
            other => Err(wrong_type(&name, "a list of texts", &other)),
        };
        self.list(option)?.into_iter().map(text).collect()
    }

    /// `{"name": "value"}`, or `[["name", "value"]]` where order or repetition matters.
    ///
    /// # Errors
    /// [`InvalidInput`] for another shape.
    pub fn pairs(&mut self, option: &str) -> Result<Vec<(String, String)>, InvalidInput> {
        let name = self.name(option);
        let refuse = |value: &Json| wrong_type(&name, "header names with text values", value);
        let pair = |value: Json| match &value {
            Json::List(pair) => match pair.as_slice() {
                [Json::Text(name), Json::Text(value)] => Ok((name.clone(), value.clone())),
                _ => Err(refuse(&value)),
            },
            _ => Err(refuse(&value)),
        };
        match self.take(option) {
            None => Ok(Vec::new()),
            Some(Json::List(list)) => list.into_iter().map(pair).collect(),
            Some(Json::Object(map)) => map
                .into_iter()
                .map(|(name, value)| match value {
                    Json::Text(value) => Ok((name, value)),
                    other => Err(refuse(&other)),
                })
                .collect(),
            Some(other) => Err(refuse(&other)),
        }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`InvalidInput`] naming an option that nobody took: a typo must not pass silently.
    pub fn finish(self) -> Result<(), InvalidInput> {
        match self.members.first() {
            None => Ok(()),
            Some((name, _)) => Err(InvalidInput::new(name, format!("{name} is not an option of this call"))),
        }
    }
}

/// An option of the wrong type; the value is shown only by its kind, because it may hold anything.
pub(super) fn wrong_type(option: &str, wanted: &str, got: &Json) -> InvalidInput {
    InvalidInput::new(option, [option, " must be ", wanted, ", got ", got.kind()].concat())
}

/// A number where a duration belongs: its unit cannot be told.
pub(super) fn bare_number(option: &str, written: &str) -> InvalidInput {
    let rest = ", or a duration of the language's own type; a bare number has no unit";
    InvalidInput::new(option, [option, " ", duration::RULE, rest].concat()).with_value(written)
}

fn read_duration(option: &str, value: &Json) -> Result<Duration, InvalidInput> {
    match (value, value.milliseconds()) {
        (Json::Text(text), _) => duration::parse(option, text),
        (_, Some(written)) => {
            u64::try_from(number::scaled(written, 6).0).map(Duration::from_nanos).map_err(|_| {
                let shown = written.strip_suffix(".0").unwrap_or(written);
                InvalidInput::with_rule(option, "must be a duration above zero", &[shown, " ms"].concat())
            })
        }
        (Json::Number(written), _) => Err(bare_number(option, written)),
        (other, _) => Err(wrong_type(option, "a duration", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_the_language_does() {
        assert_eq!(Spelling::Camel.of("content_based_deduplication"), "contentBasedDeduplication");
        assert_eq!(Spelling::Snake.of("retry_delay"), "retry_delay");
    }

    #[test]
    fn a_bare_number_is_no_duration() {
        let value = serde_json::json!({"retryDelay": 5});
        let mut fields = Fields::new("options", value, Spelling::Camel).expect("object");
        let error = fields.duration("retry_delay").expect_err("bare");
        assert_eq!((error.option(), error.value()), ("retryDelay", Some("5")));
        assert!(error.to_string().ends_with("a bare number has no unit"));
    }

    #[test]
    fn what_nobody_took_is_unknown() {
        let value = serde_json::json!({"retires": 5});
        let fields = Fields::new("options", value, Spelling::Snake).expect("object");
        assert_eq!(
            fields.finish().expect_err("unknown").to_string(),
            "retires is not an option of this call"
        );
    }
}
