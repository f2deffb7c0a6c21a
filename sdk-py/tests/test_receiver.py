"""The receiver as Python callers meet it; what the core decides is only touched."""

import pickle
from typing import Any

import pytest
from chronq import (
    SIGNATURE_HEADER,
    ChronqError,
    Claims,
    Dialect,
    InvalidInput,
    KeyMatch,
    Receiver,
    SignatureError,
    SignatureErrorCode,
    UrlDifference,
)
from signing import CURRENT, NEXT, NOW, URL, token

BODY = '{"order":7,"name":"Zoë"}'.encode()
RECEIVER = Receiver(CURRENT, NEXT)


def refusal(**arguments: Any) -> SignatureError:
    given: dict[str, Any] = {"signature": token(BODY), "body": BODY, "now": NOW} | arguments
    with pytest.raises(SignatureError) as raised:
        RECEIVER.verify(**given)
    return raised.value


def refused_input(make: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as raised:
        make()
    return raised.value


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        bytearray(BODY),
        memoryview(BODY),
        memoryview(bytearray(BODY)),
        memoryview(bytes(byte for letter in BODY for byte in (letter, 0)))[::2],
        memoryview(BODY).cast("b"),
        BODY.decode(),
        type("Raw", (bytes,), {})(BODY),
        type("Text", (str,), {})(BODY.decode()),
    ],
    ids=[
        "bytes",
        "bytearray",
        "view",
        "writable view",
        "gaps",
        "cast",
        "text",
        "bytes' child",
        "str's child",
    ],
)
def test_every_shape_of_a_raw_body_verifies(body: Any) -> None:
    claims = RECEIVER.verify(signature=token(BODY), body=body, url=URL, now=NOW)
    assert claims.sub == URL
    assert claims.key is KeyMatch.CURRENT


def test_a_large_body_verifies_in_every_shape() -> None:
    body = b"x" * (1024 * 1024)
    signature = token(body)
    for shape in (body, bytearray(body), memoryview(body), body.decode()):
        assert RECEIVER.verify(signature=signature, body=shape, now=NOW).exp == NOW + 300


def test_claims_carry_what_was_signed() -> None:
    claims = RECEIVER.verify(signature=token(BODY, NEXT), body=BODY, url=URL, now=NOW)
    assert (claims.iss, claims.sub, claims.iat, claims.nbf, claims.exp) == (
        "chronq",
        URL,
        NOW,
        NOW - 5,
        NOW + 300,
    )
    assert claims.jti == "jwt_01936b0e-8d2c-7c3a-9f00-000000000001"
    assert claims.body is not None
    assert len(claims.body) == 43
    assert claims.key == "next"


def test_claims_are_values() -> None:
    first = RECEIVER.verify(signature=token(BODY), body=BODY, now=NOW)
    again = RECEIVER.verify(signature=token(BODY), body=BODY, now=NOW)
    other = RECEIVER.verify(signature=token(BODY, NEXT), body=BODY, now=NOW)
    assert first == again
    assert hash(first) == hash(again)
    assert first != other
    assert first != "claims"
    with pytest.raises(AttributeError):
        first.sub = "http://elsewhere/"  # type: ignore[misc]
    match first:
        case Claims(iss, sub):
            assert (iss, sub) == ("chronq", URL)
    assert repr(first).startswith("Claims(iss='chronq', sub='https://app.example.com/hook?a=1', exp=")
    assert repr(first).endswith(", key='current')")


@pytest.mark.parametrize(
    ("signature", "code"),
    [
        (None, "signature_missing"),
        ("", "signature_missing"),
        ([], "signature_missing"),
        ([None], "signature_missing"),
        ("\t ", "signature_missing"),
        (["a", "b"], "signature_ambiguous"),
        ("a.b.c,d.e.f", "signature_ambiguous"),
        ("é.é.é", "signature_malformed"),
        ("\ud800", "signature_malformed"),
        (b"\xff", "signature_malformed"),
        (5, "signature_malformed"),
        (object(), "signature_malformed"),
        ([["a"]], "signature_malformed"),
        ("a.b", "signature_malformed"),
        ("." * 9_000, "signature_malformed"),
        (token(BODY, "sig_another-key-that-is-not-a-real-key-00000"), "signature_mismatch"),
    ],
)
def test_a_signature_is_refused_with_its_code(signature: Any, code: str) -> None:
    error = refusal(signature=signature)
    assert error.code == code
    assert isinstance(error.code, SignatureErrorCode)


