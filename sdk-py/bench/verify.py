"""Verification beside PyPI qstash, a hand-written floor, and SHA-256 alone.

    cargo xtask bench verify-python

Contenders take turns within each round; what counts is the ratio of their medians within this one run.
Every call is checked to have verified. Exits 1 where a goal is missed.
"""

import hashlib
import hmac
import json
import platform
import statistics
import sys
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import chronq
import qstash

ROUNDS = 9
SLICE_SECONDS = 0.05
CURRENT = "sig_this-is-not-a-real-signing-key-current-00"
NEXT = "sig_this-is-not-a-real-signing-key-next-00000"
HEADER = b'{"alg":"HS256","typ":"JWT"}'
URL = "https://app.example.com/hook"
SIZES = {"1 KiB": 1024, "64 KiB": 64 * 1024, "1 MiB": 1024 * 1024}


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(body: bytes, issuer: str, key: str) -> str:
    now = int(time.time())
    claims = {
        "iss": issuer,
        "sub": URL,
        "iat": now,
        "nbf": now - 5,
        "exp": now + 3600,
        "jti": "jwt_01936b0e-8d2c-7c3a-9f00-000000000001",
        "body": b64(hashlib.sha256(body).digest()),
    }
    signed = f"{b64(HEADER)}.{b64(json.dumps(claims).encode())}"
    return f"{signed}.{b64(hmac.digest(key.encode(), signed.encode(), 'sha256'))}"


def floor(token: str, body: bytes) -> dict[str, Any]:
    """Verify as a careful user would by hand, with the standard library; less strict than the contract."""
    signed, _, signature = token.rpartition(".")
    header, _, payload = signed.partition(".")
    if json.loads(urlsafe_b64decode(header + "=="))["alg"] != "HS256":
        raise ValueError("alg")
    given = urlsafe_b64decode(signature + "==")
    macs = [hmac.digest(key.encode(), signed.encode(), "sha256") for key in (CURRENT, NEXT)]
    if True not in [hmac.compare_digest(given, mac) for mac in macs]:
        raise ValueError("signature")
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(payload + "=="))
    now = time.time()
    if claims["iss"] != "chronq" or claims["sub"] != URL or not claims["nbf"] <= now < claims["exp"]:
        raise ValueError("claims")
    if not hmac.compare_digest(claims["body"], b64(hashlib.sha256(body).digest())):
        raise ValueError("body")
    return claims


def contenders(body: bytes) -> dict[str, Callable[[], object]]:
    text = body.decode()
    ours, theirs = chronq.Receiver(CURRENT, NEXT), qstash.Receiver(CURRENT, NEXT)
    token, by_next, foreign = (
        sign(body, "chronq", CURRENT),
        sign(body, "chronq", NEXT),
        sign(body, "Upstash", CURRENT),
    )
    assert ours.verify(signature=token, body=body, url=URL).key == "current"
    assert ours.verify(signature=by_next, body=body, url=URL).key == "next"
    return {
        "chronq": lambda: ours.verify(signature=token, body=body, url=URL),
        "chronq, second key": lambda: ours.verify(signature=by_next, body=body, url=URL),
        "chronq, text": lambda: ours.verify(signature=token, body=text, url=URL),
        # It takes text alone, and a server has bytes: whoever uses it decodes them.
        "qstash": lambda: theirs.verify(signature=foreign, body=body.decode(), url=URL),
        "qstash, text": lambda: theirs.verify(signature=foreign, body=text, url=URL),
        "by hand": lambda: floor(token, body),
        "sha256": lambda: hashlib.sha256(body).digest(),
    }


def calls_per_slice(call: Callable[[], object]) -> int:
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < SLICE_SECONDS:
        call()
        count += 1
    return count


def once(call: Callable[[], object], count: int) -> float:
    turns = range(count)
    began = time.perf_counter()
    for _ in turns:
        call()
    return (time.perf_counter() - began) / count


def measure(body: bytes) -> dict[str, float]:
    """Give the median seconds of each contender."""
    calls = contenders(body)
    counts = {name: calls_per_slice(call) for name, call in calls.items()}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS):
        # The order turns with each round, so that nobody always follows the same neighbour.
        names = list(calls)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name].append(once(calls[name], counts[name]))
    return {name: statistics.median(times) for name, times in taken.items()}


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main() -> int:
    print(f"machine: {processor()}, {platform.system()}, Python {platform.python_version()}")
    print(f"command: {' '.join([sys.executable.rsplit('/', 1)[-1], *sys.argv])}")
    names = ("chronq", "qstash", "pyjwt")
    print("versions: " + ", ".join(f"{name} {version(name)}" for name in names))
    print(f"medians of {ROUNDS} rounds, contenders taking turns; microseconds per verification\n")
    medians = {size: measure(b"a" * length) for size, length in SIZES.items()}
    print(f"{'':20}" + "".join(f"{size:>12}" for size in SIZES))
    for name in medians["1 KiB"]:
        print(f"{name:20}" + "".join(f"{medians[size][name] * 1e6:12.2f}" for size in SIZES))

    missed = 0
    print()
    for goal, what, ratio, least in goals(*medians.values()):
        word = "MISSED" if ratio < least else "ok"
        missed += ratio < least
        print(f"goal {goal}  {what:32}{ratio:8.2f} x   at least {least:.2f}   {word}")
    return 1 if missed else 0


def goals(
    small: dict[str, float], middle: dict[str, float], large: dict[str, float]
) -> list[tuple[int, str, float, float]]:
    """Give each goal: its number, what it compares, the ratio, and the least it must be."""

    def over(medians: dict[str, float], other: str, ours: str = "chronq") -> float:
        return medians[other] / medians[ours]

    return [
        (1, "1 KiB, over qstash", over(small, "qstash"), 20),
        (1, "64 KiB, over qstash", over(middle, "qstash"), 2.2),
        (1, "1 MiB, over qstash", over(large, "qstash"), 1.25),
        (3, "1 KiB, over the one by hand", over(small, "by hand"), 4.5),
        (3, "64 KiB, over the one by hand", over(middle, "by hand"), 1.25),
        (3, "1 MiB, over the one by hand", over(large, "by hand"), 0.98),
        (4, "1 MiB, over SHA-256 alone", over(large, "sha256"), 1 / 1.05),
        (5, "1 KiB, second key over first", over(small, "chronq", "chronq, second key"), 0.8),
        (6, "1 MiB, text over bytes", over(large, "chronq", "chronq, text"), 0.65),
    ]


if __name__ == "__main__":
    sys.exit(main())
