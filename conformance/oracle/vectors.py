#!/usr/bin/env python3
"""Makes the signature vectors, from the standard library alone.

`python3 vectors.py` writes ../cases/verify.json and ../cases/verify_dialects.json; `--check` says
whether they are as they would be written. Nothing here is chronq's code: the tokens are put together
by hand from hmac, hashlib and base64 (Ed25519 from ed25519.py beside this, after the RFC), and every expected answer is a literal taken from
contract/signature.md.
"""

import base64
import hashlib
import hmac
import json
import sys
from pathlib import Path

import ed25519

CURRENT = "sig_current-key-for-tests-only-0000000000000000000"
NEXT = "sig_next-key-for-tests-only-0000000000000000000000"
OTHER = "sig_a-key-that-nobody-configured-00000000000000000"
NOW = 1_796_000_000
URL = "https://example.com/hook?a=1&b=two"
BODY = b'{"orderId":42}'
JTI = "jwt_019b2d05-7f00-7abc-8def-0123456789ab"
JOSE = b'{"alg":"HS256","typ":"JWT"}'


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def body_claim(body: bytes = BODY) -> str:
    return b64url(hashlib.sha256(body).digest())


def claims(**changes) -> dict:
    """The claims of a delivery signed just now; None removes one."""
    made = {
        "iss": "chronq",
        "sub": URL,
        "iat": NOW,
        "nbf": NOW - 5,
        "exp": NOW + 300,
        "jti": JTI,
        "body": body_claim(),
    }
    made.update(changes)
    return {name: value for name, value in made.items() if value is not None}


def mac(text: str, key: str = CURRENT, digest=hashlib.sha256) -> bytes:
    return hmac.new(key.encode(), text.encode(), digest).digest()


def token_of_segments(header: str, payload: str, key: str = CURRENT, signature=None) -> str:
    signing_input = f"{header}.{payload}"
    signature = b64url(mac(signing_input, key)) if signature is None else signature
    return f"{signing_input}.{signature}"


def token_of_bytes(payload: bytes, header: bytes = JOSE, key: str = CURRENT) -> str:
    return token_of_segments(b64url(header), b64url(payload), key)


def compact(value) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def token(header: bytes = JOSE, key: str = CURRENT, **changes) -> str:
    return token_of_bytes(compact(claims(**changes)), header, key)


class Suite:
    """Cases in the making."""

    def __init__(self):
        self.cases = []

    def add(self, id, requirement, comment, expect, *, receiver=None, **given):
        receiver = {"currentSigningKey": CURRENT, "nextSigningKey": NEXT} | (receiver or {})
        receiver = {name: value for name, value in receiver.items() if value is not None}
        delivery = {"signature": token(), "body": {"utf8": BODY.decode()}, "url": URL, "now": NOW} | given
        if "headers" in delivery:
            delivery.pop("signature")
        self.cases.append(
            {
                "id": f"verify.{id}",
                "requirement": f"signature.md: {requirement}",
                "comment": comment,
                "input": {"receiver": receiver} | delivery,
                "expect": expect,
            }
        )


def accepted(key="current", **more):
    return {"ok": {"key": key} | more}


def refused(code, **more):
    return {"error": {"kind": "SignatureError", "code": code} | more}


def misuse(option, **more):
    return {"error": {"kind": "InvalidInput", "option": option} | more}


def add_token(suite):
    at = "The token"
    everything = claims() | {"key": "current"}
    suite.add("valid", at, "the token that the contract describes, with every claim in the answer", {"ok": everything})
    suite.add("valid.without_url", at, "the url is optional: null is not given", accepted(), url=None)
    suite.add("valid.next_key", at, "the second key matches: the answer says so", accepted("next"), signature=token(key=NEXT))
    suite.add("valid.one_key", at, "a receiver with one key", accepted(), receiver={"nextSigningKey": None})
    suite.add("valid.empty_body", at, "an empty body is the hash of nothing", accepted(), signature=token(body=body_claim(b"")), body={"utf8": ""})
    suite.add("valid.bytes", at, "the body as bytes", accepted(), body={"base64": base64.b64encode(BODY).decode()})
    odd = b"\xff\x00\xfe raw"
    suite.add("valid.any_bytes", at, "the body is hashed, never read: bytes that are no text", accepted(), signature=token(body=body_claim(odd)), body={"base64": base64.b64encode(odd).decode()})
    text = 'naïve "☃" 𝄞\r\n'
    suite.add("valid.text_is_utf8", at, "text is its UTF-8", accepted(), signature=token(body=body_claim(text.encode())), body={"utf8": text})
    suite.add("valid.unknown_claims", at, "unknown claims are ignored", accepted(), signature=token(extra={"a": [1, None]}, aud="x"))
    suite.add("valid.max_unix_seconds", at, "the last second of the year 9999 is a legal exp", accepted(), signature=token(exp=253_402_300_799))
    suite.add("valid.iat_is_not_compared", at, "iat is not compared with now", accepted(), signature=token(iat=NOW + 10_000))


def add_body(suite):
    at = "Verification 1: the body"
    for name, value in [("object", {"orderId": 42}), ("number", 7), ("list", [1]), ("null", None)]:
        suite.add(f"body.{name}", at, f"a body that is {name}: something parsed it", refused("body_not_raw"), body={"notRaw": value})
    suite.add("body.lone_surrogate", at, "text without a UTF-8 form", refused("body_not_raw"), body={"loneSurrogate": True})
    suite.add("body.before_signature", at, "the body is looked at first", refused("body_not_raw"), body={"notRaw": {}}, signature=None)


