//! The receiver against contract/signature.md: one test per rule, in the order of the checks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod signing;

use chronq::contract::{KeyMatch, SignatureErrorCode, UrlDifference};
use chronq::signature::{Body, Delivery, Moment, Receiver, SignatureError, SignatureValue, Verified};
use chronq::{Error, ErrorKind};
use signing::{BODY, Claims, HEADER, KEY, NOW, OTHER_KEY, URL, base64url, sign, sign_segments};

fn receiver() -> Receiver {
    Receiver::new(KEY, None).unwrap()
}

fn verify(token: &str) -> Result<Verified, Error> {
    receiver().verify(&Delivery { signature: token.into(), body: BODY.into(), url: Some(URL) }, NOW)
}

fn signature_error(result: Result<Verified, Error>) -> SignatureError {
    match result.unwrap_err().kind() {
        ErrorKind::Signature(error) => error.clone(),
        other => panic!("not a signature error: {other:?}"),
    }
}

fn code(token: &str) -> &'static str {
    match verify(token) {
        Ok(_) => "accepted",
        Err(error) => error.code(),
    }
}

/// The code of a token with these claims.
fn code_of(claims: &Claims) -> &'static str {
    code(&claims.token())
}

// 1. The body.

#[test]
fn a_body_that_is_neither_bytes_nor_text_is_not_raw() {
    let token = Claims::new().token();
    for body in [Body::NotRaw("dict"), Body::LoneSurrogate] {
        let delivery = Delivery { signature: (&token).into(), body, url: None };
        let error = signature_error(receiver().verify(&delivery, NOW));
        assert_eq!(error.code(), SignatureErrorCode::BodyNotRaw);
        assert!(error.to_string().contains("before any parser"), "{error}");
    }
    let parsed = Delivery { signature: (&token).into(), body: Body::NotRaw("dict"), url: None };
    assert!(signature_error(receiver().verify(&parsed, NOW)).to_string().contains("got dict"));
}

#[test]
fn the_body_is_looked_at_before_the_signature() {
    let delivery = Delivery { signature: SignatureValue::Absent, body: Body::NotRaw("object"), url: None };
    let error = receiver().verify(&delivery, NOW).unwrap_err();
    assert_eq!(error.code(), "body_not_raw");
    let headers: [(&str, &str); 0] = [];
    let error = receiver().verify_headers(headers, Body::NotRaw("object"), None, NOW).unwrap_err();
    assert_eq!(error.code(), "body_not_raw");
}

#[test]
fn the_body_is_hashed_and_never_parsed() {
    for body in [&b""[..], b"\xff\xfe\x00", b"{not json", "\u{feff}{}".as_bytes()] {
        let token = Claims::of_body(body).token();
        let delivery = Delivery { signature: (&token).into(), body: body.into(), url: Some(URL) };
        assert!(receiver().verify(&delivery, NOW).is_ok(), "{body:?}");
    }
}

// 2. The signature's value.

#[test]
fn a_signature_that_is_absent_or_empty_is_missing_and_the_header_is_named_in_lower_case() {
    for signature in [SignatureValue::Absent, "".into(), " \t ".into(), None::<&str>.into()] {
        let delivery = Delivery { signature, body: BODY.into(), url: Some(URL) };
        let error = signature_error(receiver().verify(&delivery, NOW));
        assert_eq!(error.code(), SignatureErrorCode::SignatureMissing);
        assert!(error.to_string().contains("chronq-signature"), "{error}");
        assert!(error.to_string().contains("lower case"), "{error}");
    }
}

#[test]
fn a_list_of_one_is_that_one_and_more_are_ambiguous() {
    let token = Claims::new().token();
    let value = SignatureValue::from(&token);
    let verify = |values: &[SignatureValue<'_>]| {
        let delivery =
            Delivery { signature: values.iter().copied().collect(), body: BODY.into(), url: Some(URL) };
        receiver().verify(&delivery, NOW).map(|_| ()).map_err(|error| error.code())
    };
    assert_eq!(verify(&[]), Err("signature_missing"));
    assert_eq!(verify(&[value]), Ok(()));
    assert_eq!(verify(&[value, value]), Err("signature_ambiguous"));
    assert_eq!(verify(&[value, "".into()]), Err("signature_ambiguous"));
    assert_eq!(verify(&[SignatureValue::Absent, value]), Ok(()));
    assert_eq!(verify(&[SignatureValue::NotText]), Err("signature_malformed"));
}