def test_a_list_of_one_is_that_one_and_ends_are_trimmed() -> None:
    signature = token(BODY)
    for shape in ([signature], (signature,), signature.encode(), f" \t{signature} "):
        assert RECEIVER.verify(signature=shape, body=BODY, now=NOW).sub == URL  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", [None, {}, [], 5, 5.0, True, object(), "\ud800", range(3), iter(b""), open, Exception]
)
def test_what_is_no_raw_body_is_body_not_raw(body: Any) -> None:
    error = refusal(body=body)
    assert error.code is SignatureErrorCode.BODY_NOT_RAW
    assert "before any parser" in str(error)


def test_a_released_view_is_body_not_raw() -> None:
    view = memoryview(BODY)
    view.release()
    assert refusal(body=view).code == "body_not_raw"


def test_a_hostile_type_cannot_raise_its_own_error() -> None:
    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise RuntimeError("boom")

    class Hostile(metaclass=Meta):
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("boom")

        def __bool__(self) -> bool:
            raise RuntimeError("boom")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("boom")

        __hash__ = None  # type: ignore[assignment]

    assert refusal(body=Hostile()).code == "body_not_raw"
    assert refusal(signature=Hostile()).code == "signature_malformed"
    for option in ("now", "clock_tolerance", "url"):
        hostile: dict[str, Any] = {option: Hostile()}
        error = refused_input(lambda given=hostile: RECEIVER.verify(signature="a", body=b"", **given))
        assert error.option == option
    headers: Any = Hostile()
    assert refused_input(lambda: RECEIVER.verify_headers(headers, b"")).option == "headers"


def test_a_refusal_says_where_and_by_how_much() -> None:
    expired = refusal(now=NOW + 310)
    assert (expired.code, expired.seconds) == ("expired", 10)
    early = refusal(now=NOW - 8)
    assert (early.code, early.seconds) == ("not_yet_valid", 3)
    missing = refusal(signature=token(BODY, jti=None))
    assert (missing.code, missing.claim) == ("claim_missing", "jti")
    elsewhere = refusal(url="https://app.example.com/hook/?a=1")
    assert (elsewhere.code, elsewhere.difference) == ("url_mismatch", UrlDifference.TRAILING_SLASH)
    assert refusal(body=BODY + b" ").code == "body_mismatch"
    assert isinstance(expired, ChronqError)
    assert (expired.status, expired.attempts, expired.may_have_been_sent) == (None, 0, False)


def test_the_clock_may_be_the_callers_or_the_machines() -> None:
    tolerant = Receiver(CURRENT, clock_tolerance=10)
    assert tolerant.verify(signature=token(BODY), body=BODY, now=NOW + 309).exp == NOW + 300
    claims = RECEIVER.verify(signature=token(BODY), body=BODY, now=NOW + 309, clock_tolerance=10)
    assert claims.exp == NOW + 300
    with pytest.raises(SignatureError, match=r"expired"):
        RECEIVER.verify(signature=token(BODY, now=1_000_000_000), body=BODY)


@pytest.mark.parametrize("value", [True, 1.0, "5", 10**30, -(10**30), 10**12, -1, float("nan"), b"5", []])
@pytest.mark.parametrize("option", ["now", "clock_tolerance"])
def test_what_is_no_number_of_seconds_is_the_callers_fault(option: str, value: Any) -> None:
    given: dict[str, Any] = {option: value}
    error = refused_input(lambda: RECEIVER.verify(signature=token(BODY), body=BODY, **given))
    assert error.option == option
    assert error.value is not None


@pytest.mark.parametrize("url", [5, b"https://h/", "\ud800", ["https://h/"]])
def test_a_url_is_text(url: Any) -> None:
    assert refused_input(lambda: RECEIVER.verify(signature="a", body=b"", url=url)).option == "url"


