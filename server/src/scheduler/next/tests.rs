use super::*;

/// Unix milliseconds of an RFC 3339 text.
fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).expect(text).timestamp_millis()
}

fn recurrence(expression: &str, zone: &str, created: &str) -> Recurrence {
    Recurrence::parse(expression, zone, ms(created)).expect(expression)
}

/// The next runs after an instant, as local RFC 3339 in the schedule's zone.
fn runs(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let recurrence = recurrence(expression, zone, after);
    let tz: Tz = zone.parse().expect(zone);
    let mut at = ms(after);
    let mut found = Vec::new();
    while found.len() < count {
        let Some(next) = recurrence.next_after(at) else { break };
        assert!(next > at, "{expression} must move on");
        found.push(DateTime::from_timestamp_millis(next).expect("in range").with_timezone(&tz).to_rfc3339());
        at = next;
    }
    found
}

fn refusal(expression: &str) -> String {
    Recurrence::parse(expression, "UTC", 0).expect_err(expression).to_string()
}

#[test]
fn cron_takes_five_fields() {
    assert_eq!(
        runs("0 3 * * *", "America/Chicago", "2026-06-01T08:00:00Z", 2),
        ["2026-06-02T03:00:00-05:00", "2026-06-03T03:00:00-05:00"]
    );
    assert_eq!(
        runs("*/20 9-10 * * MON-FRI", "UTC", "2026-11-27T10:20:00Z", 3),
        ["2026-11-27T10:40:00+00:00", "2026-11-30T09:00:00+00:00", "2026-11-30T09:20:00+00:00"]
    );
}

#[test]
fn cron_takes_six_fields_with_seconds() {
    assert_eq!(
        runs("*/30 59 23 31 12 *", "UTC", "2026-11-30T00:00:00Z", 3),
        ["2026-12-31T23:59:00+00:00", "2026-12-31T23:59:30+00:00", "2027-12-31T23:59:00+00:00"]
    );
}

#[test]
fn cron_takes_daily_and_the_like() {
    for (nickname, next) in [
        ("@yearly", "2027-01-01T00:00:00+00:00"),
        ("@annually", "2027-01-01T00:00:00+00:00"),
        ("@monthly", "2026-12-01T00:00:00+00:00"),
        ("@weekly", "2026-12-06T00:00:00+00:00"),
        ("@daily", "2026-12-01T00:00:00+00:00"),
        ("@midnight", "2026-12-01T00:00:00+00:00"),
        ("@hourly", "2026-11-30T11:00:00+00:00"),
        ("@DAILY", "2026-12-01T00:00:00+00:00"),
    ] {
        assert_eq!(runs(nickname, "UTC", "2026-11-30T10:27:17Z", 1), [next], "{nickname}");
    }
}

#[test]
fn day_of_month_or_day_of_week_is_enough_as_in_posix() {
    assert_eq!(
        runs("0 0 13 * FRI", "UTC", "2026-11-10T00:00:00Z", 3),
        ["2026-11-13T00:00:00+00:00", "2026-11-20T00:00:00+00:00", "2026-11-27T00:00:00+00:00"]
    );
}

#[test]
fn a_run_is_strictly_after_the_instant_asked() {
    let every_minute = recurrence("* * * * *", "UTC", "2026-01-01T00:00:00Z");
    assert_eq!(every_minute.next_after(ms("2026-01-01T00:00:00Z")), Some(ms("2026-01-01T00:01:00Z")));
    assert_eq!(every_minute.next_after(ms("2026-01-01T00:00:00Z") - 1), Some(ms("2026-01-01T00:00:00Z")));
    assert_eq!(every_minute.next_after(ms("2026-01-01T00:00:59.999Z")), Some(ms("2026-01-01T00:01:00Z")));
}

#[test]
fn a_local_time_skipped_in_chicago_runs_at_the_first_instant_after_it() {
    assert_eq!(
        runs("30 2 * * *", "America/Chicago", "2026-03-07T12:00:00Z", 2),
        ["2026-03-08T03:00:00-05:00", "2026-03-09T02:30:00-05:00"]
    );
}

#[test]
fn a_local_time_skipped_in_berlin_runs_at_the_first_instant_after_it() {
    assert_eq!(
        runs("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
        ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]
    );
}

