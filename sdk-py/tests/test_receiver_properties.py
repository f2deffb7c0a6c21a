"""The receiver under inputs that nobody thought of."""

import contextlib
import hashlib
from typing import Any

import jwt
import pytest
from chronq import InvalidInput, Receiver, SignatureError
from hypothesis import given
from hypothesis import strategies as st
from signing import CURRENT, NEXT, NOW, b64, claims_of, sign, token

RECEIVER = Receiver(CURRENT, NEXT)
BODY = b'{"order":7}'

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=5,
)


@given(signature=anything, body=anything, url=anything, now=anything, tolerance=anything)
def test_nothing_raises_but_the_two_errors(
    signature: Any, body: Any, url: Any, now: Any, tolerance: Any
) -> None:
    with pytest.raises((SignatureError, InvalidInput)):
        RECEIVER.verify(signature=signature, body=body, url=url, now=now, clock_tolerance=tolerance)


@given(headers=anything, body=anything)
def test_no_headers_raise_but_the_two_errors(headers: Any, body: Any) -> None:
    with pytest.raises((SignatureError, InvalidInput)):
        RECEIVER.verify_headers(headers, body)


@given(arguments=st.lists(anything, max_size=2), dialect=anything, tolerance=anything)
def test_no_construction_raises_but_invalid_input(arguments: list[Any], dialect: Any, tolerance: Any) -> None:
    with contextlib.suppress(InvalidInput):
        Receiver(*arguments, dialect=dialect, clock_tolerance=tolerance)


@given(st.data())
def test_one_flipped_bit_is_refused(data: st.DataObject) -> None:
    signature = token(BODY).encode()
    at = data.draw(st.integers(0, len(signature) * 8 - 1))
    flipped = bytearray(signature)
    flipped[at // 8] ^= 1 << at % 8
    with pytest.raises(SignatureError):
        RECEIVER.verify(signature=bytes(flipped), body=BODY, now=NOW)


@given(body=st.binary(max_size=300), other=st.binary(max_size=300))
def test_only_the_signed_body_verifies(body: bytes, other: bytes) -> None:
    signature = token(body)
    assert RECEIVER.verify(signature=signature, body=body, now=NOW).body == b64(hashlib.sha256(body).digest())
    if other != body:
        with pytest.raises(SignatureError):
            RECEIVER.verify(signature=signature, body=other, now=NOW)


@given(
    changes=st.dictionaries(
        st.sampled_from(["iss", "sub", "iat", "nbf", "exp", "jti", "body", "extra"]),
        st.none()
        | st.integers(0, 2**40)
        | st.floats(allow_nan=False)
        | st.text(max_size=5)
        | st.just("chronq"),
        max_size=3,
    ),
    header=st.dictionaries(
        st.sampled_from(["alg", "typ", "kid", "crit", "b64", "zip"]),
        st.sampled_from(["HS256", "JWT", "none", "HS512", 1, True]),
        max_size=3,
    ),
)
def test_whatever_verifies_here_verifies_in_pyjwt(changes: dict[str, Any], header: dict[str, Any]) -> None:
    signature = sign(claims_of(BODY, **changes), header={"alg": "HS256", "typ": "JWT"} | header)
    try:
        claims = RECEIVER.verify(signature=signature, body=BODY, now=NOW)
    except SignatureError:
        return
    options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_sub": False}
    decoded = jwt.decode(signature, CURRENT, algorithms=["HS256"], options=options)
    assert (decoded["sub"], decoded["exp"], decoded["jti"]) == (claims.sub, claims.exp, claims.jti)
