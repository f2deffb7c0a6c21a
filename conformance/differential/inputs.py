"""What the verifiers are asked: rows for the table in docs/security.md, and edited tokens by the thousand.

Signs with the standard library alone, apart from every verifier that is measured here.
"""

import base64
import hashlib
import hmac
import json
import random

KEY = "sig_not-a-real-key-0000000000000000000000000000"
OTHER_KEY = "sig_not-a-real-key-1111111111111111111111111111"
SECRET = "whsec_" + base64.b64encode(b"not-a-real-secret-000000").decode()
URL = "https://example.com/hook"
BODY = b'{"orderId":42}'
HEADER = '{"alg":"HS256","typ":"JWT"}'
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def base64url(data):
    data = data.encode() if isinstance(data, str) else data
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(payload, header=HEADER, key=KEY, digest=hashlib.sha256):
    signed = f"{base64url(header)}.{base64url(payload)}"
    return f"{signed}.{base64url(hmac.new(key.encode(), signed.encode(), digest).digest())}"


def claims(now, issuer, **changes):
    """The claims of a delivery as JSON text; a change to None leaves the claim out, text is taken as JSON."""
    members = {
        "iss": json.dumps(issuer),
        "sub": json.dumps(URL),
        "iat": str(now),
        "nbf": str(now - 5),
        "exp": str(now + 300),
        "jti": '"jwt_018bcfe5-6800-7000-8000-000000000000"',
        "body": json.dumps(base64url(hashlib.sha256(BODY).digest())),
    }
    members.update(changes)
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items() if value is not None) + "}"


def with_other_last_character(token):
    """32 bytes end in a digit with two unused bits: another digit that decodes loosely to the same bytes."""
    value = ALPHABET.index(token[-1])
    return token[:-1] + ALPHABET[value ^ 1]


def rows(now):
    """The rows of the table. `right` is what a verifier should do: accept, reject, or reject with an error
    that matches this pattern. `test` is the test of this repository that holds ours to it."""
    yield from token_rows(now, "jwt", "chronq")
    yield from qstash_rows(now)
    yield from webhook_rows(now)


def token_rows(now, kind, issuer):
    valid = sign(claims(now, issuer))
    signature = valid.rsplit(".", 1)[1]

    def row(name, title, token, test, right="reject", **more):
        return {"id": f"{kind}.{name}", "kind": kind, "issuer": issuer, "title": title, "token": token,
                "right": right, "test": test, **more}

    yield row("valid", "a valid token", valid, "signature_vector::the_claims_come_back_with_the_key_that_matched",
              right="accept")
    trailing = "signature_advisories::trailing_bits_and_other_spellings_of_the_same_bytes"
    yield row("last_character", "its last character changed, in the bits that base64 leaves unused",
              with_other_last_character(valid), trailing)
    yield row("padded", "`=` appended", valid + "=", trailing)
    yield row("newline", "a newline appended", valid + "\n", trailing)
    yield row("space", "a space inside the signature", valid.replace(signature, signature[:9] + " " + signature[9:]),
              "signature_contract::the_signature_is_strict_base64url_of_exactly_32_bytes")
    numbers = "signature_advisories::numbers_that_never_expire"
    yield row("exp_1e400", "`exp` is `1e400`", sign(claims(now, issuer, exp="1e400")), numbers)
    yield row("exp_text", "`exp` is a string", sign(claims(now, issuer, exp=f'"{now + 300}"')), numbers)
    yield row("exp_absent", "no `exp`", sign(claims(now, issuer, exp=None)), numbers)
    duplicate = claims(now, issuer).replace('"exp"', '"exp":1,"exp"')
    yield row("duplicate", "`exp` twice, the last one valid", sign(duplicate),
              "signature_advisories::duplicate_members_that_two_parsers_read_differently")
    yield row("bom", "a byte order mark before the payload", sign("\ufeff" + claims(now, issuer)),
              "signature_contract::the_payload_is_strict_base64url_utf8_and_one_json_object")
    yield row("crit", "`crit` names an unknown extension",
              sign(claims(now, issuer), header='{"alg":"HS256","crit":["bork"],"bork":true}'),
              "signature_advisories::critical_extensions_that_nobody_understands")
    yield row("empty_key", "an empty key, and a token signed with it", sign(claims(now, issuer), key=""),
              "signature_advisories::an_empty_key_and_a_short_key", key="")
    yield row("none", "`alg` is `none`, no signature",
              f'{base64url(HEADER.replace("HS256", "none"))}.{base64url(claims(now, issuer))}.',
              "signature_advisories::algorithm_none_in_any_spelling")
    yield row("hs512", "HS512 under the same key",
              sign(claims(now, issuer), header=HEADER.replace("HS256", "HS512"), digest=hashlib.sha512),
              "signature_advisories::algorithm_confusion_between_key_kinds_and_hash_sizes")


