//! The suite has no silent gap: every code, state, status, header, claim, limit, path and call of the
//! contract stands in some case, and every section of the contract has one.

#![expect(clippy::expect_used, reason = "a suite that cannot be read is a failed test")]

use std::collections::BTreeSet;
use std::path::Path;

use chronq::contract::{
    Dialect, ErrorCode, KeyMatch, MessageState, Method, SignatureErrorCode, TimerReason, TimerStatus,
    UrlDifference, claims,
};
use serde_json::Value;

/// Cases and scenarios, each with its id.
fn entries() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (folder, list) in [("cases", "cases"), ("scenarios", "scenarios")] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in std::fs::read_dir(dir).expect("the suite's folders are there").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("readable");
            let json: Value = serde_json::from_str(&text).expect("JSON");
            let head = json["requirement"].clone();
            for entry in json[list].as_array().expect("a list") {
                let mut entry = entry.clone();
                if entry.get("requirement").is_none() {
                    entry["requirement"] = head.clone();
                }
                found.push((entry["id"].as_str().expect("an id").to_owned(), entry));
            }
        }
    }
    found
}

/// Every text that stands in what a case expects, whole.
fn expected_texts() -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for (_, entry) in entries() {
        collect_expectations(&entry, false, &mut texts);
    }
    texts
}

