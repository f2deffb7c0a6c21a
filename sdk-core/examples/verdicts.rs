//! Asks this crate and `jsonwebtoken`: JSON lines in, JSON lines out (see conformance/differential).

use std::error::Error;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use chronq::contract::Dialect;
use chronq::signature::{Delivery, Receiver};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};

#[path = "../tests/signing/hs256.rs"]
mod hs256;

const KEY: &str = "sig_not-a-real-key-0000000000000000000000000000";
const OTHER_KEY: &str = "sig_not-a-real-key-1111111111111111111111111111";
const SECRET: &str = "whsec_bm90LWEtcmVhbC1zZWNyZXQtMDAwMDAw";
const URL: &str = "https://example.com/hook";
const BODY: &[u8] = br#"{"orderId":42}"#;

fn main() -> Result<(), Box<dyn Error>> {
    hs256::install();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines() {
        let case: Value = serde_json::from_str(&line?)?;
        let mut verdicts = vec![("chronq", chronq(&case))];
        if case["kind"] == "jwt" {
            verdicts.push(("jsonwebtoken", jsonwebtoken(&case)));
        }
        for (verifier, verdict) in verdicts {
            let error = verdict.err();
            writeln!(out, "{}", json!({ "id": case["id"], "verifier": verifier, "error": error }))?;
        }
    }
    Ok(())
}

fn chronq(case: &Value) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?.as_secs();
    let now = i64::try_from(now).map_err(|error| error.to_string())?;
    let verify = || -> Result<(), chronq::Error> {
        let receiver = |dialect, key| {
            let key = case["key"].as_str().unwrap_or(key);
            let receiver = Receiver::of_dialect(
                dialect,
                key,
                Some(
                    case["key"]
                        .as_str()
                        .unwrap_or(match dialect {
                            Dialect::Chronq | Dialect::Qstash => OTHER_KEY,
                            Dialect::StandardWebhooks | Dialect::Svix => SECRET,
                        })
                        .into(),
                ),
            )?;
            receiver.with_clock_tolerance(case["tolerance"].as_i64().unwrap_or(0))
        };
        let token = |dialect| {
            let body = case["text"].as_str().map_or(BODY, str::as_bytes);
            let url = case["url"].as_str().or(Some(URL));
            let delivery = Delivery { signature: case["token"].as_str().into(), body: body.into(), url };
            receiver(dialect, KEY)?.verify(&delivery, now)
        };
        match case["kind"].as_str() {
            Some("jwt") => token(Dialect::Chronq)?,
            Some("qstash") => token(Dialect::Qstash)?,
            _ => {
                let headers = case["headers"].as_object().into_iter().flatten();
                let headers = headers.map(|(name, value)| (name, value.as_str()));
                let body =
                    base64::engine::general_purpose::STANDARD.decode(case["body"].as_str().unwrap_or(""));
                let body = body.unwrap_or_default();
                receiver(Dialect::StandardWebhooks, SECRET)?.verify_headers(
                    headers,
                    (&body).into(),
                    None,
                    now,
                )?
            }
        };
        Ok(())
    };
    verify().map_err(|error| format!("{}: {error}", error.code()))
}

fn jsonwebtoken(case: &Value) -> Result<(), String> {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.leeway = case["tolerance"].as_u64().unwrap_or(0);
    validation.validate_nbf = true;
    validation.validate_aud = false;
    validation.set_issuer(&[case["issuer"].as_str().unwrap_or("")]);
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "sub"]);
    let key = case["key"].as_str().unwrap_or(KEY);
    let key = DecodingKey::from_secret(key.as_bytes()).map_err(|error| format!("{error:?}"))?;
    let token = case["token"].as_str().unwrap_or("");
    jsonwebtoken::decode::<Value>(token, &key, &validation)
        .map(|_| ())
        .map_err(|error| format!("{:?}", error.kind()))
}
