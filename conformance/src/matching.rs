//! Compares what came with what was wanted, and says where they differ.
//!
//! An object that is wanted may have fewer members than the one that came; lists have the same
//! length; numbers compare as numbers. An object with one member that begins with `$` is a matcher.

use std::fmt::Write;

use serde_json::Value;

/// Every difference, one line each: path, wanted, got. Empty means that they match.
pub(crate) fn differences(wanted: &Value, got: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", wanted, Some(got), &mut found);
    found
}

fn compare(path: &str, wanted: &Value, got: Option<&Value>, found: &mut Vec<String>) {
    if let Some((name, argument)) = matcher(wanted) {
        return match_with(path, name, argument, got, found);
    }
    let Some(got) = got else {
        return differ(path, &show(wanted), "nothing", found);
    };
    match (wanted, got) {
        (Value::Object(members), Value::Object(present)) => {
            for (name, member) in members {
                compare(&format!("{path}.{name}"), member, present.get(name), found);
            }
        }
        (Value::Array(items), Value::Array(present)) if items.len() == present.len() => {
            for (index, (item, present)) in items.iter().zip(present).enumerate() {
                compare(&format!("{path}[{index}]"), item, Some(present), found);
            }
        }
        (Value::Array(items), Value::Array(present)) => {
            let lengths = format!("{} items, namely {}", present.len(), show(got));
            differ(path, &format!("{} items", items.len()), &lengths, found);
        }
        (Value::Number(number), Value::Number(present)) if number.as_f64() == present.as_f64() => {}
        (wanted, got) if wanted == got => {}
        (wanted, got) => differ(path, &show(wanted), &show(got), found),
    }
}

/// `{"$name": argument}`.
fn matcher(wanted: &Value) -> Option<(&str, &Value)> {
    let members = wanted.as_object().filter(|members| members.len() == 1)?;
    let (name, argument) = members.iter().next()?;
    Some((name.strip_prefix('$')?, argument))
}

fn match_with(path: &str, name: &str, argument: &Value, got: Option<&Value>, found: &mut Vec<String>) {
    let text = got.and_then(Value::as_str);
    let part = argument.as_str().unwrap_or_default();
    let holds = match name {
        "absent" => got.is_none_or(Value::is_null) == argument.as_bool().unwrap_or(true),
        "any" => got.is_some_and(|value| is_a(part, value)),
        "contains" => match got {
            Some(Value::String(text)) => text.contains(part),
            Some(Value::Array(items)) => items.iter().any(|item| differences(argument, item).is_empty()),
            _ => false,
        },
        "starts" => text.is_some_and(|text| text.starts_with(part)),
        "not" => got.is_some_and(|value| !differences(argument, value).is_empty()),
        "one_of" => {
            let options = argument.as_array().map(Vec::as_slice).unwrap_or_default();
            got.is_some_and(|value| options.iter().any(|option| differences(option, value).is_empty()))
        }
        "length" => {
            let length = match got {
                Some(Value::String(text)) => Some(text.len()),
                Some(Value::Array(items)) => Some(items.len()),
                Some(Value::Object(members)) => Some(members.len()),
                _ => None,
            };
            length.map(|length| length as u64) == argument.as_u64()
        }
        "between" => {
            let bound = |index: usize| argument.get(index).and_then(Value::as_f64);
            match (bound(0), got.and_then(Value::as_f64), bound(1)) {
                (Some(least), Some(number), Some(most)) => (least..=most).contains(&number),
                _ => false,
            }
        }
        "exactly" => {
            compare(path, argument, got, found);
            if let Some(got) = got {
                surplus(path, argument, got, found);
            }
            return;
        }
        unknown => {
            found.push(format!("{}: the case uses the unknown matcher ${unknown}", shown(path)));
            return;
        }
    };
    if !holds {
        let got = got.map_or_else(|| "nothing".to_owned(), show);
        differ(path, &format!("${name} {}", show(argument)), &got, found);
    }
}

/// Members that came and were not wanted.
fn surplus(path: &str, wanted: &Value, got: &Value, found: &mut Vec<String>) {
    if let (Some(members), Some(present)) = (wanted.as_object(), got.as_object()) {
        for name in present.keys().filter(|name| !members.contains_key(*name)) {
            found.push(format!("{}.{name}: not wanted, got {}", shown(path), show(&present[name])));
        }
    }
}