fn collect_expectations(value: &Value, inside: bool, texts: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if inside => {
            texts.insert(text.clone());
        }
        Value::Number(number) if inside => {
            texts.insert(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_expectations(item, inside, texts)),
        Value::Object(members) => {
            for (name, member) in members {
                if inside {
                    texts.insert(name.clone());
                }
                collect_expectations(member, inside || name == "expect", texts);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn missing<'a>(
    what: &str,
    wanted: impl IntoIterator<Item = &'a str>,
    present: impl Fn(&str) -> bool,
) -> Vec<String> {
    let absent = wanted.into_iter().filter(|word| !present(word));
    absent.map(|word| format!("{what} {word}")).collect()
}

#[test]
fn every_word_of_every_closed_set_is_expected_somewhere() {
    let texts = expected_texts();
    let has = |word: &str| texts.contains(word);
    let mut gaps = Vec::new();
    gaps.extend(missing("signature code", SignatureErrorCode::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("error code", ErrorCode::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("timer reason", TimerReason::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("timer status", TimerStatus::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("message state", MessageState::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("method", Method::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("url difference", UrlDifference::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("key", KeyMatch::ALL.iter().map(|word| word.as_str()), has));
    gaps.extend(missing("claim", claims::ALL.iter().copied(), has));
    assert_eq!(gaps, Vec::<String>::new());
}

#[test]
fn every_dialect_has_cases() {
    let everything = all_text();
    let gaps =
        missing("dialect", Dialect::ALL.iter().map(|word| word.as_str()), |word| everything.contains(word));
    assert_eq!(gaps, Vec::<String>::new());
}

#[test]
fn every_header_stands_in_a_case() {
    let everything = all_text().to_ascii_lowercase();
    let source = include_str!("../../sdk-core/src/contract/headers.rs");
    let names: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
    assert!(names.len() > 40, "the headers are read wrongly from their source");
    let gaps = missing("header", names, |name| everything.contains(name));
    assert_eq!(gaps, Vec::<String>::new());
}

#[test]
fn every_path_is_asked_for() {
    let everything = all_text();
    let source = include_str!("../../sdk-core/src/contract/paths.rs");
    let paths: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
    assert!(paths.len() > 15, "the paths are read wrongly from their source");
    let gaps = missing("path", paths, |path| everything.contains(path));
    assert_eq!(gaps, Vec::<String>::new());
}

/// The calls of an SDK. Changing endpoints is one operation that SDKs call by two names.
fn calls_of_sdks() -> impl Iterator<Item = &'static str> {
    let one_name = chronq::call::CALL_NAMES.iter().copied().filter(|call| *call != "groups.change_endpoints");
    one_name.chain(["groups.add_endpoints", "groups.remove_endpoints"])
}

#[test]
fn every_call_of_the_sdks_is_made() {
    let everything = all_text();
    let gaps = missing("call", calls_of_sdks(), |call| everything.contains(&format!("\"{call}\"")));
    assert_eq!(gaps, Vec::<String>::new());
}

#[test]
fn every_call_of_the_sdks_is_made_of_a_live_server_through_every_face() {
    let through_all = entries().into_iter().filter(|(_, entry)| entry["via"] == "all");
    let everything: String = through_all.map(|(_, entry)| entry["steps"].to_string()).collect();
    let is_made = |call: &str| everything.contains(&format!("\"call\":\"{call}\""));
    assert_eq!(missing("call", calls_of_sdks(), is_made), Vec::<String>::new());
}

/// The names of the contract's metrics (timers.md, "The sweeper").
#[test]
fn every_metric_of_the_contract_is_looked_for() {
    let names = [
        "queen_timers_due",
        "queen_timers_oldest_late_seconds",
        "queen_timers_fire_lag_seconds",
        "queen_timers_fired_total",
        "queen_timers_stale_total",
        "queen_timers_dlq_total",
        "queen_timers_fire_failures_total",
        "queen_timers_schedule_rejected_total",
        "queen_timers_pending",
        "queen_timers_metered_total",
    ];
    let everything = all_text();
    assert_eq!(missing("metric", names, |name| everything.contains(name)), Vec::<String>::new());
}

#[test]
fn every_status_of_the_contract_is_expected() {
    let mut statuses = BTreeSet::new();
    for (_, entry) in entries() {
        collect_statuses(&entry, &mut statuses);
    }
    let wanted = [200, 201, 202, 204, 400, 401, 403, 404, 409, 413, 429, 503];
    let gaps: Vec<_> = wanted.into_iter().filter(|status| !statuses.contains(status)).collect();
    assert_eq!(gaps, Vec::<u64>::new());
}

fn collect_statuses(value: &Value, statuses: &mut BTreeSet<u64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_statuses(item, statuses)),
        Value::Object(members) => {
            statuses.extend(members.get("status").and_then(Value::as_u64));
            members.values().for_each(|member| collect_statuses(member, statuses));
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// coverage.json says which cases hold each limit and default, or why none does; nothing may be missing,
/// on either side.
#[test]
fn every_limit_is_held_by_named_cases() {
    let source = include_str!("../../sdk-core/src/contract/limits.rs");
    let limits: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    let table: Value = serde_json::from_str(include_str!("../coverage.json")).expect("JSON");
    let ids: BTreeSet<String> = entries().into_iter().map(|(id, _)| id).collect();
    let mut gaps = Vec::new();
    for limit in &limits {
        let held = table["limits"][limit].as_array().map(Vec::as_slice).unwrap_or_default();
        if held.is_empty() && !table["unheld"][limit].is_string() {
            gaps.push(format!("{limit}: no case, and no reason for that"));
        }
        for id in held.iter().filter_map(Value::as_str).filter(|id| !ids.contains(*id)) {
            gaps.push(format!("{limit}: there is no case {id}"));
        }
    }
    let named = table["limits"].as_object().expect("an object").keys();
    gaps.extend(
        named.filter(|name| !limits.contains(&name.as_str())).map(|name| format!("{name}: no such limit")),
    );
    assert_eq!(gaps, Vec::<String>::new());
}

/// coverage.json lists the sections of the contract.
#[test]
fn every_section_of_the_contract_has_cases() {
    let table: Value = serde_json::from_str(include_str!("../coverage.json")).expect("JSON");
    let sections: Vec<&str> =
        table["sections"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let requirements: BTreeSet<String> =
        entries().iter().filter_map(|(_, entry)| entry["requirement"].as_str().map(str::to_owned)).collect();
    let begins = |requirement: &str, section: &str| requirement.starts_with(section);
    let gaps = missing("section", sections.iter().copied(), |section| {
        requirements.iter().any(|requirement| begins(requirement, section))
    });
    assert_eq!(gaps, Vec::<String>::new());
    let strays: Vec<_> = requirements
        .iter()
        .filter(|requirement| !sections.iter().any(|section| begins(requirement, section)))
        .collect();
    assert!(strays.is_empty(), "requirements outside the contract's sections: {strays:?}");
}

fn all_text() -> String {
    entries().iter().map(|(_, entry)| entry.to_string()).collect()
}
