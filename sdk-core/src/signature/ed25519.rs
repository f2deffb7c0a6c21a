//! What of Ed25519 (RFC 8032) is decided without a verification: which public keys are taken, and which
//! signatures are worth one. Platforms differ in both, so neither is left to them.

/// Order of the base point, little-endian: `S` of a signature has one spelling only below it (section 5.1.7).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The five `y` of the eight points whose order divides the cofactor. A key among them verifies signatures
/// that nobody made.
const SMALL_ORDER: [[u8; 32]; 5] = [
    [0; 32],
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
        0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a,
        0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
    [
        0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    ],
];

/// Whether the bytes are a public key that can be trusted to be one: the one spelling of a point of the
/// curve, and not of small order.
// Once in the module for the edge, not once for each of the two keys.
#[inline(never)]
pub(super) fn is_public_key(bytes: &[u8; 32]) -> bool {
    is_strict(bytes) && field::is_on_curve(&without_sign(bytes))
}

/// Whether a signature may be valid at all: `S` in its one spelling, `R` strict as a public key is.
pub(super) fn may_be_valid(signature: &[u8; 64]) -> bool {
    let (r, s) = signature.split_at(32);
    s.iter().rev().lt(ORDER.iter().rev()) && <&[u8; 32]>::try_from(r).is_ok_and(is_strict)
}

/// Below the prime, and not of small order.
#[inline(never)]
fn is_strict(point: &[u8; 32]) -> bool {
    let y = without_sign(point);
    let from_prime_on = y[31] == 0x7f && y[1..31].iter().all(|byte| *byte == 0xff) && y[0] >= 0xed;
    !from_prime_on && !SMALL_ORDER.contains(&y)
}

/// The top bit is the sign of `x`.
fn without_sign(point: &[u8; 32]) -> [u8; 32] {
    let mut y = *point;
    y[31] &= 0x7f;
    y
}

/// Arithmetic modulo 2²⁵⁵ − 19, in sixteen limbs of sixteen bits: small rather than fast, because a key is
/// read once. Nothing here is secret.
mod field {
    type Element = [i64; 16];

    const ZERO: Element = [0; 16];
    const ONE: Element = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    /// The constant `d` of the curve −x² + y² = 1 + d·x²·y² (section 5.1).
    const D: Element = [
        0x78a3, 0x1359, 0x4dca, 0x75eb, 0xd8ab, 0x4141, 0x0a4d, 0x0070, 0xe898, 0x7779, 0x4079, 0x8cc7,
        0xfe73, 0x2b6f, 0x6cee, 0x5203,
    ];
    /// The other two spellings of zero in 256 bits: the prime, and twice the prime.
    const PRIMES: [Element; 2] = [spelling_of_zero(0xffed, 0x7fff), spelling_of_zero(0xffda, 0xffff)];

    const fn spelling_of_zero(lowest: i64, highest: i64) -> Element {
        let mut element = [0xffff; 16];
        element[0] = lowest;
        element[15] = highest;
        element
    }

    /// Whether some `x` goes with this `y`: x² = (y² − 1) / (d·y² + 1), so the product of both must be a square.
    pub(super) fn is_on_curve(y: &[u8; 32]) -> bool {
        let (pairs, _) = y.as_chunks::<2>();
        let mut element = ZERO;
        for (limb, pair) in element.iter_mut().zip(pairs) {
            *limb = i64::from(u16::from_le_bytes(*pair));
        }
        let square = multiply(&element, &element);
        let product = multiply(&minus_one(&square), &plus_one(&multiply(&D, &square)));
        is_zero(&product) || is_zero(&minus_one(&euler(&product)))
    }

    /// To the power of (p − 1) / 2 = 2²⁵⁴ − 10, which is one for squares alone (Euler).
    fn euler(base: &Element) -> Element {
        (0..254).rev().fold(ONE, |power, bit| {
            let squared = multiply(&power, &power);
            if bit == 0 || bit == 3 { squared } else { multiply(&squared, base) }
        })
    }

    #[inline(never)]
    fn multiply(left: &Element, right: &Element) -> Element {
        let mut wide = [0; 31];
        for (at, limb) in left.iter().enumerate() {
            for (sum, other) in wide[at..].iter_mut().zip(right) {
                *sum += limb * other;
            }
        }
        let mut product = ZERO;
        for (at, limb) in wide.iter().enumerate() {
            // 2²⁵⁶ is 38.
            product[at % 16] += if at < 16 { *limb } else { 38 * limb };
        }
        carried(product)
    }

    fn plus_one(element: &Element) -> Element {
        let mut sum = *element;
        sum[0] += 1;
        sum
    }

