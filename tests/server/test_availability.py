"""When the servers of APIServices are checked, what counts as available, and what is read of them; in virtual time."""

import asyncio
import itertools
import json
from types import SimpleNamespace

import pytest

from fakekube.apiserver.needs import Forwarded, Service
from fakekube.server.availability import AvailabilityChecks
from fakekube.server.random import SeededRandom
from fakekube.server.servercontext import ServerContext
from fakekube.virtualtime.seeds import Seed
from tests.server.test_runner import Served, in_virtual_time, passes

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
ROOT = "/apis/example.com/v1"
RESOURCES = {
    "resources": [
        {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": ["get"]}
    ]
}
ROW = {"resource": "flunders", "scope": "Cluster", "verbs": ["list"], "responseKind": {"kind": "Flunder"}}
AGGREGATED = {"items": [{"metadata": {"name": "example.com"}, "versions": [{"version": "v1", "resources": [ROW]}]}]}
JSON = (("Content-Type", "application/json"),)


class Aggregated:
    """Stands for the client of aggregated API servers: answers by path, and notes when it was asked for what."""

    front_proxy = SimpleNamespace(ca="ca", NAME="front-proxy")

    def __init__(self):
        self.answers = {ROOT: (Forwarded(200, JSON), json.dumps(RESOURCES).encode())}
        self.asked, self.slow = [], {}

    def url_of(self, service):
        return f"https://{service.name}:{service.port}"

    async def fetch(self, forward, seconds):
        assert seconds == 5
        self.asked.append(
            (asyncio.get_running_loop().time(), forward.service.name, forward.target, dict(forward.headers))
        )
        await asyncio.sleep(self.slow.get(forward.service.name, 0))  # noqa: TID251 - virtual time
        return self.answers.get(forward.target, (Forwarded(404), b""))

    def times(self, name="a", path=ROOT):
        return [
            round(at, 6)
            for at, service, target, headers in self.asked
            if (service, target) == (name, path) and headers.get("Accept") is None
        ]


class Checked(Served):
    def __init__(self, aggregated):
        super().__init__()
        self.tasks = []
        context = ServerContext(self.runner.clock, SeededRandom(Seed(7)))
        self.checks = AvailabilityChecks(self.apiserver, aggregated, context, self.spawn)
        self.apiserver.controllers.on_unchecked = self.checks.mark

    def spawn(self, work):
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    def register(self, name="a", group="example.com", version="v1", mapped=True):
        if mapped:
            self.runner.webhooks.services[Service("default", name, 0)] = "https://x"
        spec = {"group": group, "version": version, "groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": True,
                "service": {"namespace": "default", "name": name}}  # fmt: skip
        code, _, body = self.client.request_now(
            "POST", API_SERVICES, body={"metadata": {"name": f"{version}.{group}"}, "spec": spec}
        )
        assert code == 201, body
        return f"{version}.{group}"

    def condition(self, name="v1.example.com"):
        conditions = self.apiserver.store.get("apiservices.apiregistration.k8s.io", name).object["status"].get(
            "conditions"
        ) or [{}]
        return tuple(conditions[0].get(field) for field in ("status", "reason", "message"))

    def delete(self, name="v1.example.com"):
        assert self.client.request_now("DELETE", f"{API_SERVICES}/{name}")[0] == 200


@in_virtual_time
async def test_an_available_server_is_checked_every_thirty_seconds():
    aggregated = Aggregated()
    api = Checked(aggregated)
    api.register()
    await passes(95)
    assert aggregated.times() == [0, 30, 60, 90]
    assert api.condition() == ("True", "Passed", "all checks passed")
    api.delete()
    await passes(60)
    assert aggregated.times() == [0, 30, 60, 90]
    assert [task.done() for task in api.tasks] == [True]
    api.register()
    await passes(1)
    assert aggregated.times()[4:] == [155]
    await api.checks.aclose()
    await api.checks.aclose()
    assert [task.cancelled() for task in api.tasks] == [False, True]


@in_virtual_time
async def test_a_server_that_fails_is_checked_with_back_off_and_after_success_as_before():
    aggregated = Aggregated()
    good = aggregated.answers.pop(ROOT)
    api = Checked(aggregated)
    api.register()
    await passes(100)
    times, waits = aggregated.times(), [0.005 * 2**number for number in range(13)] + [30, 30]
    assert [round(after - before, 6) for before, after in itertools.pairwise(times)] == waits[: len(times) - 1]
    assert len(times) >= 15
    aggregated.answers[ROOT] = good
    await passes(30)
    assert api.condition()[0] == "True"
    aggregated.answers.pop(ROOT)
    aggregated.asked.clear()
    await passes(30.02)
    times = aggregated.times()
    assert [round(after - before, 6) for before, after in itertools.pairwise(times)][:2] == [0.005, 0.01]
    await api.checks.aclose()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Forwarded(200), None),
        (Forwarded(299), None),
        (Forwarded(199), "failing or missing response from https://a:443/apis/example.com/v1: bad status from https://a:443/apis/example.com/v1: 199"),
        (Forwarded(300), "failing or missing response from https://a:443/apis/example.com/v1: bad status from https://a:443/apis/example.com/v1: 300"),
        (Forwarded(problem="no address", unresolved=True), "no address"),
        (Forwarded(problem="EOF"), 'failing or missing response from https://a:443/apis/example.com/v1: Get "https://a:443/apis/example.com/v1": EOF'),
    ],
)  # fmt: skip
@in_virtual_time
async def test_what_counts_as_available(answer, message):
    aggregated = Aggregated()
    aggregated.answers[ROOT] = answer, b""
    api = Checked(aggregated)
    api.register()
    await passes(0.001)
    assert api.condition() == (
        ("True", "Passed", "all checks passed") if message is None else ("False", "FailedDiscoveryCheck", message)
    )
    await api.checks.aclose()


