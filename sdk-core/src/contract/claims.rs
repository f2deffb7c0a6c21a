//! Names and fixed values of the token's claims (contract/signature.md, "The token").

/// Issuer.
pub const ISS: &str = "iss";
/// The destination exactly as published.
pub const SUB: &str = "sub";
/// Signing time, unix seconds.
pub const IAT: &str = "iat";
/// `iat` − [`NBF_BEFORE_IAT_SECONDS`].
pub const NBF: &str = "nbf";
/// `iat` + [`EXP_AFTER_IAT_SECONDS`].
pub const EXP: &str = "exp";
/// Fresh per attempt.
pub const JTI: &str = "jti";
/// base64url, no padding, of SHA-256 of the body.
pub const BODY: &str = "body";
/// All of them; each is required in the dialect `chronq`.
pub const ALL: &[&str] = &[ISS, SUB, IAT, NBF, EXP, JTI, BODY];

/// `iss` of the dialect `chronq`.
pub const ISSUER: &str = "chronq";
/// `iss` of the dialect `qstash`.
pub const QSTASH_ISSUER: &str = "Upstash";
/// A receiver whose clock is a little behind must not refuse.
pub const NBF_BEFORE_IAT_SECONDS: i64 = 5;
/// How long a token lives.
pub const EXP_AFTER_IAT_SECONDS: i64 = 300;
/// Every `jti` begins so; a `UUIDv7` follows.
pub const JTI_PREFIX: &str = "jwt_";
/// Minted signing keys begin so; 43 base64url characters follow.
pub const SIGNING_KEY_PREFIX: &str = "sig_";
/// Minted tokens (bearer credentials) begin so.
pub const TOKEN_PREFIX: &str = "chronq_";
/// The one JOSE header of a token.
pub const JOSE_HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// The one algorithm.
pub const ALGORITHM: &str = "HS256";