/// Kinds of values that cannot be told in advance.
fn is_a(kind: &str, value: &Value) -> bool {
    let text = value.as_str();
    match kind {
        "string" => text.is_some_and(|text| !text.is_empty()),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "uuid7" => text.is_some_and(is_uuid_v7),
        "jti" => text.and_then(|text| text.strip_prefix("jwt_")).is_some_and(is_uuid_v7),
        // UTC, six fractional digits, Z.
        "micros" => text.is_some_and(|text| has_shape(text, "dddd-dd-ddTdd:dd:dd.ddddddZ")),
        "millis" => text.is_some_and(|text| has_shape(text, "dddd-dd-ddTdd:dd:dd.dddZ")),
        _ => false,
    }
}

fn is_uuid_v7(text: &str) -> bool {
    has_shape(text, "hhhhhhhh-hhhh-7hhh-hhhh-hhhhhhhhhhhh")
        && matches!(text.as_bytes().get(19), Some(b'8' | b'9' | b'a' | b'b'))
}

/// `d` stands for a digit, `h` for a lower-case hex digit, anything else for itself.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
            b'd' => byte.is_ascii_digit(),
            b'h' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            other => byte == other,
        })
}

fn differ(path: &str, wanted: &str, got: &str, found: &mut Vec<String>) {
    found.push(format!("{}: wanted {wanted}, got {got}", shown(path)));
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "(all)" } else { path.trim_start_matches('.') }
}

/// A value as JSON, shortened.
pub(crate) fn show(value: &Value) -> String {
    const SHOWN: usize = 400;
    let mut text = value.to_string();
    if let Some((at, _)) = text.char_indices().nth(SHOWN) {
        let left_out = text.len() - at;
        text.truncate(at);
        let _ = write!(text, "… ({left_out} bytes more)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(wanted: &Value, got: &Value) -> bool {
        differences(wanted, got).is_empty()
    }

    #[test]
    fn a_wanted_object_may_say_less_and_a_list_may_not() {
        assert!(matches(&json!({"a": 1}), &json!({"a": 1.0, "b": 2})));
        assert!(!matches(&json!([1]), &json!([1, 2])));
        assert!(!matches(&json!({"a": null}), &json!({})));
    }

    #[test]
    fn exactly_refuses_what_was_not_wanted() {
        assert!(matches(&json!({"$exactly": {"a": 1}}), &json!({"a": 1})));
        assert_eq!(
            differences(&json!({"x": {"$exactly": {"a": 1}}}), &json!({"x": {"a": 1, "b": 2}})),
            ["x.b: not wanted, got 2"]
        );
        assert!(!matches(&json!({"$exactly": {"a": 1}}), &json!({"a": 2})));
        assert!(!matches(&json!({"x": {"$exactly": {}}}), &json!({})));
    }

    #[test]
    fn matchers_hold_and_fail() {
        for (wanted, good, bad) in [
            (json!({"$absent": true}), Value::Null, json!(1)),
            (json!({"$contains": "b"}), json!("abc"), json!("ac")),
            (json!({"$contains": {"a": 1}}), json!([{"a": 2}, {"a": 1}]), json!([{"a": 2}])),
            (json!({"$starts": "ab"}), json!("abc"), json!("bab")),
            (json!({"$not": 1}), json!(2), json!(1)),
            (json!({"$one_of": [1, 2]}), json!(2), json!(3)),
            (json!({"$length": 2}), json!([1, 2]), json!([1])),
            (json!({"$between": [1, 2]}), json!(1.5), json!(2.5)),
            (
                json!({"$any": "uuid7"}),
                json!("019b2d05-7f00-7abc-8def-0123456789ab"),
                json!("019b2d05-7f00-4abc-8def-0123456789ab"),
            ),
            (
                json!({"$any": "micros"}),
                json!("2026-11-30T00:00:00.000000Z"),
                json!("2026-11-30T00:00:00.000Z"),
            ),
        ] {
            assert!(matches(&wanted, &good), "{wanted} {good}");
            assert!(!matches(&wanted, &bad), "{wanted} {bad}");
        }
    }

    #[test]
    fn an_unknown_matcher_never_matches() {
        assert!(!matches(&json!({"$matches": "x"}), &json!("x")));
    }

    #[test]
    fn a_difference_names_its_place() {
        let lines = differences(&json!({"a": [{"b": 1}]}), &json!({"a": [{"b": 2}]}));
        assert_eq!(lines, ["a[0].b: wanted 1, got 2"]);
    }
}