def add_signature(suite):
    at = "Verification 2: the signature's value"
    good = token()
    suite.add("signature.absent", at, "no header", refused("signature_missing", message={"$contains": "chronq-signature"}), signature=None)
    suite.add("signature.empty", at, "an empty header", refused("signature_missing"), signature="")
    suite.add("signature.blank", at, "a header of spaces and tabs", refused("signature_missing"), signature=" \t ")
    suite.add("signature.list_of_one", at, "a list of one is that one", accepted(), signature=[good])
    suite.add("signature.empty_list", at, "a list of none is none", refused("signature_missing"), signature=[])
    suite.add("signature.list_of_two", at, "two values", refused("signature_ambiguous"), signature=[good, good])
    suite.add("signature.comma", at, "two headers folded into one", refused("signature_ambiguous"), signature=f"{good}, {good}")
    suite.add("signature.trimmed", at, "spaces and tabs at the ends are trimmed", accepted(), signature=f" \t{good}\t ")
    for name, text in [("newline_after", good + "\n"), ("newline_before", "\n" + good), ("nbsp", good + "\u00a0"), ("nul", good + "\0"), ("non_ascii", good[:-1] + "é"), ("fullwidth_dot", good.replace(".", "．"))]:
        suite.add(f"signature.{name}", at, "nothing else is trimmed, and only ASCII is read", refused("signature_malformed"), signature=text)
    suite.add("signature.number", at, "not text at all", refused("signature_malformed"), signature={"value": 7})


def add_shape(suite):
    at = "Verification 3: two dots, 8,192 bytes"
    header, payload, signature = token().split(".")
    longest = b64url_payload_of(8_192 - len(header) - 2 - 43)
    suite.add("shape.longest", at, "8,192 bytes are legal", accepted(), signature=token_of_segments(header, longest))
    too_long = b64url_payload_of(8_193 - len(header) - 2 - 43)
    suite.add("shape.too_long", at, "8,193 bytes are not", refused("signature_malformed"), signature=token_of_segments(header, too_long))
    for name, text in [
        ("no_dot", header),
        ("one_dot", f"{header}.{payload}"),
        ("three_dots", f"{header}.{payload}.{signature}."),
        ("four_dots", "...."),
        ("dots_only", ".." ),
        ("kilobytes_of_dots", "." * 4_096),
        ("five_parts", f"{header}.{payload}.{signature}.x.y"),
        ("empty_header", f".{payload}.{signature}"),
        ("empty_payload", token_of_segments(header, "")),
        ("json", json.dumps({"protected": header, "payload": payload, "signature": signature}).replace(",", ";")),
        ("bearer", f"Bearer {token()}"),
    ]:
        suite.add(f"shape.{name}", at, "a compact token has exactly two dots, and nothing around it", refused("signature_malformed"), signature=text)


    spaced = f"{header}. {payload}.{signature}"
    suite.add("shape.space_inside", at, "a space in the payload was not signed, and is not looked at before", refused("signature_mismatch"), signature=spaced)


def b64url_payload_of(length: int) -> str:
    """A legal payload segment of exactly so many characters."""
    plain = len(compact(claims(pad="")))
    wanted = length * 3 // 4
    text = b64url(compact(claims(pad="x" * (wanted - plain))))
    assert len(text) == length, (len(text), length)
    return text


