"""Verified deliveries for Flask.

    from chronq.flask import current_claims, verified

    @app.post("/hook")
    @verified("https://app.example.com/hook")
    def hook():
        event = request.get_json()
        attempt = current_claims().jti

The body stays readable. A form or stream must not be read before it.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import flask

from chronq._adapter import REFUSED, Verifier, refusal
from chronq._errors import SignatureError
from chronq._native import Claims, Receiver

__all__ = ["current_claims", "verified"]

P = ParamSpec("P")


def verified(
    url: str | Callable[[flask.Request], str] | None, *, receiver: Receiver | None = None
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Make a decorator that verifies before the view runs, or answers 401.

    url is the public URL that was published to, from your configuration: text, or made from the request
    where the route has parameters, but never from its Host header. None leaves it unchecked. Without a
    receiver, its keys come from the environment.
    """
    verifier = Verifier(url, receiver)

    def decorate(view: Callable[P, Any]) -> Callable[P, Any]:
        @functools.wraps(view)
        def run(*args: P.args, **kwargs: P.kwargs) -> Any:
            request = flask.request
            try:
                flask.g.chronq_claims = verifier.verify(request, request.headers, request.get_data())
            except SignatureError as error:
                return flask.jsonify(refusal(error)), REFUSED
            return flask.current_app.ensure_sync(view)(*args, **kwargs)

        return run

    return decorate


def current_claims() -> Claims:
    """Give the claims of the delivery in progress."""
    claims = flask.g.chronq_claims
    assert isinstance(claims, Claims), "set by verified"  # noqa: S101
    return claims
