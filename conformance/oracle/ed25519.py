"""Ed25519 (RFC 8032, section 5.1) in plain Python: slow, leaky, and independent of what it makes vectors for."""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def recovered_x(y: int, sign: int):
    """The x that goes with a y, or None where the curve has none (section 5.1.3)."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    return x if x & 1 == sign else P - x


def add(left, right):
    """Two points (x, y), by the complete law of the curve (section 5.1.4, in affine coordinates)."""
    (x1, y1), (x2, y2) = left, right
    product = D * x1 * x2 * y1 * y2 % P
    x3 = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P
    y3 = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P
    return x3, y3


def multiple(scalar: int, point):
    total = (0, 1)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


BASE_Y = 4 * pow(5, -1, P) % P
BASE = (recovered_x(BASE_Y, 0), BASE_Y)


def encoded(point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decoded(data: bytes):
    number = int.from_bytes(data, "little")
    y, sign = number & 2**255 - 1, number >> 255
    x = recovered_x(y, sign) if y < P else None
    return None if x is None else (x, y)


def hashed(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def expanded(seed: bytes):
    half = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(half[:32], "little") & ~7 & ~(128 << 8 * 31) | 64 << 8 * 31
    return scalar, half[32:]


def public_key(seed: bytes) -> bytes:
    return encoded(multiple(expanded(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = expanded(seed)
    nonce = hashed(prefix, message) % ORDER
    commitment = encoded(multiple(nonce, BASE))
    challenge = hashed(commitment, public_key(seed), message)
    return commitment + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Without the cofactor, and only S in its one spelling (section 5.1.7)."""
    s = int.from_bytes(signature[32:], "little")
    point = decoded(key)
    if len(signature) != 64 or point is None or s >= ORDER:
        return False
    x, y = multiple(hashed(signature[:32], key, message) % ORDER, point)
    return encoded(add(multiple(s, BASE), (-x % P, y))) == signature[:32]


# Section 7.1: secret key, public key, message, signature.
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


def check() -> None:
    """Raises where this is not Ed25519."""
    for vector in VECTORS:
        seed, key, message, signature = map(bytes.fromhex, vector)
        assert public_key(seed) == key, vector
        assert sign(seed, message) == signature, vector
        assert verify(key, message, signature), vector
        assert not verify(key, message + b"x", signature), vector