def qstash_rows(now):
    kept = ("valid", "last_character", "padded", "exp_1e400", "exp_absent", "duplicate", "crit", "empty_key", "hs512")
    for row in token_rows(now, "qstash", "Upstash"):
        if row["id"].split(".")[1] in kept:
            yield row

    def row(name, title, token, test, right="reject", **more):
        return {"id": f"qstash.{name}", "kind": "qstash", "issuer": "Upstash", "title": title, "token": token,
                "right": right, "test": test, **more}

    yield row("expired", "expired ten seconds ago: reported as", sign(claims(now, "Upstash", exp=str(now - 10), nbf="0")),
              "signature_contract::expired_says_by_how_many_seconds", right="(?i)expired", show="error")
    yield row("tolerance", "the same, with a clock tolerance of 60 s",
              sign(claims(now, "Upstash", exp=str(now - 10), nbf="0")),
              "signature_contract::the_receiver_s_tolerance_holds_where_the_call_has_none", right="accept", tolerance=60)
    yield row("body_absent", "no `body` claim: reported as", sign(claims(now, "Upstash", body=None)),
              "signature_qstash::iat_and_jti_may_be_absent_but_keep_their_type", right=r"^(SignatureError|claim_missing)\b.*body", show="error")
    yield row("url", "another URL: reported as", sign(claims(now, "Upstash", sub='"https://example.com/hook/"')),
              "signature_qstash::url_body_and_algorithm_are_bound_as_in_chronq", right="url_mismatch|[Ii]nvalid subject", show="error")


def webhook_item(identifier, timestamp, body, secret=SECRET):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message = f"{identifier}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()


def webhook_rows(now):
    def row(name, title, test, right="reject", identifier="msg_1", timestamp=str(now), item=None, body=BODY, **more):
        item = item or webhook_item(identifier, timestamp, body)
        return {"id": f"webhook.{name}", "kind": "webhook", "title": title, "right": right, "test": test,
                "headers": {"webhook-id": identifier, "webhook-timestamp": timestamp, "webhook-signature": item},
                "body": base64.b64encode(body).decode(), **more}

    valid = webhook_item("msg_1", str(now), BODY)
    yield row("valid", "a valid webhook", "signature_webhooks::claims_are_what_is_signed_and_nothing_else", right="accept")
    replaced = webhook_item("msg_1", str(now), "\ufffd".encode())
    for name, body in (("bytes_ff", b"\xff"), ("bytes_fe", b"\xfe")):
        yield row(name, f"the body byte `{body.hex()}` under the signature of `efbfbd` (U+FFFD)",
                  "signature_webhooks::raw_bytes_are_hashed", item=replaced, body=body)
    yield row("bytes_own", "the body byte `ff` under its own signature", "signature_webhooks::raw_bytes_are_hashed",
              right="accept", body=b"\xff")
    # A digit of 43 with two unused bits, before the padding.
    stray = valid[:-2] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".index(valid[-2]) ^ 1] + "="
    strict = "signature_webhooks::items_are_strict_base64_of_32_bytes"
    yield row("last_character", "the signature's last digit changed, in its unused bits", strict, item=stray)
    yield row("newline", "a newline appended to the signature", strict, item=valid + "\n")
    stamp = "signature_webhooks::a_timestamp_is_canonical_digits"
    yield row("timestamp_text", "the timestamp with text behind it", stamp, timestamp=f"{now}abc", item=valid)
    yield row("timestamp_fraction", "the timestamp with a fraction", stamp, timestamp=f"{now}.9", item=valid)
    moved_body = f"{now}.{{}}".encode()
    yield row("full_stop", "digits of the body moved into the timestamp (an id with a full stop)",
              "signature_webhooks::an_id_with_a_full_stop_could_belong_to_another_body",
              identifier=f"msg_1.{now - 1}", timestamp=str(now), item=webhook_item("msg_1", str(now - 1), moved_body),
              body=b"{}")
    short = "whsec_" + base64.b64encode(b"k").decode()
    yield row("short_secret", "a secret of one byte", "signature_keys::webhook_secrets_are_whsec_and_strict_base64_of_24_to_64_bytes",
              key=short, item=webhook_item("msg_1", str(now), BODY, short))


def edited_tokens(now, count=4000):
    """Tokens to ask everyone: valid ones, edited ones, and signed ones whose header or claims are odd."""
    rng = random.Random(20231114)
    valid = claims(now, "chronq")
    values = ["0", "-1", "1.5", "1e5", "1e307", "1e-400", "-0", "9" * 30, "9" * 300, "true", "null", "[]", "{}",
              '""', r'"\u0000\ud83d\ude00\/\b"', '{"a":{"b":[{"c":[[]]}]}}', '"é"', str(now + 300), '"chronq"']
    headers = [HEADER, '{"alg":"HS256"}', '{"typ":"JWT","alg":"HS256","kid":"any"}', ' { "alg" : "HS256" } ',
               '{"alg":"HS256","extra":{"a":[1,2]}}', '{"alg":"HS256","kid":1}', '{"alg":"HS256","typ":"jwt"}',
               '{"alg":"HS256","cty":"x"}', '{"alg":"HS256","iss":"x"}']
    for header in headers:
        for value in values:
            yield sign(claims(now, "chronq", extra=value), header=header)
    for name in ("iss", "sub", "iat", "nbf", "exp", "jti", "body", "aud", "cnf", "nonce", "é", r"\u0061"):
        yield sign(claims(now, "chronq", **{name: None}))
        for value in values:
            yield sign(claims(now, "chronq", **{name: value}))
    token = sign(valid)
    strays = ALPHABET + "=+/. \t\n,"
    while count:
        count -= 1
        edited = list(token)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(len(edited) + 1)
            kind = rng.randrange(3)
            if kind == 0 or at == len(edited):
                edited.insert(at, rng.choice(strays))
            elif kind == 1:
                edited[at] = rng.choice(strays)
            else:
                del edited[at]
        yield "".join(edited)
    letters = list('{}[]:," \\eE+-.0123456789aisxu')
    for _ in range(1000):
        edited = list(valid)
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.randrange(len(edited))
            if rng.random() < 0.5:
                edited[at] = rng.choice(letters)
            else:
                edited.insert(at, rng.choice(letters))
        yield sign("".join(edited))
