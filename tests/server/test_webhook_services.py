"""Webhooks that a Service names, resolved through its endpoints."""

import base64
from contextlib import asynccontextmanager

from aiohttp import web

from fakekube.apiserver.needs import Service
from fakekube.server.certificates import Authority
from fakekube.server.http import listen_for
from tests.server.rig import CONFIGMAPS, on_a_loop, served

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SERVICES = "/api/v1/namespaces/default/services"


def configuration(ca):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "guard.example.com",
        "clientConfig": {
            "service": {"namespace": "default", "name": "guard", "path": "/review", "port": 8443},
            "caBundle": base64.b64encode(ca).decode(),
        },
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return {"metadata": {"name": "guard"}, "webhooks": [hook]}


@asynccontextmanager
async def guard(authority, seen, sent=None):
    """A webhook of the Service `guard` that records the Host and the path of each request; yields its port.

    `sent`: a list for the headers of each request.
    """

    async def answer(http):
        seen.append((http.headers["Host"], http.path))
        if sent is not None:
            sent.append(http.headers)
        uid = (await http.json())["request"]["uid"]
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return web.json_response({**review, "response": {"uid": uid, "allowed": True}})

    async with listen_for(answer, authority.server_context(["guard.default.svc"])) as url:
        yield int(url.rpartition(":")[2])


def endpoints(port):
    """An EndpointSlice on the loopback address, which a client could not create."""
    return {
        "metadata": {"name": "guard-1", "namespace": "default", "labels": {"kubernetes.io/service-name": "guard"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"]}],
        "ports": [{"name": "", "port": port}],
    }


@on_a_loop
async def test_a0_a_webhook_is_reached_at_an_endpoint_of_its_service():
    authority, seen = Authority(), []
    async with guard(authority, seen) as port, served() as api:
        await api.call("POST", SERVICES, {"metadata": {"name": "guard"}, "spec": {"ports": [{"port": 8443}]}})
        store = api.runner.apiserver.store
        store.create("endpointslices.discovery.k8s.io", "default/guard-1", endpoints(port))
        await api.call("POST", HOOKS, configuration(authority.certificate))
        code, _, _ = await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert (code, seen) == (201, [("guard.default.svc:8443", "/review")])


@on_a_loop
async def test_a0_a_service_is_mapped_to_an_address():
    authority, seen = Authority(), []
    async with guard(authority, seen) as port, served() as api:
        api.runner.webhooks.services[Service("default", "guard", 0)] = f"https://127.0.0.1:{port}"
        await api.call("POST", HOOKS, configuration(authority.certificate))
        code, _, _ = await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert (code, len(seen)) == (201, 1)


@on_a_loop
async def test_a0_a_service_without_endpoints():
    async with served() as api:
        await api.call("POST", SERVICES, {"metadata": {"name": "guard"}, "spec": {"ports": [{"port": 8443}]}})
        await api.call("POST", HOOKS, configuration(Authority().certificate))
        code, _, message = await api.refused("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert code == 500
    url = "https://guard.default.svc:8443/review?timeout=10s"
    called = 'failed calling webhook "guard.example.com": failed to call webhook'
    assert message == f'Internal error occurred: {called}: Post "{url}": no endpoints available for service "guard"'


@on_a_loop
async def test_f1_calls_have_the_headers_of_kube_apiserver():
    """F1: a converter that is free to choose may answer in YAML."""
    authority, sent = Authority(), []
    async with guard(authority, [], sent) as port, served() as api:
        await api.call("POST", HOOKS, configuration(authority.certificate))
        api.runner.webhooks.services[Service("default", "guard", 8443)] = f"https://127.0.0.1:{port}"
        assert (await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}}))[0] == 201
    (headers,) = sent
    assert headers["Accept"] == "application/json, */*"
    assert headers["User-Agent"] == "kube-apiserver-admission"
    assert headers["Accept-Encoding"] == "gzip"
    assert headers["Content-Type"] == "application/json"
