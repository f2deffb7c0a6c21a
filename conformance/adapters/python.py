"""The adapter of the Python package: `python python.py` for Chronq, `python python.py async` for AsyncChronq."""

import asyncio
import base64
import dataclasses
import enum
import inspect
import json
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import chronq

ASYNC = "async" in sys.argv[1:]

SETTLED = {chronq.Delivered: "delivered", chronq.Pending: "pending", chronq.NotFoundSince: "not_found"}
OPERATIONS = {"schedule": chronq.TimerSchedule, "reschedule": chronq.TimerReschedule, "cancel": chronq.TimerCancel}
# Names that Python has for a value of its own type, and the wire for a number.
NUMBERS = {"duration": "durationMs", "timeout": "timeoutMs"}


def snake(name):
    return re.sub("([A-Z])", lambda letter: "_" + letter[1].lower(), name)


def camel(name):
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), name)


def body_of(body):
    if "utf8" in body:
        return body["utf8"]
    if "base64" in body:
        return base64.b64decode(body["base64"])
    return "\ud800" if body.get("loneSurrogate") else body["notRaw"]


def verify(given):
    names = {"clockToleranceSeconds": "clock_tolerance"}
    options = {names.get(name, snake(name)): value for name, value in given["receiver"].items()}
    receiver = chronq.Receiver(**options)
    rest = {"url": given.get("url"), "now": given.get("now"), "clock_tolerance": given.get("clockToleranceSeconds")}
    body = body_of(given["body"])
    if "headers" in given:
        claims = receiver.verify_headers(given["headers"], body, **rest)
    else:
        signature = given["signature"]
        if isinstance(signature, dict):
            signature = signature["value"]
        claims = receiver.verify(signature=signature, body=body, **rest)
    return {name: wire(getattr(claims, name)) for name in ["iss", "sub", "exp", "nbf", "iat", "jti", "body", "key"]}


def duration(value):
    if isinstance(value, dict) and set(value) == {"milliseconds"}:
        return timedelta(milliseconds=value["milliseconds"])
    return value


def options_of(given):
    """Options as Python spells and types them."""
    options = {}
    for name, value in given.items():
        if name in ("bodyBase64", "payloadBase64"):
            options[name.removesuffix("Base64")] = base64.b64decode(value)
        elif name in ("callback", "failureCallback") and isinstance(value, dict):
            options[snake(name)] = chronq.Callback(**options_of(value))
        elif name == "since":
            options[name] = datetime.fromisoformat(value)
        else:
            options[snake(name)] = duration(value)
    return options


def client_of(given):
    options = {name: given[name] for name in ("url", "token") if name in given}
    if "timeout" in given:
        options["timeout"] = duration(given["timeout"])
    if "retry" in given:
        retry = given["retry"]
        options["retry"] = chronq.RetryPolicy(**options_of(retry)) if retry else None
    return chronq.AsyncChronq(**options) if ASYNC else chronq.Chronq(**options)


async def settled(value):
    """The value, whichever face it comes from."""
    if inspect.isawaitable(value):
        return await value
    if hasattr(value, "__aiter__"):
        return [item async for item in value]
    return list(value) if inspect.isgenerator(value) else value


async def call(given):
    client = client_of(given)
    try:
        return await make(client, given["call"], options_of(given.get("options", {})))
    finally:
        await settled(client.aclose() if ASYNC else client.close())


async def make(client, name, options):
    if name == "publish":
        return await settled(client.publish(options.pop("destination"), **options))
    if name == "publish_to_group":
        return await settled(client.publish_to_group(options.pop("group"), **options))
    if name == "batch":
        entries = [options_of(entry) for entry in options["entries"]]
        return await settled(client.batch([chronq.Publish(entry.pop("destination"), **entry) for entry in entries]))
    if name == "timers.batch":
        operations = [options_of(operation) for operation in options.pop("operations")]
        return await settled(client.timers.batch([OPERATIONS[one.pop("op")](**one) for one in operations], **options))
    if name == "timers.settle":
        since = {"since": options.pop("since")} if "since" in options else {}
        absent = await settled(client.timers.cancel(**options))
        return await settled(absent.settle(**since)) if isinstance(absent, chronq.Absent) else absent
    if name == "timers.list":
        limit = {"page_size": options["limit"]} if "limit" in options else {}
        return {"rows": await settled(client.timers.list(options["queue"], **limit))}
    if name == "log.pop":
        messages = await settled(client.log.pop(**options))
        return {"messages": messages} if messages else None
    if name == "log.ack":
        status = {name: options.pop(name) for name in ("status", "error") if name in options}
        messages = await settled(client.log.pop(**options))
        return await settled(client.log.ack(messages[0], **status))
    group, method = name.split(".")
    if name == "groups.delete" or not options:
        return await settled(getattr(getattr(client, group), method)(*options.values()))
    return await settled(getattr(getattr(client, group), method)(**options))


def wire(value):
    """An answer as it stands on the wire."""
    if type(value) in SETTLED:
        return {"settled": SETTLED[type(value)], **fields(value)}
    if isinstance(value, chronq.Group):
        return {**fields(value), "endpoints": [{"url": url} for url in value.endpoints]}
    if isinstance(value, chronq.SchedulePut):
        return {"created": value.created, **fields(value.schedule)}
    if dataclasses.is_dataclass(value):
        return fields(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, timedelta):
        return value / timedelta(milliseconds=1)
    if isinstance(value, Mapping):
        return {name: wire(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [wire(item) for item in value]
    return value


def fields(value):
    made = {}
    for field in dataclasses.fields(value):
        if not field.name.startswith("_"):
            made[NUMBERS.get(field.name, camel(field.name))] = wire(getattr(value, field.name))
    for name in ("status", "ok"):
        if hasattr(value, name):
            made[name] = wire(getattr(value, name))
    return made


def describe(error):
    if not isinstance(error, chronq.ChronqError):
        return {"kind": f"not a ChronqError: {type(error).__name__}", "message": str(error)}
    told = {"kind": type(error).__name__, "message": str(error)}
    for name in ("code", "status", "reason", "detail", "attempts", "may_have_been_sent", "value", "index", "state", "claim", "seconds", "difference"):
        if hasattr(error, name):
            told[camel(name)] = wire(getattr(error, name))
    told["retryAfter"] = error.retry_after.total_seconds() if error.retry_after else None
    option = getattr(error, "option", None)
    told["option"] = camel(option) if option else option
    return told


async def answer(question):
    try:
        if question["op"] == "verify":
            return {"id": question["id"], "ok": verify(question["input"])}
        if question["op"] == "call":
            return {"id": question["id"], "ok": wire(await call(question["input"]))}
        return {"id": question["id"], "unsupported": f"no op {question['op']}"}
    except Exception as error:  # noqa: BLE001: whatever a face raises is an answer
        return {"id": question["id"], "error": describe(error)}


async def main():
    for line in sys.stdin:
        print(json.dumps(await answer(json.loads(line))), flush=True)


asyncio.run(main())
