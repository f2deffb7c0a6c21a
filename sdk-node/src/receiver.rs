//! The receiver: arguments as the package sorted them, the outcome as one text.

use chronq::call::{ReceiverOptions, body_value, moment, outcome_to_text, signature_value};
use chronq::secret::Secret;
use chronq::signature::{Body, Delivery, Receiver, SignatureValue, Verified};
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;

use crate::text::{Line, Text};
use crate::{SPELLING, thrown};

/// Verifies deliveries.
#[napi]
pub struct CoreReceiver(Receiver);

#[napi]
impl CoreReceiver {
    /// A receiver with these options, of the types that they should have.
    #[napi(constructor)]
    pub fn new(
        current: Option<String>,
        next: Option<String>,
        dialect: Option<String>,
        clock_tolerance: Option<f64>,
    ) -> napi::Result<Self> {
        let options = ReceiverOptions {
            current: current.map(Secret::new),
            next: next.map(Secret::new),
            dialect,
            clock_tolerance: clock_tolerance.map(whole),
        };
        options.into_receiver().map(Self).map_err(thrown)
    }

    /// The usual delivery: one text as signature, bytes as body, the receiver's own tolerance.
    #[napi]
    pub fn verify_bytes(&self, signature: Text, body: Uint8ArraySlice<'_>, url: Text, now: f64) -> Line {
        let delivery = Delivery {
            signature: signature.as_str().map_or(SignatureValue::NotText, SignatureValue::from),
            body: Body::Raw(&body),
            url: url.as_str(),
        };
        Line(self.judge(&delivery, now, None))
    }

    /// One delivery, by the value of its signature header.
    #[napi]
    pub fn verify(
        &self,
        shape: u8,
        signature: String,
        body: Uint8ArraySlice<'_>,
        fault: Option<String>,
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> String {
        let delivery = Delivery {
            signature: signature_value(shape, &signature),
            body: body_value(&body, fault.as_deref()),
            url: url.as_deref(),
        };
        self.judge(&delivery, now, tolerance)
    }

    /// One delivery, by those of its headers that matter: names and values in turn, one shape each.
    #[napi]
    pub fn verify_headers(
        &self,
        headers: Vec<String>,
        shapes: Uint8ArraySlice<'_>,
        body: Uint8ArraySlice<'_>,
        fault: Option<String>,
        url: Option<String>,
        now: f64,
        tolerance: Option<f64>,
    ) -> String {
        outcome_to_text(
            self.by_headers(&headers, &shapes, &body, fault.as_deref(), url.as_deref(), now, tolerance),
            SPELLING,
        )
    }

    fn judge(&self, delivery: &Delivery<'_>, now: f64, tolerance: Option<f64>) -> String {
        outcome_to_text(self.0.verify(delivery, moment(now, tolerance)), SPELLING)
    }

    fn by_headers(
        &self,
        headers: &[String],
        shapes: &[u8],
        body: &[u8],
        fault: Option<&str>,
        url: Option<&str>,
        now: f64,
        tolerance: Option<f64>,
    ) -> Result<Verified, chronq::Error> {
        let pairs = headers.chunks_exact(2).zip(shapes);
        let pairs = pairs.map(|(pair, shape)| (pair[0].as_str(), signature_value(*shape, &pair[1])));
        self.0.verify_headers(pairs, body_value(body, fault), url, moment(now, tolerance))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the package passes whole numbers; the range is checked later"
)]
fn whole(number: f64) -> i64 {
    number as i64
}
