"""The framework adapters, with the real frameworks over a real socket."""

import asyncio
import contextlib
import http.client
import importlib.util
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import chronq.django
import chronq.fastapi
import chronq.flask
import django
import fastapi
import flask
import pytest
import uvicorn
from chronq import Receiver
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test.utils import override_settings
from django.urls import path
from signing import CURRENT, URL, token

BODY = '{"name":"Zoë"}'.encode()
RECEIVER = Receiver(CURRENT)

settings.configure(
    ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="not-a-secret", USE_TZ=True,
    MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
)  # fmt: skip
django.setup()


@contextlib.contextmanager
def serve_asgi(app: Any) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="warning", lifespan="off", ws="none", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=asyncio.run, args=(server.serve([listener]),))
        thread.start()
        try:
            # The socket listens already: a request waits in its queue until the server is up.
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def serve_wsgi(app: Any) -> Iterator[int]:
    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def fastapi_app() -> Any:
    app = fastapi.FastAPI()
    depends = fastapi.Depends(chronq.fastapi.verified(URL, receiver=RECEIVER))

    @app.post("/hook")
    async def hook(
        request: fastapi.Request, delivery: Annotated[chronq.fastapi.Delivery, depends]
    ) -> dict[str, Any]:
        assert delivery.body == BODY
        return {"sub": delivery.claims.sub, "json": await request.json()}

    def url_of(request: fastapi.Request) -> str:
        return f"https://app.example.com/tenants/{request.path_params['tenant']}"

    by_tenant = fastapi.Depends(chronq.fastapi.verified(url_of, receiver=RECEIVER))

    @app.post("/tenants/{tenant}")
    async def of_tenant(delivery: Annotated[chronq.fastapi.Delivery, by_tenant]) -> dict[str, Any]:
        return {"sub": delivery.claims.sub}

    return app


def flask_app() -> Any:
    app = flask.Flask("test")

    @app.post("/hook")
    @chronq.flask.verified(URL, receiver=RECEIVER)
    def hook() -> Any:
        assert flask.request.get_data() == BODY
        return {"sub": chronq.flask.current_claims().sub, "json": flask.request.get_json()}

    @app.post("/tenants/<tenant>")
    @chronq.flask.verified(
        lambda request: f"https://app.example.com/tenants/{(request.view_args or {})['tenant']}",
        receiver=RECEIVER,
    )
    def of_tenant(tenant: str) -> Any:
        return {"sub": chronq.flask.current_claims().sub, "tenant": tenant}

    return app


@chronq.django.verified(URL, receiver=RECEIVER)
def django_hook(request: chronq.django.VerifiedRequest) -> HttpResponse:
    return JsonResponse({"sub": request.chronq_claims.sub, "json": json.loads(request.body)})


