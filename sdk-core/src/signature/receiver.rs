//! The receiver: the keys and rules that deliveries are verified with.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::claims::{self, Claims};
use super::compact;
use super::delivery::{Body, CheckedMoment, Delivery, Moment, SignatureValue, checked_tolerance};
use super::error::{SignatureError, advice_on_token_mismatch};
use super::headers::SignatureHeaders;
use super::key::{Keys, MacKey, missing_signing_key, parse_text_key};
use super::url::Comparison;
use super::webhook::{self, PendingWebhook, WebhookKey};
use crate::contract::{Dialect, KeyMatch, environment};
use crate::error::Error;
use crate::input::InvalidInput;
use crate::secret::Secret;

/// Verifies deliveries with one or two signing keys.
///
/// ```
/// use chronq::signature::{Delivery, Receiver};
///
/// let receiver = Receiver::new("sig_this-is-not-a-real-signing-key-000000000000", None)?;
/// let delivery = Delivery { signature: None::<&str>.into(), body: b"{}".into(), url: None };
/// let error = receiver.verify(&delivery, 1_700_000_000).unwrap_err();
/// assert_eq!(error.code(), "signature_missing");
/// # Ok::<(), chronq::Error>(())
/// ```
#[derive(Clone)]
pub struct Receiver {
    dialect: Dialect,
    scheme: Scheme,
    tolerance: i64,
    // Kept because another dialect reads the same text as another key.
    current: Secret,
    next: Option<Secret>,
}

/// How the dialect signs, with keys that have been checked for it.
#[derive(Clone)]
enum Scheme {
    Token(Box<TokenScheme>),
    Webhook(Keys<WebhookKey>),
}

#[derive(Clone)]
struct TokenScheme {
    dialect: Dialect,
    issuer: &'static str,
    keys: Keys<MacKey>,
}

impl Scheme {
    fn new(dialect: Dialect, current: &Secret, next: Option<&Secret>) -> Result<Self, InvalidInput> {
        match dialect.issuer() {
            Some(issuer) => {
                let keys = Keys::parse(current, next, parse_text_key)?;
                Ok(Self::Token(Box::new(TokenScheme { dialect, issuer, keys })))
            }
            None => Ok(Self::Webhook(Keys::parse(current, next, webhook::parse_key)?)),
        }
    }
}

/// A delivery that can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What the signature says.
    pub claims: Claims,
    /// The signing key that produced it.
    pub key: KeyMatch,
}

impl Receiver {
    /// A receiver of this product's own deliveries (dialect `chronq`). Which of the two keys is newer makes
    /// no difference.
    ///
    /// # Errors
    /// `current_signing_key` or `next_signing_key` is empty, shorter than 32 bytes or longer than 512, has
    /// white space or control characters, or is a key of another kind.
    pub fn new(current: impl Into<Secret>, next: Option<Secret>) -> Result<Self, InvalidInput> {
        Self::of_dialect(Dialect::Chronq, current, next)
    }

    /// A receiver of another dialect's deliveries; keys are read as that dialect writes them.
    ///
    /// # Errors
    /// As with [`Receiver::new`], by the rules of the dialect.
    pub fn of_dialect(
        dialect: Dialect,
        current: impl Into<Secret>,
        next: Option<Secret>,
    ) -> Result<Self, InvalidInput> {
        let current = current.into();
        let scheme = Scheme::new(dialect, &current, next.as_ref())?;
        Ok(Self { dialect, scheme, tolerance: 0, current, next })
    }

    /// A receiver with the keys of `CHRONQ_CURRENT_SIGNING_KEY` and, where there is one,
    /// `CHRONQ_NEXT_SIGNING_KEY`, as `lookup` finds them: `|name| std::env::var(name).ok()` in a process.
    ///
    /// # Errors
    /// There is no first variable, or a key is refused as with [`Receiver::new`].
    pub fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidInput> {
        let current = lookup(environment::CURRENT_SIGNING_KEY).ok_or_else(missing_signing_key)?;
        Self::new(current, lookup(environment::NEXT_SIGNING_KEY).map(Secret::new))
    }

    /// The same keys, read and used as another dialect does.
    ///
    /// # Errors
    /// The keys are not keys of that dialect.
    pub fn with_dialect(self, dialect: Dialect) -> Result<Self, InvalidInput> {
        let scheme = Scheme::new(dialect, &self.current, self.next.as_ref())?;
        Ok(Self { dialect, scheme, ..self })
    }

