"""Invalid arguments are rejected at the call; the error names the argument and the fix."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from kubernetes import client

import fakekube as package
from controllerlib import Manager, Request
from fakekube import FakeKube, ManifestError
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, nothing, stamping

GADGETS = "shop.example.org/v1"


# --- faults --------------------------------------------------------------------------------------------------------


def test_a_fault_is_in_force_from_the_call_until_it_is_disarmed(fakekube):
    fakekube.apply(config_map("a"))
    rule = fakekube.fault(verb="update", error=500)
    controller = fakekube.start(build(stamping(x="1")))["minder"]
    assert (rule.hits, len(controller.errors())) == (1, 1)
    rule.disarm()
    fakekube.advance(60)
    assert (rule.hits, fakekube.get("v1", "ConfigMap", "a")["data"]) == (1, {"x": "1"})


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"verb": "PUT"}, "verb='PUT' matches no verb of the API: get, list, watch, create"),
        ({"verb": "post"}, "deletecollection"),
        ({"times": 0}, "times=0 .* at least 1, or None"),
        ({"times": "1"}, "times='1'"),
        ({"times": True}, "times=True"),
        ({"after": -1}, "after=-1"),
        ({"resource": "ConfigMap"}, "did you mean 'configmaps'"),
        ({"resource": "configmap"}, "did you mean 'configmaps'"),
        ({"resource": "cm"}, "did you mean 'configmaps'"),
        ({"resource": "deployments.apps"}, "did you mean 'deployments'"),
        ({"resource": "pods/status"}, "did you mean 'pods'"),
        ({"resource": "Gadget"}, "did you mean 'gadgets'"),
    ],
)
def test_a_fault_for_an_unknown_resource(fakekube, rule, said):
    with pytest.raises(ValueError, match=said):
        fakekube.fault(error=500, **rule)
    assert "faults=0" in repr(fakekube)


@pytest.mark.fakekube(detect={"unused-fault": "off"})
@pytest.mark.parametrize("rule", [{"verb": "up*"}, {"resource": "gadgets"}, {"resource": "config*"}, {"times": 3}])
def test_a_fault_for_a_resource(fakekube, rule):
    with fakekube.fault(error=500, **rule):
        assert "faults=1" in repr(fakekube)
    assert "faults=0" in repr(fakekube)


# --- keys, fields and options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [1, b"default/a", ("default", "a"), {"name": "a"}])
@pytest.mark.parametrize("question", ["history", "reconciles", "causes", "times", "results", "errors", "failures"])
def test_an_invalid_key(fakekube, question, key):
    controller = engine_of(fakekube).operators.make(build(nothing))["minder"]
    with pytest.raises(TypeError, match="pass 'namespace/name'"):
        getattr(controller, question)(key)


def test_a_valid_key(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    assert controller.reconciles(Request("default", "a")) == controller.reconciles("default/a") == 1
    assert controller.reconciles("default/never") == 0
    with pytest.raises(ValueError, match="a/b/c"):
        controller.reconciles("a/b/c")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda kube: kube.events(colour="red"), "events.* has no argument colour .*reason"),
        (lambda kube: kube.events(reason=5), r"events\(reason=5\): reason is a text, not int"),
        (lambda kube: kube.events(count="5"), r"events\(count='5'\): count is a number, not str"),
        (lambda kube: kube.events(metadata="a"), r"events\(metadata='a'\): metadata is a mapping, not str"),
        (lambda kube: kube.requests(code="200"), "code='200'.* is a number"),
        (lambda kube: kube.requests(verb=None), "verb is a text"),
        (
            lambda kube: kube.delete("v1", "Pod", "a", propagation="Foreground"),
            "propagation: did you mean 'propagationPolicy'",
        ),
        (lambda kube: kube.list("v1", "Pod", label_selector=["a=b"]), "label_selector="),
        (lambda kube: kube.get("v1", "Pod", 3), "name=3, namespace='default': both must be text"),
        (lambda kube: kube.get("v1", "Pod", "a", 3), "name='a', namespace=3: both must be text"),
        (lambda kube: kube.get(1, "Pod", "a"), "api_version=1, kind='Pod': both must be text"),
        (lambda kube: kube.get("v1", 2, "a"), "api_version='v1', kind=2: both must be text"),
        (lambda kube: kube.patch("v1", "Pod", "a", {"x": [{1}]}), r"x\[0\] is a set"),
        (lambda kube: kube.create("pod.yaml"), r"apply\(\) takes files"),
        (lambda kube: kube.apply(), "needs at least one file"),
        (lambda kube: kube.pods.on_logs("text"), "handler='text': pass a function"),
    ],
)
def test_an_unknown_field_or_option(fakekube, ask, said):
    with pytest.raises(TypeError, match=said):
        ask(fakekube)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda kube: kube.get("v1", "Pod", "default/a"),
            "name='default/a': pass the namespace as a separate argument",
        ),
        (lambda kube: kube.list("v1", "Pod", ""), "None for all"),
    ],
)
def test_a_name_that_is_no_name(fakekube, ask, said):
    with pytest.raises(ValueError, match=said):
        ask(fakekube)


def test_a_selector_can_be_a_mapping(fakekube):
    fakekube.apply([config_map("a", labels={"app": "web", "tier": "x"}), config_map("b", labels={"app": "web"})])
    found = fakekube.list("v1", "ConfigMap", label_selector={"app": "web", "tier": "x"})
    assert [one["metadata"]["name"] for one in found] == ["a"]


# --- operators -----------------------------------------------------------------------------------------------------


async def build_async(manager):
    build(nothing)(manager)


def forgotten(manager):
    manager.controller("minder").for_("v1", "ConfigMap")


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (None, TypeError, r"start\(\) takes the function"),
        (Manager(None), TypeError, "creates the manager itself"),
        (build_async, TypeError, "no async def"),
        (lambda manager: build_async(manager), TypeError, "returned a coroutine"),
        (forgotten, ValueError, r"was .complete\(\) forgotten"),
        (lambda manager: None, ValueError, "added nothing"),
    ],
)
def test_a_build_function_that_adds_nothing(fakekube, wrong, error, said):
    with pytest.raises(error, match=said):
        fakekube.start(wrong)


def test_a_manager_may_have_nothing_but_runnables(fakekube):
    ran = asyncio.Event()

    async def run():
        ran.set()

    fakekube.start(lambda manager: manager.add(run))
    assert ran.is_set()


def of_gadgets(manager):
    manager.controller("minder").for_(GADGETS, "Gadget").complete(nothing)


def test_a_controller_of_an_unknown_kind(fakekube):
    with pytest.warns(UserWarning, match="'minder' has not started: it waits for shop.example.org/v1 Gadget"):
        fakekube.start(of_gadgets)


async def test_a_controller_of_an_unknown_kind_in_an_async_test(fakekube):
    with pytest.warns(UserWarning, match="shop.example.org/v1 Gadget"):
        await fakekube.start(of_gadgets)


@pytest.mark.parametrize(("period", "error"), [(-1, ValueError), ("often", ValueError), (None, TypeError)])
def test_an_invalid_sync_period(fakekube, period, error):
    with pytest.raises(error, match="sync_period="):
        fakekube.start(build(nothing), sync_period=period)


def test_a_sync_period_as_text(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing), sync_period="10h")["minder"]
    fakekube.advance("10h1s")
    assert controller.causes() == ["added", "resync"]


# --- objects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["create", "update", "apply"])
@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (None, TypeError, "not None"),
        (b"apiVersion: v1", TypeError, "not a bytes"),
        ([None], TypeError, "takes an object"),
        (3, TypeError, "takes an object"),
        (client.V1Pod, TypeError, "the class V1Pod"),
        ({"kind": "Pod"}, ValueError, "no apiVersion"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": ["a"]}, TypeError, "metadata of a Pod must be a mapping"),
        ({**config_map("a"), "data": {"a": [1, {2}]}}, TypeError, r"data\.a\[1\] is a set"),
        ({**config_map("a"), "data": {"a": float("nan")}}, TypeError, "data.a=nan"),
        ({**config_map("a"), "data": {"a": b"x"}}, TypeError, "data.a is bytes: .* base64"),
        ({**config_map("a"), "data": {1: "x"}}, TypeError, "key 1 of data is not text"),
        ({**config_map("a"), "data": {"a": object()}}, TypeError, "cannot be written as JSON: object"),
    ],
)
def test_an_invalid_object(fakekube, write, value, error, said):
    with pytest.raises(error, match=said):
        getattr(fakekube, write)(value)


@pytest.mark.parametrize("write", ["create", "apply"])
def test_a_model_of_the_official_client(fakekube, write):
    meta = client.V1ObjectMeta(name="a", owner_references=[])
    getattr(fakekube, write)(client.V1ConfigMap(api_version="v1", kind="ConfigMap", metadata=meta, data={"x": "1"}))
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"x": "1"}


def test_a_list_is_its_items(fakekube):
    items = [config_map("a"), config_map("b")]
    fakekube.apply({"apiVersion": "v1", "kind": "List", "items": items})
    assert len(fakekube.list("v1", "ConfigMap")) == 2


def test_the_text_of_manifests_is_no_path(fakekube):
    with pytest.raises(ManifestError, match=r"got the text of manifests.*safe_load_all"):
        fakekube.apply("apiVersion: v1\nkind: Pod\n")


@pytest.mark.parametrize(
    ("api_version", "kind", "meant"),
    [
        ("v1", "pods", "did you mean 'Pod'"),
        ("v1", "pod", "did you mean 'Pod'"),
        ("Pod", "v1", "did you mean 'v1', 'Pod' .the apiVersion goes first"),
        ("v1", "Deployment", "did you mean 'Deployment' in 'apps/v1'"),
        ("v7", "Event", "did you mean 'Event' in 'events.k8s.io/v1' or 'Event' in 'v1'"),
        (GADGETS, "Gadget", "is its CustomResourceDefinition applied"),
    ],
)
def test_an_unknown_kind(fakekube, api_version, kind, meant):
    with pytest.raises(LookupError, match=meant):
        fakekube.get(api_version, kind, "a")
    with pytest.raises(ManifestError, match=meant):
        fakekube.apply({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})


# --- time, and what runs beside the test ---------------------------------------------------------------------------


async def coroutine_function():
    return None


@pytest.mark.parametrize(
    ("do", "error", "said"),
    [
        (lambda kube: kube.advance(None), TypeError, "a duration is a number of seconds"),
        (lambda kube: kube.advance(hour=1), TypeError, "unknown unit of time: hour .*hours"),
        (lambda kube: kube.advance(float("nan")), ValueError, "not a duration: nan"),
        (lambda kube: kube.advance_to("soon"), ValueError, "not in ISO format"),
        (lambda kube: kube.advance_to(60), TypeError, "aware datetime"),
        (lambda kube: kube.advance_until(True, 1), TypeError, "takes a function"),
        (lambda kube: kube.stop(None), TypeError, r"as start\(\) returns it"),
        (
            lambda kube: kube.stop(kube.task(coroutine_function())),
            TypeError,
            r"end what task\(\) runs with task\.cancel\(\)$",
        ),
        (
            lambda kube: kube.stop(kube.thread(int)),
            TypeError,
            r"end what thread\(\) runs with faults\.signal\(thread, ",
        ),
        (lambda kube: kube.start(len, sync_perod=1), TypeError, r"start\(\) has no .*: did you mean 'sync_period'\?"),
        (lambda kube: kube.start(len, usr="me"), TypeError, r"start\(\) has no argument usr: did you mean 'user'\?"),
        (lambda kube: kube.task(lambda: None), TypeError, r"task\(work\(\)\)"),
        (lambda kube: kube.thread(None), TypeError, "takes a function"),
        (lambda kube: kube.thread(coroutine_function), TypeError, r"task\(coroutine_function\(\)\)"),
        (lambda kube: kube.run_process("kubectl get ns"), TypeError, r"pass a list, \['kubectl', 'get', 'ns'\]"),
        (lambda kube: kube.run_process([]), ValueError, r"run_process\(\[\]\): the list names a program"),
        (lambda kube: kube.access.api_client(user=1), TypeError, "user=1"),
    ],
)
def test_an_invalid_step(fakekube, do, error, said):
    with pytest.raises(error, match=said):
        do(fakekube)


def test_a_moment_as_text(fakekube):
    fakekube.advance_to("2030-01-01T00:00:00Z")
    assert fakekube.clock.now() == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_timeout_is_shown_with_its_unit_and_without_the_loop_itself(fakekube):
    with pytest.raises(TimeoutError, match="still false after 60 s") as caught:
        fakekube.advance_until(lambda: False, 60)
    assert "VirtualTimeLoop" not in str(caught.value)


@pytest.mark.fakekube(rbac=True)
def test_a_user_by_name(fakekube):
    core = client.CoreV1Api(fakekube.access.api_client(user="bob"))
    with pytest.raises(client.ApiException, match='User \\\\"bob\\\\" cannot list'):
        core.list_namespaced_pod("default")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"rbac": "yes"}, TypeError),
        ({"version": 1.31}, TypeError),
        ({"version": "9.9"}, ValueError),
        ({"seed": 1.5}, TypeError),
        ({"seed": None}, TypeError),
        ({"history_window": "x"}, TypeError),
        ({"service_cluster_ip_range": 12}, TypeError),
        ({"service_cluster_ip_range": "10.0.0.0"}, ValueError),
        ({"wall_clock": 3}, TypeError),
        ({"stepped": "x"}, TypeError),
        ({"patience": "x"}, TypeError),
        ({"patience": float("nan")}, ValueError),
    ],
)
def test_an_invalid_cluster(settings, error):
    (name,) = settings
    with pytest.raises(error, match=name if name != "version" else "version|9.9"):
        FakeKube(**settings)


# --- public names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", package.__all__)
def test_public_names_are_in_the_package(name):
    assert getattr(package, name).__name__ == name
    assert name in dir(package)


def test_the_package_imports_nothing_until_it_is_used():
    code = "import sys, fakekube; sys.exit('fakekube.harness.cluster' in sys.modules or 'controllerlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
