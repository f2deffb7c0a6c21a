"""A Django view that takes verified deliveries only; it may be async, and is exempt from CSRF.

Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: what was published to.
"""

import json
import os

from django.http import JsonResponse
from django.urls import path

from chronq.django import VerifiedRequest, verified


@verified(os.environ["PUBLIC_URL"])
def hook(request: VerifiedRequest) -> JsonResponse:
    order = json.loads(request.body)
    return JsonResponse({"attempt": request.chronq_claims.jti, "order": order["orderId"]})


urlpatterns = [path("hook", hook)]