    /// How far this machine's clock may be from the sender's: 0 to 300 whole seconds, 0 by default.
    ///
    /// # Errors
    /// `clock_tolerance` is out of range.
    pub fn with_clock_tolerance(self, seconds: i64) -> Result<Self, InvalidInput> {
        Ok(Self { tolerance: checked_tolerance(seconds)?, ..self })
    }

    /// Whose deliveries are verified.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The tolerance in force, in seconds.
    pub fn clock_tolerance(&self) -> i64 {
        self.tolerance
    }

    /// Verifies one delivery of a token dialect. `at` is unix seconds, or a [`Moment`].
    ///
    /// # Errors
    /// Only of two kinds: `Signature` where the delivery must not be trusted, and `InvalidInput` where `at`
    /// is out of range or the dialect signs more headers than one.
    pub fn verify(&self, delivery: &Delivery<'_>, at: impl Into<Moment>) -> Result<Verified, Error> {
        let moment = at.into().checked(self.tolerance)?;
        let token = self.token()?;
        let body = delivery.body.raw()?;
        Ok(token.begin(delivery.signature, delivery.url, moment)?.finish(body)?)
    }

    /// Verifies one delivery by the headers of its request: names in any case, values as the framework has
    /// them. Picks the headers of the dialect; every dialect can be verified so.
    ///
    /// # Errors
    /// As with [`Receiver::verify`]; `InvalidInput` also for a `url` in a dialect that signs none.
    pub fn verify_headers<'a, N, V>(
        &self,
        headers: impl IntoIterator<Item = (N, V)>,
        body: Body<'_>,
        url: Option<&str>,
        at: impl Into<Moment>,
    ) -> Result<Verified, Error>
    where
        N: AsRef<[u8]>,
        V: Into<SignatureValue<'a>>,
    {
        let moment = at.into().checked(self.tolerance)?;
        let headers = SignatureHeaders::collect(headers);
        match &self.scheme {
            Scheme::Token(token) => {
                let body = body.raw()?;
                Ok(token.begin(headers.token(self.dialect)?, url, moment)?.finish(body)?)
            }
            Scheme::Webhook(keys) => {
                if url.is_some() {
                    return Err(url_is_not_signed(self.dialect).into());
                }
                webhook::check_verifiable_here(keys)?;
                let body = body.raw()?;
                Ok(webhook::begin(&headers.webhook(self.dialect)?, body, keys, moment)?.finish_here(body)?)
            }
        }
    }

    /// The first half of [`Receiver::verify`]: everything but the body, for callers whose platform hashes
    /// faster than this library can (WebCrypto at the edge). Whether the body is raw is theirs to have asked.
    ///
    /// # Errors
    /// As with [`Receiver::verify`].
    pub fn begin(
        &self,
        signature: SignatureValue<'_>,
        url: Option<&str>,
        at: impl Into<Moment>,
    ) -> Result<Pending, Error> {
        let moment = at.into().checked(self.tolerance)?;
        Ok(self.token()?.begin(signature, url, moment)?)
    }

    /// The first half of [`Receiver::verify_headers`], in the token dialects.
    ///
    /// # Errors
    /// As with [`Receiver::verify`]: the webhook dialects sign the body itself, and cannot wait for its digest.
    pub fn begin_headers<'a, N, V>(
        &self,
        headers: impl IntoIterator<Item = (N, V)>,
        url: Option<&str>,
        at: impl Into<Moment>,
    ) -> Result<Pending, Error>
    where
        N: AsRef<[u8]>,
        V: Into<SignatureValue<'a>>,
    {
        let moment = at.into().checked(self.tolerance)?;
        let token = self.token()?;
        let signature = SignatureHeaders::collect(headers).token(self.dialect)?;
        Ok(token.begin(signature, url, moment)?)
    }

    /// [`Receiver::verify_headers`] of the webhook dialects, but for the `v1a` signatures, whose questions are
    /// left to the caller's platform (WebCrypto at the edge).
    ///
    /// # Errors
    /// As with [`Receiver::verify_headers`]: the token dialects have no such signatures.
    pub fn begin_webhook<'a, N, V>(
        &self,
        headers: impl IntoIterator<Item = (N, V)>,
        body: Body<'_>,
        url: Option<&str>,
        at: impl Into<Moment>,
    ) -> Result<PendingWebhook, Error>
    where
        N: AsRef<[u8]>,
        V: Into<SignatureValue<'a>>,
    {
        let moment = at.into().checked(self.tolerance)?;
        let keys = self.webhook()?;
        if url.is_some() {
            return Err(url_is_not_signed(self.dialect).into());
        }
        let body = body.raw()?;
        let headers = SignatureHeaders::collect(headers);
        Ok(webhook::begin(&headers.webhook(self.dialect)?, body, keys, moment)?)
    }

    fn webhook(&self) -> Result<&Keys<WebhookKey>, InvalidInput> {
        match &self.scheme {
            Scheme::Webhook(keys) => Ok(keys),
            Scheme::Token(_) => Err(signs_no_webhook(self.dialect)),
        }
    }

    fn token(&self) -> Result<&TokenScheme, InvalidInput> {
        match &self.scheme {
            Scheme::Token(token) => Ok(token.as_ref()),
            Scheme::Webhook(_) => Err(needs_headers(self.dialect)),
        }
    }
}

