"""Asks the Python verifiers: JSON lines in, JSON lines out. Each is set as strictly as its options allow."""

import base64
import json
import sys

import jwt
import qstash
import standardwebhooks

from inputs import BODY, KEY, OTHER_KEY, SECRET, URL


def pyjwt(case):
    options = {"require": ["iss", "sub", "iat", "nbf", "exp", "jti"], "verify_iat": False, "verify_aud": False}
    jwt.decode(case["token"], case.get("key", KEY), algorithms=["HS256"], issuer=case["issuer"],
               leeway=case.get("tolerance", 0), options=options)


def qstash_receiver(case):
    receiver = qstash.Receiver(case.get("key", KEY), case.get("key", OTHER_KEY))
    receiver.verify(signature=case["token"], body=BODY.decode(), url=URL, clock_tolerance=case.get("tolerance", 0))


def webhook(case):
    receiver = standardwebhooks.Webhook(case.get("key", SECRET))
    receiver.verify(base64.b64decode(case["body"]), case["headers"], json_parse=False)


VERIFIERS = {"jwt": [("PyJWT", pyjwt)], "qstash": [("qstash", qstash_receiver)],
             "webhook": [("standardwebhooks (Python)", webhook)]}

for line in sys.stdin:
    case = json.loads(line)
    for verifier, verify in VERIFIERS[case["kind"]]:
        error = None
        try:
            verify(case)
        except Exception as caught:  # whatever a verifier throws is its verdict
            error = f"{type(caught).__name__}: {caught}"
        print(json.dumps({"id": case["id"], "verifier": verifier, "error": error}))
