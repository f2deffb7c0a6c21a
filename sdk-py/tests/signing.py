"""Signs deliveries with the standard library alone, so that every test proves two implementations."""

import base64
import hashlib
import hmac
import json
from typing import Any

CURRENT = "sig_this-is-not-a-real-signing-key-current-00"
NEXT = "sig_this-is-not-a-real-signing-key-next-00000"
URL = "https://app.example.com/hook?a=1"
NOW = 1_795_996_800


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def claims_of(body: bytes, /, url: str = URL, now: int = NOW, **changes: Any) -> dict[str, Any]:
    claims = {
        "iss": "chronq",
        "sub": url,
        "iat": now,
        "nbf": now - 5,
        "exp": now + 300,
        "jti": "jwt_01936b0e-8d2c-7c3a-9f00-000000000001",
        "body": b64(hashlib.sha256(body).digest()),
    }
    return {name: value for name, value in (claims | changes).items() if value is not None}


def sign(claims: dict[str, Any], key: str = CURRENT, header: dict[str, Any] | None = None) -> str:
    head = {"alg": "HS256", "typ": "JWT"} if header is None else header
    signed = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
    return f"{signed}.{b64(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())}"


def token(body: bytes, /, key: str = CURRENT, url: str = URL, now: int = NOW, **changes: Any) -> str:
    return sign(claims_of(body, url, now, **changes), key)