#[test]
fn a_comma_is_two_headers_folded_into_one() {
    let token = Claims::new().token();
    assert_eq!(code(&format!("{token},{token}")), "signature_ambiguous");
    assert_eq!(code(&format!("{token}, {token}")), "signature_ambiguous");
    assert_eq!(code(&format!("{token},")), "signature_ambiguous");
    assert_eq!(code(","), "signature_ambiguous");
    // The comma is found before anything else is judged.
    assert_eq!(code(&format!("ü,{}", ".".repeat(9000))), "signature_ambiguous");
}

#[test]
fn spaces_and_tabs_at_the_ends_are_trimmed_and_nothing_else() {
    let token = Claims::new().token();
    assert_eq!(code(&format!(" \t {token}\t ")), "accepted");
    for edited in [
        format!("{token}\n"),
        format!("{token}\r\n"),
        format!("\u{a0}{token}"),
        format!("\u{feff}{token}"),
        format!("{token}\0"),
        format!("{token}\u{b}"),
        token.replacen('.', " .", 1),
        format!("\"{token}\""),
        format!("Bearer {token}"),
    ] {
        assert!(["signature_malformed", "signature_mismatch"].contains(&code(&edited)), "{edited:?}");
    }
    assert_eq!(code(&format!("{token}\n")), "signature_malformed");
    assert_eq!(code(&format!("{token} x")), "signature_malformed");
}

#[test]
fn what_is_not_ascii_is_malformed() {
    let token = Claims::new().token();
    for edited in
        [format!("{token}ü"), format!("ü{token}"), token.replace('.', "．"), "\u{d7ff}.a.b".to_owned()]
    {
        assert_eq!(code(&edited), "signature_malformed", "{edited}");
    }
    // WTF-8, as a host hands out a lone surrogate.
    let delivery = Delivery { signature: (&b"\xed\xa0\x80.a.b"[..]).into(), body: BODY.into(), url: None };
    assert_eq!(receiver().verify(&delivery, NOW).unwrap_err().code(), "signature_malformed");
}

// 3. The token's shape.

#[test]
fn a_token_has_at_most_8192_bytes() {
    let padding = |length| Claims::new().with("pad", format!("\"{}\"", "x".repeat(length)));
    // The payload grows by four characters for three bytes: find the longest token that is not too long.
    let longest =
        (5000..7000).map(|length| padding(length).token()).take_while(|token| token.len() <= 8192).last();
    let longest = longest.unwrap();
    assert!(longest.len() > 8188, "{}", longest.len());
    assert_eq!(code(&longest), "accepted");
    assert_eq!(code(&padding(6000).token()), "signature_malformed");
    // Trimmed white space is not part of it.
    assert_eq!(code(&format!("{}{longest}", " ".repeat(9000))), "accepted");
}

#[test]
fn a_token_has_exactly_two_dots() {
    let token = Claims::new().token();
    for edited in [
        "a",
        "a.b",
        "a.b.c.d",
        "a.b.c.d.e",
        "..",
        ".",
        "...",
        "....",
        &format!("{token}."),
        &format!(".{token}"),
    ] {
        assert_eq!(code(edited), "signature_malformed", "{edited}");
    }
}

// 4. The header.

#[test]
fn the_header_is_strict_base64url_of_at_most_256_bytes() {
    let payload = base64url(Claims::new().json());
    let header = base64url(HEADER);
    for edited in [
        format!("{header}="),
        format!("{header}\n"),
        format!("{} {}", &header[..4], &header[4..]),
        format!("{}+{}", &header[..4], &header[5..]),
        String::new(),
        header[..header.len() - 1].to_owned(),
    ] {
        assert_eq!(code(&sign_segments(&edited, &payload, KEY)), "signature_malformed", "{edited:?}");
    }
    let of_length = |length: usize| format!("{}{}", HEADER, " ".repeat(length - HEADER.len()));
    assert_eq!(code(&sign(&of_length(256), Claims::new().json(), KEY)), "accepted");
    assert_eq!(code(&sign(&of_length(257), Claims::new().json(), KEY)), "signature_malformed");
}