def add_header(suite):
    at = "Verification 4: the JOSE header"

    def with_header(text, **more):
        return token(header=text if isinstance(text, bytes) else compact(text), **more)

    for alg in ["none", "None", "NONE", "HS512", "HS384", "hs256", "RS256", "ES256", "EdDSA", "", "HS256 ", None, 256, ["HS256"]]:
        shown = json.dumps(alg).strip('"').replace(" ", "_") or "empty"
        name = "".join(letter if letter.isalnum() else "_" for letter in shown)
        suite.add(f"alg.{name}", at, "the one algorithm is HS256, spelled so", refused("algorithm_not_allowed"), signature=with_header({"alg": alg, "typ": "JWT"}))
    suite.add("alg.missing", at, "no alg", refused("algorithm_not_allowed"), signature=with_header({"typ": "JWT"}))
    signing_input = f'{b64url(compact({"alg": "none", "typ": "JWT"}))}.{b64url(compact(claims()))}'
    suite.add("alg.none_unsigned", at, "alg none with an empty signature", refused("algorithm_not_allowed"), signature=f"{signing_input}.")
    hs512 = f'{b64url(compact({"alg": "HS512", "typ": "JWT"}))}.{b64url(compact(claims()))}'
    suite.add("alg.really_hs512", at, "HS512 under the right key", refused("algorithm_not_allowed"), signature=f"{hs512}.{b64url(mac(hs512, digest=hashlib.sha512))}")
    suite.add("header.typ_absent", at, "typ may be absent", accepted(), signature=with_header({"alg": "HS256"}))
    suite.add("header.kid", at, "kid is ignored", accepted(), signature=with_header({"alg": "HS256", "typ": "JWT", "kid": "2"}))
    for name, header in [("kid_number", {"kid": 2}), ("typ_lower", {"typ": "jwt"}), ("typ_jose", {"typ": "JOSE"}), ("typ_null", {"typ": None})]:
        suite.add(f"header.{name}", at, "kid is a string, typ is JWT", refused("signature_malformed"), signature=with_header({"alg": "HS256", "typ": "JWT"} | header))
    for name, value in [("crit", ["exp"]), ("b64", False), ("zip", "DEF"), ("enc", "A256GCM"), ("jwk", {"kty": "oct"}), ("jku", "https://evil.example"), ("x5u", "https://evil.example"), ("x5c", [])]:
        suite.add(f"header.{name}", at, "a header that would change what is verified, or with what", refused("signature_malformed"), signature=with_header({"alg": "HS256", "typ": "JWT", name: value}))
    for name, text in [
        ("duplicate", b'{"alg":"HS256","alg":"HS256"}'),
        ("duplicate_escaped", b'{"alg":"HS256","\\u0061lg":"HS256"}'),
        ("list", b'["HS256"]'),
        ("text", b'"HS256"'),
        ("not_json", b"alg=HS256"),
        ("trailing", JOSE + b"x"),
        ("bom", b"\xef\xbb\xbf" + JOSE),
        ("not_utf8", b'{"alg":"HS256","k":"\xff"}'),
        ("too_long", compact({"alg": "HS256", "kid": "k" * (257 - len(compact({"alg": "HS256", "kid": ""})))})),
    ]:
        suite.add(f"header.{name}", at, "a JSON object of at most 256 bytes, no member twice", refused("signature_malformed"), signature=with_header(text))
    suite.add("header.longest", at, "256 bytes are legal", accepted(), signature=with_header({"alg": "HS256", "kid": "k" * (256 - len(compact({"alg": "HS256", "kid": ""})))}))
    header, payload = b64url(JOSE), b64url(compact(claims()))
    for name, text in [("padded", header + "="), ("alphabet", header[:-1] + "+"), ("space", header[:4] + " " + header[4:])]:
        suite.add(f"header.{name}", at, "strict base64url", refused("signature_malformed"), signature=token_of_segments(text, payload))
    unused = b64url(compact({"alg": "HS256", "kid": "k"}))
    suite.add("header.unused_bits", at, "the unused bits of the last character are zero", refused("signature_malformed"), signature=token_of_segments(next_letter(unused), payload))


