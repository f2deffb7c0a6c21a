//! Whether time tells a forger anything: `cargo bench -p chronq --bench constant_time`.
//!
//! In the manner of dudect (Reparaz, Balasch, Verbauwhede, 2017): two classes of input take turns in random
//! order, the slowest samples of both are cut off, and Welch's t says whether their means differ. Beyond
//! |t| = 4.5 they do. The first line is a comparison that leaks on purpose: it shows that this machine and
//! this many samples would see a leak.

#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a benchmark may stop, and needs no more than its first digits"
)]

use std::hint::black_box;
use std::time::Instant;

use chronq::signature::{Delivery, Receiver};
use subtle::ConstantTimeEq;

#[path = "../tests/signing/mod.rs"]
mod signing;

use signing::{BODY, Claims, HEADER, KEY, NOW, OTHER_KEY, URL, base64url, from_base64url, sign};

const SAMPLES: usize = 200_000;
/// Beyond this the two classes are told apart.
const TOLD_APART: f64 = 4.5;

/// Welch's t between the times of two classes of input.
fn t_value(calls: u32, mut call: impl FnMut(bool)) -> f64 {
    let mut samples = [Vec::with_capacity(SAMPLES), Vec::with_capacity(SAMPLES)];
    // xorshift: the order must be unpredictable to the branch predictor, not to a person.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..SAMPLES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let class = state & 1 == 1;
        let start = Instant::now();
        for _ in 0..calls {
            call(black_box(class));
        }
        samples[usize::from(class)].push(start.elapsed().as_nanos() as f64);
    }
    // Interrupts and other processes only ever add time: one common bound takes them off both classes.
    let mut all: Vec<f64> = samples.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let bound = all[all.len() * 9 / 10];
    let [a, b] = samples.map(|samples| moments(samples.into_iter().filter(|sample| *sample <= bound)));
    (a.0 - b.0) / (a.1 + b.1).sqrt()
}

/// Mean, and variance of the mean.
fn moments(samples: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for sample in samples {
        count += 1.0;
        let delta = sample - mean;
        mean += delta / count;
        squares += delta * (sample - mean);
    }
    (mean, squares / (count - 1.0) / count)
}

fn report(what: &str, t: f64) {
    let verdict = if t.abs() > TOLD_APART { "told apart" } else { "not told apart" };
    println!("{what:<64} t = {t:>8.2}  {verdict}");
}

fn main() {
    let right = [0x5a_u8; 32];
    let (mut first, mut last) = (right, right);
    first[0] ^= 1;
    last[31] ^= 1;

    let leaking = |a: &[u8; 32], b: &[u8; 32]| a.iter().zip(b).all(|(a, b)| black_box(a) == black_box(b));
    let of = |class: bool| if class { &first } else { &last };
    report(
        "control: byte by byte with an early exit, first or last byte",
        t_value(16, |class| assert!(!leaking(black_box(&right), of(class)))),
    );
    report(
        "the comparison: first or last byte differs",
        t_value(16, |class| assert!(!bool::from(black_box(&right).ct_eq(of(class))))),
    );
    report(
        "the comparison: equal or not",
        t_value(16, |class| {
            let equal = bool::from(black_box(&right).ct_eq(if class { &right } else { &last }));
            assert_eq!(equal, class);
        }),
    );

    // A whole verification of a forged signature that is right but for its first or its last byte.
    let token = Claims::new().token();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let forged = [0, 31].map(|at| {
        let mut mac = from_base64url(signature);
        mac[at] ^= 1;
        format!("{signed}.{}", base64url(mac))
    });
    let receiver = Receiver::new(KEY, Some(OTHER_KEY.into())).unwrap();
    let refuse = |token: &str| {
        let delivery = Delivery { signature: token.into(), body: BODY.into(), url: Some(URL) };
        assert!(receiver.verify(&delivery, NOW).is_err());
    };
    report(
        "a forged delivery: first or last byte of the MAC is wrong",
        t_value(1, |class| refuse(&forged[usize::from(class)])),
    );

    // Which of the two keys signed: both are always tried, and what follows is the same.
    let by = [KEY, OTHER_KEY].map(|key| sign(HEADER, Claims::new().json(), key));
    let accept = |token: &str| {
        let delivery = Delivery { signature: token.into(), body: BODY.into(), url: Some(URL) };
        assert!(receiver.verify(&delivery, NOW).is_ok());
    };
    report(
        "the two-key path: the current or the next key signed",
        t_value(1, |class| accept(&by[usize::from(class)])),
    );
}
