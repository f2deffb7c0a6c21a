//! Dev mode: fixed fake secrets, an inbox that records and answers as told, a clock that moves.
//! Its routes exist in dev mode only.

pub mod inbox;
mod routes;
mod timers;

pub(crate) use routes::router;

/// The dev token. Admin, public, and no secret.
pub const TOKEN: &str = "chronq_dev_token_not_a_secret";
/// The key that signs in dev mode.
pub const SIGNING_KEY: &str = "sig_dev-only-current-key-this-is-not-a-secret-A";
/// The key that receivers also accept in dev mode.
pub const NEXT_SIGNING_KEY: &str = "sig_dev-only-previous-key-this-is-not-a-secretA";

/// What `chronq dev` says to the person in front of it.
pub fn banner(url: &str) -> String {
    format!(
        "\
chronq dev listens on {url}

  export CHRONQ_URL={url}
  export CHRONQ_TOKEN={TOKEN}
  export CHRONQ_CURRENT_SIGNING_KEY={SIGNING_KEY}
  export CHRONQ_NEXT_SIGNING_KEY={NEXT_SIGNING_KEY}

publish a message to the built-in inbox, and look at what arrived:

  curl -X POST {url}/v2/publish/{url}/dev/inbox/hello \\
    -H 'Authorization: Bearer {TOKEN}' \\
    -H 'Content-Type: application/json' -d '{{\"orderId\":42}}'
  curl {url}/dev/inbox/hello/requests

make the inbox fail twice, and see the retries:

  curl -X PUT {url}/dev/inbox/hello/script \\
    -d '{{\"respond\":[{{\"status\":503}},{{\"status\":503}},{{\"status\":200}}]}}'

move the clock by a week:

  curl -X POST {url}/dev/clock/advance -d '{{\"ms\":604800000}}'

The token and the keys are public: dev mode listens on loopback only.
"
    )
}