def next_letter(text: str) -> str:
    """The same bytes in another, wrong spelling: an unused bit of the last character is set."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert len(text) % 4 in (2, 3), "no unused bits"
    return text[:-1] + alphabet[alphabet.index(text[-1]) + 1]


def add_mac(suite):
    at = "Verification 5: the signature's bytes"
    header, payload = b64url(JOSE), b64url(compact(claims()))
    whole = mac(f"{header}.{payload}")
    for length in range(32):
        suite.add(f"mac.length_{length}", at, "a MAC is 32 bytes: no prefix of it will do", refused("signature_malformed"), signature=token_of_segments(header, payload, signature=b64url(whole[:length])))
    suite.add("mac.length_33", at, "nor more", refused("signature_malformed"), signature=token_of_segments(header, payload, signature=b64url(whole + b"\0")))
    good = b64url(whole)
    for name, text in [("padded", good + "="), ("unused_bits", next_letter(good)), ("standard_alphabet", good[:10] + "+/" + good[12:]), ("hex", whole.hex())]:
        suite.add(f"mac.{name}", at, "strict base64url of exactly 32 bytes", refused("signature_malformed"), signature=token_of_segments(header, payload, signature=text))
    at = "Verification 6: the keys"
    suite.add("key.wrong", at, "signed with another key", refused("signature_mismatch"), signature=token(key=OTHER))
    suite.add("key.zero", at, "a MAC of zeros", refused("signature_mismatch"), signature=token_of_segments(header, payload, signature=b64url(bytes(32))))
    for bit in [0, 7, 8, 255]:
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        suite.add(f"key.flipped_bit_{bit}", at, "one bit of the MAC differs", refused("signature_mismatch"), signature=token_of_segments(header, payload, signature=b64url(bytes(flipped))))
    forged = b64url(compact(claims(sub="https://evil.example/")))
    suite.add("key.tampered_payload", at, "another payload under an old MAC", refused("signature_mismatch"), signature=f"{header}.{forged}.{good}")
    other_header = b64url(compact({"alg": "HS256", "typ": "JWT", "kid": "x"}))
    suite.add("key.tampered_header", at, "another header under an old MAC", refused("signature_mismatch"), signature=f"{other_header}.{payload}.{good}")
    junk = token_of_segments(header, "!!!", key=OTHER)
    suite.add("key.before_payload", at, "nothing of the payload is decoded before a key has matched", refused("signature_mismatch"), signature=junk)
    suite.add("key.one_key_only", at, "the second key does not count where it was not given", refused("signature_mismatch"), signature=token(key=NEXT), receiver={"nextSigningKey": None})
    suite.add("key.own_failure", at, "when the second key matched, the answer is that token's own failure", refused("expired", seconds=100), signature=token(key=NEXT, exp=NOW - 100, nbf=NOW - 400))


def add_payload(suite):
    at = "Verification 7: the payload"
    header = b64url(JOSE)
    base = compact(claims()).decode()
    deep = lambda depth: "[" * (depth - 1) + "]" * (depth - 1)
    for name, text in [
        ("list", "[]"),
        ("text", '"chronq"'),
        ("not_json", "iss=chronq"),
        ("trailing", base + "x"),
        ("two_objects", base + base),
        ("duplicate", base[:-1] + ',"sub":"https://evil.example/"}'),
        ("duplicate_escaped", base[:-1] + ',"\\u0073ub":"https://evil.example/"}'),
        ("duplicate_unknown", base[:-1] + ',"x":1,"x":1}'),
        ("duplicate_nested", base[:-1] + ',"x":{"y":[{"z":1,"z":2}]}}'),
        ("too_deep", base[:-1] + ',"x":' + deep(9) + "}"),
        ("bom", "\ufeff" + base),
        ("single_quotes", base.replace('"', "'")),
        ("trailing_comma", base[:-1] + ",}"),
        ("comment", base[:-1] + "/*x*/}"),
        ("nan", base[:-1] + ',"x":NaN}'),
        ("lone_surrogate", base[:-1] + ',"x":"\\ud800"}'),
        ("control_character", base[:-1] + ',"x":"a\nb"}'),
    ]:
        suite.add(f"payload.{name}", at, "a JSON object, no member twice at any depth, at most 8 deep", refused("signature_malformed"), signature=token_of_bytes(text.encode()))
    suite.add("payload.not_utf8", at, "strict UTF-8", refused("signature_malformed"), signature=token_of_bytes(base[:-1].encode() + b',"x":"\xff"}'))
    suite.add("payload.utf16", at, "strict UTF-8", refused("signature_malformed"), signature=token_of_bytes(base.encode("utf-16")))
    suite.add("payload.deepest", at, "8 deep is legal, the object itself is 1", accepted(), signature=token_of_bytes((base[:-1] + ',"x":' + deep(8) + "}").encode()))
    suite.add("payload.white_space", at, "JSON's own white space is legal", accepted(), signature=token_of_bytes(f" {base}\n".encode()))
    payload = b64url(base.encode())
    for name, text in [("padded", payload + "="), ("alphabet", payload[:-1] + "/"), ("newline", payload[:8] + "\n" + payload[8:])]:
        suite.add(f"payload.{name}", at, "strict base64url", refused("signature_malformed"), signature=token_of_segments(header, text))


def add_claims(suite):
    at = "Verification 8: the claims"
    for name in claims():
        suite.add(f"claim.{name}.missing", at, f"every claim is required: {name}", refused("claim_missing", claim=name), signature=token(**{name: None}))
    for name, wrong in [("iss", 1), ("sub", None), ("sub", ["x"]), ("jti", 7), ("body", 7), ("iat", "1796000000"), ("nbf", True), ("exp", "1796000300")]:
        text = compact(claims(**{name: "@"}))
        text = text.replace(b'"@"', compact(wrong))
        kind = type(wrong).__name__.lower()
        suite.add(f"claim.{name}.{kind}", at, f"{name} has one type", refused("claim_invalid", claim=name), signature=token_of_bytes(text))
    for name in ["iat", "nbf", "exp"]:
        for kind, text in [("fraction", "1796000300.0"), ("exponent", "1796000300e0"), ("negative", "-1"), ("too_large", "253402300800"), ("huge", "1" + "0" * 50), ("minus_zero", "-0")]:
            written = compact(claims(**{name: "@"})).replace(b'"@"', text.encode())
            suite.add(f"claim.{name}.{kind}", at, "numbers are integers 0..253402300799", refused("claim_invalid", claim=name), signature=token_of_bytes(written))
        written = compact(claims(**{name: "@"})).replace(b'"@"', b"1e400")
        suite.add(f"claim.{name}.infinite", at, "a number on which JSON parsers disagree is no JSON to rely on", refused("signature_malformed"), signature=token_of_bytes(written))
    for kind, value in [("short", body_claim()[:-1]), ("long", body_claim() + "A"), ("padded", body_claim() + "="), ("unused_bits", next_letter(body_claim())), ("alphabet", "+" + body_claim()[1:]), ("hex", hashlib.sha256(BODY).hexdigest()), ("empty", "")]:
        suite.add(f"claim.body.{kind}", at, "the body claim is 43 characters of strict base64url", refused("claim_invalid", claim="body"), signature=token(body=value))
    suite.add("claim.exp.not_after_nbf", at, "exp lies after nbf", refused("claim_invalid", claim="exp"), signature=token(nbf=NOW, exp=NOW))
    suite.add("claim.exp.one", at, "exp 1", refused("claim_invalid", claim="exp"), signature=token(exp=1))
    at = "Verification 9: the issuer"
    for name, value in [("other", "Upstash"), ("case", "Chronq"), ("empty", ""), ("space", "chronq ")]:
        suite.add(f"claim.iss.{name}", at, "iss is chronq", refused("claim_invalid", claim="iss"), signature=token(iss=value))
    suite.add("claim.iss.before_time", at, "the issuer is looked at before the dates", refused("claim_invalid", claim="iss"), signature=token(iss="x", exp=NOW - 1))


def add_time(suite):
    at = "Verification 10: the dates"
    exp, nbf = NOW + 300, NOW - 5
    suite.add("time.last_second", at, "now = exp − 1", accepted(), now=exp - 1)
    suite.add("time.expired", at, "now = exp", refused("expired", seconds=0), now=exp)
    suite.add("time.expired_by_ten", at, "now = exp + 10", refused("expired", seconds=10), now=exp + 10)
    suite.add("time.first_second", at, "now = nbf", accepted(), now=nbf)
    suite.add("time.too_early", at, "now = nbf − 1", refused("not_yet_valid", seconds=1), now=nbf - 1)
    tolerant = {"clockToleranceSeconds": 60}
    suite.add("time.tolerated_late", at, "the tolerance moves the end", accepted(), now=exp + 59, receiver=tolerant)
    suite.add("time.tolerated_late_end", at, "to exp + tolerance, exclusive", refused("expired", seconds=0), now=exp + 60, receiver=tolerant)
    suite.add("time.tolerated_early", at, "and the beginning", accepted(), now=nbf - 60, receiver=tolerant)
    suite.add("time.tolerated_early_end", at, "to nbf − tolerance", refused("not_yet_valid", seconds=1), now=nbf - 61, receiver=tolerant)
    suite.add("time.per_call_tolerance", at, "one call may have its own tolerance", accepted(), now=exp + 9, clockToleranceSeconds=10)
    suite.add("time.per_call_none", at, "which may be none", refused("expired"), now=exp, receiver=tolerant, clockToleranceSeconds=0)
    suite.add("time.largest_tolerance", at, "300 s are legal", accepted(), now=exp + 299, receiver={"clockToleranceSeconds": 300})
    suite.add("time.before_url", at, "the dates are looked at before the url", refused("expired"), now=exp, url="https://evil.example/")
    at = "Verification: arguments"
    for name, value in [("milliseconds", NOW * 1000), ("above_1e11", 100_000_000_001), ("fraction", NOW + 0.5)]:
        suite.add(f"now.{name}", at, "now is whole unix seconds, at most 10¹¹", misuse("now"), now=value)
    for name, value in [("negative", -1), ("too_large", 301), ("fraction", 1.5)]:
        suite.add(f"tolerance.{name}", at, "a tolerance is 0..300 whole seconds", misuse({"$any": "string"}), receiver={"clockToleranceSeconds": value})
        suite.add(f"tolerance.call.{name}", at, "a tolerance is 0..300 whole seconds", misuse({"$any": "string"}), clockToleranceSeconds=value)


def add_url(suite):
    at = "Verification 11: the url"
    signed = "https://example.com:8443/a/b%2fc?x=1&y=2"
    for name, url, kind in [
        ("scheme", "http://example.com:8443/a/b%2fc?x=1&y=2", "scheme"),
        ("host_case", "https://Example.com:8443/a/b%2fc?x=1&y=2", "host_case"),
        ("host", "https://example.org:8443/a/b%2fc?x=1&y=2", "host"),
        ("port", "https://example.com:9443/a/b%2fc?x=1&y=2", "port"),
        ("percent_encoding", "https://example.com:8443/a/b%2Fc?x=1&y=2", "percent_encoding"),
        ("path", "https://example.com:8443/a/d?x=1&y=2", "path"),
        ("query_order", "https://example.com:8443/a/b%2fc?y=2&x=1", "query_order"),
        ("query", "https://example.com:8443/a/b%2fc?x=1", "query"),
        ("fragment", signed + "#top", "fragment"),
        ("first_applies", "http://example.org/other", "scheme"),
    ]:
        suite.add(f"url.{name}", at, "compared byte by byte; the kind of difference is the first that applies", refused("url_mismatch", difference=kind), signature=token(sub=signed), url=url)
    suite.add("url.trailing_slash", at, "a slash more", refused("url_mismatch", difference="trailing_slash"), signature=token(sub="https://example.com/hook"), url="https://example.com/hook/")
    suite.add("url.default_port", at, "the default port written out", refused("url_mismatch", difference="default_port"), signature=token(sub="https://example.com/hook"), url="https://example.com:443/hook")
    suite.add("url.unnormalised", at, "nothing is normalised", accepted(), signature=token(sub="HTTP://h/a/../b?%7e"), url="HTTP://h/a/../b?%7e")
    suite.add("url.empty", at, "an empty url is given, and differs", refused("url_mismatch"), url="")
    suite.add("url.before_body", at, "the url is looked at before the body", refused("url_mismatch"), url="https://evil.example/", body={"utf8": "x"})


def add_body_hash(suite):
    at = "Verification 12: the body's hash"
    for name, body in [("other", b"{}"), ("reserialised", b'{ "orderId": 42 }'), ("newline", BODY + b"\n"), ("empty", b""), ("bit", bytes([BODY[0] ^ 1]) + BODY[1:])]:
        suite.add(f"body_hash.{name}", at, "the exact bytes were signed", refused("body_mismatch"), body={"utf8": body.decode()})


def add_construction(suite):
    at = "Construction"
    jwk = json.dumps({"kty": "oct", "k": "x" * 43})
    pem = "-----BEGIN-PUBLIC-KEY-----" + "x" * 20
    for name, key in [("empty", ""), ("newline", CURRENT + "\n"), ("space", "sig_ " + CURRENT), ("tab", CURRENT + "\t"), ("control", CURRENT + "\x07"), ("short", "k" * 31), ("long", "k" * 513), ("pem", pem), ("ssh", "ssh-rsa-" + "A" * 40), ("jwk", jwk), ("nbsp", CURRENT + "\u00a0")]:
        suite.add(f"construct.current.{name}", at, "a key that cannot be one is refused by the argument's name", misuse("currentSigningKey"), receiver={"currentSigningKey": key})
    suite.add("construct.next.empty", at, "an empty next key is an error, an absent one is not", misuse("nextSigningKey"), receiver={"nextSigningKey": ""})
    suite.add("construct.next.short", at, "the next key is held to the same rules", misuse("nextSigningKey"), receiver={"nextSigningKey": "k" * 31})
    for length in [32, 512]:
        key = "k" * length
        suite.add(f"construct.length_{length}", at, "32 to 512 bytes are legal", accepted(), receiver={"currentSigningKey": key}, signature=token(key=key))
    suite.add("construct.never_shows_the_key", at, "the message names the argument, never the value", misuse("currentSigningKey", message={"$not": {"$contains": "hunter2"}}), receiver={"currentSigningKey": "hunter2hunter2"})
    suite.add("construct.utf8_key", at, "the key is the UTF-8 of its text", accepted(), receiver={"currentSigningKey": "schlüssel-" * 4}, signature=token(key="schlüssel-" * 4))


def add_headers(suite):
    at = "Verification: headers"
    good = token()
    suite.add("headers.picked", at, "the dialect's header is picked", accepted(), headers={"content-type": "x", "chronq-signature": good})
    suite.add("headers.any_case", at, "in any case", accepted(), headers={"Chronq-Signature": good})
    suite.add("headers.missing", at, "and named where it is missing", refused("signature_missing", message={"$contains": "chronq-signature"}), headers={"upstash-signature": good})
    suite.add("headers.list", at, "two values are two", refused("signature_ambiguous"), headers={"chronq-signature": [good, good]})


def add_qstash(suite):
    at = "Dialect qstash"
    dialect = {"dialect": "qstash", "currentSigningKey": "a-qstash-key-need-not-begin-with-sig", "nextSigningKey": None}
    key = dialect["currentSigningKey"]

    def upstash(**changes):
        return token(key=key, **({"iss": "Upstash"} | changes))

    suite.add("qstash.valid", at, "iss is Upstash", accepted(), receiver=dialect, headers={"Upstash-Signature": upstash()})
    suite.add("qstash.value", at, "the value alone", accepted(), receiver=dialect, signature=upstash())
    suite.add("qstash.padded_body", at, "the body claim may carry one =", accepted(), receiver=dialect, signature=upstash(body=body_claim() + "="))
    suite.add("qstash.twice_padded_body", at, "and no more", refused("claim_invalid", claim="body"), receiver=dialect, signature=upstash(body=body_claim() + "=="))
    suite.add("qstash.without_iat_jti", at, "iat and jti may be absent", accepted(), receiver=dialect, signature=upstash(iat=None, jti=None))
    suite.add("qstash.without_exp", at, "exp may not", refused("claim_missing", claim="exp"), receiver=dialect, signature=upstash(exp=None))
    written = compact(claims(iss="Upstash", exp="@")).replace(b'"@"', str(NOW + 1).encode() + b".75")
    fractional = token_of_bytes(written, key=key)
    suite.add("qstash.fraction_floors", at, "fractional dates floor", accepted(), receiver=dialect, signature=fractional, now=NOW)
    suite.add("qstash.fraction_floors_expired", at, "so this one is over", refused("expired", seconds=0), receiver=dialect, signature=fractional, now=NOW + 1)
    suite.add("qstash.other_issuer", at, "chronq is another issuer", refused("claim_invalid", claim="iss"), receiver=dialect, signature=token(key=key))
    suite.add("qstash.header_missing", at, "its own header is asked for", refused("signature_missing", message={"$contains": "upstash-signature"}), receiver=dialect, headers={"chronq-signature": upstash()})
    suite.add("qstash.hs512", at, "no other algorithm either", refused("algorithm_not_allowed"), receiver=dialect, signature=upstash(header=compact({"alg": "HS512", "typ": "JWT"})))


# The public example of the Standard Webhooks specification.
SPEC_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SPEC_ID, SPEC_TIME = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330
SPEC_BODY = '{"test": 2432232314}'
SPEC_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def webhook_signature(id=SPEC_ID, time=SPEC_TIME, body=SPEC_BODY.encode(), secret=SPEC_SECRET) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{id}.{time}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def add_webhooks(suite):
    assert webhook_signature() == SPEC_SIGNATURE
    for dialect, prefix in [("standard-webhooks", "webhook"), ("svix", "svix")]:
        at = f"Dialect {dialect}"
        receiver = {"dialect": dialect, "currentSigningKey": SPEC_SECRET, "nextSigningKey": None}
        name = dialect.replace("-", "_")

        def add(id, comment, expect, *, changes=None, now=SPEC_TIME, body=SPEC_BODY, receiver=receiver, prefix=prefix):
            headers = {"id": SPEC_ID, "timestamp": str(SPEC_TIME), "signature": SPEC_SIGNATURE} | (changes or {})
            headers = {f"{prefix}-{header}": value for header, value in headers.items() if value is not None}
            suite.add(f"{name}.{id}", at, comment, expect, receiver=receiver, headers=headers, body={"utf8": body}, url=None, now=now)

        zeros = "v1," + base64.b64encode(bytes(32)).decode()
        add("spec_vector", "the public example of the specification", accepted())
        add("several_items", "any item may match", accepted(), changes={"signature": f"{zeros} v2,xyz {SPEC_SIGNATURE}"})
        add("no_match", "no item matches", refused("signature_mismatch"), changes={"signature": zeros})
        add("unknown_versions", "no usable item", refused("signature_malformed"), changes={"signature": "v2,abc v3,def"})
        add("not_base64", "strict standard base64", refused("signature_malformed"), changes={"signature": SPEC_SIGNATURE.rstrip("=")})
        add("short_mac", "32 bytes after decoding", refused("signature_malformed"), changes={"signature": "v1," + base64.b64encode(b"x" * 31).decode()})
        add("other_body", "the raw bytes are signed", refused("signature_mismatch"), body=SPEC_BODY + " ")
        add("other_id", "the id is signed", refused("signature_mismatch"), changes={"id": "msg_other"})
        add("other_timestamp", "the timestamp is signed", refused("signature_mismatch"), changes={"timestamp": str(SPEC_TIME + 1)})
        for header in ["id", "timestamp", "signature"]:
            named = f"{prefix}-{header}" if dialect != "svix" else header
            add(f"missing_{header}", "a header that is missing is named", refused("signature_missing", message={"$contains": named}), changes={header: None})
        for kind, text in [("leading_zero", f"0{SPEC_TIME}"), ("sign", f"+{SPEC_TIME}"), ("fraction", f"{SPEC_TIME}.0"), ("text", "yesterday"), ("date", "2021-02-25T15:02:10Z")]:
            add(f"timestamp.{kind}", "a timestamp is canonical digits", refused("signature_malformed"), changes={"timestamp": text})
        add("last_second", "300 s late is in time", accepted(), now=SPEC_TIME + 300)
        add("expired", "301 s late is not", refused("expired", seconds=0), now=SPEC_TIME + 301)
        add("expired_by_ten", "ten seconds after its end", refused("expired", seconds=10), now=SPEC_TIME + 311)
        add("first_second", "300 s early is in time", accepted(), now=SPEC_TIME - 300)
        add("too_early", "301 s early is not", refused("not_yet_valid", seconds=1), now=SPEC_TIME - 301)
        add("tolerance", "the tolerance adds to it", accepted(), now=SPEC_TIME + 310, receiver=receiver | {"clockToleranceSeconds": 10})
        for kind, key in [("signature_as_secret", "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), ("not_base64", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!"), ("nothing", "whsec_"), ("short", "whsec_" + base64.b64encode(b"x" * 23).decode()), ("long", "whsec_" + base64.b64encode(b"x" * 65).decode())]:
            add(f"secret.{kind}", "a secret of the wrong shape is refused with a hint", misuse("currentSigningKey"), receiver=receiver | {"currentSigningKey": key})
        if dialect == "svix":
            add("webhook_set", "svix falls to the webhook set", accepted(), prefix="webhook")
            mixed = {"svix-id": SPEC_ID, "webhook-id": SPEC_ID, "webhook-timestamp": str(SPEC_TIME), "webhook-signature": SPEC_SIGNATURE}
            suite.add("svix.incomplete_set", at, "an incomplete svix set falls to the webhook set, whole", accepted(), receiver=receiver, headers=mixed, body={"utf8": SPEC_BODY}, url=None, now=SPEC_TIME)
        second = "whsec_" + base64.b64encode(b"another secret for tests only!!!").decode()
        add("next_key", "the second key matches", accepted("next"), changes={"signature": webhook_signature(secret=second)}, receiver=receiver | {"nextSigningKey": second})


SEED, OTHER_SEED = b"not a real private key, 32 bytes", b"another fake private key, 32 b.."


def whpk(data: bytes) -> str:
    return "whpk_" + base64.b64encode(data).decode()


def v1a_item(data: bytes) -> str:
    return "v1a," + base64.b64encode(data).decode()


def add_public_keys(suite):
    ed25519.check()
    at = "Further dialects: v1a"
    message = f"{SPEC_ID}.{SPEC_TIME}.{SPEC_BODY}".encode()
    key, good = ed25519.public_key(SEED), ed25519.sign(SEED, message)
    assert ed25519.verify(key, message, good)

    def add(id, comment, expect, signature, *, current=whpk(key), next=None, dialect="standard-webhooks", prefix="webhook", body=SPEC_BODY, now=SPEC_TIME):
        headers = {f"{prefix}-id": SPEC_ID, f"{prefix}-timestamp": str(SPEC_TIME), f"{prefix}-signature": signature}
        receiver = {"dialect": dialect, "currentSigningKey": current, "nextSigningKey": next}
        suite.add(f"v1a.{id}", at, comment, expect, receiver=receiver, headers=headers, body={"utf8": body}, url=None, now=now)

    item = v1a_item(good)
    add("valid", "a public key verifies what its private key signed", accepted(), item)
    add("svix", "under svix's header names too", accepted(), item, dialect="svix", prefix="svix")
    large = "x" * 20_000
    add("large_body", "whatever the body's size", accepted(), v1a_item(ed25519.sign(SEED, f"{SPEC_ID}.{SPEC_TIME}.{large}".encode())), body=large)
    add("other_key", "another private key signed", refused("signature_mismatch"), v1a_item(ed25519.sign(OTHER_SEED, message)))
    add("other_body", "the raw bytes are signed", refused("signature_mismatch"), item, body=SPEC_BODY + " ")
    add("flipped_bit", "one bit of the signature differs", refused("signature_mismatch"), v1a_item(bytes([good[0] ^ 1]) + good[1:]))
    moved = int.from_bytes(good[32:], "little") + ed25519.ORDER
    add("s_not_canonical", "S has one spelling, below the order", refused("signature_mismatch"), v1a_item(good[:32] + moved.to_bytes(32, "little")))
    add("r_small_order", "a signature whose point has a small order", refused("signature_mismatch"), v1a_item(ed25519.encoded((0, 1)) + good[32:]))
    add("zeros", "a signature of zeros", refused("signature_mismatch"), v1a_item(bytes(64)))
    for length in [32, 63, 65]:
        add(f"length_{length}", "64 bytes after decoding", refused("signature_malformed"), v1a_item((good + good)[:length]))
    add("unpadded", "strict standard base64", refused("signature_malformed"), item.rstrip("="))
    add("expired", "freshness as with v1, after the signature", refused("expired", seconds=0), item, now=SPEC_TIME + 301)
    add("mismatch_before_expired", "the signature comes before the age", refused("signature_mismatch"), v1a_item(bytes(64)), now=SPEC_TIME + 301)
    zeros = "v1," + base64.b64encode(bytes(32)).decode()
    add("beside_v1", "any item may match", accepted(), f"{zeros} {v1a_item(bytes(64))} {item}")
    add("v1_for_a_public_key", "no item that a public key can verify", refused("signature_malformed"), SPEC_SIGNATURE)
    add("v1a_for_a_secret", "no item that a secret can verify", refused("signature_malformed"), item, current=SPEC_SECRET)
    for id, signature, key_match in [("v1", SPEC_SIGNATURE, "current"), ("v1a", item, "next"), ("both", f"{item} {SPEC_SIGNATURE}", "current")]:
        add(f"secret_and_public.{id}", "a secret and a public key beside each other", accepted(key_match), signature, current=SPEC_SECRET, next=whpk(key))
    for id, signature, key_match in [("v1", SPEC_SIGNATURE, "next"), ("v1a", item, "current"), ("both", f"{SPEC_SIGNATURE} {item}", "current")]:
        add(f"public_and_secret.{id}", "and the other way round", accepted(key_match), signature, current=whpk(key), next=SPEC_SECRET)
    other = ed25519.public_key(OTHER_SEED)
    add("next_key", "two public keys, the second matches", accepted("next"), item, current=whpk(other), next=whpk(key))
    # With the neutral element as key, S = 0 and R = the neutral element would be a signature of everything.
    neutral = ed25519.encoded((0, 1))
    forged = neutral + bytes(32)
    assert ed25519.verify(neutral, message, forged)
    eighth = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
    assert ed25519.multiple(8, ed25519.decoded(eighth)) == (0, 1)
    again = (3 + ed25519.P).to_bytes(32, "little")
    assert ed25519.decoded((3).to_bytes(32, "little")) is not None and ed25519.decoded(again) is None
    off_curve = (2).to_bytes(32, "little")
    assert ed25519.decoded(off_curve) is None
    for id, text in [
        ("neutral", whpk(neutral)),
        ("order_8", whpk(eighth)),
        ("order_8_other_sign", whpk(eighth[:31] + bytes([eighth[31] | 0x80]))),
        ("zero", whpk(bytes(32))),
        ("not_canonical", whpk(again)),
        ("off_curve", whpk(off_curve)),
        ("short", whpk(key[:31])),
        ("long", whpk(key + b"x")),
        ("nothing", "whpk_"),
        ("unpadded", whpk(key).rstrip("=")),
        ("base64url", "whpk_" + base64.urlsafe_b64encode(b"\xff" * 32).decode()),
        ("hex", "whpk_" + key.hex()),
        ("white_space", whpk(key) + "\n"),
        ("private", "whsk_" + base64.b64encode(SEED).decode()),
    ]:
        add(f"key.{id}", "a public key is the one spelling of a usable point, in strict base64", misuse("currentSigningKey"), v1a_item(forged), current=text)
        if id in ("neutral", "short"):
            add(f"next.{id}", "whichever argument it is", misuse("nextSigningKey"), v1a_item(forged), current=SPEC_SECRET, next=text)


def files():
    chronq, dialects = Suite(), Suite()
    for add in [add_token, add_body, add_signature, add_shape, add_header, add_mac, add_payload, add_claims, add_time, add_url, add_body_hash, add_construction, add_headers]:
        add(chronq)
    for add in [add_qstash, add_webhooks, add_public_keys]:
        add(dialects)
    folder = Path(__file__).resolve().parent.parent / "cases"
    for name, suite in [("verify.json", chronq), ("verify_dialects.json", dialects)]:
        head = {"requirement": "signature.md", "op": "verify"}
        lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in suite.cases)
        text = json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
        yield folder / name, text


def main() -> int:
    stale = [path for path, text in files() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.name} is not what the oracle makes", file=sys.stderr)
        return 1 if stale else 0
    for path, text in files():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
