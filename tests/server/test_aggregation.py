"""A small aggregated API server behind an APIService, over HTTPS."""

import asyncio
import base64
import json
import ssl
from contextlib import asynccontextmanager

from aiohttp import web

from fakekube.apiserver.needs import Service
from fakekube.server.certificates import Authority
from fakekube.server.direct import DirectTransport
from fakekube.server.http import listen_for
from tests.server.rig import on_a_loop, served

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAME = "v1alpha1.wardle.example.com"
ROOT = "/apis/wardle.example.com/v1alpha1"
FLUNDERS = f"{ROOT}/namespaces/default/flunders"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

RESOURCES = {
    "kind": "APIResourceList",
    "groupVersion": "wardle.example.com/v1alpha1",
    "resources": [
        {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": ["get", "list"]}
    ],
}


class Wardle:
    """An aggregated API server that records its requests. `release` lets a watch deliver its second event."""

    def __init__(self) -> None:
        self.seen, self.status = [], 200
        self.release = asyncio.Event()

    async def __call__(self, http: web.BaseRequest) -> web.StreamResponse:
        name = dict(
            item for part in (http.transport.get_extra_info("peercert") or {}).get("subject", ()) for item in part
        )
        self.seen.append((http.method, http.path_qs, http.headers, name.get("commonName"), await http.read()))
        if http.path == ROOT:
            return web.json_response(RESOURCES, status=self.status)
        if "watch" in http.query:
            return await self._watch(http)
        if http.path == FLUNDERS:
            return web.json_response({"kind": "FlunderList", "items": []}, headers={"X-Mine": "1"})
        return web.Response(status=404, text="404 page not found\n")

    async def _watch(self, http: web.BaseRequest) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        await stream.prepare(http)
        await stream.write(event(1))
        await self.release.wait()
        await stream.write(event(2))
        return stream

    def of_clients(self):
        return [one for one in self.seen if one[2].get("X-Remote-User") != "system:kube-aggregator"]


def event(number):
    return json.dumps({"type": "ADDED", "object": {"n": number}}).encode() + b"\n"


@asynccontextmanager
async def wardle():
    """A server with a Service that is mapped to an aggregated API server; yields both."""
    authority, aggregated = Authority(), Wardle()
    async with served() as api:
        proxy = api.runner.proxy.front_proxy
        tls = authority.server_context(["wardle.default.svc"])
        tls.load_verify_locations(cadata=proxy.ca)
        tls.verify_mode = ssl.CERT_REQUIRED
        async with listen_for(aggregated, tls) as url:
            api.runner.webhooks.services[Service("default", "wardle", 0)] = url
            spec = {
                "group": "wardle.example.com",
                "version": "v1alpha1",
                "groupPriorityMinimum": 2000,
                "versionPriority": 200,
                "caBundle": base64.b64encode(authority.certificate).decode(),
                "service": {"namespace": "default", "name": "wardle"},
            }
            await api.call("POST", API_SERVICES, {"metadata": {"name": NAME}, "spec": spec})
            yield api, aggregated


def condition(api):
    entry = api.runner.apiserver.store.get("apiservices.apiregistration.k8s.io", NAME)
    found = entry.object["status"].get("conditions") or [{}]
    return found[0].get("status"), found[0].get("reason")


@on_a_loop
async def test_a_request_is_forwarded_with_the_user_and_the_certificate_of_the_proxy():
    async with wardle() as (api, aggregated):
        await api.until(lambda: condition(api) == ("True", "Passed"))
        code, body, headers = await api.call("GET", f"{FLUNDERS}?limit=5", Accept="application/json")
        assert (code, body["kind"], headers["X-Mine"]) == (200, "FlunderList", "1")
        method, target, sent, name, _ = aggregated.of_clients()[0]
        assert (method, target, name) == ("GET", f"{FLUNDERS}?limit=5", "front-proxy-client")
        assert (sent["X-Remote-User"], sent.getall("X-Remote-Group")) == (
            "system:anonymous",
            ["system:unauthenticated"],
        )
        assert sent["X-Forwarded-Uri"] == FLUNDERS


@on_a_loop
async def test_bodies_and_errors_are_passed_on():
    async with wardle() as (api, aggregated):
        await api.until(lambda: condition(api) == ("True", "Passed"))
        code, _, _ = await api.call("POST", FLUNDERS, {"a": 1})
        assert (code, aggregated.of_clients()[-1][4]) == (200, b'{"a":1}')
        code, body, _ = await api.call("DELETE", f"{FLUNDERS}/a")
        assert (code, body) == (404, "404 page not found\n")


@on_a_loop
async def test_a_watch_is_streamed():
    async with wardle() as (api, aggregated):
        await api.until(lambda: condition(api) == ("True", "Passed"))
        async with api.session.get(f"{api.url}{FLUNDERS}?watch=true") as response:
            assert await response.content.readline() == event(1)
            aggregated.release.set()
            assert await response.content.read() == event(2)


@on_a_loop
async def test_a_watch_ends_with_the_server():
    async with wardle() as (api, aggregated):
        await api.until(lambda: condition(api) == ("True", "Passed"))
        async with api.session.get(f"{api.url}{FLUNDERS}?watch=true") as response:
            assert await response.content.readline() == event(1)
            await api.end()
            assert await response.content.read() == b""
        aggregated.release.set()


@on_a_loop
async def test_an_in_process_client_reads_and_watches():
    async with wardle() as (api, aggregated):
        await api.until(lambda: condition(api) == ("True", "Passed"))
        client = DirectTransport(api.runner)
        code, headers, body = await client.request("GET", FLUNDERS)
        assert (code, headers["X-Mine"], body) == (200, "1", {"kind": "FlunderList", "items": []})
        code, _, _ = await client.request("POST", FLUNDERS, body={"a": 1})
        assert (code, aggregated.of_clients()[-1][4]) == (200, b'{"a": 1}')
        aggregated.release.set()
        code, _, events = await client.open_watch(FLUNDERS)
        assert [one["object"]["n"] async for one in events] == [1, 2]
        await events.aclose()


@on_a_loop
async def test_its_resources_are_discovered():
    async with wardle() as (api, _):

        async def versions():
            _, document, _ = await api.call("GET", "/apis", Accept=AGGREGATED)
            group = next(one for one in document["items"] if one["metadata"]["name"] == "wardle.example.com")
            return group["versions"]

        while (found := await versions())[0]["freshness"] != "Current":
            pass
        assert [row["resource"] for row in found[0]["resources"]] == ["flunders"]


@on_a_loop
async def test_a_server_that_does_not_serve_its_group_is_not_available():
    async with wardle() as (api, aggregated):
        aggregated.status = 500
        api.runner.apiserver.controllers.check_api_services()
        await api.until(lambda: condition(api) == ("False", "FailedDiscoveryCheck"))
        code, body, _ = await api.call("GET", FLUNDERS)
        assert (code, body) == (503, "service unavailable\n")
        aggregated.status = 200  # it is tried again
        await api.until(lambda: condition(api) == ("True", "Passed"))


@on_a_loop
async def test_how_the_proxy_is_authenticated_is_published():
    async with wardle() as (api, _):
        await api.until(lambda: condition(api) == ("True", "Passed"))
        path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
        _, found, _ = await api.call("GET", path)
        assert found["data"]["requestheader-client-ca-file"] == api.runner.proxy.front_proxy.ca
        assert found["data"]["requestheader-allowed-names"] == '["front-proxy-client"]'
        assert found["data"]["requestheader-extra-headers-prefix"] == '["X-Remote-Extra-"]'
