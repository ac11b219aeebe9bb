"""The checks of arguments without a cluster, and what a report of access says; both are pure."""

from datetime import UTC, datetime, timedelta

import pytest
import yaml
from kubernetes import client

from controllerlib import Request
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import VERBS, Resource
from fakekube.clustersettings import ClusterSettings
from fakekube.harness import arguments
from fakekube.harness.accessreport import Access, AccessReport, in_order, rules_of, used_by, with_lists
from fakekube.server import bootstrap
from fakekube.virtualtime.wallclock import RealWallClock

SERVED = bootstrap._catalog(bootstrap.KUBERNETES_VERSION).resources()


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": "name"}, {"seed": -1}, {"rbac": True}, {"real_connections": True}, {"stepped": False}, {"wall_clock": "freezegun"},
        {"wall_clock": "time-machine"}, {"wall_clock": False}, {"wall_clock": RealWallClock()}, {"transport": "memory"},
        {"transport": "tcp"}, {"history_window": 1}, {"patience": 0.001}, {"patience": 5}, {"version": "1.30"}, {"nodes": 0},
        {"feature_gates": {}}, {"feature_gates": {"WatchList": False}}, {"feature_gates": {"WatchList": True}, "version": "1.34"},
        {"controllers": ["*"]}, {"controllers": ("job",)}, {"service_cluster_ip_range": "10.0.0.0/16,fd00::/112"},
    ],
)  # fmt: skip
def test_settings_that_a_cluster_may_have(settings):
    arguments.check_cluster(ClusterSettings(**settings))


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"seed": True}, TypeError, "seed=True: pass an int or text"),
        ({"seed": 1.0}, TypeError, "seed=1.0"),
        ({"rbac": 1}, TypeError, "rbac=1: pass True"),
        ({"real_connections": None}, TypeError, "real_connections=None: pass True"),
        ({"stepped": 0}, TypeError, "stepped=0: pass True, False, or None"),
        ({"wall_clock": "x"}, ValueError, "wall_clock='x': pass True, False, 'freezegun' or 'time-machine'"),
        ({"wall_clock": None}, TypeError, "wall_clock=None: pass True to freeze"),
        ({"transport": "http"}, ValueError, "transport='http': pass 'direct', 'memory' or 'tcp'"),
        ({"history_window": True}, TypeError, "history_window=True"),
        ({"history_window": 0}, ValueError, "history_window=0: it must be at least 1"),
        ({"patience": True}, TypeError, "patience=True"),
        ({"patience": 0}, ValueError, "patience=0: it must be above 0"),
        ({"version": 1.3}, TypeError, "version=1.3: pass text, like version='1.3'"),
        ({"service_cluster_ip_range": None}, TypeError, "service_cluster_ip_range=None: pass text"),
        ({"service_cluster_ip_range": "x"}, ValueError, "service_cluster_ip_range='x': "),
        ({"controllers": "job"}, TypeError, "controllers='job': pass a list of names"),
        ({"controllers": {"job"}}, TypeError, "controllers=.'job'.: pass a list of names"),
        ({"controllers": ["job", 1]}, TypeError, r"controllers=\['job', 1\]: names are text"),
        ({"controllers": ["jobs"]}, ValueError, r"controllers=\['jobs'\]: "),
        (
            {"feature_gates": ["WatchList"]},
            TypeError,
            r"feature_gates=\['WatchList'\]: pass a dict of names and states",
        ),
        (
            {"feature_gates": {"WatchList": "false"}},
            TypeError,
            "feature_gates=.'WatchList': 'false'.: pass a dict of names",
        ),
        ({"feature_gates": {"Nothing": True}}, ValueError, r"feature_gates=.'Nothing': True.: .* \(Kubernetes 1\.36"),
        ({"feature_gates": {"Nothing": True}, "version": "1.34"}, ValueError, r"\(Kubernetes 1\.34\)"),
        ({"nodes": -1}, ValueError, "nodes=-1: it must not be negative"),
        ({"nodes": True}, TypeError, "nodes=True: pass the number of nodes"),
        ({"nodes": ["a"]}, TypeError, "nodes=.*use nodes.add"),
    ],
)
def test_settings_that_no_cluster_has(settings, error, said):
    with pytest.raises(error, match=said):
        arguments.check_cluster(ClusterSettings(**settings))


