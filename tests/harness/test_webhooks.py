"""Admission webhooks that a test serves, over HTTPS and under virtual time."""

import asyncio
import base64
import json

import pytest

from controllerlib import ApiError
from fakekube import ManifestError
from fakekube.harness.engine import engine_of

CONFIG = "admissionregistration.k8s.io/v1"


def configuration(kind="Validating", *, rules=None, **webhook):
    """A configuration of one webhook, `guard.example.com`, for ConfigMaps."""
    rules = rules or [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]
    hook = {
        "name": "guard.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "guard", "path": "/review"}},
        "rules": rules,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        **webhook,
    }
    return {
        "apiVersion": CONFIG,
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "guard"},
        "webhooks": [hook],
    }


def configmap(name="a", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Guard:
    """Answers reviews with `answer(request)`, and records them."""

    def __init__(self, answer=lambda request: {"allowed": True}):
        self.asked, self._answer = [], answer

    async def __call__(self, http):
        from aiohttp import web

        review = await http.json()
        request = review["request"]
        self.asked.append(request)
        answer = self._answer(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return web.json_response(
            {
                "apiVersion": review["apiVersion"],
                "kind": "AdmissionReview",
                "response": {"uid": request["uid"], **answer},
            }
        )


def patched(*operations):
    return {
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(operations).encode()).decode(),
    }


def serve(fakekube, guard, config):
    fakekube.webhooks.serve(guard, service="guard")
    fakekube.apply(config)
    fakekube.webhooks.inject_ca_bundle()


def test_a_refusal_names_the_webhook_and_nothing_is_written(fakekube):
    guard = Guard(lambda request: {"allowed": False, "status": {"code": 403, "message": "no x here"}})
    serve(fakekube, guard, configuration(rules=[
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    ]))  # fmt: skip
    with pytest.raises(ApiError) as refused:
        fakekube.create(configmap(x="1"))
    assert str(refused.value).endswith('admission webhook "guard.example.com" denied the request: no x here')
    assert refused.value.code == 403
    assert not fakekube.exists("v1", "ConfigMap", "a")


def test_the_admission_review_that_a_webhook_gets(fakekube):
    guard = Guard()
    serve(fakekube, guard, configuration())
    made = fakekube.create(configmap(x="1"))
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    fakekube.delete("v1", "ConfigMap", "a")
    created, updated, deleted = guard.asked
    assert [one["operation"] for one in guard.asked] == ["CREATE", "UPDATE", "DELETE"]
    assert created["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert created["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (created["name"], created["namespace"], created["dryRun"]) == ("a", "default", False)
    assert created["userInfo"]["username"] == "kubernetes-admin"
    assert (created["object"]["data"], created["oldObject"]) == ({"x": "1"}, None)
    assert created["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert (updated["object"]["data"], updated["oldObject"]["data"]) == ({"x": "2"}, {"x": "1"})
    assert updated["options"]["kind"] == "UpdateOptions"
    assert (deleted["object"], deleted["oldObject"]["data"]) == (None, {"x": "2"})
    assert len({one["uid"] for one in guard.asked}) == 3


def test_a_mutating_webhook_changes_the_object(fakekube):
    def default(request):
        return patched({"op": "add", "path": "/data/y", "value": request["object"]["data"]["x"]})

    guard = Guard(default)
    serve(fakekube, guard, configuration("Mutating", rules=[
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"], "scope": "Namespaced"}
    ]))  # fmt: skip
    assert fakekube.create(configmap(x="1"))["data"] == {"x": "1", "y": "1"}
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"x": "1", "y": "1"}


def test_b8_an_answer_in_chunks_is_read_to_its_end(fakekube):
    async def in_chunks(http):
        from aiohttp import web

        review = await http.json()
        answer = {"uid": review["request"]["uid"], "allowed": True, "warnings": ["x" * 70_000]}
        text = json.dumps({**review, "response": answer}).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(http)
        for i in range(0, len(text), 1000):
            await response.write(text[i : i + 1000])
            await asyncio.sleep(0.01)
        await response.write_eof()
        return response

    serve(fakekube, in_chunks, configuration())
    assert fakekube.create(configmap(x="1"))["data"] == {"x": "1"}


def test_an_answer_that_is_not_json(fakekube):
    async def page(http):
        from aiohttp import web

        return web.Response(text="<html>", content_type="text/html")

    serve(fakekube, page, configuration())
    with pytest.raises(ApiError) as refused:
        fakekube.create(configmap(x="1"))
    assert str(refused.value).endswith("invalid character '<' looking for beginning of value")


@pytest.mark.slow
def test_a_thread_writes_while_a_webhook_is_asked(fakekube):
    def write():
        fakekube.create(configmap(x="1"))

    guard = Guard()
    serve(fakekube, guard, configuration())
    fakekube.thread(write)
    fakekube.settle()
    assert [one["operation"] for one in guard.asked] == ["CREATE"]
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"x": "1"}


def test_b9_apply_waits_for_webhooks(fakekube):
    guard = Guard(lambda request: {"allowed": request["object"]["data"]["x"] != "bad"})
    serve(fakekube, guard, configuration())
    fakekube.apply(configmap("a", x="1"), configmap("b", x="2"))
    fakekube.apply(configmap("a", x="3"))
    assert [one["operation"] for one in guard.asked] == ["CREATE", "CREATE", "CREATE", "UPDATE"]
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"x": "3"}
    with pytest.raises(ManifestError, match="denied the request"):
        fakekube.apply(configmap("c", x="bad"))


