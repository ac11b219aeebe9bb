"""Faults of requests and watches, each with a request that it affects and one that it does not, and its legality."""

import asyncio

import orjson
import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from controllerlib import ApiError, Client
from controllerlib.client import HttpTransport
from fakekube import FakeKube, FaultRule
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, every, nothing, stamping

MINE = {"User-Agent": "mine/1.0"}

TRANSPORTS = ["direct", "memory", "tcp"]


def connect(kube, transport):
    """A client that does not retry."""
    if transport == "direct":
        return Client(kube.access.transport(), user_agent="mine/1.0")
    return Client(HttpTransport(kube.access.url, clock=kube.clock, retries=0), user_agent="mine/1.0")


def call(kube, transport, work):
    """Run `work(client)` as a task. Returns its result or its exception, and the time that it took."""
    outcome = []

    async def run():
        api, began = connect(kube, transport), kube.clock.monotonic()
        try:
            result = await work(api)
        except Exception as error:
            result = error
        finally:
            await api.aclose()
        outcome.append((result, kube.clock.monotonic() - began))

    kube.task(run())
    kube.advance(100)
    return outcome[0]


def get_a(api):
    return api.get("v1", "ConfigMap", "a", "default")


@pytest.fixture(params=TRANSPORTS)
def kube(request):
    with FakeKube(transport=request.param, wall_clock=False) as made:
        made.kind = request.param
        made.apply({**config_map("a"), "data": {"text": "x" * 200}}, config_map("b"))
        yield made


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [401, 403, 409, 429, 500, 503, 504])
def test_errors_come_before_the_request_is_processed(kube, code):
    with kube.fault(verb="update", error=code, times=1):
        result, _ = call(kube, kube.kind, lambda api: api.update({**config_map("a"), "data": {"n": "1"}}))
    assert isinstance(result, ApiError)
    assert result.code == code
    assert len(kube.state.versions("v1", "ConfigMap", "a")) == 1


@pytest.mark.slow
def test_429_says_when_to_retry(fakekube):
    core = client.CoreV1Api(fakekube.access.api_client())
    fakekube.apply(config_map("a"))
    with fakekube.fault(verb="get", error=429), pytest.raises(ApiException) as caught:
        core.read_namespaced_config_map("a", "default")
    assert caught.value.status == 429
    assert caught.value.headers["Retry-After"] == "1"


@pytest.mark.parametrize(("code", "committed", "versions"), [(504, True, 2), (504, False, 1), (500, True, 2)])
def test_an_error_after_the_write_was_committed(kube, code, committed, versions):
    with kube.fault(verb="update", error=code, committed=committed, times=1) as rule:
        result, _ = call(kube, kube.kind, lambda api: api.update({**config_map("a"), "data": {"n": "1"}}))
    assert isinstance(result, ApiError)
    assert (result.code, rule.hits) == (code, 1)
    assert len(kube.state.versions("v1", "ConfigMap", "a")) == versions


@pytest.mark.parametrize("code", [408, 502])
def test_a_proxy_answers_with_a_page(kube, code):
    with kube.fault(verb="get", resource="configmaps", error=code, times=1):
        result, _ = call(kube, kube.kind, get_a)
    assert isinstance(result, ApiError)
    assert result.code == code
    assert "<html>" in str(result.status or result.message)


@pytest.mark.slow
def test_the_page_of_a_proxy_at_the_official_client(fakekube):
    core = client.CoreV1Api(fakekube.access.api_client())
    with fakekube.fault(error=502), pytest.raises(ApiException, match="502 Bad Gateway") as caught:
        core.read_namespaced_config_map("a", "default")
    assert caught.value.headers["Content-Type"] == "text/html"


def test_a_competing_write_makes_a_real_conflict(fakekube):
    """The server itself answers 409: another write came between the read and the write of the operator."""
    fakekube.apply(config_map("a"))

    def compete():
        fakekube.patch("v1", "ConfigMap", "a", {"metadata": {"labels": {"by": "another"}}})

    with fakekube.fault(verb="update", resource="configmaps", before=compete, times=1) as rule:
        controller = fakekube.start(build(stamping(x="1")))["minder"]
        fakekube.advance(1)
    assert rule.hits == 1
    assert [(error.code, error.reason) for error in controller.errors()] == [(409, "Conflict")]
    found = fakekube.get("v1", "ConfigMap", "a")
    assert (found["data"], found["metadata"]["labels"]) == ({"x": "1"}, {"by": "another"})