@pytest.mark.parametrize(
    ("rbac", "mode", "kubelets", "found"),
    [
        (False, None, False, "AlwaysAllow"), (True, None, False, "RBAC"), (True, None, True, "Node,RBAC"),
        (False, "Node,RBAC", True, "Node,RBAC"), (False, "RBAC", True, "RBAC"),
    ],
)  # fmt: skip
def test_the_mode_of_authorization(rbac, mode, kubelets, found):
    assert arguments.authorization_mode_of(rbac, mode, kubelets=kubelets) == found


@pytest.mark.parametrize(
    ("rbac", "mode", "error", "said"),
    [
        (False, 3, TypeError, "authorization_mode=3: pass text"),
        (True, "RBAC", ValueError, "it replaces rbac=True"),
        (False, "Maybe", ValueError, r"authorization_mode='Maybe': .*\(it has .*AlwaysAllow"),
    ],
)
def test_a_mode_that_does_not_exist(rbac, mode, error, said):
    with pytest.raises(error, match=said):
        arguments.authorization_mode_of(rbac, mode)


def test_admission_plugins():
    default = arguments.admission_plugins_of([], [])
    assert arguments.admission_plugins_of(["ServiceAccount"], []) == default | {"ServiceAccount"}
    assert arguments.admission_plugins_of([], ["NamespaceLifecycle"]) == default - {"NamespaceLifecycle"}
    assert arguments.admission_plugins_of([], [], ["*"]) == default
    assert arguments.admission_plugins_of([], [], ["serviceaccount"]) == default | {"ServiceAccount"}
    assert arguments.admission_plugins_of([], ["ServiceAccount"], ["serviceaccount"]) == default
    for given, name in ((("x", []), "enable_admission_plugins"), (([], {"x"}), "disable_admission_plugins")):
        with pytest.raises(TypeError, match=f"{name}=.*: pass a list of names"):
            arguments.admission_plugins_of(*given)
    with pytest.raises(ValueError, match=r"Nothing.*\(this server has .*NodeRestriction"):
        arguments.admission_plugins_of(["Nothing"], [])


def test_durations_and_moments_of_options():
    assert arguments.seconds_of("x", "1m30s") == 90.0
    assert arguments.seconds_of("x", timedelta(milliseconds=5)) == 0.005
    assert arguments.moment_of("2026-01-01T12:00:00Z") == datetime(2026, 1, 1, 12, tzinfo=UTC)
    moment = datetime(2026, 1, 1)
    assert arguments.moment_of(moment) is moment
    assert arguments.in_seconds({"delay": "1m", "body_delay": timedelta(seconds=2), "event_delay": 3, "times": 5}) == {
        "delay": 60.0, "body_delay": 2.0, "event_delay": 3, "times": 5,
    }  # fmt: skip
    for error, call, said in (
        (ValueError, lambda: arguments.seconds_of("grace", -1), "grace=-1: negative"),
        (TypeError, lambda: arguments.seconds_of("grace", None), "grace=None: "),
        (ValueError, lambda: arguments.in_seconds({"delay": "soon"}), "delay='soon': "),
        (ValueError, lambda: arguments.moment_of("noon"), "not in ISO format"),
        (TypeError, lambda: arguments.moment_of(None), "pass an aware datetime"),
    ):
        with pytest.raises(error, match=said):
            call()


# --- objects

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_objects_are_mappings_or_models():
    model = client.V1ConfigMap(api_version="v1", kind="ConfigMap", metadata=client.V1ObjectMeta(name="a"))
    assert arguments.written("create", MAP) == MAP
    assert arguments.written("create", model) == MAP
    assert arguments.written("create", {"apiVersion": "v1", "kind": "Pod", "metadata": None})["metadata"] is None


@pytest.mark.parametrize(
    ("caller", "value", "said"),
    [
        ("create", [MAP], r"create\(\) takes an object, .* not a list: apply\(\) takes several"),
        ("apply", [MAP], r"not a list\Z"),
        ("create", "a.yaml", r"not a str: apply\(\) takes files"),
        ("apply", "a.yaml", r"not a str\Z"),
        ("create", {MAP["kind"]}, r"not a set\Z"),
        ("create", client.V1Pod, "not the class V1Pod"),
        ("create", None, "not None"),
        ("create", {"kind": "Pod", "metadata": {}}, r"the object has no apiVersion \(it has kind, metadata\)"),
        ("create", {"apiVersion": "v1", "kind": ""}, "the object has no kind"),
        ("create", {"apiVersion": 1, "kind": "Pod"}, "the object has no apiVersion"),
        ("create", {**MAP, "metadata": "x"}, "metadata of a ConfigMap must be a mapping, not a str"),
    ],
)
def test_what_is_no_object(caller, value, said):
    with pytest.raises((TypeError, ValueError), match=said):
        arguments.written(caller, value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [0, {"b": {1}}]}, r"a\[1\]\.b is a set: JSON cannot represent it"),
        ({"a": {3: 1}}, "the key 3 of a is not text"),
        ({3: 1}, "the key 3 of the object is not text"),
        ({"a": float("inf")}, "a=inf: JSON cannot represent this number"),
        ({"a": b"x"}, "a is bytes"),
        *(
            ({"a": wrong}, "a is .*: JSON cannot represent it")
            for wrong in (frozenset(), 1j, int, timedelta(), iter(()).__iter__, (x for x in ()))
        ),
    ],
)
def test_values_that_json_cannot_represent_are_named_with_their_path(value, said):
    with pytest.raises(TypeError, match=rf"patch\(\): {said}"):
        arguments.check_values("patch", value)