def test_warnings_reach_the_client_and_time_passes_as_the_webhook_takes_it(fakekube):
    async def slow(request):
        await asyncio.sleep(3)
        return {"allowed": True, "warnings": ["x is deprecated"]}

    serve(fakekube, Guard(slow), configuration())
    client = fakekube.access.transport()

    async def create():
        return await client.request("POST", "/api/v1/namespaces/default/configmaps", body=configmap(x="1"))

    began = fakekube.clock.monotonic()
    task = engine_of(fakekube).bubble.loop.create_task(create())
    fakekube.advance(5)
    code, headers, _ = task.result()
    assert code == 201
    assert "x is deprecated" in headers["Warning"]
    assert fakekube.clock.monotonic() - began == 5


@pytest.mark.parametrize(
    ("policy", "code", "message"),
    [
        pytest.param("Fail", 500, 'failed calling webhook "guard.example.com": failed to call webhook: Post '
                     '"https://guard.default.svc:443/review?timeout=2s": context deadline exceeded', id="fail"),
        pytest.param("Ignore", 201, "", id="ignore"),
    ],
)  # fmt: skip
def test_a_webhook_that_takes_too_long(fakekube, policy, code, message):
    async def never(request):
        await asyncio.sleep(3600)

    serve(fakekube, Guard(never), configuration(failurePolicy=policy, timeoutSeconds=2))
    client = fakekube.access.transport()

    async def create():
        return await client.request("POST", "/api/v1/namespaces/default/configmaps", body=configmap(x="1"))

    task = engine_of(fakekube).bubble.loop.create_task(create())
    fakekube.advance(1.9)
    assert not task.done()
    fakekube.advance(0.1)
    found, _, body = task.result()
    assert found == code
    assert message in body.get("message", "")


def test_a_service_without_a_webhook(fakekube):
    fakekube.apply(configuration())
    with pytest.raises(ApiError, match='service "guard" not found'):
        fakekube.create(configmap())


def test_a_certificate_of_another_authority(fakekube):
    from fakekube.server.certificates import Authority

    fakekube.webhooks.serve(Guard(), service="guard")
    other = base64.b64encode(Authority().certificate).decode()
    config = configuration()
    config["webhooks"][0]["clientConfig"]["caBundle"] = other
    fakekube.apply(config)
    with pytest.raises(ApiError, match="x509: certificate signed by unknown authority"):
        fakekube.create(configmap())


@pytest.mark.parametrize(
    ("response", "why"),
    [
        pytest.param({"uid": "wrong", "allowed": True}, 'got "wrong"', id="uid"),
        pytest.param({"allowed": True, "patch": "W10="}, "response.patch but not response.patchType", id="patch-type"),
        pytest.param(
            {"allowed": True, "patchType": "JSONPatch"}, "response.patchType but not response.patch", id="type"
        ),
        pytest.param(
            {"allowed": True, "patchType": "JSONPatch", "patch": "e30"},
            "illegal base64 data at input byte",
            id="undecodable",
        ),
        pytest.param(
            {**patched({"op": "remove", "path": "/data"}), "patchType": "Other"},
            'unsupported patch type "Other"',
            id="other-patch-type",
        ),
    ],
)
def test_an_invalid_answer(fakekube, response, why):
    serve(fakekube, Guard(lambda request: response), configuration("Mutating"))
    with pytest.raises(ApiError, match="failed calling webhook") as failed:
        fakekube.create(configmap())
    assert why in str(failed.value)