# --- connections and bodies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reset", "exists"), [("before", False), ("after", True)])
def test_a_reset_before_or_after_the_commit(kube, reset, exists):
    """A POST: aiohttp repeats a PUT by itself if the connection has been used before."""
    with kube.fault(verb="create", reset=reset, times=1):
        result, _ = call(kube, kube.kind, lambda api: api.create(config_map("c")))
    assert isinstance(result, ConnectionResetError)
    assert kube.exists("v1", "ConfigMap", "c") == exists


def test_a_connection_that_is_cut_in_the_middle_of_a_body(kube):
    with kube.faults.damage_bodies(verb="update", body="cut", times=1) as rule:
        result, _ = call(kube, kube.kind, lambda api: api.update({**config_map("a"), "data": {"n": "1"}}))
        again, _ = call(kube, kube.kind, get_a)
    assert isinstance(result, ConnectionResetError)
    assert rule.hits == 1
    assert again["data"] == {"n": "1"}


@pytest.mark.parametrize(("body", "begins"), [("truncated", '{"'), ("malformed", "<html>")])
def test_a_body_that_cannot_be_decoded(kube, body, begins):
    with kube.faults.damage_bodies(verb="get", name="a", body=body):
        path = "/api/v1/namespaces/default/configmaps/{}"
        broken, _ = call(kube, kube.kind, lambda api: api.transport.request("GET", path.format("a"), headers=MINE))
        whole, _ = call(kube, kube.kind, lambda api: api.transport.request("GET", path.format("b"), headers=MINE))
    assert (broken[0], whole[0]) == (200, 200)
    assert broken[2].startswith(begins)
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(broken[2])
    assert whole[2]["metadata"]["name"] == "b"


@pytest.mark.parametrize(("body", "error"), [("cut", HTTPError), ("truncated", Exception), ("malformed", Exception)])
def test_broken_bodies_at_the_official_client(fakekube, body, error):
    core = client.CoreV1Api(fakekube.access.api_client())
    fakekube.apply(config_map("a"))
    with fakekube.faults.damage_bodies(verb="list", body=body), pytest.raises(error):
        core.list_namespaced_config_map("default")
    assert len(core.list_namespaced_config_map("default").items) == 1


def test_a_slow_body(kube):
    with kube.faults.damage_bodies(verb="get", name="a", delay=7):
        slow, took = call(kube, kube.kind, get_a)
        fast, fast_took = call(kube, kube.kind, lambda api: api.get("v1", "ConfigMap", "b", "default"))
    assert (slow["metadata"]["name"], took) == ("a", 7)
    assert (fast["metadata"]["name"], fast_took) == ("b", 0)


@pytest.mark.slow
def test_a_share_of_requests_is_affected_under_the_seed():
    def hits(seed):
        with FakeKube(seed=seed, wall_clock=False) as kube:
            kube.apply(config_map("a"))
            with kube.fault(verb="update", error=503, share=0.3) as rule:
                kube.start(build(stamping(x="1")))
                operator = kube.start(build(every(1), "ticker"))
                kube.advance(1)
                for number in range(40):
                    kube.patch("v1", "ConfigMap", "a", {"data": {"n": str(number)}})
                    kube.advance(20)
            assert operator.is_running
            return rule.seen, rule.hits

    assert hits(1) == hits(1)
    assert 5 < hits(1)[1] < 40
    assert hits(1) != hits(2)


# --- watches ---------------------------------------------------------------------------------------------------------


def follow(kube, transport, version="0", selector=""):
    """Follow ConfigMaps with one watch; returns the list of what it delivers, with times, and "end" at its end."""
    seen = []

    async def run():
        api = connect(kube, transport)
        query = [("resourceVersion", version), ("allowWatchBookmarks", "true")]
        _, _, stream = await api.transport.open_watch(
            "/api/v1/namespaces/default/configmaps", query=query, headers=MINE
        )
        try:
            async for event in stream:
                obj = event["object"]
                name = obj.get("metadata", {}).get("name") or obj.get("reason", "")
                seen.append((event["type"], name, kube.clock.monotonic()))
            seen.append("end")
        finally:
            await stream.aclose()
            await api.aclose()

    kube.task(run())
    kube.settle()
    return seen


def version_of(kube):
    return kube.get("v1", "ConfigMap", "b")["metadata"]["resourceVersion"]


def rewrite(kube, name, *values):
    for value in values:
        kube.patch("v1", "ConfigMap", name, {"data": {"n": str(value)}})
        kube.settle()


