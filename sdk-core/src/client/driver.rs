//! The loop around an [`Exchange`]: sends, sleeps, and supplies clock and randomness.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::call::ClientConfig;
use crate::error::Error;
use crate::exchange::{Exchange, Failure, Step};
use crate::mint::Mint;
use crate::operation::Operation;
use crate::wire::{Request, Response};

/// Makes one attempt.
pub(super) trait Transport {
    fn send(&self, request: Request) -> impl Future<Output = Result<Response, Failure>> + Send;
}

/// Makes the call, as often as that is right.
pub(super) async fn run<O: Operation, T: Transport>(
    operation: O,
    config: &ClientConfig,
    transport: &T,
) -> Result<O::Output, Error> {
    let mut mint = Mint::new(random()?, now_ms());
    let mut exchange = Exchange::new(operation, config.endpoint.clone(), config.retry, &mut mint);
    loop {
        match exchange.step() {
            Step::Send(request) => match transport.send(*request).await {
                Ok(response) => exchange.respond(&response, now_ms(), jitter()?),
                Err(failure) => exchange.fail(failure, jitter()?),
            },
            Step::Wait(wait) => tokio::time::sleep(wait).await,
            Step::Done(result) => return result,
        }
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Evenly spread over 0..=1.
fn jitter() -> Result<f64, Error> {
    Ok(f64::from(u32::from_ne_bytes(random()?)) / f64::from(u32::MAX))
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::transport(format!("this machine gives no random bytes: {error}"), false))?;
    Ok(bytes)
}