impl TokenScheme {
    /// Steps 2 to 11 of the contract.
    fn begin(
        &self,
        signature: SignatureValue<'_>,
        url: Option<&str>,
        moment: CheckedMoment,
    ) -> Result<Pending, SignatureError> {
        let header = self.dialect.signature_header();
        let token = signature.only(header)?;
        // Two headers that a proxy folded into one: no compact token has a comma. A webhook's signature has
        // one, and is a single value for the wrong receiver.
        if memchr::memchr(b',', token).is_some() && !token.starts_with(b"v1,") && !token.starts_with(b"v1a,")
        {
            return Err(SignatureError::ambiguous(header));
        }
        let (payload, key) = compact::authenticate(token, &self.keys)?;
        let key = key.ok_or_else(|| SignatureError::mismatch(advice_on_token_mismatch(self.dialect)))?;
        let signed = claims::read(payload, self.dialect, self.issuer)?;
        moment.check(signed.claims.exp, signed.claims.nbf)?;
        let comparison =
            url.zip(signed.claims.sub.as_deref()).and_then(|(url, sub)| Comparison::of(sub, url));
        if let Some(comparison) = comparison {
            return Err(SignatureError::url(&comparison));
        }
        Ok(Pending { verified: Verified { claims: signed.claims, key }, body_digest: signed.body_digest })
    }
}

/// A delivery of which everything is verified but the body.
#[derive(Clone, Debug)]
#[must_use = "the body is not verified yet"]
pub struct Pending {
    verified: Verified,
    body_digest: [u8; 32],
}

impl Pending {
    /// Hashes the body and compares.
    ///
    /// # Errors
    /// `body_mismatch`.
    pub fn finish(self, body: &[u8]) -> Result<Verified, SignatureError> {
        let digest = Sha256::digest(body).into();
        self.compare(&digest, body.is_empty())
    }

    /// Compares the body's SHA-256, as computed elsewhere.
    ///
    /// # Errors
    /// `body_mismatch`.
    pub fn finish_with_digest(self, sha256: &[u8; 32]) -> Result<Verified, SignatureError> {
        self.compare(sha256, false)
    }

    fn compare(self, digest: &[u8; 32], is_empty: bool) -> Result<Verified, SignatureError> {
        sabotage!(BodyHashSkipped => return Ok(self.verified));
        if bool::from(self.body_digest.ct_eq(digest)) {
            Ok(self.verified)
        } else {
            Err(SignatureError::body_mismatch(is_empty))
        }
    }
}

fn needs_headers(dialect: Dialect) -> InvalidInput {
    InvalidInput::new(
        "signature",
        format!(
            "signature is not enough in the dialect {dialect}, which signs three headers: verify the headers"
        ),
    )
}

fn signs_no_webhook(dialect: Dialect) -> InvalidInput {
    InvalidInput::new(
        "headers",
        format!("headers of the dialect {dialect} hold no webhook: verify them at once"),
    )
}

fn url_is_not_signed(dialect: Dialect) -> InvalidInput {
    InvalidInput::new(
        "url",
        format!("url cannot be checked in the dialect {dialect}, which signs none: leave it out"),
    )
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver")
            .field("dialect", &self.dialect)
            .field("clock_tolerance", &self.tolerance)
            .finish_non_exhaustive()
    }
}