def test_selectors_decide_which_objects_a_webhook_gets(fakekube):
    guard = Guard()
    serve(fakekube, guard, configuration(
        objectSelector={"matchLabels": {"check": "yes"}},
        namespaceSelector={"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]},
    ))  # fmt: skip
    fakekube.create(configmap("unlabelled"))
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "quiet", "labels": {"skip": ""}}})
    labelled = configmap("labelled")
    labelled["metadata"]["labels"] = {"check": "yes"}
    fakekube.create(labelled)
    fakekube.create({**labelled, "metadata": {**labelled["metadata"], "namespace": "quiet"}})
    assert [(one["namespace"], one["name"]) for one in guard.asked] == [("default", "labelled")]


@pytest.mark.parametrize(
    ("value", "made", "asked"),
    [
        pytest.param(lambda times: "1", "1", (2, 1), id="the-same-again"),
        pytest.param(str, "2", (2, 2), id="another-change"),
    ],
)
def test_a_webhook_is_reinvoked_once(fakekube, value, made, asked):
    def first(request):
        return patched({"op": "add", "path": "/data/first", "value": value(len(one.asked))})

    def second(request):
        return patched({"op": "add", "path": "/data/second", "value": "1"})

    one, other = Guard(first), Guard(second)
    fakekube.webhooks.serve(one, service="one")
    fakekube.webhooks.serve(other, service="other")
    config = configuration("Mutating", reinvocationPolicy="IfNeeded")
    hook = config["webhooks"][0]
    config["webhooks"] = [
        {**hook, "name": f"{name}.example.com", "clientConfig": {"service": {"namespace": "default", "name": name}}}
        for name in ("one", "other")
    ]
    fakekube.apply(config)
    fakekube.webhooks.inject_ca_bundle()
    assert fakekube.create(configmap(x="1"))["data"] == {"x": "1", "first": made, "second": "1"}
    assert (len(one.asked), len(other.asked)) == asked


def test_containers_that_a_webhook_adds_get_the_limits_of_the_namespace(fakekube):
    def sidecar(request):
        return patched({"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "i"}})

    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    serve(fakekube, Guard(sidecar), configuration("Mutating", rules=rules))
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    fakekube.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": limits})
    spec = {"containers": [{"name": "main", "image": "i"}]}
    pod = fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    assert [one["resources"]["limits"] for one in pod["spec"]["containers"]] == [{"cpu": "1"}] * 2


def test_a_dry_run_calls_only_webhooks_without_side_effects(fakekube):
    serve(fakekube, Guard(), configuration(sideEffects="NoneOnDryRun"))
    code, _, _ = engine_of(fakekube).bubble.loop.drive(
        fakekube.access.transport().request(
            "POST", "/api/v1/namespaces/default/configmaps", query=[("dryRun", "All")], body=configmap()
        )
    )
    assert code == 201
    assert not fakekube.exists("v1", "ConfigMap", "a")


async def test_an_async_test_uses_a_client(fakekube):
    from fakekube.server.runner import WouldWait

    serve(fakekube, Guard(lambda request: {"allowed": False}), configuration())
    with pytest.raises(WouldWait, match=r"controllerlib\.Client"):
        fakekube.create(configmap())
    code, _, body = await fakekube.access.transport().request(
        "POST", "/api/v1/namespaces/default/configmaps", body=configmap()
    )
    assert code == 400
    assert body["message"] == 'admission webhook "guard.example.com" denied the request without explanation'


def test_one_service_has_one_webhook(fakekube):
    fakekube.webhooks.serve(Guard(), service="guard")
    with pytest.raises(ValueError, match="service='guard'"):
        fakekube.webhooks.serve(Guard(), service="guard")


def test_a0_a_service_is_mapped_to_an_address(fakekube):
    guard = Guard()
    url = fakekube.webhooks.serve(guard, service="elsewhere")
    fakekube.webhooks.map_service("guard", url)
    fakekube.apply(configuration())
    fakekube.webhooks.inject_ca_bundle()
    with pytest.raises(ApiError, match="certificate"):  # the one of `elsewhere`
        fakekube.create(configmap())
    assert guard.asked == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9443", "127.0.0.1:9443", "https://127.0.0.1:9443/path"])
def test_a0_a_service_is_mapped_to_a_host_only(fakekube, url):
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:9443"):
        fakekube.webhooks.map_service("guard", url)
