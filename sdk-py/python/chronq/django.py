"""Verified deliveries for Django, for sync and async views.

    from chronq.django import VerifiedRequest, verified

    @verified("https://app.example.com/hook")
    def hook(request: VerifiedRequest) -> HttpResponse:
        event = json.loads(request.body)
        attempt = request.chronq_claims.jti

The body stays readable. A signed delivery has no CSRF token: the view is exempt.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from chronq._adapter import REFUSED, Verifier, refusal
from chronq._errors import SignatureError
from chronq._native import Claims, Receiver

__all__ = ["VerifiedRequest", "verified"]


class VerifiedRequest(HttpRequest):
    """What a verified view is given."""

    chronq_claims: Claims


def verified(
    url: str | Callable[[HttpRequest], str] | None, *, receiver: Receiver | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a decorator that verifies before the view runs, or answers 401.

    url is the public URL that was published to, from your configuration: text, or made from the request
    where the route has parameters, but never from its Host header. None leaves it unchecked. Without a
    receiver, its keys come from the environment.
    """
    verifier = Verifier(url, receiver)

    def refused(request: Any) -> HttpResponse | None:
        try:
            request.chronq_claims = verifier.verify(request, request.headers, request.body)
        except SignatureError as error:
            return JsonResponse(refusal(error), status=REFUSED)
        return None

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(view):

            @functools.wraps(view)
            async def run_async(request: Any, *args: Any, **kwargs: Any) -> Any:
                return refused(request) or await view(request, *args, **kwargs)

            return csrf_exempt(run_async)

        @functools.wraps(view)
        def run(request: Any, *args: Any, **kwargs: Any) -> Any:
            return refused(request) or view(request, *args, **kwargs)

        return csrf_exempt(run)

    return decorate
