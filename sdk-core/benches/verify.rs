//! What one verification costs, beside the hash of the same body: `cargo bench -p chronq --bench verify`.
//!
//! Contenders take turns in short rounds and the median of the rounds counts, so that a busy machine
//! disturbs all alike. Every verification's answer is checked.

#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a benchmark may stop, and needs no more than its first digits"
)]

use std::hint::black_box;
use std::time::Instant;

use chronq::signature::{Delivery, KeyMatch, Receiver};
use sha2::{Digest, Sha256};

#[path = "../tests/signing/mod.rs"]
mod signing;

use signing::{Claims, KEY, NOW, OTHER_KEY, URL};

const ROUNDS: usize = 25;

/// Median nanoseconds of one call of each contender.
fn race<const N: usize>(calls: usize, contenders: [&dyn Fn(); N]) -> [f64; N] {
    let mut rounds = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (contender, rounds) in contenders.iter().zip(&mut rounds) {
            let start = Instant::now();
            for _ in 0..calls {
                contender();
            }
            rounds.push(start.elapsed().as_nanos() as f64 / calls as f64);
        }
    }
    rounds.map(|mut round| {
        round.sort_by(f64::total_cmp);
        round[ROUNDS / 2]
    })
}

fn main() {
    let one = Receiver::new(KEY, None).unwrap();
    let first = Receiver::new(KEY, Some(OTHER_KEY.into())).unwrap();
    let second = Receiver::new(OTHER_KEY, Some(KEY.into())).unwrap();

    println!(
        "{:>9}  {:>12} {:>12} {:>12} {:>12}  {:>7} {:>7}",
        "body", "SHA-256", "one key", "first of 2", "second of 2", "/hash", "2nd/1st"
    );
    for (name, size, calls) in
        [("0", 0, 20_000), ("1 KiB", 1 << 10, 10_000), ("64 KiB", 1 << 16, 300), ("1 MiB", 1 << 20, 20)]
    {
        let body = vec![b'x'; size];
        let token = Claims::of_body(&body).token();
        let delivery = Delivery { signature: (&token).into(), body: (&body).into(), url: Some(URL) };
        let verify = |receiver: &Receiver, key: KeyMatch| {
            let verified = receiver.verify(black_box(&delivery), NOW).unwrap();
            assert_eq!(verified.key, key);
        };
        let [hash, one, first, second] = race(
            calls,
            [
                &|| {
                    black_box(Sha256::digest(black_box(&body)));
                },
                &|| verify(&one, KeyMatch::Current),
                &|| verify(&first, KeyMatch::Current),
                &|| verify(&second, KeyMatch::Next),
            ],
        );
        println!(
            "{name:>9}  {hash:>9.0} ns {one:>9.0} ns {first:>9.0} ns {second:>9.0} ns  {:>7.3} {:>7.3}",
            first / hash,
            first / second
        );
    }

    // A forged delivery is refused before its body is hashed.
    let body = vec![b'x'; 1 << 20];
    let forged = signing::sign(signing::HEADER, Claims::of_body(&body).json(), OTHER_KEY);
    let cut = &forged[..forged.len() - 1];
    let dots = ".".repeat(8192);
    let refused = |signature: &str, code: &str| {
        let delivery = Delivery { signature: signature.into(), body: (&body).into(), url: Some(URL) };
        assert_eq!(one.verify(black_box(&delivery), NOW).unwrap_err().code(), code);
    };
    let forged = || refused(&forged, "signature_mismatch");
    let cut = || refused(cut, "signature_malformed");
    let dots = || refused(&dots, "signature_malformed");
    let [forged, cut, dots] = race(10_000, [&forged, &cut, &dots]);
    println!("\nrefused, body of 1 MiB: forged {forged:.0} ns, cut {cut:.0} ns, 8 KiB of dots {dots:.0} ns");
}