#[test]
fn the_header_is_a_json_object_without_duplicate_members() {
    for header in [
        "",
        "[]",
        "null",
        "\"HS256\"",
        "{",
        "{}x",
        r#"{"alg":"HS256""#,
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","\u0061lg":"HS256"}"#,
        r#"{"alg":"HS256","x":{"a":1,"a":1}}"#,
        r#"{"alg":"HS256","x":[[[[[[[[1]]]]]]]]}"#,
        "\u{feff}{\"alg\":\"HS256\"}",
    ] {
        assert_eq!(code(&sign(header, Claims::new().json(), KEY)), "signature_malformed", "{header}");
    }
    let invalid = base64url(b"{\"alg\":\"HS256\",\"x\":\"\xff\"}");
    assert_eq!(code(&sign_segments(&invalid, &base64url(Claims::new().json()), KEY)), "signature_malformed");
}

#[test]
fn the_algorithm_is_hs256_and_nothing_else() {
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS256 "}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":""}"#,
        r#"{"alg":null}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":256}"#,
        r#"{"typ":"JWT"}"#,
        r"{}",
        r#"{"ALG":"HS256"}"#,
    ] {
        assert_eq!(code(&sign(header, Claims::new().json(), KEY)), "algorithm_not_allowed", "{header}");
    }
    // The algorithm is judged before anything else in the header, and before the signature's shape.
    let none =
        format!("{}.{}.", base64url(r#"{"alg":"none","crit":["x"]}"#), base64url(Claims::new().json()));
    assert_eq!(code(&none), "algorithm_not_allowed");
}

#[test]
fn typ_is_absent_or_jwt() {
    assert_eq!(code(&sign(r#"{"alg":"HS256"}"#, Claims::new().json(), KEY)), "accepted");
    for typ in [r#""jwt""#, r#""JWS""#, r#""at+jwt""#, "null", "1", r#"["JWT"]"#, r#""""#] {
        let header = format!(r#"{{"alg":"HS256","typ":{typ}}}"#);
        assert_eq!(code(&sign(&header, Claims::new().json(), KEY)), "signature_malformed", "{typ}");
    }
}

#[test]
fn members_that_change_what_a_signature_means_are_refused() {
    for member in ["crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c"] {
        for value in ["null", "true", r#"["exp"]"#, r#""DEF""#, "{}"] {
            let header = format!(r#"{{"alg":"HS256","{member}":{value}}}"#);
            let error = signature_error(verify(&sign(&header, Claims::new().json(), KEY)));
            assert_eq!(error.code(), SignatureErrorCode::SignatureMalformed, "{header}");
            assert!(error.to_string().contains(member), "{error}");
        }
    }
}

#[test]
fn kid_is_ignored_but_a_string() {
    assert_eq!(code(&sign(r#"{"alg":"HS256","kid":"../../etc"}"#, Claims::new().json(), KEY)), "accepted");
    for kid in ["1", "null", "[]", "{}"] {
        let header = format!(r#"{{"alg":"HS256","kid":{kid}}}"#);
        assert_eq!(code(&sign(&header, Claims::new().json(), KEY)), "signature_malformed", "{kid}");
    }
}

// 5. and 6. The signature.

#[test]
fn the_signature_is_strict_base64url_of_exactly_32_bytes() {
    let token = Claims::new().token();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    for edited in [
        format!("{signature}="),
        format!("{signature}A"),
        format!("{signature}AAAA"),
        signature[..42].to_owned(),
        String::new(),
        format!("{} {}", &signature[..10], &signature[10..]),
        format!("{}+{}", &signature[..10], &signature[11..]),
    ] {
        assert_eq!(code(&format!("{signed}.{edited}")), "signature_malformed", "{edited:?}");
    }
}

#[test]
fn a_signature_of_neither_key_is_a_mismatch_and_says_what_to_compare() {
    let token = sign(HEADER, Claims::new().json(), OTHER_KEY);
    let error = signature_error(verify(&token));
    assert_eq!(error.code(), SignatureErrorCode::SignatureMismatch);
    assert!(error.to_string().contains("compare both keys"), "{error}");
}

#[test]
fn nothing_of_the_payload_is_decoded_until_a_key_matches() {
    for payload in ["", "!!!!", "e30", "bm90IGpzb24"] {
        let token = sign_segments(&base64url(HEADER), payload, OTHER_KEY);
        assert_eq!(code(&token), "signature_mismatch", "{payload}");
    }
}

#[test]
fn either_key_may_match_and_the_answer_says_which() {
    let key_of = |current: &str, next: Option<&str>| {
        let receiver = Receiver::new(current, next.map(Into::into)).unwrap();
        let token = Claims::new().token();
        let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) };
        receiver.verify(&delivery, NOW).map(|verified| verified.key).map_err(|error| error.code())
    };
    assert_eq!(key_of(KEY, None), Ok(KeyMatch::Current));
    assert_eq!(key_of(KEY, Some(OTHER_KEY)), Ok(KeyMatch::Current));
    assert_eq!(key_of(OTHER_KEY, Some(KEY)), Ok(KeyMatch::Next));
    assert_eq!(key_of(KEY, Some(KEY)), Ok(KeyMatch::Current));
    assert_eq!(key_of(OTHER_KEY, None), Err("signature_mismatch"));
    assert_eq!(key_of(OTHER_KEY, Some(OTHER_KEY)), Err("signature_mismatch"));
}

#[test]
fn when_the_next_key_matches_that_token_s_own_failure_is_reported() {
    let receiver = Receiver::new(OTHER_KEY, Some(KEY.into())).unwrap();
    let token = Claims::new().token();
    let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) };
    assert_eq!(receiver.verify(&delivery, NOW + 300).unwrap_err().code(), "expired");
}

// 7. The payload.

#[test]
fn the_payload_is_strict_base64url_utf8_and_one_json_object() {
    let header = base64url(HEADER);
    let json = Claims::new().json();
    let encoded = base64url(&json);
    for edited in
        [format!("{encoded}="), format!("{encoded} "), format!(" {encoded}"), encoded.replace('J', "+")]
    {
        assert_eq!(code(&sign_segments(&header, &edited, KEY)), "signature_malformed", "{edited:?}");
    }
    for payload in [
        String::new(),
        "[]".to_owned(),
        "null".to_owned(),
        format!("\u{feff}{json}"),
        format!("{json}{json}"),
        format!("{json},"),
        format!("[{json}]"),
        json.replace('}', ",}"),
        json.replace('"', "'"),
    ] {
        assert_eq!(code(&sign(HEADER, &payload, KEY)), "signature_malformed", "{payload}");
    }
    let not_utf8 = [json.as_bytes().strip_suffix(b"}").unwrap(), b",\"x\":\"\xff\"}"].concat();
    assert_eq!(code(&sign(HEADER, not_utf8, KEY)), "signature_malformed");
    // White space of JSON is not the signer's habit, but it is JSON.
    assert_eq!(code(&sign(HEADER, format!(" {json}\n"), KEY)), "accepted");
}

#[test]
fn a_member_twice_is_malformed_at_any_depth() {
    let json = Claims::new().json();
    let with = |member: &str| json.replace('}', &format!(",{member}}}"));
    for member in [
        r#""exp":99999999999"#,
        r#""\u0065xp":1700000300"#,
        r#""x":1,"x":1"#,
        r#""x":{"a":1,"a":2}"#,
        r#""x":[{"a":[{"b":1,"b":2}]}]"#,
    ] {
        assert_eq!(code(&sign(HEADER, with(member), KEY)), "signature_malformed", "{member}");
    }
}

#[test]
fn the_payload_nests_to_eight_levels() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(code_of(&Claims::new().with("x", nested(7))), "accepted");
    assert_eq!(code_of(&Claims::new().with("x", nested(8))), "signature_malformed");
    assert_eq!(code_of(&Claims::new().with("x", nested(2000))), "signature_malformed");
}

#[test]
fn unknown_claims_are_ignored() {
    for value in ["1.5", "-3", "1e5", "null", "{}", r#""\ud83d\ude00""#, "[1,[2]]"] {
        assert_eq!(code_of(&Claims::new().with("extra", value)), "accepted", "{value}");
    }
    assert_eq!(code_of(&Claims::new().with("aud", r#""someone-else""#)), "accepted");
}

// 8. and 9. The claims.

#[test]
fn every_claim_is_required_and_named_when_it_is_missing() {
    for claim in ["iss", "sub", "iat", "nbf", "exp", "jti", "body"] {
        let error = signature_error(verify(&Claims::new().without(claim).token()));
        assert_eq!(error.code(), SignatureErrorCode::ClaimMissing, "{claim}");
        assert_eq!(error.claim(), Some(claim));
        assert!(error.to_string().contains(claim), "{error}");
    }
}

#[test]
fn every_claim_has_one_type() {
    for claim in ["iss", "sub", "jti", "body"] {
        for value in ["1", "null", "true", "[]", "{}", r#"["chronq"]"#] {
            let error = signature_error(verify(&Claims::new().with(claim, value).token()));
            assert_eq!(error.code(), SignatureErrorCode::ClaimInvalid, "{claim}: {value}");
            assert_eq!(error.claim(), Some(claim));
        }
    }
    for claim in ["iat", "nbf", "exp"] {
        for value in [
            r#""1700000000""#,
            "null",
            "true",
            "[]",
            "{}",
            "1700000000.0",
            "1700000000.5",
            "1.7e9",
            "-1",
            "-0",
            "253402300800",
            "100000000000000000000000000000000000000000000000000",
        ] {
            let error = signature_error(verify(&Claims::new().with(claim, value).token()));
            assert_eq!(error.code(), SignatureErrorCode::ClaimInvalid, "{claim}: {value}");
            assert_eq!(error.claim(), Some(claim));
        }
    }
}

#[test]
fn numbers_reach_to_the_end_of_the_year_9999() {
    assert_eq!(code_of(&Claims::new().with("exp", 253_402_300_799_i64)), "accepted");
    assert_eq!(code_of(&Claims::new().with("nbf", 0).with("iat", 0)), "accepted");
}

#[test]
fn exp_is_after_nbf() {
    for exp in [NOW - 5, NOW - 6, 0] {
        let error = signature_error(verify(&Claims::new().with("exp", exp).token()));
        assert_eq!((error.code(), error.claim()), (SignatureErrorCode::ClaimInvalid, Some("exp")));
    }
}

#[test]
fn the_body_claim_is_43_characters_of_strict_base64url() {
    let hash = signing::body_hash(BODY);
    for value in [
        String::new(),
        format!("{hash}="),
        hash[..42].to_owned(),
        format!("{hash}A"),
        format!("{}p", &hash[..42]),
        hash.replace('o', "+"),
        "b2b902820ddfbdcf3d183b65202fdcf42c258519afdd8bc71c77bd2ea98b3b6a".to_owned(),
    ] {
        let error = signature_error(verify(&Claims::new().with("body", format!("\"{value}\"")).token()));
        assert_eq!(
            (error.code(), error.claim()),
            (SignatureErrorCode::ClaimInvalid, Some("body")),
            "{value}"
        );
    }
}

#[test]
fn the_first_fault_in_the_order_of_the_table_is_reported() {
    let error = signature_error(verify(&Claims::new().without("jti").with("sub", 1).token()));
    assert_eq!(error.claim(), Some("sub"));
    // A claim's shape is judged before its value: iss last of all.
    let error = signature_error(verify(&Claims::new().with("iss", r#""other""#).without("body").token()));
    assert_eq!((error.code(), error.claim()), (SignatureErrorCode::ClaimMissing, Some("body")));
}

#[test]
fn another_issuer_is_refused_and_a_swapped_dialect_is_named() {
    for iss in ["Chronq", "chronq ", "", "someone"] {
        let error = signature_error(verify(&Claims::new().with("iss", format!("\"{iss}\"")).token()));
        assert_eq!((error.code(), error.claim()), (SignatureErrorCode::ClaimInvalid, Some("iss")), "{iss}");
    }
    let error = signature_error(verify(&Claims::qstash().token()));
    assert_eq!(error.claim(), Some("iss"));
    assert!(error.to_string().contains("dialect qstash"), "{error}");
    // An expired token of another issuer is of another issuer first.
    let expired = Claims::new().with("iss", r#""other""#).with("exp", NOW - 4);
    assert_eq!(signature_error(verify(&expired.token())).claim(), Some("iss"));
}

// 10. Time.

fn at(moment: impl Into<Moment>) -> Result<Verified, Error> {
    let token = Claims::new().token();
    receiver().verify(&Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) }, moment)
}

#[test]
fn expired_says_by_how_many_seconds() {
    assert!(at(NOW + 299).is_ok());
    for (now, tolerance, seconds) in [(300, None, 0), (310, None, 10), (310, Some(7), 3), (600, Some(300), 0)]
    {
        let error = signature_error(at(Moment::at(NOW + now).with_tolerance(tolerance)));
        assert_eq!((error.code(), error.seconds()), (SignatureErrorCode::Expired, Some(seconds)));
        assert!(error.to_string().contains(&format!("{seconds} s ago")), "{error}");
        assert!(error.to_string().contains("clock"), "{error}");
    }
    assert!(at(Moment::at(NOW + 599).with_tolerance(Some(300))).is_ok());
}

#[test]
fn not_yet_valid_says_by_how_many_seconds() {
    assert!(at(NOW - 5).is_ok());
    for (now, tolerance, seconds) in
        [(-6, None, 1), (-60, None, 55), (-60, Some(20), 35), (-306, Some(300), 1)]
    {
        let error = signature_error(at(Moment::at(NOW + now).with_tolerance(tolerance)));
        assert_eq!((error.code(), error.seconds()), (SignatureErrorCode::NotYetValid, Some(seconds)));
        assert!(error.to_string().contains(&format!("in {seconds} s")), "{error}");
    }
    assert!(at(Moment::at(NOW - 305).with_tolerance(Some(300))).is_ok());
}

#[test]
fn iat_is_not_compared_with_now() {
    assert_eq!(code_of(&Claims::new().with("iat", NOW + 1_000_000)), "accepted");
    assert_eq!(code_of(&Claims::new().with("iat", 0)), "accepted");
}

#[test]
fn the_receiver_s_tolerance_holds_where_the_call_has_none() {
    let receiver = receiver().with_clock_tolerance(10).unwrap();
    let token = Claims::new().token();
    let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) };
    assert!(receiver.verify(&delivery, NOW + 309).is_ok());
    assert!(receiver.verify(&delivery, Moment::at(NOW + 309).with_tolerance(None)).is_ok());
    let error = receiver.verify(&delivery, Moment::at(NOW + 309).with_tolerance(Some(0))).unwrap_err();
    assert_eq!(error.code(), "expired");
}

#[test]
fn now_and_tolerance_out_of_range_are_the_caller_s_fault() {
    for now in [-1, 100_000_000_001, 1_700_000_000_000, i64::MAX, i64::MIN] {
        let error = at(now).unwrap_err();
        let ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error:?}") };
        assert_eq!(input.option(), "now");
        assert_eq!(input.value(), Some(now.to_string().as_str()));
    }
    assert!(at(1_700_000_000_000).unwrap_err().to_string().contains("milliseconds"));
    for seconds in [-1, 301, i64::MAX, i64::MIN] {
        let error = at(Moment::at(NOW).with_tolerance(Some(seconds))).unwrap_err();
        let ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error:?}") };
        assert_eq!(input.option(), "clock_tolerance");
        let error = receiver().with_clock_tolerance(seconds).unwrap_err();
        assert_eq!((error.option(), error.value()), ("clock_tolerance", Some(seconds.to_string().as_str())));
    }
    // At the bound it is only late.
    assert_eq!(at(100_000_000_000).unwrap_err().code(), "expired");
    // The caller's fault is told before the delivery is looked at.
    let delivery = Delivery { signature: SignatureValue::Absent, body: Body::NotRaw("x"), url: None };
    assert_eq!(receiver().verify(&delivery, -1).unwrap_err().code(), "invalid_input");
}

#[test]
fn a_number_of_a_host_language_is_a_whole_number_of_seconds() {
    use chronq::signature::whole_seconds;
    assert_eq!(whole_seconds("now", 1_700_000_000.0), Ok(1_700_000_000));
    assert_eq!(whole_seconds("clock_tolerance", -0.0), Ok(0));
    for value in [0.5, f64::NAN, f64::INFINITY, -f64::INFINITY, 1e16] {
        let error = whole_seconds("now", value).unwrap_err();
        assert_eq!((error.option(), error.value()), ("now", Some(value.to_string().as_str())));
    }
}

// 11. The URL.

#[test]
fn a_url_that_is_not_given_is_not_compared() {
    let token = Claims::new().token();
    let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: None };
    assert!(receiver().verify(&delivery, NOW).is_ok());
}

#[test]
fn every_kind_of_url_difference_is_named_with_its_cure() {
    let sub = "https://example.com/hook?a=1&b=2";
    let token = Claims::new().with("sub", format!("\"{sub}\"")).token();
    let cases = [
        ("http://example.com/hook?a=1&b=2", UrlDifference::Scheme, "public URL"),
        ("https://EXAMPLE.com/hook?a=1&b=2", UrlDifference::HostCase, "exactly as it was published"),
        ("https://internal/hook?a=1&b=2", UrlDifference::Host, "Host header"),
        ("https://example.com:443/hook?a=1&b=2", UrlDifference::DefaultPort, "default port"),
        ("https://example.com:8443/hook?a=1&b=2", UrlDifference::Port, "proxy"),
        ("https://example.com/hook/?a=1&b=2", UrlDifference::TrailingSlash, "slash"),
        ("https://example.com/hoo%6b?a=1&b=2", UrlDifference::PercentEncoding, "percent-encoded"),
        ("https://example.com/other?a=1&b=2", UrlDifference::Path, "/other"),
        ("https://example.com/hook?b=2&a=1", UrlDifference::QueryOrder, "another order"),
        ("https://example.com/hook", UrlDifference::Query, "query"),
        ("https://example.com/hook?a=1&b=2#x", UrlDifference::Fragment, "fragment"),
    ];
    assert_eq!(cases.map(|(_, difference, _)| difference), UrlDifference::ALL);
    for (url, difference, cure) in cases {
        let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some(url) };
        let error = signature_error(receiver().verify(&delivery, NOW));
        assert_eq!(error.code(), SignatureErrorCode::UrlMismatch);
        assert_eq!(error.difference(), Some(difference), "{url}");
        assert!(error.to_string().contains(cure), "{error}");
    }
    let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some("") };
    assert_eq!(receiver().verify(&delivery, NOW).unwrap_err().code(), "url_mismatch");
}

// 12. The body's hash.

#[test]
fn another_body_is_refused_last() {
    let token = Claims::new().token();
    for (body, hint) in
        [("{\"orderId\": 42}", "parsed"), ("", "read before"), ("{\"orderId\":42}\n", "parsed")]
    {
        let delivery = Delivery { signature: (&token).into(), body: body.into(), url: Some(URL) };
        let error = signature_error(receiver().verify(&delivery, NOW));
        assert_eq!(error.code(), SignatureErrorCode::BodyMismatch);
        assert!(error.to_string().contains(hint), "{error}");
    }
    let delivery = Delivery { signature: (&token).into(), body: "other".into(), url: Some("https://other/") };
    assert_eq!(receiver().verify(&delivery, NOW).unwrap_err().code(), "url_mismatch");
    assert_eq!(receiver().verify(&delivery, NOW + 300).unwrap_err().code(), "expired");
}

// The headers of a request.

#[test]
fn the_dialect_s_header_is_picked_whatever_its_case() {
    let token = Claims::new().token();
    for name in ["chronq-signature", "Chronq-Signature", "CHRONQ-SIGNATURE"] {
        let headers = [("host", "x"), (name, token.as_str()), ("upstash-signature", "other")];
        assert!(receiver().verify_headers(headers, BODY.into(), Some(URL), NOW).is_ok(), "{name}");
    }
    let twice = [("chronq-signature", token.as_str()), ("Chronq-Signature", token.as_str())];
    let error = receiver().verify_headers(twice, BODY.into(), Some(URL), NOW).unwrap_err();
    assert_eq!(error.code(), "signature_ambiguous");
    let mut map = http::HeaderMap::new();
    map.insert("chronq-signature", token.parse().unwrap());
    assert!(receiver().verify_headers(&map, BODY.into(), Some(URL), NOW).is_ok());
}

#[test]
fn another_dialect_s_header_is_pointed_at() {
    for (name, dialect) in
        [("Upstash-Signature", "qstash"), ("webhook-signature", "standard-webhooks"), ("svix-id", "svix")]
    {
        let error = receiver().verify_headers([(name, "x")], BODY.into(), None, NOW);
        let error = signature_error(error);
        assert_eq!(error.code(), SignatureErrorCode::SignatureMissing);
        assert!(error.to_string().contains("chronq-signature"), "{error}");
        assert!(error.to_string().contains(&format!("dialect {dialect}")), "{error}");
    }
    let error = signature_error(receiver().verify_headers([("host", "x")], BODY.into(), None, NOW));
    assert!(error.to_string().contains("chronq-signature"), "{error}");
}

// What no error may say.

#[test]
fn no_error_holds_the_key_the_expected_mac_or_the_body() {
    let secret_body = "the-body-is-private";
    let token = Claims::of_body(secret_body).token();
    let mac = token.rsplit_once('.').unwrap().1;
    let forged = format!("{}{}", &token[..token.len() - 43], &sign(HEADER, "{}", OTHER_KEY)[41..][..43]);
    for (signature, url, now) in [
        (token.as_str(), "https://other/", NOW),
        (token.as_str(), URL, NOW + 900),
        (token.as_str(), URL, NOW - 900),
        (forged.as_str(), URL, NOW),
        ("x.y.z", URL, NOW),
    ] {
        for body in [secret_body, "not-the-same-private-body"] {
            let delivery = Delivery { signature: signature.into(), body: body.into(), url: Some(url) };
            if let Err(error) = receiver().verify(&delivery, now) {
                for shown in [error.to_string(), format!("{error:?}"), format!("{:?}", receiver())] {
                    for secret in [KEY, mac, secret_body, "private", &signing::body_hash(body)] {
                        assert!(!shown.contains(secret), "{shown}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_code_is_reached_by_a_delivery() {
    let token = Claims::new().token();
    let verify = |signature: SignatureValue<'_>, body: Body<'_>, url: &str, now: i64| {
        let delivery = Delivery { signature, body, url: Some(url) };
        signature_error(receiver().verify(&delivery, now)).code()
    };
    let of = |token: &str| verify(token.into(), BODY.into(), URL, NOW);
    let reached = [
        verify((&token).into(), Body::NotRaw("x"), URL, NOW),
        verify(SignatureValue::Absent, BODY.into(), URL, NOW),
        verify(SignatureValue::Several, BODY.into(), URL, NOW),
        of("x"),
        of(&sign(r#"{"alg":"none"}"#, "{}", KEY)),
        of(&sign(HEADER, "{}", OTHER_KEY)),
        of(&sign(HEADER, "{}", KEY)),
        of(&Claims::new().with("exp", 1).token()),
        verify((&token).into(), BODY.into(), URL, NOW + 300),
        verify((&token).into(), BODY.into(), URL, NOW - 6),
        verify((&token).into(), BODY.into(), "https://example.com/", NOW),
        verify((&token).into(), "".into(), URL, NOW),
    ];
    assert_eq!(reached, SignatureErrorCode::ALL);
}
