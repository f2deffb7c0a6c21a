//! The options of a publish and their rules, in both directions (contract/http-queue.md, "Option headers").

use std::time::Duration;

use crate::contract::{Method, headers, limits};
use crate::destination::{Destination, starts_with_ignoring_case};
use crate::duration;
use crate::ids::Name;
use crate::input::InvalidInput;
use crate::mint::Mint;
use crate::publish::headers::{ForwardedHeaders, HeaderPair};
use crate::retry::Idempotence;

/// How a message is delivered. Each option that is `None` or empty falls back to the queue's
/// setting, then to the built-in default, option by option.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishOptions {
    /// The queue; `default` where none is named.
    pub queue: Option<Name>,
    /// Method of the delivery; POST.
    pub method: Option<Method>,
    /// Bound of one attempt, to 2 h.
    pub timeout: Option<Duration>,
    /// Attempts after the first, 0 to 100.
    pub retries: Option<u32>,
    /// Base of the wait between attempts, to 1 d.
    pub retry_delay: Option<Duration>,
    /// Wait before the first attempt, to 365 d.
    pub delay: Option<Duration>,
    /// Unix seconds before which the first attempt is not made; wins over `delay`; past means now.
    pub not_before: Option<i64>,
    /// A second publish with the same id inside ten minutes is not queued again; 1 to 512 bytes.
    pub deduplication_id: Option<String>,
    /// Derives the id from destination, body and forwarded headers; an explicit id wins.
    pub content_based_deduplication: Option<bool>,
    /// Called once when the destination accepted.
    pub callback: Option<Callback>,
    /// Called once when the message failed for good.
    pub failure_callback: Option<Callback>,
    /// Headers sent to the destination.
    pub headers: ForwardedHeaders,
    /// Up to ten labels to find the message by, each 1 to 100 bytes.
    pub labels: Vec<String>,
}

/// Where an outcome is reported to.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Callback {
    /// The URL, signed as `sub` of the callback's own token.
    pub url: Destination,
    /// POST where not given.
    #[serde(default)]
    pub method: Option<Method>,
    /// 30 s where not given, to 2 h.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// Headers sent with the callback.
    #[serde(default)]
    pub headers: ForwardedHeaders,
}

impl Callback {
    /// A callback with POST, 30 s and no further headers.
    ///
    /// # Errors
    /// [`InvalidInput`] naming `option` where the URL is no destination.
    pub fn to(option: &str, url: &str) -> Result<Self, InvalidInput> {
        let url = Destination::parse(option, url)?;
        Ok(Self { url, method: None, timeout: None, headers: ForwardedHeaders::default() })
    }
}

impl PublishOptions {
    /// Whether repeating the publish can make a second message.
    pub(crate) fn idempotence(&self) -> Idempotence {
        if self.deduplication_id.is_some() || self.content_based_deduplication == Some(true) {
            Idempotence::Safe
        } else {
            Idempotence::Unsafe
        }
    }

    /// Makes repeating safe where the caller gave nothing that does.
    pub(crate) fn mint_deduplication_id(&mut self, mint: &mut Mint) {
        if self.idempotence() == Idempotence::Unsafe {
            self.deduplication_id = Some(mint.uuid_v7());
        }
    }

    /// The option headers of these options; labels stand in one, separated by commas.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the option, for everything that the server would refuse.
    pub fn to_headers(&self) -> Result<Vec<HeaderPair>, InvalidInput> {
        let mut pairs = self.to_headers_without_queue()?;
        pairs.extend(self.queue.as_ref().map(|queue| (headers::QUEUE.to_owned(), queue.to_string())));
        Ok(pairs)
    }