#[test]
fn a_local_time_skipped_on_lord_howe_runs_at_the_first_instant_after_it() {
    // The clock there moves by half an hour: 02:00 to 02:30 is skipped.
    assert_eq!(
        runs("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 2),
        ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]
    );
    assert_eq!(
        runs("45 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 1),
        ["2026-10-04T02:45:00+11:00"]
    );
}

#[test]
fn all_skipped_local_times_together_make_one_run() {
    assert_eq!(
        runs("*/15 * * * *", "America/Chicago", "2026-03-08T07:40:00Z", 3),
        ["2026-03-08T01:45:00-06:00", "2026-03-08T03:00:00-05:00", "2026-03-08T03:15:00-05:00"]
    );
}

#[test]
fn a_day_that_a_zone_skipped_runs_at_its_end() {
    // Samoa had no 30 December 2011.
    assert_eq!(
        runs("0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00Z", 1),
        ["2011-12-31T00:00:00+14:00"]
    );
}

#[test]
fn a_local_time_repeated_in_chicago_runs_once() {
    assert_eq!(
        runs("30 1 * * *", "America/Chicago", "2026-10-31T12:00:00Z", 2),
        ["2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-06:00"]
    );
}

#[test]
fn a_local_time_repeated_in_berlin_runs_once() {
    assert_eq!(
        runs("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    );
}

#[test]
fn a_local_time_repeated_on_lord_howe_runs_once() {
    // 01:30 to 02:00 comes twice.
    assert_eq!(
        runs("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", 2),
        ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"]
    );
}

#[test]
fn each_local_time_of_a_repeated_hour_runs_once_also_when_asked_in_its_second_pass() {
    let half_hourly = "*/30 * * * *";
    assert_eq!(
        runs(half_hourly, "America/Chicago", "2026-11-01T05:59:00Z", 4),
        [
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T01:30:00-05:00",
            "2026-11-01T02:00:00-06:00",
            "2026-11-01T02:30:00-06:00"
        ]
    );
    let second_pass = "2026-11-01T07:10:00Z";
    assert_eq!(runs(half_hourly, "America/Chicago", second_pass, 1), ["2026-11-01T02:00:00-06:00"]);
    assert_eq!(runs("* * * * * *", "America/Chicago", second_pass, 1), ["2026-11-01T02:00:00-06:00"]);
}

#[test]
fn a_rule_follows_the_same_dst_rules() {
    let rule = "DTSTART:20260307T023000\nRRULE:FREQ=DAILY";
    assert_eq!(
        runs(rule, "America/Chicago", "2026-03-07T12:00:00Z", 2),
        ["2026-03-08T03:00:00-05:00", "2026-03-09T02:30:00-05:00"]
    );
    let rule = "DTSTART:20261025T003000\nRRULE:FREQ=HOURLY";
    assert_eq!(
        runs(rule, "Europe/Berlin", "2026-10-24T23:45:00Z", 3),
        ["2026-10-25T02:30:00+02:00", "2026-10-25T03:30:00+01:00", "2026-10-25T04:30:00+01:00"]
    );
}

#[test]
fn a_rule_with_a_start_runs_from_there() {
    let rule = "DTSTART:20261201T090000\nRRULE:FREQ=WEEKLY;BYDAY=TU,TH;COUNT=3";
    assert_eq!(
        runs(rule, "America/Chicago", "2026-11-30T00:00:00Z", 5),
        ["2026-12-01T09:00:00-06:00", "2026-12-03T09:00:00-06:00", "2026-12-08T09:00:00-06:00"]
    );
}

#[test]
fn a_start_may_name_its_own_zone() {
    for rule in [
        "DTSTART;TZID=Europe/Berlin:20260601T090000 RRULE:FREQ=DAILY;COUNT=1",
        "DTSTART:20260601T070000Z\r\nRRULE:FREQ=DAILY;COUNT=1",
        "dtstart:20260601T070000z\nrrule:freq=daily;count=1",
    ] {
        assert_eq!(runs(rule, "America/Chicago", "2026-05-01T00:00:00Z", 2), ["2026-06-01T02:00:00-05:00"]);
    }
}

#[test]
fn a_bare_rule_counts_from_creation() {
    assert_eq!(
        runs("FREQ=DAILY;COUNT=3", "Europe/Berlin", "2026-11-30T10:27:17.500Z", 5),
        ["2026-12-01T11:27:17+01:00", "2026-12-02T11:27:17+01:00"]
    );
    assert_eq!(
        runs("RRULE:INTERVAL=2;FREQ=HOURLY", "UTC", "2026-11-30T10:27:17Z", 2),
        ["2026-11-30T12:27:17+00:00", "2026-11-30T14:27:17+00:00"]
    );
}

#[test]
fn until_is_an_instant_a_local_time_or_a_whole_day() {
    for until in ["20261202T150000Z", "20261202T090000", "20261202"] {
        let rule = format!("DTSTART:20261201T090000\nRRULE:FREQ=DAILY;UNTIL={until}");
        assert_eq!(
            runs(&rule, "America/Chicago", "2026-11-30T00:00:00Z", 5),
            ["2026-12-01T09:00:00-06:00", "2026-12-02T09:00:00-06:00"],
            "{until}"
        );
    }
}

#[test]
fn dates_are_added_and_taken_out() {
    let rule =
        "DTSTART:20261201T090000\nRRULE:FREQ=DAILY;COUNT=3\nRDATE:20261210T100000\nEXDATE:20261202T090000";
    assert_eq!(
        runs(rule, "UTC", "2026-11-30T00:00:00Z", 9),
        ["2026-12-01T09:00:00+00:00", "2026-12-03T09:00:00+00:00", "2026-12-10T10:00:00+00:00"]
    );
}

#[test]
fn a_rule_that_began_long_ago_answers_as_if_played_from_its_start() {
    for (rule, after, next) in [
        (
            "DTSTART:19700101T000000\nRRULE:FREQ=SECONDLY;INTERVAL=7",
            "2026-11-30T00:00:00Z",
            "2026-11-30T00:00:04+00:00",
        ),
        (
            "DTSTART:19700101T000000\nRRULE:FREQ=DAILY;INTERVAL=10",
            "2026-11-30T00:00:00Z",
            "2026-12-03T00:00:00+00:00",
        ),
        ("DTSTART:19700131T000000\nRRULE:FREQ=MONTHLY", "2026-11-30T00:00:00Z", "2026-12-31T00:00:00+00:00"),
        ("DTSTART:19720229T120000\nRRULE:FREQ=YEARLY", "2026-11-30T00:00:00Z", "2028-02-29T12:00:00+00:00"),
        (
            "DTSTART:19700105T000000\nRRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,MO",
            "2026-11-30T00:00:00Z",
            "2026-12-06T00:00:00+00:00",
        ),
        (
            "DTSTART:20000101T000000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR",
            "2026-11-28T00:00:00Z",
            "2026-12-25T00:00:00+00:00",
        ),
    ] {
        assert_eq!(runs(rule, "UTC", after, 1), [next], "{rule}");
    }
}

#[test]
fn a_moved_start_changes_no_run() {
    for rule in [
        "DTSTART:20200131T013000\nRRULE:FREQ=MONTHLY;INTERVAL=3",
        "DTSTART:20200229T013000\nRRULE:FREQ=YEARLY;BYMONTH=1,7",
        "DTSTART:20200105T013000\nRRULE:FREQ=WEEKLY;INTERVAL=3;BYDAY=SU,WE",
        "DTSTART:20200101T013000\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=2,-1",
        "DTSTART:20200101T000000\nRRULE:FREQ=HOURLY;INTERVAL=5;BYHOUR=3,4,5",
        "DTSTART:20200101T000000\nRRULE:FREQ=DAILY;INTERVAL=9;BYMONTH=2,3",
    ] {
        let played = recurrence(&format!("{rule};COUNT=4000"), "UTC", "2020-01-01T00:00:00Z");
        let moved = recurrence(rule, "UTC", "2020-01-01T00:00:00Z");
        for month in 1..=24 {
            let after = ms("2020-01-01T00:00:00Z") + month * 30 * 86_400_000;
            assert_eq!(moved.next_after(after), played.next_after(after), "{rule} after {after}");
        }
    }
}

#[test]
fn what_never_runs_again_answers_none() {
    for expression in [
        "0 0 30 2 *",
        "DTSTART:20200101T000000\nRRULE:FREQ=DAILY;UNTIL=20210101T000000Z",
        "DTSTART:20200101T000000\nRRULE:FREQ=DAILY;COUNT=2",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
    ] {
        assert_eq!(runs(expression, "UTC", "2026-11-30T00:00:00Z", 1), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn a_rare_run_is_found() {
    assert_eq!(runs("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1), ["2104-02-29T00:00:00+00:00"]);
    assert_eq!(
        runs("FREQ=SECONDLY;BYDAY=MO;BYHOUR=3;BYMINUTE=0;BYSECOND=0", "UTC", "2026-12-01T00:00:00Z", 1),
        ["2026-12-07T03:00:00+00:00"]
    );
}

#[test]
fn days_and_hours_limit_a_rule_by_the_minute_or_second() {
    for (rule, after, next) in [
        ("FREQ=MINUTELY;BYDAY=MO;BYHOUR=9;BYMINUTE=5", "2026-12-01T10:00:00Z", "2026-12-07T09:05:00+00:00"),
        ("FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;BYHOUR=9", "2026-12-01T10:00:00Z", "2026-12-07T09:02:00+00:00"),
        ("FREQ=SECONDLY;BYDAY=MO;BYHOUR=23;BYMINUTE=59", "2026-12-01T00:00:00Z", "2026-12-07T23:59:00+00:00"),
        ("FREQ=SECONDLY;BYMONTH=7;BYHOUR=3", "2026-12-01T00:00:00Z", "2027-07-01T03:00:00+00:00"),
        ("FREQ=MINUTELY;BYHOUR=9", "2026-12-01T10:00:00Z", "2026-12-02T09:00:00+00:00"),
    ] {
        assert_eq!(runs(rule, "UTC", after, 1), [next], "{rule}");
    }
    assert!(refusal("FREQ=MINUTELY;BYDAY=MO;BYHOUR=9;COUNT=3").contains("COUNT cannot stand with"));
}

#[test]
fn an_expression_outside_the_grammar_is_refused_by_name() {
    for expression in [
        "",
        "* * * *",
        "* * * * * * *",
        "60 * * * *",
        "0 24 * * *",
        "@fortnightly",
        "@reboot",
        "soon",
        "0 0 0 * *",
        "0 0 * 13 *",
    ] {
        let message = refusal(expression);
        assert!(
            message.starts_with(
                "cron must be five cron fields, six with seconds, a nickname such as @daily, or an RRULE ("
            ) && message.ends_with(&format!("), got \"{expression}\"")),
            "{message}"
        );
    }
    for expression in [
        "FREQ=FORTNIGHTLY",
        "FREQ=",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;COUNT=10001",
        "FREQ=DAILY;BYHOUR=24",
        "FREQ=DAILY;UNTIL=tomorrow",
        "FREQ=DAILY RRULE:FREQ=DAILY",
        "FREQ=DAILY EXRULE:FREQ=DAILY",
        "FREQ=DAILY EXDATE:never",
    ] {
        let message = refusal(expression);
        assert!(message.starts_with("cron must be an RRULE as in RFC 5545 ("), "{message}");
    }
    assert!(refusal("DTSTART:soon RRULE:FREQ=DAILY").starts_with("cron must have a DTSTART such as"));
    assert!(
        refusal("DTSTART;TZID=Mars/Base:20260101T000000 RRULE:FREQ=DAILY")
            .starts_with("cron must be an IANA name")
    );
}

#[test]
fn an_expression_is_at_most_1024_bytes() {
    assert!(refusal(&format!("{} * * * *", "0,".repeat(600))).starts_with("cron must be at most 1024 bytes"));
}

#[test]
fn a_period_holds_at_most_a_hundred_thousand_times() {
    let all = |until: u32| (0..until).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let rule = format!("FREQ=YEARLY;BYHOUR={};BYMINUTE={}", all(24), all(60));
    assert!(refusal(&rule).contains("more than 100000 times in one period"));
    assert!(
        Recurrence::parse(&format!("FREQ=DAILY;BYHOUR={};BYMINUTE={}", all(24), all(60)), "UTC", 0).is_ok()
    );
}

#[test]
fn a_time_zone_is_an_iana_name() {
    for zone in ["", "CST6", "America/Chicag", "+02:00", "america/chicago"] {
        let error = Recurrence::parse("@daily", zone, 0).expect_err(zone);
        assert_eq!(
            error.to_string(),
            format!("timezone must be an IANA name such as America/Chicago, got \"{zone}\"")
        );
    }
    assert!(Recurrence::parse("@daily", "Asia/Kolkata", 0).is_ok());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn no_expression_panics(
        cron in "[0-9*/,LW#?@A-Z -]{0,40}",
        freq in "SECONDLY|MINUTELY|HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY",
        parts in "(;(INTERVAL=[0-9]{1,5}|COUNT=[0-9]{1,4}|BYDAY=[-+]?[0-9]?(MO|SU)|BYMONTHDAY=-?[0-9]{1,2}|BYYEARDAY=-?[0-9]{1,3}|BYWEEKNO=-?[0-9]{1,2}|BYHOUR=[0-9]{1,2}|BYMINUTE=[0-9]{1,2}|BYSECOND=[0-9]{1,2}|BYSETPOS=-?[0-9]{1,2}|BYMONTH=[0-9]{1,2})){0,4}",
    ) {
        let after = 1_796_000_000_000;
        for expression in [cron, format!("FREQ={freq}{parts}")] {
            let recurrence = Recurrence::parse(&expression, "Europe/Berlin", after - 86_400_000);
            if let Some(next) = recurrence.ok().and_then(|recurrence| recurrence.next_after(after)) {
                proptest::prop_assert!(next > after, "{}", expression);
            }
        }
    }
}
