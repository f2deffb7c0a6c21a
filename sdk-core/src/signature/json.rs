//! A JSON reader as strict as a signed token deserves: one object, no duplicate members at any depth
//! (escapes resolved), bounded nesting, no byte order mark, numbers kept as they are written.
//!
//! A parser that keeps the last of two equal names, or turns `1e400` into infinity, lets signer and
//! receiver read two different tokens from the same bytes. Nothing is allocated for the usual token.

use std::borrow::Cow;

use crate::json::scan::{Broken, Scanner};

/// The value of a member of the outermost object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// A string, escapes resolved.
    Text(Cow<'a, str>),
    /// A number as it is written.
    Number(&'a str),
    /// true, false, null, an array or an object.
    Other,
}

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NotAnObject,
    Syntax,
    DuplicateMember,
    TooDeep,
    NumberOutOfRange,
}

impl Refusal {
    /// Completes the sentence "the payload …".
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::NotAnObject => "is not a JSON object",
            Self::Syntax => "is not valid JSON",
            Self::DuplicateMember => "names a member twice",
            Self::TooDeep => "is nested too deeply",
            Self::NumberOutOfRange => "holds a number beyond what JSON parsers agree on",
        }
    }
}

/// What a visitor knows of a member's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// One that it keeps, and has not seen before.
    First,
    /// One that it keeps, and has seen before.
    Again,
    /// One that it does not keep: whether it was there before is for the reader to find out.
    Other,
}

impl Name {
    /// Puts the value of a name that is kept into its place.
    pub(super) fn keep<'a>(slot: &mut Option<Value<'a>>, value: Value<'a>) -> Self {
        if slot.replace(value).is_none() { Self::First } else { Self::Again }
    }
}

/// Is shown each member of the outermost object.
type Visit<'f, 'a> = dyn FnMut(&str, Value<'a>) -> Name + 'f;

/// Reads an object of at most `max_depth` levels (itself the first) and shows each of its members, in
/// order. What `visit` has seen counts only if the whole text was accepted.
pub(super) fn read_object<'a>(
    text: &'a str,
    max_depth: usize,
    visit: &mut Visit<'_, 'a>,
) -> Result<(), Refusal> {
    let mut reader = Reader { scanner: Scanner::new(text), names: Vec::new() };
    reader.scanner.skip_white_space();
    if reader.scanner.peek() != Some(b'{') {
        return Err(Refusal::NotAnObject);
    }
    reader.object(max_depth, Some(visit))?;
    reader.scanner.skip_white_space();
    if reader.scanner.is_at_end() { Ok(()) } else { Err(Refusal::Syntax) }
}

/// Digits before the point and decimal exponent together: more overflows a double, and then parsers
/// disagree (infinity, an error, an exact integer).
const MAX_MAGNITUDE: u64 = 308;

struct Reader<'a> {
    scanner: Scanner<'a>,
    /// Names of the members of all open objects that no visitor keeps, innermost last.
    names: Vec<Cow<'a, str>>,
}

impl From<Broken> for Refusal {
    fn from(_: Broken) -> Self {
        Self::Syntax
    }
}

impl<'a> Reader<'a> {
    fn object(&mut self, depth_left: usize, mut visit: Option<&mut Visit<'_, 'a>>) -> Result<(), Refusal> {
        let Some(depth_left) = depth_left.checked_sub(1) else { return Err(Refusal::TooDeep) };
        let outer_names = self.names.len();
        self.scanner.eat(b'{')?;
        self.scanner.skip_white_space();
        if self.scanner.peek() != Some(b'}') {
            loop {
                self.scanner.skip_white_space();
                let name = self.scanner.string()?;
                self.scanner.skip_white_space();
                self.scanner.eat(b':')?;
                let value = self.value(depth_left)?;
                match visit.as_mut().map_or(Name::Other, |visit| visit(&name, value)) {
                    Name::First => {}
                    Name::Again => return Err(Refusal::DuplicateMember),
                    // Not sorted: a header is too short to make this slow, and a payload is read only once
                    // it is known to be of someone who has the key.
                    Name::Other if self.names.iter().skip(outer_names).any(|earlier| *earlier == name) => {
                        return Err(Refusal::DuplicateMember);
                    }
                    Name::Other => self.names.push(name),
                }
                self.scanner.skip_white_space();
                if !self.scanner.takes(b',') {
                    break;
                }
            }
        }
        self.scanner.eat(b'}')?;
        self.names.truncate(outer_names);
        Ok(())
    }

    fn array(&mut self, depth_left: usize) -> Result<(), Refusal> {
        let Some(depth_left) = depth_left.checked_sub(1) else { return Err(Refusal::TooDeep) };
        self.scanner.eat(b'[')?;
        self.scanner.skip_white_space();
        if self.scanner.peek() != Some(b']') {
            loop {
                self.value(depth_left)?;
                self.scanner.skip_white_space();
                if !self.scanner.takes(b',') {
                    break;
                }
            }
        }
        Ok(self.scanner.eat(b']')?)
    }