    /// The same, where path or entry names the queue.
    pub(crate) fn to_headers_without_queue(&self) -> Result<Vec<HeaderPair>, InvalidInput> {
        self.check()?;
        let mut pairs = Vec::new();
        let mut put = |name: &str, value: Option<String>| {
            pairs.extend(value.map(|value| (name.to_owned(), value)));
        };
        put(headers::METHOD, self.method.map(|method| method.as_str().to_owned()));
        put(headers::TIMEOUT, self.timeout.map(duration::format));
        put(headers::RETRIES, self.retries.map(|retries| retries.to_string()));
        put(headers::RETRY_DELAY, self.retry_delay.map(duration::format));
        put(headers::DELAY, self.delay.map(duration::format));
        put(headers::NOT_BEFORE, self.not_before.map(|seconds| seconds.max(0).to_string()));
        put(headers::DEDUPLICATION_ID, self.deduplication_id.clone());
        put(
            headers::CONTENT_BASED_DEDUPLICATION,
            self.content_based_deduplication.map(|on| if on { "true" } else { "false" }.to_owned()),
        );
        put(headers::LABEL, (!self.labels.is_empty()).then(|| self.labels.join(",")));
        pairs.extend(prefixed(headers::FORWARD_PREFIX, &self.headers));
        if let Some(callback) = &self.callback {
            callback_headers(&mut pairs, &CALLBACK, callback);
        }
        if let Some(callback) = &self.failure_callback {
            callback_headers(&mut pairs, &FAILURE_CALLBACK, callback);
        }
        Ok(pairs)
    }

    /// Holds typed options to the rules that their types cannot carry.
    fn check(&self) -> Result<(), InvalidInput> {
        check_duration("timeout", self.timeout, limits::MAX_TIMEOUT_MS)?;
        check_duration("retry_delay", self.retry_delay, limits::MAX_RETRY_DELAY_MS)?;
        check_duration("delay", self.delay, limits::MAX_DELAY_MS)?;
        if let Some(retries) = self.retries {
            check_retries("retries", i64::from(retries))?;
        }
        if let Some(seconds) = self.not_before.filter(|seconds| *seconds > limits::MAX_UNIX_SECONDS) {
            return Err(InvalidInput::with_rule("not_before", NOT_BEFORE_RULE, &seconds.to_string()));
        }
        if let Some(id) = &self.deduplication_id {
            check_deduplication_id("deduplication_id", id)?;
        }
        for label in &self.labels {
            if label.contains(',') {
                return Err(InvalidInput::with_rule("labels", "must not hold a comma", label));
            }
        }
        check_labels("labels", &self.labels)?;
        for (option, callback) in [("callback", &self.callback), ("failure_callback", &self.failure_callback)]
        {
            if let Some(callback) = callback {
                check_duration(&format!("{option} timeout"), callback.timeout, limits::MAX_TIMEOUT_MS)?;
            }
        }
        Ok(())
    }

    /// Reads options from the headers of a request or of a batch entry. Headers without the prefix
    /// are none of its business.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the header: unknown, given twice with different values, or its value
    /// outside the contract.
    pub fn from_headers<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, InvalidInput> {
        let mut reader = HeaderReader::default();
        for (name, value) in pairs {
            if starts_with_ignoring_case(name, headers::PREFIX) {
                reader.read(&name.to_ascii_lowercase(), value)?;
            }
        }
        reader.finish()
    }

    /// Joins the option with the queue named at another `place`: the path, or a batch entry.
    ///
    /// # Errors
    /// [`InvalidInput`] where the two name different queues.
    pub fn with_queue_of(mut self, place: &str, queue: Option<Name>) -> Result<Self, InvalidInput> {
        match (&self.queue, queue) {
            (Some(option), Some(other)) if *option != other => {
                let message =
                    format!("{} is \"{option}\" but the {place} names the queue \"{other}\"", headers::QUEUE);
                Err(InvalidInput::new(headers::QUEUE, message).with_value(option.as_str()))
            }
            (_, Some(queue)) => {
                self.queue = Some(queue);
                Ok(self)
            }
            (_, None) => Ok(self),
        }
    }
}

const NOT_BEFORE_RULE: &str = "must be unix seconds, such as 1796083200";

/// The names of the four headers that describe a callback.
struct CallbackNames {
    url: &'static str,
    method: &'static str,
    timeout: &'static str,
    forward: &'static str,
}

const CALLBACK: CallbackNames = CallbackNames {
    url: headers::CALLBACK,
    method: headers::CALLBACK_METHOD,
    timeout: headers::CALLBACK_TIMEOUT,
    forward: headers::CALLBACK_FORWARD_PREFIX,
};

const FAILURE_CALLBACK: CallbackNames = CallbackNames {
    url: headers::FAILURE_CALLBACK,
    method: headers::FAILURE_CALLBACK_METHOD,
    timeout: headers::FAILURE_CALLBACK_TIMEOUT,
    forward: headers::FAILURE_CALLBACK_FORWARD_PREFIX,
};

