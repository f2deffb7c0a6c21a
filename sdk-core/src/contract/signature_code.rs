//! Why a verification was refused (contract/signature.md, "Verification, in this order").

super::closed_words! {
    /// Code of a `SignatureError`. Closed, in the order in which the checks run.
    pub enum SignatureErrorCode ("code") {
        /// The body is neither bytes nor text that has a UTF-8 form.
        BodyNotRaw => "body_not_raw",
        /// No signature was given.
        SignatureMissing => "signature_missing",
        /// More than one value.
        SignatureAmbiguous => "signature_ambiguous",
        /// Not a well-formed token.
        SignatureMalformed => "signature_malformed",
        /// `alg` is not HS256.
        AlgorithmNotAllowed => "algorithm_not_allowed",
        /// No key produced this signature.
        SignatureMismatch => "signature_mismatch",
        /// A required claim is absent.
        ClaimMissing => "claim_missing",
        /// A claim has another type or value.
        ClaimInvalid => "claim_invalid",
        /// Too old.
        Expired => "expired",
        /// Too new.
        NotYetValid => "not_yet_valid",
        /// Signed for another URL.
        UrlMismatch => "url_mismatch",
        /// Signed for another body.
        BodyMismatch => "body_mismatch",
    }
}
