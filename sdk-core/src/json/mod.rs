//! JSON as the door of the bindings has it: a small tree that keeps numbers as they are written, so that what
//! passes through is neither rounded nor spelled anew, and shapes that say what an answer must look like.
//!
//! Not a general library: `serde_json` is that, and stays the one of the typed API. In a WebAssembly module it
//! would be the largest part.

pub(crate) mod number;
pub(crate) mod scan;
pub(crate) mod shape;

use std::fmt;

use scan::{Broken, Scanner};

/// A value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Flag(bool),
    /// A number, as it is written.
    Number(String),
    /// A string, escapes resolved.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, its members in order.
    Object(Vec<(String, Json)>),
}

/// How deep values may be nested.
const MAX_DEPTH: usize = 128;

impl Json {
    /// Reads one value and nothing after it; `None` where the text is no JSON, or nested deeper than 128 levels.
    pub fn parse(text: &str) -> Option<Self> {
        let mut scanner = Scanner::new(text);
        let value = read(&mut scanner, MAX_DEPTH).ok()?;
        scanner.skip_white_space();
        scanner.is_at_end().then_some(value)
    }

    /// An object of these members.
    pub(crate) fn object<const N: usize>(mut members: [(&str, Self); N]) -> Self {
        Self::of_members(&mut members, true)
    }

    /// An object of those members that are not null.
    pub(crate) fn object_of_given<const N: usize>(mut members: [(&str, Self); N]) -> Self {
        Self::of_members(&mut members, false)
    }

    /// Takes the members over. One function for every number of them: it is small at the edge.
    fn of_members(members: &mut [(&str, Self)], with_null: bool) -> Self {
        let mut object = Vec::with_capacity(members.len());
        for (name, value) in members {
            if with_null || *value != Self::Null {
                object.push(((*name).to_owned(), std::mem::take(value)));
            }
        }
        Self::Object(object)
    }

    /// Adds a member to an object; nothing else has any.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Self>) {
        if let Self::Object(members) = self {
            members.push((name.to_owned(), value.into()));
        }
    }

    /// Puts another value to a member of an object.
    pub(crate) fn replace(&mut self, name: &str, value: impl Into<Self>) {
        if let Self::Object(members) = self {
            members.retain(|(known, _)| known != name);
        }
        self.put(name, value);
    }

    /// A member of an object; the last one, where a name stands several times.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text of a member that is one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The number that an object such as `{"milliseconds": 1500}` holds, as it is written.
    pub(crate) fn milliseconds(&self) -> Option<&str> {
        match self.get("milliseconds") {
            Some(Self::Number(written)) => Some(written),
            _ => None,
        }
    }
}

fn read(scanner: &mut Scanner<'_>, depth_left: usize) -> Result<Json, Broken> {
    scanner.skip_white_space();
    Ok(match scanner.peek() {
        Some(b'"') => Json::Text(scanner.string()?.into_owned()),
        Some(b'-' | b'0'..=b'9') => Json::Number(scanner.number()?.0.to_owned()),
        Some(open @ (b'{' | b'[')) => read_group(scanner, open, depth_left.checked_sub(1).ok_or(Broken)?)?,
        _ => match scanner.word(&["true", "false", "null"])? {
            "null" => Json::Null,
            word => Json::Flag(word == "true"),
        },
    })
}

/// An object or an array.
fn read_group(scanner: &mut Scanner<'_>, open: u8, depth_left: usize) -> Result<Json, Broken> {
    let close = if open == b'{' { b'}' } else { b']' };
    let (mut members, mut list) = (Vec::new(), Vec::new());
    scanner.eat(open)?;
    scanner.skip_white_space();
    if !scanner.takes(close) {
        loop {
            if open == b'{' {
                scanner.skip_white_space();
                let name = scanner.string()?.into_owned();
                scanner.skip_white_space();
                scanner.eat(b':')?;
                members.push((name, read(scanner, depth_left)?));
            } else {
                list.push(read(scanner, depth_left)?);
            }
            scanner.skip_white_space();
            if !scanner.takes(b',') {
                break;
            }
        }
        scanner.eat(close)?;
    }
    Ok(if open == b'{' { Json::Object(members) } else { Json::List(list) })
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write(&mut text, self);
        f.write_str(&text)
    }
}

fn write(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Json::Number(written) => out.push_str(written),
        Json::Text(text) => push_text(out, text),
        Json::List(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, value);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_text(out, name);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

/// Writes a string with its quotes.
pub(crate) fn push_text(out: &mut String, text: &str) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            control @ '\0'..' ' => {
                let code = control as usize;
                out.push_str("\\u00");
                out.push(HEX[code >> 4]);
                out.push(HEX[code & 15]);
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<Vec<Json>> for Json {
    fn from(list: Vec<Json>) -> Self {
        Self::List(list)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(flag),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text),
            Value::Array(list) => Self::List(list.into_iter().map(Into::into).collect()),
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for text in [
            "null",
            "true",
            "false",
            "0",
            "-1.50e+10",
            "1e400",
            "123456789012345678901234567890",
            "\"\"",
            "[]",
            "{}",
            r#"{"a":[1,"é😀",{"b":null}],"c":"\"\\"}"#,
        ] {
            assert_eq!(Json::parse(text).expect(text).to_string(), text);
        }
        let spaced = Json::parse(" { \"a\" : [ 1 , 2 ] , \"b\" : \"\\u00e9\\n\\/\" } ").expect("legal");
        assert_eq!(spaced.to_string(), "{\"a\":[1,2],\"b\":\"é\\u000a/\"}");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            "+1",
            ".5",
            "1e",
            "tru",
            "nul",
            "\"\n\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "[1 2]",
            "{}{}",
            "1 1",
            "\u{feff}{}",
            "[}",
            "{]",
        ] {
            assert_eq!(Json::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(128)).is_some());
        assert_eq!(Json::parse(&nested(129)), None);
        assert_eq!(Json::parse(&"[".repeat(1_000_000)), None);
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let value = Json::parse(r#"{"a":"x","a":"y"}"#).expect("legal");
        assert_eq!(value.text("a"), Some("y"));
    }

    proptest::proptest! {
        #[test]
        fn it_reads_what_serde_json_reads(text in r#"[\[\]{}:, "\\a-c0-9.eEtruefalsnul+-]{0,16}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            match (Json::parse(&text), theirs) {
                (Some(ours), Ok(theirs)) => {
                    let again: serde_json::Value = serde_json::from_str(&ours.to_string()).expect("json");
                    proptest::prop_assert_eq!(again, theirs);
                }
                (None, Err(_)) => {}
                // A number that no double holds is one here: it stays as it is written.
                (Some(_), Err(error)) => proptest::prop_assert!(error.to_string().contains("out of range"), "{error}"),
                (None, Ok(theirs)) => proptest::prop_assert!(false, "{theirs}"),
            }
        }

        #[test]
        fn any_text_survives(text in ".*") {
            let written = Json::from(text.as_str()).to_string();
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&written).expect("json"), text.clone());
            proptest::prop_assert_eq!(Json::parse(&written), Some(Json::Text(text)));
        }
    }
}