@pytest.mark.parametrize(
    "headers",
    [
        {SIGNATURE_HEADER: token(BODY)},
        {"Chronq-Signature": [token(BODY)], "accept": "*/*"},
        [("CHRONQ-SIGNATURE", token(BODY))],
        [(b"chronq-signature", token(BODY).encode())],
        ([name, value] for name, value in [("chronq-signature", token(BODY)), (5, "x")]),
    ],
    ids=["dict", "dict of lists", "pairs", "asgi", "generator of lists"],
)
def test_headers_may_come_as_frameworks_have_them(headers: Any) -> None:
    assert RECEIVER.verify_headers(headers, BODY, URL, now=NOW).sub == URL


def test_the_same_header_twice_is_ambiguous() -> None:
    twice = [("chronq-signature", token(BODY)), ("Chronq-Signature", token(BODY))]
    with pytest.raises(SignatureError) as raised:
        RECEIVER.verify_headers(twice, BODY, now=NOW)
    assert raised.value.code == "signature_ambiguous"


@pytest.mark.parametrize("headers", [None, 5, [1], [(1, 2, 3)], ["ab"], object(), type])
def test_what_holds_no_headers_is_the_callers_fault(headers: Any) -> None:
    assert refused_input(lambda: RECEIVER.verify_headers(headers, BODY)).option == "headers"


def test_an_interrupt_inside_headers_goes_on() -> None:
    def headers() -> Any:
        yield ("accept", "*/*")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RECEIVER.verify_headers(headers(), BODY)


def test_a_webhook_dialect_verifies_headers_only() -> None:
    # A public vector of Standard Webhooks.
    receiver = Receiver("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", dialect=Dialect.STANDARD_WEBHOOKS)
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    claims = receiver.verify_headers(headers, '{"test": 2432232314}', now=1_614_265_330)
    assert (claims.iss, claims.sub, claims.jti) == (None, None, "msg_p5jXN8AQM9LWM0D4loKWxJek")
    assert refused_input(lambda: receiver.verify(signature="a", body=b"")).option == "signature"


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("",), "current_signing_key"),
        ((f"{CURRENT}\n",), "current_signing_key"),
        (("sig_short",), "current_signing_key"),
        ((5,), "current_signing_key"),
        ((CURRENT.encode(),), "current_signing_key"),
        (("\ud800" * 40,), "current_signing_key"),
        ((CURRENT, ""), "next_signing_key"),
        ((CURRENT, 5), "next_signing_key"),
    ],
)
def test_a_key_is_refused_without_being_shown(arguments: Any, option: str) -> None:
    error = refused_input(lambda: Receiver(*arguments))
    assert (error.option, error.value) == (option, None)
    assert CURRENT not in str(error)


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHRONQ_CURRENT_SIGNING_KEY", raising=False)
    monkeypatch.delenv("CHRONQ_NEXT_SIGNING_KEY", raising=False)
    assert "CHRONQ_CURRENT_SIGNING_KEY" in str(refused_input(Receiver))
    monkeypatch.setenv("CHRONQ_CURRENT_SIGNING_KEY", CURRENT)
    monkeypatch.setenv("CHRONQ_NEXT_SIGNING_KEY", NEXT)
    assert Receiver().verify(signature=token(BODY, NEXT), body=BODY, now=NOW).key == "next"


@pytest.mark.parametrize("dialect", ["hs512", 5, "\ud800", b"chronq"])
def test_an_unknown_dialect_is_refused(dialect: Any) -> None:
    assert refused_input(lambda: Receiver(CURRENT, dialect=dialect)).option == "dialect"


def test_a_receiver_says_what_it_is_but_not_its_keys() -> None:
    assert repr(RECEIVER) == "Receiver(dialect='chronq', clock_tolerance=0)"
    assert RECEIVER.dialect is Dialect.CHRONQ
    assert Receiver(CURRENT, clock_tolerance=300).clock_tolerance == 300


def test_a_refusal_survives_pickling() -> None:
    error = refusal(now=NOW + 310)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.seconds) == (str(error), "expired", 10)