fn prefixed(prefix: &'static str, forwarded: &ForwardedHeaders) -> impl Iterator<Item = HeaderPair> {
    forwarded.iter().map(move |(name, value)| ([prefix, name].concat(), value.to_owned()))
}

fn callback_headers(pairs: &mut Vec<HeaderPair>, names: &CallbackNames, callback: &Callback) {
    pairs.push((names.url.to_owned(), callback.url.as_str().to_owned()));
    pairs.extend(callback.method.map(|method| (names.method.to_owned(), method.as_str().to_owned())));
    pairs.extend(callback.timeout.map(|timeout| (names.timeout.to_owned(), duration::format(timeout))));
    pairs.extend(prefixed(names.forward, &callback.headers));
}

/// A callback whose headers are still being read.
#[derive(Default)]
struct PartialCallback {
    url: Option<Destination>,
    method: Option<Method>,
    timeout: Option<Duration>,
    headers: ForwardedHeaders,
}

impl PartialCallback {
    /// Takes the header if it is one of this callback's.
    fn read(&mut self, names: &CallbackNames, name: &str, value: &str) -> Result<bool, InvalidInput> {
        if let Some(forwarded) = name.strip_prefix(names.forward) {
            self.headers.insert(names.forward, forwarded, value.to_owned())?;
        } else if name == names.url {
            self.url = Some(Destination::parse(name, value)?);
        } else if name == names.method {
            self.method = Some(parse_method(name, value)?);
        } else if name == names.timeout {
            self.timeout = Some(duration::parse_up_to(name, value, limits::MAX_TIMEOUT_MS)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn finish(self, names: &CallbackNames) -> Result<Option<Callback>, InvalidInput> {
        let Self { url, method, timeout, headers } = self;
        let orphan = method.is_some() || timeout.is_some() || !headers.is_empty();
        match url {
            Some(url) => Ok(Some(Callback { url, method, timeout, headers })),
            None if orphan => {
                let message = format!("{}-* options need {} with a URL", names.url, names.url);
                Err(InvalidInput::new(names.url, message))
            }
            None => Ok(None),
        }
    }
}

/// Reads option headers one by one.
#[derive(Default)]
struct HeaderReader {
    options: PublishOptions,
    callback: PartialCallback,
    failure_callback: PartialCallback,
    seen: Vec<HeaderPair>,
}

impl HeaderReader {
    /// `name` is in lower case.
    fn read(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidInput> {
        let value = std::str::from_utf8(value)
            .map_err(|_| InvalidInput::new(name, format!("{name} must be valid UTF-8")))?;
        if name != headers::LABEL {
            if let Some((_, first)) = self.seen.iter().find(|(known, _)| known == name) {
                return if first == value { Ok(()) } else { Err(InvalidInput::given_twice(name)) };
            }
            self.seen.push((name.to_owned(), value.to_owned()));
        }
        if self.failure_callback.read(&FAILURE_CALLBACK, name, value)?
            || self.callback.read(&CALLBACK, name, value)?
        {
            return Ok(());
        }
        if let Some(forwarded) = name.strip_prefix(headers::FORWARD_PREFIX) {
            return self.options.headers.insert(headers::FORWARD_PREFIX, forwarded, value.to_owned());
        }
        self.read_plain(name, value)
    }

    fn read_plain(&mut self, name: &str, value: &str) -> Result<(), InvalidInput> {
        let options = &mut self.options;
        match name {
            headers::METHOD => options.method = Some(parse_method(name, value)?),
            headers::QUEUE => options.queue = Some(Name::parse(name, value)?),
            headers::TIMEOUT => {
                options.timeout = Some(duration::parse_up_to(name, value, limits::MAX_TIMEOUT_MS)?);
            }
            headers::RETRIES => options.retries = Some(parse_retries(name, value)?),
            headers::RETRY_DELAY => {
                options.retry_delay = Some(duration::parse_up_to(name, value, limits::MAX_RETRY_DELAY_MS)?);
            }
            headers::DELAY => options.delay = Some(duration::parse_up_to(name, value, limits::MAX_DELAY_MS)?),
            headers::NOT_BEFORE => options.not_before = Some(parse_unix_seconds(name, value)?),
            headers::DEDUPLICATION_ID => {
                check_deduplication_id(name, value)?;
                options.deduplication_id = Some(value.to_owned());
            }
            headers::CONTENT_BASED_DEDUPLICATION => {
                options.content_based_deduplication = Some(parse_bool(name, value)?);
            }
            headers::LABEL => {
                options.labels.extend(value.split(',').map(|label| label.trim().to_owned()));
                check_labels(name, &options.labels)?;
            }
            _ => {
                sabotage!(UnknownOptionIgnored => return Ok(()));
                let message = format!(
                    "{name} is not an option: unknown chronq- headers are refused, so that a typo does not pass silently"
                );
                return Err(InvalidInput::new(name, message));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<PublishOptions, InvalidInput> {
        let mut options = self.options;
        options.callback = self.callback.finish(&CALLBACK)?;
        options.failure_callback = self.failure_callback.finish(&FAILURE_CALLBACK)?;
        Ok(options)
    }
}

/// Reads a method in any case.
pub(crate) fn parse_method(option: &str, text: &str) -> Result<Method, InvalidInput> {
    Method::from_any_case(text).ok_or_else(|| {
        InvalidInput::with_rule(option, ["must be one of ", &Method::WORDS.join(", ")].concat(), text)
    })
}

fn parse_retries(option: &str, text: &str) -> Result<u32, InvalidInput> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let retries = if digits { text.parse().unwrap_or(i64::MAX) } else { -1 };
    check_retries(option, retries).map_err(|error| error.with_value(text))
}

/// Holds a number of retries to the contract.
pub(crate) fn check_retries(option: &str, retries: i64) -> Result<u32, InvalidInput> {
    u32::try_from(retries).ok().filter(|retries| *retries <= limits::MAX_RETRIES).ok_or_else(|| {
        let message = format!("{option} must be between 0 and {}", limits::MAX_RETRIES);
        InvalidInput::new(option, message).with_value(&retries.to_string())
    })
}

fn parse_unix_seconds(option: &str, text: &str) -> Result<i64, InvalidInput> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .filter(|seconds| *seconds <= limits::MAX_UNIX_SECONDS)
        .ok_or_else(|| InvalidInput::with_rule(option, NOT_BEFORE_RULE, text))
}

fn parse_bool(option: &str, text: &str) -> Result<bool, InvalidInput> {
    if text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(InvalidInput::with_rule(option, "must be true or false", text))
    }
}

fn check_duration(option: &str, value: Option<Duration>, max_ms: u64) -> Result<(), InvalidInput> {
    value.map_or(Ok(()), |value| duration::check(option, value, max_ms))
}

fn check_deduplication_id(option: &str, id: &str) -> Result<(), InvalidInput> {
    if id.is_empty() || id.len() > limits::MAX_DEDUPLICATION_ID_BYTES {
        let rule = format!("must be 1 to {} bytes", limits::MAX_DEDUPLICATION_ID_BYTES);
        return Err(InvalidInput::with_rule(option, rule, id));
    }
    if id.bytes().any(|byte| byte.is_ascii_control()) {
        let mut shown = String::with_capacity(id.len() + 8);
        for letter in id.chars() {
            if letter.is_ascii_control() {
                shown.extend(letter.escape_default());
            } else {
                shown.push(letter);
            }
        }
        return Err(InvalidInput::with_rule(option, "must not hold control characters", &shown));
    }
    Ok(())
}

fn check_labels(option: &str, labels: &[String]) -> Result<(), InvalidInput> {
    for label in labels {
        let legal = (1..=limits::MAX_LABEL_BYTES).contains(&label.len())
            && !label.bytes().any(|byte| byte.is_ascii_control())
            && label.trim() == label;
        if !legal {
            let rule =
                format!("must be labels of 1 to {} bytes, separated by commas", limits::MAX_LABEL_BYTES);
            return Err(InvalidInput::with_rule(option, rule, label));
        }
    }
    if labels.len() > limits::MAX_LABELS {
        let rule = format!("must be at most {} labels", limits::MAX_LABELS);
        return Err(InvalidInput::with_rule(option, rule, &labels.len().to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<PublishOptions, InvalidInput> {
        PublishOptions::from_headers(pairs.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    fn refused(name: &str, value: &str) -> String {
        read(&[(name, value)]).expect_err(value).to_string()
    }

    #[test]
    fn every_option_is_read_in_any_case_of_its_name() {
        let options = read(&[
            ("CHRONQ-METHOD", "put"),
            ("Chronq-Queue", "orders"),
            ("chronq-timeout", "2h"),
            ("chronq-retries", "100"),
            ("chronq-retry-delay", "1d"),
            ("chronq-delay", "365d"),
            ("chronq-not-before", "1796083200"),
            ("chronq-deduplication-id", "order-42"),
            ("chronq-content-based-deduplication", "TRUE"),
            ("chronq-callback", "https://example.com/after"),
            ("chronq-callback-method", "PATCH"),
            ("chronq-callback-timeout", "5s"),
            ("chronq-callback-forward-X-Trace", "abc123"),
            ("chronq-failure-callback", "https://example.com/failed"),
            ("chronq-failure-callback-forward-x-trace", "def"),
            ("Chronq-Forward-X-Api-Key", "shh"),
            ("chronq-label", "a, b"),
            ("chronq-label", "c"),
            ("x-other", "ignored"),
        ])
        .expect("legal");
        assert_eq!(options.method, Some(Method::Put));
        assert_eq!(options.queue.as_ref().map(Name::as_str), Some("orders"));
        assert_eq!(options.timeout, Some(Duration::from_hours(2)));
        assert_eq!(options.retries, Some(100));
        assert_eq!(options.not_before, Some(1_796_083_200));
        assert_eq!(options.content_based_deduplication, Some(true));
        assert_eq!(options.labels, ["a", "b", "c"]);
        assert_eq!(options.headers.iter().collect::<Vec<_>>(), [("x-api-key", "shh")]);
        let callback = options.callback.expect("given");
        assert_eq!(
            (callback.url.as_str(), callback.method),
            ("https://example.com/after", Some(Method::Patch))
        );
        assert_eq!(callback.headers.get("x-trace"), Some("abc123"));
        assert_eq!(options.failure_callback.expect("given").headers.get("x-trace"), Some("def"));
    }

    #[test]
    fn refusals_name_the_option() {
        assert_eq!(
            refused("Chronq-Method", "TRACE"),
            "chronq-method must be one of GET, POST, PUT, PATCH, DELETE, got \"TRACE\""
        );
        for value in ["101", "-1", "1.0", "", "three", "99999999999999999999"] {
            assert_eq!(refused("chronq-retries", value), "chronq-retries must be between 0 and 100");
        }
        assert!(refused("chronq-retires", "1").starts_with("chronq-retires is not an option"));
        assert!(refused("chronq-timeout", "121m").starts_with("chronq-timeout must be at most 2h"));
        assert!(refused("chronq-retry-delay", "25h").starts_with("chronq-retry-delay must be at most 1d"));
        assert!(refused("chronq-delay", "366d").starts_with("chronq-delay must be at most 365d"));
        assert!(refused("chronq-delay", "0s").starts_with("chronq-delay must be a duration"));
        assert!(
            refused("chronq-not-before", "tomorrow").starts_with("chronq-not-before must be unix seconds")
        );
        assert!(
            refused("chronq-content-based-deduplication", "yes")
                .starts_with("chronq-content-based-deduplication must be true or false")
        );
        assert!(
            refused("chronq-callback", "not-a-url").starts_with("chronq-callback must be an absolute URL")
        );
        assert!(
            refused("chronq-callback-method", "PUT")
                .starts_with("chronq-callback-* options need chronq-callback")
        );
        assert!(refused("chronq-queue", "a b").starts_with("chronq-queue must be 1 to 64"));
        assert!(refused("chronq-label", "a,,b").starts_with("chronq-label must be labels of 1 to 100 bytes"));
        assert!(
            refused("chronq-label", &"x".repeat(101))
                .starts_with("chronq-label must be labels of 1 to 100 bytes")
        );
        assert!(
            refused("chronq-label", "1,2,3,4,5,6,7,8,9,10,11")
                .starts_with("chronq-label must be at most 10 labels")
        );
        assert!(
            refused("chronq-deduplication-id", &"x".repeat(513))
                .starts_with("chronq-deduplication-id must be 1 to 512 bytes")
        );
    }

    #[test]
    fn headers_that_belong_to_the_transport_are_not_forwarded() {
        for name in [
            "host",
            "Connection",
            "transfer-encoding",
            "content-length",
            "expect",
            "chronq-retried",
            "upstash-signature",
            "webhook-id",
            "svix-signature",
        ] {
            let message = refused(&format!("chronq-forward-{name}"), "x");
            assert!(message.contains("cannot be forwarded"), "{message}");
        }
        assert!(refused("chronq-forward-", "x").contains("must be followed by a legal header name"));
        assert!(refused("chronq-forward-x", "a\r\nb").contains("must not hold CR, LF, NUL"));
        assert!(refused("chronq-callback-forward-host", "x").contains("cannot be forwarded"));
    }

    #[test]
    fn an_option_given_twice_must_agree_with_itself() {
        assert_eq!(read(&[("chronq-retries", "3"), ("Chronq-Retries", "3")]).expect("same").retries, Some(3));
        let error = read(&[("chronq-retries", "3"), ("chronq-retries", "4")]).expect_err("differ");
        assert_eq!(error.to_string(), "chronq-retries is given twice with different values");
    }

    #[test]
    fn forwarded_headers_are_limited() {
        let many: Vec<_> = (0..65).map(|n| (format!("chronq-forward-x-{n}"), "v")).collect();
        let pairs: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert!(read(&pairs[..64]).is_ok());
        assert!(read(&pairs).expect_err("65").to_string().contains("at most 64 headers"));
        let big = "v".repeat(32 * 1024);
        assert!(refused("chronq-forward-x", &big).contains("32768 bytes together"));
    }

    #[test]
    fn the_path_and_the_option_must_name_one_queue() {
        let options = read(&[("chronq-queue", "a")]).expect("legal");
        assert_eq!(
            options.clone().with_queue_of("path", None).expect("option alone").queue,
            Some("a".parse().expect("name"))
        );
        assert!(options.clone().with_queue_of("path", Some("a".parse().expect("name"))).is_ok());
        let error =
            options.with_queue_of("path", Some("b".parse().expect("name"))).expect_err("contradiction");
        assert_eq!(error.to_string(), "chronq-queue is \"a\" but the path names the queue \"b\"");
    }

    #[test]
    fn what_the_client_writes_the_server_reads() {
        let options = read(&[
            ("chronq-method", "DELETE"),
            ("chronq-queue", "q"),
            ("chronq-timeout", "1m30s"),
            ("chronq-retries", "0"),
            ("chronq-retry-delay", "250ms"),
            ("chronq-delay", "1d10h30m"),
            ("chronq-not-before", "5"),
            ("chronq-deduplication-id", "id 1"),
            ("chronq-content-based-deduplication", "false"),
            ("chronq-callback", "https://example.com/a"),
            ("chronq-failure-callback", "https://example.com/f"),
            ("chronq-failure-callback-method", "GET"),
            ("chronq-failure-callback-timeout", "1s"),
            ("chronq-forward-x-a", "1"),
            ("chronq-label", "l1,l2"),
        ])
        .expect("legal");
        let written = options.to_headers().expect("legal");
        let pairs: Vec<_> = written.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(read(&pairs).expect("legal"), options);
    }

    #[test]
    fn the_client_refuses_before_the_network_and_names_its_own_option() {
        let refuse = |change: fn(&mut PublishOptions)| {
            let mut options = PublishOptions::default();
            change(&mut options);
            options.to_headers().expect_err("illegal").to_string()
        };
        assert_eq!(refuse(|o| o.retries = Some(101)), "retries must be between 0 and 100");
        assert_eq!(
            refuse(|o| o.timeout = Some(Duration::from_secs(7_201))),
            "timeout must be at most 2h, got \"2h1s\""
        );
        assert!(refuse(|o| o.delay = Some(Duration::ZERO)).starts_with("delay must be at least 1ms"));
        assert!(refuse(|o| o.labels = vec!["a,b".to_owned()]).starts_with("labels must not hold a comma"));
        assert!(
            refuse(|o| o.deduplication_id = Some(String::new()))
                .starts_with("deduplication_id must be 1 to 512 bytes")
        );
    }

    proptest::proptest! {
        #[test]
        fn no_header_panics(name in "[!-~]{0,40}", value in ".*") {
            let _ = read(&[(&format!("chronq-{name}"), &value)]);
        }
    }
}