@chronq.django.verified(URL, receiver=RECEIVER)
async def django_async_hook(request: chronq.django.VerifiedRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return JsonResponse({"sub": request.chronq_claims.sub, "json": json.loads(request.body)})


def tenant_url(request: HttpRequest) -> str:
    assert request.resolver_match is not None
    return f"https://app.example.com/tenants/{request.resolver_match.kwargs['tenant']}"


@chronq.django.verified(tenant_url, receiver=RECEIVER)
def django_tenant(request: chronq.django.VerifiedRequest, tenant: str) -> HttpResponse:
    return JsonResponse({"sub": request.chronq_claims.sub, "tenant": tenant})


urlpatterns = [
    path("hook", django_hook),
    path("async-hook", django_async_hook),
    path("tenants/<tenant>", django_tenant),
]

Serve = Callable[[], contextlib.AbstractContextManager[int]]

FRAMEWORKS: dict[str, tuple[Serve, str]] = {
    "fastapi": (lambda: serve_asgi(fastapi_app()), "/hook"),
    "flask": (lambda: serve_wsgi(flask_app()), "/hook"),
    "django": (lambda: serve_wsgi(WSGIHandler()), "/hook"),
    "django async": (lambda: serve_asgi(ASGIHandler()), "/async-hook"),
}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Iterator[tuple[int, str]]:
    serve, hook = FRAMEWORKS[request.param]
    with serve() as port:
        yield port, hook


def post(port: int, target: str, body: bytes, headers: list[tuple[str, str]]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("POST", target)
    for name, value in [("content-length", str(len(body))), ("content-type", "application/json"), *headers]:
        connection.putheader(name, value)
    connection.endheaders(body)
    with contextlib.closing(connection), connection.getresponse() as response:
        text = response.read()
        return response.status, json.loads(text)


def signed(body: bytes = BODY, url: str = URL) -> list[tuple[str, str]]:
    return [("Chronq-Signature", token(body, url=url, now=int(time.time())))]


def test_a_delivery_reaches_the_handler_with_its_body_readable(framework: tuple[int, str]) -> None:
    port, hook = framework
    assert post(port, hook, BODY, signed()) == (200, {"sub": URL, "json": {"name": "Zoë"}})


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (BODY, [], "signature_missing"),
        (BODY + b" ", signed(), "body_mismatch"),
        (BODY, signed(url="https://elsewhere.example.com/"), "url_mismatch"),
        (BODY, signed() + signed(), "signature_ambiguous"),
        (BODY, [("chronq-signature", "a.b.c")], "signature_malformed"),
    ],
)
def test_a_forgery_is_answered_401_with_its_code_alone(
    framework: tuple[int, str],
    body: bytes,
    headers: list[tuple[str, str]],
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    port, hook = framework
    with caplog.at_level("DEBUG"):
        status, answer = post(port, hook, body, headers)
    assert status == 401
    assert answer in ({"error": code}, {"detail": {"error": code}})
    [logged] = [record for record in caplog.records if record.name == "chronq"]
    assert code in logged.getMessage()
    # A signature that was made can be replayed: it is as secret as the key while it lasts.
    for secret in [CURRENT, *(value for _, value in headers if value != "a.b.c")]:
        assert secret not in caplog.text


@pytest.mark.parametrize("name", ["fastapi", "flask", "django"])
def test_the_url_may_depend_on_the_route_but_not_on_the_host(name: str) -> None:
    serve, _ = FRAMEWORKS[name]
    url = "https://app.example.com/tenants/7"
    with serve() as port:
        status, answer = post(
            port, "/tenants/7", BODY, [*signed(url=url), ("x-forwarded-host", "evil.example")]
        )
        assert (status, answer["sub"]) == (200, url)
        assert post(port, "/tenants/8", BODY, signed(url=url))[0] == 401


def example(name: str) -> Any:
    """A module of the examples, anew: it reads the environment as it is loaded."""
    file = Path(__file__).parents[2] / "examples" / "python" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def serve_django(urls: Any) -> Iterator[int]:
    with override_settings(ROOT_URLCONF=urls), serve_wsgi(WSGIHandler()) as port:
        yield port


@pytest.mark.parametrize(
    ("name", "serve"),
    [
        ("fastapi_app", lambda module: serve_asgi(module.app)),
        ("flask_app", lambda module: serve_wsgi(module.app)),
        ("django_urls", serve_django),
    ],
)
def test_the_example_of_a_framework_takes_verified_deliveries_only(
    monkeypatch: pytest.MonkeyPatch, name: str, serve: Any
) -> None:
    monkeypatch.setenv("CHRONQ_CURRENT_SIGNING_KEY", CURRENT)
    monkeypatch.delenv("CHRONQ_NEXT_SIGNING_KEY", raising=False)
    monkeypatch.setenv("PUBLIC_URL", URL)
    body = b'{"orderId": 42}'
    with serve(example(name)) as port:
        status, answer = post(port, "/hook", body, signed(body))
        assert (status, answer["order"]) == (200, 42)
        assert answer["attempt"].startswith("jwt_")
        assert post(port, "/hook", body, signed(BODY))[0] == 401
        assert post(port, "/hook", body, [])[0] == 401


def test_an_adapter_takes_its_keys_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHRONQ_CURRENT_SIGNING_KEY", raising=False)
    for adapter in (chronq.fastapi.verified, chronq.flask.verified, chronq.django.verified):
        with pytest.raises(chronq.InvalidInput, match="CHRONQ_CURRENT_SIGNING_KEY"):
            adapter(URL)
    monkeypatch.setenv("CHRONQ_CURRENT_SIGNING_KEY", CURRENT)
    for adapter in (chronq.fastapi.verified, chronq.flask.verified, chronq.django.verified):
        adapter(URL)


def test_the_package_does_not_import_a_framework() -> None:
    import subprocess
    import sys

    program = (
        "import sys, chronq, chronq.testing; print(sorted({'fastapi', 'flask', 'django'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
