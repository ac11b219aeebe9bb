"""P1: webhooks and aggregated APIs of servers that the test does not serve itself: threads, processes, other frameworks."""

import base64
import http.server
import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from controllerlib import ApiError
from fakekube.server.certificates import Authority
from tests.harness.test_aggregation import NAME, api_service
from tests.harness.test_conversion import converted, definition, person
from tests.harness.test_webhooks import configmap, configuration, patched

NAMES = ("guard.default.svc", "converter.default.svc", "wardle.default.svc", "localhost", "127.0.0.1")


VERSION = "wardle.example.com/v1alpha1"
FLUNDER = {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": ["list"]}
DISCOVERY = {"kind": "APIResourceList", "groupVersion": VERSION, "resources": [FLUNDER]}
FLUNDERS = {"kind": "FlunderList", "apiVersion": VERSION, "items": [{"metadata": {"name": "a"}}]}


class Review(http.server.BaseHTTPRequestHandler):
    """Answers admission reviews with `server.answer(request)`, and conversion reviews."""

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send(answered(review, self.server.answer))

    def do_GET(self):
        """Of an aggregated API server."""
        self.send(FLUNDERS if self.path.endswith("/flunders") else DISCOVERY)

    def send(self, document):
        text = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def answered(review, answer):
    request = review["request"]
    if review["kind"] == "ConversionReview":
        objects = [converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {"result": {"status": "Success"}, "convertedObjects": objects}
    else:
        response = answer(request)
    return {**review, "response": {"uid": request["uid"], **response}}


def allow(request):
    return {"allowed": True}


def secure_server(authority, answer, server=http.server.HTTPServer):
    made = server(("127.0.0.1", 0), Review)
    made.answer = answer
    made.socket = authority.server_context(NAMES).wrap_socket(made.socket, server_side=True)
    return made


@contextmanager
def in_a_real_thread(authority, answer):
    """A webhook in a thread that does not belong to the cluster; yields its URL."""
    server = secure_server(authority, answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def trusting(config, authority):
    bundle = base64.b64encode(authority.certificate).decode()
    for hook in config["webhooks"]:
        hook["clientConfig"]["caBundle"] = bundle
    return config


def test_p1_a_validating_webhook_in_a_real_thread_is_answered_at_the_same_instant(fakekube):
    authority = Authority()
    asked = []

    def deny_x(request):
        asked.append(request["operation"])
        return {"allowed": "x" not in request["object"]["data"], "status": {"message": "no x"}}

    with in_a_real_thread(authority, deny_x) as url:
        fakekube.webhooks.map_service("guard", url)
        fakekube.apply(trusting(configuration(), authority))
        before = fakekube.clock.now()
        fakekube.create(configmap("a", y="1"))
        with pytest.raises(ApiError, match="denied the request: no x"):
            fakekube.create(configmap("b", x="1"))
        assert fakekube.clock.now() == before
    assert asked == ["CREATE", "CREATE"]


@pytest.mark.slow
def test_p1_a_mutating_webhook_in_a_real_thread(fakekube):
    authority = Authority()
    with in_a_real_thread(authority, lambda request: patched({"op": "add", "path": "/data/y", "value": "2"})) as url:
        fakekube.webhooks.map_service("guard", url)
        fakekube.apply(trusting(configuration("Mutating"), authority))
        assert fakekube.create(configmap(x="1"))["data"] == {"x": "1", "y": "2"}


@pytest.mark.slow
def test_p1_a_webhook_in_a_real_thread_is_called_for_the_writes_of_operators(fakekube):
    authority = Authority()
    with in_a_real_thread(authority, allow) as url:
        fakekube.webhooks.map_service("guard", url)
        fakekube.apply(trusting(configuration(), authority))
        times = []

        def operator():
            for i in range(3):
                fakekube.create(configmap(f"a{i}"))
                times.append(time.monotonic())
                time.sleep(60)

        fakekube.thread(operator)
        fakekube.advance(minutes=10)
    assert [round(at - times[0], 3) for at in times] == [0, 60, 120]


@pytest.mark.slow
def test_p1_a_webhook_that_does_not_answer_is_given_its_timeout_in_real_seconds(fakekube):
    authority = Authority()
    release = threading.Event()

    def never(request):
        release.wait()
        return {"allowed": True}

    with in_a_real_thread(authority, never) as url:
        fakekube.webhooks.map_service("guard", url)
        fakekube.apply(trusting(configuration(timeoutSeconds=1), authority))
        before = fakekube.clock.now()
        with pytest.raises(ApiError, match="context deadline exceeded"):
            fakekube.create(configmap())
        assert fakekube.clock.now() == before
        release.set()


def test_p1_a_conversion_webhook_in_a_real_thread(fakekube):
    authority = Authority()
    with in_a_real_thread(authority, allow) as url:
        fakekube.webhooks.map_service("converter", url)
        crd = definition()
        bundle = base64.b64encode(authority.certificate).decode()
        crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle
        fakekube.apply(crd)
        before = fakekube.clock.now()
        fakekube.create(person("ada", "v1", full="Ada Lovelace"))
        assert fakekube.get("example.com/v2", "Person", "ada")["spec"] == {"first": "Ada", "last": "Lovelace"}
        assert fakekube.clock.now() == before


def test_p1_an_aggregated_api_in_a_real_thread(fakekube):
    authority = Authority()
    with in_a_real_thread(authority, allow) as url:
        service = api_service()
        service["spec"]["caBundle"] = base64.b64encode(authority.certificate).decode()
        fakekube.apply(service)
        fakekube.webhooks.map_service("wardle", url)
        fakekube.settle()
        status = fakekube.get("apiregistration.k8s.io/v1", "APIService", NAME)["status"]
        assert status["conditions"][0]["reason"] == "Passed"
        before = fakekube.clock.now()
        assert [one["metadata"]["name"] for one in fakekube.list(VERSION, "Flunder")] == ["a"]
        assert fakekube.clock.now() == before


SERVER = """
import http.server, json, ssl, sys

class Review(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = {"uid": review["request"]["uid"], "allowed": True, "warnings": ["seen by a process"]}
        text = json.dumps({**review, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Review)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.mark.slow
def test_p1_a_webhook_in_another_process(fakekube, tmp_path):
    authority = Authority()
    credentials = authority.server_credentials(NAMES)
    pem = tmp_path / "server.pem"
    pem.write_bytes(credentials.key + credentials.certificate)
    with subprocess.Popen([sys.executable, "-c", SERVER, str(pem)], stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stdout.readline())
            fakekube.webhooks.map_service("guard", f"https://localhost:{port}")
            fakekube.apply(trusting(configuration(), authority))
            before = fakekube.clock.now()
            for i in range(20):
                fakekube.create(configmap(f"a{i}"))
            assert fakekube.clock.now() == before
        finally:
            process.kill()