@pytest.mark.parametrize("reset", ["", "after"])
def test_a_watch_is_cut_after_some_events(kube, reset):
    with kube.faults.disturb_watches(resource="configmaps", cut_after=2, reset=reset, times=1) as rule:
        cut = follow(kube, kube.kind, version_of(kube))
        whole = follow(kube, kube.kind, version_of(kube))
    rewrite(kube, "a", 1)
    assert "end" not in cut
    rewrite(kube, "a", 2, 3)
    assert [one[0] if one != "end" else one for one in cut] == ["MODIFIED", "MODIFIED", "end"]
    assert len(whole) == 3
    assert rule.hits == 1


def test_a_watch_has_no_body_to_damage(kube):
    kube.findings.allow("unused-fault", reason="it matches none but the watch")
    with kube.faults.damage_bodies(resource="configmaps", body="truncated") as rule:
        seen = follow(kube, kube.kind, version_of(kube))
        rewrite(kube, "a", 1)
    assert [one[:2] for one in seen] == [("MODIFIED", "a")]
    assert rule.hits == 0


def test_a_watch_is_cut_before_an_event(kube):
    with kube.faults.disturb_watches(cut_at="MODIFIED a*", times=1):
        cut = follow(kube, kube.kind, version_of(kube))
    rewrite(kube, "b", 1)
    kube.delete("v1", "ConfigMap", "b")
    rewrite(kube, "a", 1)
    assert [one[:2] if one != "end" else one for one in cut] == [("MODIFIED", "b"), ("DELETED", "b"), "end"]


def test_an_informer_misses_nothing_when_its_watch_is_cut(kube):
    seen = []

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        seen.append((found.get("data") or {}).get("n"))

    with kube.faults.disturb_watches(resource="configmaps", cut_after=3) as rule:
        operator = kube.start(build(reconcile))
        for value in range(6):
            rewrite(kube, "a", value)
            kube.advance(10)
    assert rule.hits == 3
    assert seen[-6:] == ["0", "1", "2", "3", "4", "5"]
    assert operator["minder"].errors() == []


def test_a_watch_delivers_nothing_until_the_rule_is_disarmed(kube):
    rule = kube.faults.disturb_watches(hold_after=1)
    seen = follow(kube, kube.kind, version_of(kube))
    rewrite(kube, "a", 1, 2, 3)
    kube.advance(30)
    assert [one[:2] for one in seen] == [("MODIFIED", "a")]
    rule.disarm()
    kube.settle()
    assert [one[2] for one in seen] == [0, 30, 30]


def test_a_slow_watch(kube):
    with kube.faults.disturb_watches(delay=3, times=1):
        slow = follow(kube, kube.kind, version_of(kube))
        fast = follow(kube, kube.kind, version_of(kube))
    rewrite(kube, "a", 1, 2)
    kube.advance(10)
    assert [one[2] for one in slow] == [3, 6]
    assert [one[2] for one in fast] == [0, 0]


def test_410_in_the_stream(kube):
    """The history is compacted while the watch is behind; the other watch has read it all."""
    with kube.faults.disturb_watches(gone_after=1, times=1):
        gone = follow(kube, kube.kind, version_of(kube))
        whole = follow(kube, kube.kind, version_of(kube))
    rewrite(kube, "a", 1, 2, 3)
    assert [one[:2] if one != "end" else one for one in gone] == [("MODIFIED", "a"), ("ERROR", "Expired"), "end"]
    assert [one[:2] for one in whole] == [("MODIFIED", "a")] * 3


def test_410_when_a_watch_is_opened(kube):
    with kube.fault(verb="watch", error=410, times=1) as rule:
        fresh = follow(kube, kube.kind, "0")
        assert (rule.seen, rule.hits) == (0, 0)  # no resourceVersion that could be too old
        gone = follow(kube, kube.kind, version_of(kube))
    assert rule.hits == 1
    assert [one[:2] if one != "end" else one for one in gone] == [("ERROR", "Expired"), "end"]
    rewrite(kube, "a", 1)
    assert fresh[-1][:2] == ("MODIFIED", "a")