def test_values_that_json_can_represent():
    arguments.check_values("patch", {"a": [1, 1.5, "x", None, True, ("y",)], "b": {}})


def test_the_items_of_lists():
    assert arguments.items_of(MAP) == [MAP]
    assert arguments.items_of({"apiVersion": "v1", "kind": "List", "items": [MAP, MAP]}) == [MAP, MAP]
    bare = {"metadata": {"name": "a"}}
    assert arguments.items_of({"apiVersion": "v1", "kind": "ConfigMapList", "items": [bare]}) == [MAP]
    for no_list in ({**MAP, "items": [1]}, {**MAP, "kind": "ConfigMapList"}):
        assert arguments.items_of(no_list) == [no_list]
    for items in ([bare], [3]):
        with pytest.raises((TypeError, ValueError)):
            arguments.items_of({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.mark.parametrize(
    ("text", "is_text"),
    [
        ("a.yaml", False),
        ("kind: Pod", True),
        ("apiVersion: v1", True),
        ("  {}", True),
        ("--- x", True),
        ("a\nb", True),
        ("", False),
        ("kindness", False),
    ],
)
def test_text_of_manifests_is_no_path(text, is_text):
    assert arguments.is_text_of_manifests(text) is is_text


@pytest.mark.parametrize(
    ("wanted", "text"), [({"a": "b", "c": "d"}, "a=b,c=d"), ("a!=b", "a!=b"), ("", ""), (None, ""), ({}, "")]
)
def test_selectors(wanted, text):
    assert arguments.selector("labels", wanted) == text


def test_keys():
    assert arguments.key_of(Request("ns", "a")) == arguments.key_of("ns/a") == "ns/a"
    assert arguments.key_of("a") == "a"
    with pytest.raises(TypeError, match="labels=3: pass text"):
        arguments.selector("labels", 3)
    for wrong, error in ((3, TypeError), ("a/b/c", ValueError)):
        with pytest.raises(error):
            arguments.key_of(wrong)


# --- resources and requests


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("configmaps", None), ("config*", None), ("p?ds", None), ("[p]ods", None), ("gadgets", None), ("ConfigMap", "configmaps"),
        ("configmap", "configmaps"), ("CM", "configmaps"), ("Pods", "pods"), ("deployments.apps", "deployments"),
        ("pods/status", "pods"), ("Gadget", "gadgets"), ("", "s"),
    ],
)  # fmt: skip
def test_a_resource_is_named_by_its_plural(asked, meant):
    if meant is None:
        arguments.check_resource(asked, SERVED)
    else:
        with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
            arguments.check_resource(asked, SERVED)


@pytest.mark.parametrize(
    ("wanted", "seen", "said"),
    [
        ({}, [], None), ({"verb": "get"}, [], None), ({"verb": "post"}, [], None), ({"verb": "p*", "resource": "pods"}, [], None),
        ({"resource": ""}, [], None), ({"verb": "options"}, [], None),
        ({"verb": "POST", "resource": "pods"}, [], "verb='POST' matches no verb of the API: did you mean 'create'"),
        ({"verb": "put", "resource": "pods"}, [], "did you mean 'update'"),
        ({"verb": "HEAD", "resource": "pods"}, [], "did you mean 'get'"),
        ({"verb": "creates"}, [], "did you mean 'create'"),
        ({"verb": "xyz"}, [], "verb='xyz' matches no verb of the API: get, list"),
        ({"resource": "podss"}, [], "the cluster does not have it: did you mean 'pods'"),
        ({"resource": "podss"}, ["podss"], None), ({"resource": "pods*"}, [], None), ({"resource": "gadgets"}, [], None),
        ({"resource": "Pod"}, [], "did you mean 'pods'"),
    ],
)  # fmt: skip
def test_requests_that_a_test_looks_for(wanted, seen, said):
    if said is None:
        arguments.check_requests(wanted, SERVED, seen.__contains__)
    else:
        with pytest.raises(ValueError, match=said):
            arguments.check_requests(wanted, SERVED, seen.__contains__)


