//! The receiver: arguments as the package sorted them, the outcome as one text.

use chronq::call::{ReceiverOptions, body_value, moment, outcome_to_text, refusal_to_text, signature_value};
use chronq::secret::Secret;
use chronq::signature::{Delivery, Pending, PendingWebhook, Receiver, Verified};
use wasm_bindgen::prelude::*;

use crate::SPELLING;

/// Verifies deliveries.
#[wasm_bindgen]
pub struct CoreReceiver(Receiver);

#[wasm_bindgen]
#[expect(clippy::too_many_arguments, reason = "an options object would cost more than the HMAC")]
impl CoreReceiver {
    /// A receiver with these options, of the types that they should have.
    #[wasm_bindgen(constructor)]
    pub fn new(
        current: Option<String>,
        next: Option<String>,
        dialect: Option<String>,
        clock_tolerance: Option<f64>,
    ) -> Result<Self, JsValue> {
        let options = ReceiverOptions {
            current: current.map(Secret::new),
            next: next.map(Secret::new),
            dialect,
            clock_tolerance: clock_tolerance.map(whole),
        };
        options.into_receiver().map(Self).map_err(|error| refused(&error))
    }

    /// One delivery, by the value of its signature header.
    pub fn verify(
        &self,
        shape: u8,
        signature: &str,
        body: &[u8],
        fault: Option<String>,
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> String {
        let delivery = Delivery {
            signature: signature_value(shape, signature),
            body: body_value(body, fault.as_deref()),
            url: url.as_deref(),
        };
        outcome_to_text(self.0.verify(&delivery, moment(now, tolerance)), SPELLING)
    }

    /// One delivery, by those of its headers that matter: names and values in turn, one shape each.
    #[wasm_bindgen(js_name = verifyHeaders)]
    pub fn verify_headers(
        &self,
        headers: Vec<String>,
        shapes: &[u8],
        body: &[u8],
        fault: Option<String>,
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> String {
        let verify = || -> Result<Verified, chronq::Error> {
            let body = body_value(body, fault.as_deref());
            self.0.verify_headers(pairs(&headers, shapes), body, url.as_deref(), moment(now, tolerance))
        };
        outcome_to_text(verify(), SPELLING)
    }

    /// Everything of [`Self::verify`] but the body, whose digest the platform computes.
    pub fn begin(
        &self,
        shape: u8,
        signature: &str,
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> Result<CorePending, JsValue> {
        let moment = moment(now, tolerance);
        let begun = self.0.begin(signature_value(shape, signature), url.as_deref(), moment);
        begun.map(CorePending).map_err(|error| refused(&error))
    }

    /// Everything of [`Self::verify_headers`] but the body.
    #[wasm_bindgen(js_name = beginHeaders)]
    pub fn begin_headers(
        &self,
        headers: Vec<String>,
        shapes: &[u8],
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> Result<CorePending, JsValue> {
        let moment = moment(now, tolerance);
        let begun = self.0.begin_headers(pairs(&headers, shapes), url.as_deref(), moment);
        begun.map(CorePending).map_err(|error| refused(&error))
    }

    /// Everything of [`Self::verify_headers`] but Ed25519, which the platform verifies.
    #[wasm_bindgen(js_name = beginWebhook)]
    pub fn begin_webhook(
        &self,
        headers: Vec<String>,
        shapes: &[u8],
        body: &[u8],
        fault: Option<String>,
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> Result<CorePendingWebhook, JsValue> {
        let (body, moment) = (body_value(body, fault.as_deref()), moment(now, tolerance));
        let begun = self.0.begin_webhook(pairs(&headers, shapes), body, url.as_deref(), moment);
        begun.map(CorePendingWebhook).map_err(|error| refused(&error))
    }
}

fn pairs<'a>(
    headers: &'a [String],
    shapes: &'a [u8],
) -> impl Iterator<Item = (&'a str, chronq::signature::SignatureValue<'a>)> {
    let pairs = headers.chunks_exact(2).zip(shapes);
    pairs.map(|(pair, shape)| (pair[0].as_str(), signature_value(*shape, &pair[1])))
}

/// A delivery of which everything is verified but the body.
#[wasm_bindgen]
pub struct CorePending(Pending);

#[wasm_bindgen]
impl CorePending {
    /// Compares the body's SHA-256.
    pub fn finish(self, digest: &[u8]) -> String {
        // A digest of another length is no digest of this body.
        let digest = <[u8; 32]>::try_from(digest).unwrap_or_default();
        outcome_to_text(self.0.finish_with_digest(&digest).map_err(chronq::Error::from), SPELLING)
    }
}

/// A webhook of which everything is verified but the signatures of public keys.
#[wasm_bindgen]
pub struct CorePendingWebhook(PendingWebhook);

#[wasm_bindgen]
impl CorePendingWebhook {
    /// What they sign, up to the body.
    pub fn prefix(&self) -> String {
        self.0.prefix()
    }

    /// One after another: 32 bytes of public key, 64 of signature.
    pub fn questions(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for question in self.0.questions() {
            bytes.extend_from_slice(&question.public_key);
            bytes.extend_from_slice(&question.signature);
        }
        bytes
    }

    /// Judges by the answers: 1 for yes.
    pub fn finish(self, answers: &[u8]) -> String {
        let answers: Vec<bool> = answers.iter().map(|answer| *answer == 1).collect();
        outcome_to_text(self.0.finish(&answers).map_err(chronq::Error::from), SPELLING)
    }
}

/// An error on its way to the package.
fn refused(error: &chronq::Error) -> JsValue {
    JsValue::from_str(&refusal_to_text(error, SPELLING))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the package passes whole numbers; the range is checked later"
)]
fn whole(number: f64) -> i64 {
    number as i64
}