def test_an_informer_lists_again_after_410(kube):
    """The duplicate initial list: everything is delivered again, and nothing has changed."""
    operator = kube.start(build(nothing))
    assert operator["minder"].reconciles() == 2
    with kube.fault(verb="watch", resource="configmaps", error=410, times=1) as rule:
        rewrite(kube, "a", 1)
        kube.faults.cut_watches()
        kube.advance(10)
    assert rule.hits == 1
    assert [event.kind for event in kube.ledger.informer_events if event.again] == ["stream"]
    rewrite(kube, "a", 2)
    assert operator["minder"].causes("default/a") == ["added", "updated", "relist", "updated"]
    assert operator["minder"].causes("default/b") == ["added", "relist"]


def test_410_of_the_next_page(fakekube):
    fakekube.apply(config_map("a"), config_map("b"))
    core = client.CoreV1Api(fakekube.access.api_client())
    with fakekube.fault(verb="list", resource="configmaps", error=410) as rule:
        page = core.list_namespaced_config_map("default", limit=1)
        assert rule.hits == 0
        fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": "1"}})
        with pytest.raises(ApiException, match="continue parameter is too old"):
            core.list_namespaced_config_map("default", limit=1, _continue=page.metadata._continue)
    assert rule.hits == 1


# --- stale reads -----------------------------------------------------------------------------------------------------


def data_of(kube, version):
    path, query = "/api/v1/namespaces/default/configmaps", [("resourceVersion", version)] if version else []
    (_, _, body), _ = call(kube, kube.kind, lambda api: api.transport.request("GET", path, query=query, headers=MINE))
    return {one["metadata"]["name"]: one["data"].get("n") for one in body["items"] if "data" in one}, body["metadata"]


def test_a_list_from_a_watch_cache_that_lags(kube):
    rewrite(kube, "a", 1)
    version = kube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
    rewrite(kube, "a", 2)
    kube.delete("v1", "ConfigMap", "b")
    with kube.fault(verb="list", resource="configmaps", stale=version) as rule:
        stale, meta = data_of(kube, "0")
        assert stale["a"] == "1"
        assert meta["resourceVersion"] == version
        current, meta = data_of(kube, "")
        assert current["a"] == "2"
        assert meta["resourceVersion"] > version
    assert (rule.seen, rule.hits) == (1, 1)
    assert data_of(kube, "0")[0]["a"] == "2"


def test_a_restarted_operator_begins_with_an_old_view(fakekube):
    """Time travel: its first list is from a cache that lags; then the watch brings it to the present."""
    seen = []

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        seen.append(found["data"]["n"])

    from controllerlib.cache.informercontroller import InformerOptions
    from controllerlib.cache.reflector import ReflectorOptions

    listing = InformerOptions(reflector=ReflectorOptions(streaming=False))
    fakekube.apply({**config_map("a"), "data": {"n": "1"}})
    version = fakekube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
    operator = fakekube.start(build(reconcile), informers=listing)
    rewrite(fakekube, "a", 2)
    fakekube.kill(operator)
    with fakekube.fault(verb="list", resource="configmaps", stale=version) as rule:
        again = engine_of(fakekube).operators.make(build(reconcile), informers=listing)
        again.begin(engine_of(fakekube).bubble.loop)
        with fakekube.faults.hold_watches(again, at=int(version)):
            fakekube.settle()
            assert seen == ["1", "2", "1"]
    fakekube.settle()
    assert (seen, rule.hits) == (["1", "2", "1", "2"], 1)


# --- webhooks --------------------------------------------------------------------------------------------------------


def configuration(policy):
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "checks"},
        "webhooks": [
            {
                "name": "checks.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": 5,
                "failurePolicy": policy,
                "clientConfig": {"service": {"namespace": "default", "name": "checks", "path": "/"}},
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
            }
        ],
    }


async def admit(request):
    from aiohttp import web

    review = await request.json()
    return web.json_response({**review, "response": {"uid": review["request"]["uid"], "allowed": True}})


@pytest.mark.parametrize(
    ("options", "said", "took"),
    [({}, "context deadline exceeded", 5), ({"refused": True}, "connection refused", 0)],
)
def test_a_webhook_that_does_not_answer(fakekube, options, said, took):
    fakekube.webhooks.serve(admit, service="checks")
    fakekube.apply(configuration("Fail"))
    fakekube.webhooks.inject_ca_bundle()
    with fakekube.faults.fail_webhooks("default/checks", **options) as rule:
        with pytest.raises(ApiError, match=said):
            fakekube.create(config_map("a"))
        assert fakekube.clock.monotonic() == took
    assert rule.hits == 1
    fakekube.create(config_map("a"))
    assert fakekube.clock.monotonic() == took