def test_what_a_fault_calls_takes_no_arguments():
    arguments.check_fault(FaultRule(verb="get", resource="*", error=500, before=lambda: None), SERVED)
    with pytest.raises(TypeError, match=r"before=.*it is called without arguments"):
        arguments.check_fault(FaultRule(verb="get", resource="*", error=500, before=lambda request: None), SERVED)
    assert all(isinstance(one, Resource) for one in SERVED)


# --- access


def access(verb, resource="pods", namespace="d", group="", **more):
    return Access(namespace, group, resource, verb, **more)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (access("get"), "get pods in d"), (access("get", namespace=""), "get pods in all namespaces"),
        (access("get", "deployments", group="apps", name="a"), "get deployments.apps a in d"),
        (Access("", "", "", "get", path="/metrics"), "get /metrics"),
    ],
)  # fmt: skip
def test_a_permission_as_text(one, text):
    assert str(one) == text


def test_verbs_are_in_the_order_of_the_api_and_unknown_ones_last():
    assert in_order(["zap", "watch", "get", "approve", "list"]) == ("get", "list", "watch", "approve", "zap")
    assert in_order(VERBS[::-1]) == tuple(VERBS)


def test_resources_of_a_group_with_equal_verbs_share_a_rule():
    used = [access("watch"), access("get"), access("get", "secrets"), access("watch", "secrets"), access("get", "jobs", group="batch"),
            access("create"), Access("", "", "", "get", path="/b"), Access("", "", "", "get", path="/a")]  # fmt: skip
    assert rules_of(used) == [
        {"nonResourceURLs": ["/a", "/b"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "watch", "create"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "watch"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
    ]  # fmt: skip
    assert rules_of([access("get", "b"), access("get", "a")]) == [
        {"apiGroups": [""], "resources": ["a", "b"], "verbs": ["get"]}
    ]
    assert with_lists([access("watch"), access("get")]) == [access("get"), access("list"), access("watch")]


def test_minimal_roles_of_a_namespace_leave_out_what_is_granted_everywhere():
    used = [
        access("get", namespace=""),
        access("get"),
        access("create"),
        access("get", "secrets", namespace="e"),
        access("get", namespace="f"),
    ]
    report = AccessReport("system:serviceaccount:ops:me", used, [access("get")], [access("list")], {"name": "me"})
    assert [
        (role["kind"], role["metadata"], [rule["verbs"] for rule in role["rules"]]) for role in report.minimal_roles
    ] == [
        ("ClusterRole", {"name": "me"}, [["get"]]),
        ("Role", {"name": "me", "namespace": "d"}, [["create"]]),
        ("Role", {"name": "me", "namespace": "e"}, [["get"]]),
    ]
    assert report.minimal_roles[0]["apiVersion"] == "rbac.authorization.k8s.io/v1"
    assert list(yaml.safe_load_all(report.minimal)) == report.minimal_roles
    assert str(report).splitlines() == [
        "access of system:serviceaccount:ops:me: 5 used", "missing: get pods in d", "unused: list pods in d",
    ]  # fmt: skip
    assert AccessReport("me", [], [], [], {"name": "me"}).minimal_roles == []


def record(user="me", verb="get", resource="pods", code=200, **more):
    values = {"at": 0.0, "verb": verb, "resource": resource, "group": "", "namespace": "d", "name": "a", "subresource": "", "user": user,
              "user_agent": "", "code": code, "reason": "", "path": "/x", "revision": 1, **more}  # fmt: skip
    return RequestRecord(**values)


def test_the_permissions_that_requests_need():
    records = [
        record(verb="watch"), record(), record(), record(user="other", verb="delete"), record(verb="patch", code=201), record(verb="patch", code=200, resource="secrets"),
        record(verb="get", subresource="log"), record(resource="", path="/metrics"), record(resource="", path="/healthz/x"), record(verb="create", code=201, resource="jobs"),
    ]  # fmt: skip
    assert used_by(records, "me") == [
        Access("", "", "", "get", path="/metrics"), access("create", "jobs"), access("create"), access("get"), access("patch"), access("watch"),
        access("get", "pods/log"), access("patch", "secrets"),
    ]  # fmt: skip