@in_virtual_time
async def test_a_server_without_a_service_is_not_asked_until_its_service_changes():
    aggregated = Aggregated()
    api = Checked(aggregated)
    api.register(mapped=False)
    for name in ("v1.example.com", "v1.apps", "v1.unknown"):
        api.checks.mark(name)
    await passes(100)
    assert api.condition()[:2] == ("False", "ServiceNotFound")
    assert (aggregated.asked, [task.done() for task in api.tasks]) == ([], [True])
    api.runner.webhooks.services[Service("default", "a", 0)] = "https://x"
    api.apiserver.controllers.check_api_services()
    await passes(1)
    assert api.condition()[0] == "True"
    await api.checks.aclose()


@in_virtual_time
async def test_a_change_is_checked_at_once_and_a_slow_server_does_not_delay_another():
    aggregated = Aggregated()
    aggregated.answers["/apis/other.com/v1"] = aggregated.answers[ROOT]
    aggregated.slow["b"] = 4
    api = Checked(aggregated)
    api.register()
    api.register("b", group="other.com")
    await passes(1)
    assert api.condition()[0] == "True"
    assert api.condition("v1.other.com") == (None, None, None)
    await passes(24)
    assert api.condition("v1.other.com")[0] == "True"
    api.checks.mark("v1.example.com")
    await passes(1)
    assert aggregated.times() == [0, 25]
    assert aggregated.times("b", "/apis/other.com/v1") == [0]
    assert len(api.tasks) == 1
    await api.checks.aclose()


@pytest.mark.parametrize(
    ("discovery", "resources", "shown"),
    [
        ((Forwarded(200, (("CONTENT-TYPE", "application/json;g=apidiscovery.k8s.io"),)), AGGREGATED), None, ["flunders"]),
        ((Forwarded(200, (("Content-Type", "x;apidiscovery.k8s.io"),)), {"items": []}), RESOURCES, []),
        ((Forwarded(200, (("Content-Type", "x;apidiscovery.k8s.io"),)), {"items": [5]}), RESOURCES, None),
        ((Forwarded(404, (("Content-Type", "x;apidiscovery.k8s.io"),)), AGGREGATED), RESOURCES, ["flunders"]),
        ((Forwarded(200, JSON), AGGREGATED), RESOURCES, ["flunders"]),
        ((Forwarded(404), {}), [], []),
        ((Forwarded(404), {}), {"resources": [{}]}, None),
        ((Forwarded(404), {}), "no json", []),
    ],
)  # fmt: skip
@in_virtual_time
async def test_the_resources_of_a_server_are_read_of_its_discovery(discovery, resources, shown):
    aggregated = Aggregated()
    aggregated.answers["/apis"] = discovery[0], json.dumps(discovery[1]).encode()
    text = resources.encode() if isinstance(resources, str) else json.dumps(resources).encode()
    aggregated.answers[ROOT] = Forwarded(200, JSON), text
    api = Checked(aggregated)
    api.register()
    await passes(0.001)
    assert {
        headers["Accept"].count("apidiscovery.k8s.io") for _, _, path, headers in aggregated.asked if path == "/apis"
    } == {2}
    found = api.apiserver.catalog.remote("example.com", "v1")
    assert (None if found.resources is None else [one["resource"] for one in found.resources]) == shown
    assert found.fresh is (shown is not None)
    await api.checks.aclose()


@pytest.mark.parametrize(
    ("two", "three", "known"),
    [
        ((200, {"paths": {}, "definitions": {"a": {}}}), (200, {"paths": {"x": {}}}), [2, 3]),
        ((404, {"paths": {"x": {}}}), (200, {"paths": {"x": {}}}), [3]),
        ((200, {"paths": []}), (200, {"paths": ["x"]}), [2]),
        ((200, {"definitions": "x"}), (200, {}), []),
        ((200, []), (200, None), []),
    ],
)
@in_virtual_time
async def test_the_openapi_documents_of_a_server_are_read(two, three, known):
    aggregated = Aggregated()
    for path, (code, document) in (("/openapi/v2", two), (f"/openapi/v3{ROOT}", three)):
        aggregated.answers[path] = Forwarded(code), json.dumps(document).encode()
    api = Checked(aggregated)
    api.register()
    await passes(0.001)
    found = api.apiserver.catalog.remote("example.com", "v1")
    assert sorted(found.openapi) == known
    await api.checks.aclose()


@in_virtual_time
async def test_the_check_that_is_due_first_is_made_first():
    aggregated = Aggregated()
    api = Checked(aggregated)
    api.register()
    await passes(1)
    api.register("z", group="zzz.com")
    await passes(0.02)
    assert [round(at - 1, 3) for at in aggregated.times("z", "/apis/zzz.com/v1")] == [0, 0.005, 0.015]
    await api.checks.aclose()
