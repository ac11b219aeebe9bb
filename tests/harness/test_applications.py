"""P1: WSGI and ASGI applications that serve webhooks in virtual time."""

import asyncio
import json
import time
from wsgiref.validate import validator

import pytest

from controllerlib import ApiError
from tests.harness.test_real_webhooks import answered
from tests.harness.test_webhooks import configmap, configuration


def serve(fakekube, application, config=None):
    fakekube.webhooks.serve(application, service="guard")
    fakekube.apply(config or configuration())
    fakekube.webhooks.inject_ca_bundle()


def deny_x(request):
    return {"allowed": "x" not in request["object"]["data"], "status": {"message": "no x"}}


def wsgi(environ, start_response):
    time.sleep(2)
    review = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    assert (environ["PATH_INFO"], environ["QUERY_STRING"]) == ("/review", "timeout=10s")
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(answered(review, deny_x)).encode()]


async def asgi(scope, receive, send):
    assert scope["type"] == "http"
    assert (scope["path"], scope["query_string"]) == ("/review", b"timeout=10s")
    message = await receive()
    await asyncio.sleep(2)
    answer = json.dumps(answered(json.loads(message["body"]), deny_x)).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer[:10], "more_body": True})
    await send({"type": "http.response.body", "body": answer[10:]})


class Framework:
    """An application object, as those of Flask and FastAPI: its class defines how it is called."""

    def __init__(self, application):
        self._application = application

    def __call__(self, environ, start_response):
        return self._application(environ, start_response)


@pytest.mark.parametrize("application", [wsgi, Framework(wsgi), asgi], ids=["wsgi", "object", "asgi"])
def test_p1_an_application_answers_reviews(fakekube, application):
    serve(fakekube, application)
    fakekube.create(configmap("a", y="1"))
    assert fakekube.clock.monotonic() == 2
    with pytest.raises(ApiError, match="denied the request: no x"):
        fakekube.create(configmap("b", x="1"))


def test_p1_a_wsgi_application_gets_what_the_specification_requires(fakekube):
    def environment(environ, start_response):
        seen.append({key: environ[key] for key in ("REQUEST_METHOD", "HTTP_HOST", "CONTENT_TYPE", "wsgi.url_scheme")})
        return wsgi(environ, start_response)

    seen = []
    checked = validator(environment)
    serve(fakekube, lambda environ, start_response: checked(environ, start_response))
    fakekube.create(configmap("a", y="1"))
    assert seen == [
        {
            "REQUEST_METHOD": "POST",
            "HTTP_HOST": "guard.default.svc:443",
            "CONTENT_TYPE": "application/json",
            "wsgi.url_scheme": "https",
        }
    ]


def test_p1_a_wsgi_application_reads_the_cluster(fakekube):
    fakekube.create(configmap("limit", most="1"))

    def application(environ, start_response):
        most = fakekube.get("v1", "ConfigMap", "limit")["data"]["most"]
        review = json.loads(environ["wsgi.input"].read())
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answered(review, lambda request: {"allowed": True, "warnings": [most]})).encode()]

    serve(fakekube, application)
    assert fakekube.create(configmap("a"))["metadata"]["name"] == "a"


def test_p1_an_asgi_application_is_started_and_ended():
    from fakekube import FakeKube

    events = []

    async def application(scope, receive, send):
        if scope["type"] != "lifespan":
            assert scope["state"] == {"ready": True}
            await asgi(scope, receive, send)
            return
        events.append((await receive())["type"])
        scope["state"]["ready"] = True
        await send({"type": "lifespan.startup.complete"})
        try:
            events.append((await receive())["type"])
        finally:  # it is cancelled, as all code under test, when the cluster closes
            events.append("ended")

    with FakeKube() as fakekube:
        serve(fakekube, application)
        fakekube.create(configmap("a", y="1"))
        assert events == ["lifespan.startup"]
    assert events == ["lifespan.startup", "ended"]


def test_p1_an_asgi_application_that_does_not_start(fakekube):
    async def application(scope, receive, send):
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match="does not start: no database"):
        fakekube.webhooks.serve(application, service="guard")


def test_p1_an_error_of_an_application_fails_the_test(fakekube):
    def application(environ, start_response):
        raise ZeroDivisionError("a bug")

    serve(fakekube, application)
    with pytest.raises((ApiError, ZeroDivisionError)):
        fakekube.create(configmap("a"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        fakekube.settle()


@pytest.mark.parametrize("application", ["https://127.0.0.1", lambda: None, lambda a, b, c, d: None])
def test_p1_what_is_no_application_is_named(fakekube, application):
    with pytest.raises(TypeError, match="cannot serve a webhook: pass a coroutine function of an aiohttp request"):
        fakekube.webhooks.serve(application, service="guard")