def test_a_webhook_that_may_fail_delays_the_write_only(fakekube):
    fakekube.webhooks.serve(admit, service="checks")
    fakekube.apply(configuration("Ignore"))
    fakekube.webhooks.inject_ca_bundle()
    fakekube.findings.allow("unused-fault", reason="no webhook has this name", match="default/other")
    with fakekube.faults.fail_webhooks("default/other") as other, fakekube.faults.fail_webhooks("*checks*"):
        fakekube.create(config_map("a"))
    assert (fakekube.clock.monotonic(), other.seen) == (5, 0)


# --- legality --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"error": 404}, "error=404: a server answers a correct request with 400, 404, 422 never by chance"),
        ({"error": 422}, "never by chance"),
        ({"error": 429, "committed": True}, "429 for example, before it processes the request"),
        ({"error": 410, "verb": "update"}, "only a watch, or a list at a resourceVersion"),
        ({"error": 410}, "pass verb='watch' or verb='list'"),
        *(({"error": 409, "verb": verb}, "a read changes nothing") for verb in ("get", "list", "watch", "[gl]*")),
        ({"error": 504, "committed": True, "verb": "watch"}, "committed=True with verb='watch': a read changes"),
        ({"error": 409, "verb": "get", "subresource": "status"}, "a read changes nothing"),
        ({"stale": 1}, "only reads with resourceVersion=0"),
        ({"stale": 1, "verb": "update"}, "only reads with resourceVersion=0"),
    ],
)
def test_what_a_real_server_never_does_needs_a_flag(rule, said):
    with pytest.raises(ValueError, match=said) as caught:
        FaultRule(**rule)
    assert "unrealistic=True injects it nevertheless" in str(caught.value)
    assert FaultRule(**rule, unrealistic=True).unrealistic


def test_an_unrealistic_fault_is_injected_with_the_flag(kube):
    with kube.fault(verb="get", resource="configmaps", error=404, unrealistic=True):
        result, _ = call(kube, kube.kind, get_a)
    assert (result.code, result.reason) == (404, "NotFound")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"body": "burnt"}, "body='burnt' must be one of 'cut', 'truncated', 'malformed'"),
        ({"verb": "update", "cut_after": 1}, "verb='update': cut_after"),
        ({"verb": "watch", "body": "cut"}, "body= and body_delay= damage whole responses"),
        ({"cut_after": -1}, "cut_after=-1 must be a number of events"),
        ({"verb": "list", "stale": "old"}, "stale='old' must be a resourceVersion"),
        ({"committed": True}, "a fault requires an error"),
        ({"committed": True, "delay": 1}, "committed=True requires an error"),
        ({"webhook": "*", "error": 500}, "webhook= takes only"),
        ({"event_delay": -1}, "event_delay=-1 must not be negative"),
    ],
)
def test_combinations_without_a_meaning(rule, said):
    with pytest.raises(ValueError, match=said):
        FaultRule(**rule)


@pytest.mark.parametrize("rule", [{"before": "soon"}, {"body": 1}, {"body_delay": "1s"}, {"cut_at": 3}])
def test_values_of_a_wrong_type(rule):
    with pytest.raises(TypeError, match=next(iter(rule))):
        FaultRule(**rule)


async def test_in_an_async_test(fakekube):
    api = Client(fakekube.access.transport(), user_agent="mine/1.0")
    fakekube.apply(config_map("a"))
    with fakekube.faults.damage_bodies(verb="get", resource="configmaps", delay=4):
        await get_a(api)
    assert fakekube.clock.monotonic() == 4
    with fakekube.faults.damage_bodies(verb="get", body="cut"), pytest.raises(ConnectionResetError):
        await asyncio.wait_for(get_a(api), 1)


@pytest.mark.parametrize(
    ("rule", "affected"),
    [
        ({}, {"", "mine/1.0", "other"}),
        ({"except_agent": "mine/1.0"}, {"", "other"}),
        ({"except_agent": "mine/1.0", "user_agent": "mine/1.0"}, {"mine/1.0"}),
        ({"except_agent": "mine/1.0", "user_agent": "mine/*"}, set()),
        ({"user_agent": "o*"}, {"other"}),
    ],
)
def test_whose_requests_a_rule_affects(rule, affected):
    info = RequestInfo("get", "/api/v1/pods", is_resource=True, version="v1", resource="pods")
    armed = FaultRule(error=503, **rule)
    assert {agent for agent in ("", "mine/1.0", "other") if armed.matches(info, agent)} == affected