    fn value(&mut self, depth_left: usize) -> Result<Value<'a>, Refusal> {
        self.scanner.skip_white_space();
        match self.scanner.peek() {
            Some(b'"') => Ok(Value::Text(self.scanner.string()?)),
            Some(b'-' | b'0'..=b'9') => match self.scanner.number()? {
                (_, magnitude) if magnitude > MAX_MAGNITUDE => Err(Refusal::NumberOutOfRange),
                (written, _) => Ok(Value::Number(written)),
            },
            Some(b'{') => self.object(depth_left, None).map(|()| Value::Other),
            Some(b'[') => self.array(depth_left).map(|()| Value::Other),
            _ => {
                self.scanner.word(&["true", "false", "null"])?;
                Ok(Value::Other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, Value<'_>)>, Refusal> {
        let mut members = Vec::new();
        read_object(text, 8, &mut |name, value| {
            members.push((name.to_owned(), value));
            Name::Other
        })?;
        Ok(members)
    }

    #[test]
    fn members_come_in_order_with_their_values() {
        assert_eq!(
            read(r#" { "a" : "x" , "b":17,"c":[1,{"d":null}],"e":true } "#),
            Ok(vec![
                ("a".to_owned(), Value::Text("x".into())),
                ("b".to_owned(), Value::Number("17")),
                ("c".to_owned(), Value::Other),
                ("e".to_owned(), Value::Other),
            ])
        );
        assert_eq!(read("{}"), Ok(vec![]));
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(
            read(r#"{"\u0061\n\"\\\/\b\f\r\t\ud83d\ude00é":"\u00e9"}"#),
            Ok(vec![("a\n\"\\/\u{8}\u{c}\r\t😀é".to_owned(), Value::Text("é".into()))])
        );
        for text in [
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\ud800\u0041"}"#,
            r#"{"a":"\udc00"}"#,
            r#"{"a":"\u12"}"#,
            r#"{"a":"\u+123"}"#,
            r#"{"a":"\x41"}"#,
            r#"{"a":"\"#,
        ] {
            assert_eq!(read(text), Err(Refusal::Syntax), "{text}");
        }
    }

    #[test]
    fn a_name_twice_is_refused_at_any_depth_and_in_any_spelling() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"\u0061":1}"#,
            r#"{"b":{"a":1,"a":2}}"#,
            r#"{"b":[[{"a":1,"c":3,"a":2}]]}"#,
        ] {
            assert_eq!(read(text), Err(Refusal::DuplicateMember), "{text}");
        }
        // The same name in two objects is two members.
        assert!(read(r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#).is_ok());
    }

    #[test]
    fn depth_is_eight_with_the_object_itself() {
        assert!(read(r#"{"a":[[[[[[[1]]]]]]]}"#).is_ok());
        assert_eq!(read(r#"{"a":[[[[[[[[1]]]]]]]]}"#), Err(Refusal::TooDeep));
        assert!(read(r#"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}"#).is_ok());
        assert_eq!(read(r#"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}"#), Err(Refusal::TooDeep));
    }

    #[test]
    fn only_one_object_and_nothing_around_it() {
        for text in ["", " ", "[]", "1", "\"a\"", "null", "\u{feff}{}"] {
            assert_eq!(read(text), Err(Refusal::NotAnObject), "{text:?}");
        }
        for text in [
            "{",
            "{}{}",
            "{},",
            "{}x",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{'a':1}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":tru}",
            "{\"a\":NaN}",
            "{\"a\":[1,]}",
            "{\"a\":\"\n\"}",
            "{\"a\":\"",
            "{\"a\":\u{a0}1}",
            "{\"a\":1/**/}",
        ] {
            assert_eq!(read(text), Err(Refusal::Syntax), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_kept_as_written_and_have_json_s_grammar() {
        for number in ["0", "-0", "10", "1.5", "1e5", "1E+5", "1.0e-5", "1e-400", "1e307"] {
            let text = format!("{{\"a\":{number}}}");
            assert_eq!(read(&text), Ok(vec![("a".to_owned(), Value::Number(number))]), "{number}");
        }
        for number in ["01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10", "1_000", "00"] {
            assert_eq!(read(&format!("{{\"a\":{number}}}")), Err(Refusal::Syntax), "{number}");
        }
        for number in ["1e400", "1e99999999999999999999999", &"9".repeat(309)] {
            assert_eq!(read(&format!("{{\"a\":{number}}}")), Err(Refusal::NumberOutOfRange), "{number}");
        }
    }
}
