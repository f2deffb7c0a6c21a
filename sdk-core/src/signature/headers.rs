//! The signature headers among all headers of a request.

use super::delivery::SignatureValue;
use super::error::{SignatureError, dialect_of_header};
use crate::contract::{Dialect, headers};

const NAMES: [&str; 8] = [
    headers::SIGNATURE,
    headers::QSTASH_SIGNATURE,
    headers::WEBHOOK[0],
    headers::WEBHOOK[1],
    headers::WEBHOOK[2],
    headers::SVIX[0],
    headers::SVIX[1],
    headers::SVIX[2],
];

/// Every header that some dialect reads; names in any case.
pub(super) struct SignatureHeaders<'a> {
    values: [SignatureValue<'a>; NAMES.len()],
}

impl<'a> SignatureHeaders<'a> {
    pub(super) fn collect<N, V>(pairs: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<[u8]>,
        V: Into<SignatureValue<'a>>,
    {
        let mut values = [SignatureValue::Absent; NAMES.len()];
        for (name, value) in pairs {
            let name = name.as_ref();
            if let Some(at) = NAMES.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name)) {
                values[at] = values[at].and(value.into());
            }
        }
        Self { values }
    }

    fn value(&self, name: &str) -> SignatureValue<'a> {
        NAMES.iter().position(|known| *known == name).map_or(SignatureValue::Absent, |at| self.values[at])
    }

    /// The one value of the token dialects.
    pub(super) fn token(&self, dialect: Dialect) -> Result<SignatureValue<'a>, SignatureError> {
        let header = dialect.signature_header();
        match self.value(header) {
            SignatureValue::Absent => Err(self.missing(header, dialect)),
            value => Ok(value),
        }
    }

    /// Id, timestamp and signature of the webhook dialects, with the names they came under. An incomplete
    /// svix set falls to the webhook set, whole.
    pub(super) fn webhook(&self, dialect: Dialect) -> Result<WebhookSet<'a>, SignatureError> {
        let sets: &[[&'static str; 3]] = match dialect {
            Dialect::Svix => &[headers::SVIX, headers::WEBHOOK],
            Dialect::StandardWebhooks | Dialect::Chronq | Dialect::Qstash => &[headers::WEBHOOK],
        };
        let is_present = |name: &&str| self.value(name) != SignatureValue::Absent;
        let complete = sets.iter().find(|set| set.iter().all(&is_present));
        if let Some(&[id, timestamp, signature]) = complete {
            return Ok(WebhookSet {
                id: (id, self.value(id)),
                timestamp: (timestamp, self.value(timestamp)),
                signature: (signature, self.value(signature)),
            });
        }
        // Name a header of the set that was begun, else of the dialect's own.
        let begun = sets.iter().find(|set| set.iter().any(&is_present));
        let set = begun.or(sets.first()).unwrap_or(&headers::WEBHOOK);
        let absent = set.iter().find(|name| !is_present(name)).unwrap_or(&set[0]);
        Err(if begun.is_some() { SignatureError::missing(absent) } else { self.missing(absent, dialect) })
    }

    fn missing(&self, header: &str, expected: Dialect) -> SignatureError {
        let found = NAMES
            .iter()
            .filter(|name| self.value(name) != SignatureValue::Absent)
            .find_map(|name| dialect_of_header(name).filter(|dialect| *dialect != expected));
        match found {
            Some(found) => SignatureError::missing_of_other_dialect(header, expected, found),
            None => SignatureError::missing(header),
        }
    }
}

/// The three headers of one webhook, each with its name.
pub(super) struct WebhookSet<'a> {
    pub(super) id: (&'static str, SignatureValue<'a>),
    pub(super) timestamp: (&'static str, SignatureValue<'a>),
    pub(super) signature: (&'static str, SignatureValue<'a>),
}
