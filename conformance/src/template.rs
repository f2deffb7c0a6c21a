//! `{{name}}` in a case or scenario stands for a value that is known only when it runs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fault::Fault;

/// Values by name; members and items are reached by dots: `{{published.messageId}}`, `{{results.0}}`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Fills every text in `value`, names of members included. A text that is one placeholder and
    /// nothing else becomes the value itself; within a longer text, values stand as text.
    ///
    /// # Errors
    /// An unknown name.
    pub(crate) fn fill(&self, value: &Value) -> Result<Value, Fault> {
        Ok(match value {
            Value::String(text) => self.fill_text(text)?,
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let fill_member = |(name, member): (&String, &Value)| {
                    Ok::<_, Fault>((as_text(&self.fill_text(name)?), self.fill(member)?))
                };
                Value::Object(members.iter().map(fill_member).collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    fn fill_text(&self, text: &str) -> Result<Value, Fault> {
        if let Some(name) = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"))
            && !name.contains("{{")
        {
            return self.look_up(name);
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else { break };
            filled.push_str(before);
            filled.push_str(&as_text(&self.look_up(name)?));
            rest = after;
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    fn look_up(&self, path: &str) -> Result<Value, Fault> {
        // `repeat:a:2049` is text too long to write down.
        if let Some((part, count)) = path.strip_prefix("repeat:").and_then(|rest| rest.rsplit_once(':')) {
            let count = count.parse().map_err(|_| Fault::new(format!("{{{{{path}}}}}: no count")))?;
            return Ok(Value::String(part.repeat(count)));
        }
        let mut names = path.split('.');
        let first = names.next().and_then(|name| self.0.get(name));
        let found = names.fold(first, |value, name| {
            let value = value?;
            name.parse::<usize>().ok().and_then(|index| value.get(index)).or_else(|| value.get(name))
        });
        found.cloned().ok_or_else(|| Fault::new(format!("{{{{{path}}}}} is not known")))
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_are_filled() {
        let mut variables = Variables::default();
        variables.set("server", "http://h");
        variables.set("published", json!({"ids": ["a", "b"], "n": 3}));
        let filled = variables
            .fill(&json!({"{{server}}/x": ["{{server}}/{{published.ids.1}}", "{{published.n}}", "{{repeat:ab:2}}"]}))
            .expect("known");
        assert_eq!(filled, json!({"http://h/x": ["http://h/b", 3, "abab"]}));
    }

    #[test]
    fn an_unknown_name_is_a_fault() {
        let fault = Variables::default().fill(&json!("{{nope}}")).expect_err("unknown");
        assert_eq!(fault.to_string(), "{{nope}} is not known");
    }
}