    fn minus_one(element: &Element) -> Element {
        let mut difference = *element;
        difference[0] -= 1;
        difference
    }

    /// The same number with limbs of sixteen bits each.
    #[inline(never)]
    fn carried(mut element: Element) -> Element {
        // The first pass leaves less than 2³² in the lowest limb, the second less than 2¹⁸, the third at most one
        // carry, which the fourth takes round.
        for _ in 0..4 {
            let mut carry = 0;
            for limb in &mut element {
                *limb += carry;
                carry = *limb >> 16;
                *limb &= 0xffff;
            }
            element[0] += 38 * carry;
        }
        element
    }

    fn is_zero(element: &Element) -> bool {
        let element = carried(*element);
        element == ZERO || PRIMES.contains(&element)
    }
}

#[cfg(all(test, feature = "webhook-v1a"))]
mod tests {
    use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
    use proptest::prelude::*;

    use super::*;

    /// As an independent implementation judges, but for other spellings of a point, which it takes.
    fn is_key_of_dalek(bytes: &[u8; 32]) -> bool {
        let key = VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak());
        key.is_some_and(|key| key.to_edwards().compress().as_bytes() == bytes)
    }

    fn little_endian(number: u64) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// 2²⁵⁵ − `below`.
    fn near_the_top(below: u8) -> [u8; 32] {
        let mut bytes = [0xff; 32];
        (bytes[0], bytes[31]) = (0u8.wrapping_sub(below), 0x7f);
        bytes
    }

    #[test]
    fn small_and_large_numbers_are_keys_where_dalek_takes_them() {
        let mut taken = 0;
        let numbers = (0..64).map(little_endian).chain((1..=48).map(near_the_top));
        for mut bytes in numbers {
            for sign in [0, 0x80] {
                bytes[31] = bytes[31] & 0x7f | sign;
                assert_eq!(is_public_key(&bytes), is_key_of_dalek(&bytes), "{bytes:02x?}");
                taken += u32::from(is_public_key(&bytes));
            }
        }
        assert!(taken > 70, "half of all numbers are on the curve, but only {taken} were taken");
    }

    #[test]
    fn points_of_small_order_and_other_spellings_are_no_keys() {
        for y in SMALL_ORDER {
            assert!(VerifyingKey::from_bytes(&y).is_ok_and(|key| key.is_weak()), "{y:02x?}");
            assert!(!is_public_key(&y));
            let mut other_sign = y;
            other_sign[31] |= 0x80;
            assert!(!is_public_key(&other_sign));
        }
        // 3 is on the curve, and so 2²⁵⁵ − 16 is, which spells it again.
        assert!(is_public_key(&little_endian(3)));
        assert!(VerifyingKey::from_bytes(&near_the_top(16)).is_ok());
        assert!(!is_public_key(&near_the_top(16)));
    }

    #[test]
    fn s_has_one_spelling() {
        let signing = SigningKey::from_bytes(b"not a real private key, 32 bytes");
        let valid = signing.sign(b"x").to_bytes();
        assert!(may_be_valid(&valid));
        let mut other = valid;
        let mut carry = 0;
        for (byte, added) in other[32..].iter_mut().zip(ORDER) {
            carry += u16::from(*byte) + u16::from(added);
            [*byte, _] = carry.to_le_bytes();
            carry >>= 8;
        }
        assert!(!may_be_valid(&other));
        let mut order = valid;
        order[32..].copy_from_slice(&ORDER);
        assert!(!may_be_valid(&order));
        order[32] -= 1;
        assert!(may_be_valid(&order));
        let mut small = valid;
        small[..32].copy_from_slice(&SMALL_ORDER[2]);
        assert!(!may_be_valid(&small));
    }

    proptest! {
        // Curves are slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_bytes_are_a_key_where_dalek_takes_them(bytes: [u8; 32]) {
            prop_assert_eq!(is_public_key(&bytes), is_key_of_dalek(&bytes));
        }

        #[test]
        fn what_is_passed_over_dalek_refuses(seed: [u8; 32], signature: [u8; 32], s: [u8; 32]) {
            let key = SigningKey::from_bytes(&seed);
            prop_assert!(is_public_key(key.verifying_key().as_bytes()));
            let mut bytes = key.sign(&s).to_bytes();
            prop_assert!(may_be_valid(&bytes));
            bytes[..32].copy_from_slice(&signature);
            bytes[32..].copy_from_slice(&s);
            if !may_be_valid(&bytes) {
                prop_assert!(key.verifying_key().verify_strict(&s, &Signature::from_bytes(&bytes)).is_err());
            }
        }
    }
}
