"""Plugins that complete pods and nodes, without a server: tolerations, taints and runtime classes."""

from types import SimpleNamespace
from typing import Any

import pytest

from fakekube.apiserver.admission import nodetaint, priority, quota, runtimeclass, tolerations
from fakekube.apiserver.wire.status import StatusError

Object = dict[str, Any]

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("own", "added"),
    [
        (None, [NOT_READY, UNREACHABLE]),
        ([{"key": "a", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": NOT_READY}], [UNREACHABLE]),
        ([{"key": NOT_READY, "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": UNREACHABLE}, {"key": NOT_READY}], []),
    ],
)
def test_a_pod_tolerates_a_lost_node_for_five_minutes(own: list[Object] | None, added: list[str]) -> None:
    given = pod(**({"tolerations": own} if own is not None else {}))
    call: Any = None
    found = tolerations.mutate_pod(call, given, None)["spec"].get("tolerations") or []
    assert found[: len(own or ())] == (own or [])
    assert found[len(own or ()) :] == [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in added
    ]


TAINT = {"key": NOT_READY, "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("own", "taints"),
    [
        (None, [TAINT]),
        ([TAINT], [TAINT]),
        ([{**TAINT, "value": "x"}], [{**TAINT, "value": "x"}]),
        ([{**TAINT, "effect": "NoExecute"}], [{**TAINT, "effect": "NoExecute"}, TAINT]),
        ([{**TAINT, "key": "a"}], [{**TAINT, "key": "a"}, TAINT]),
    ],
)
def test_a_new_node_is_not_ready(own: list[Object] | None, taints: list[Object]) -> None:
    call: Any = None
    node = {"metadata": {"name": "n"}, "spec": {"taints": own} if own else {}}
    assert nodetaint.mutate_node(call, node, None)["spec"]["taints"] == taints
    assert nodetaint.mutate_node(call, node, node) is node


def classes(**fields: Any) -> Any:
    """A call of a server with one RuntimeClass."""
    stored = {"c": SimpleNamespace(object={"metadata": {"name": "c"}, "handler": "h", **fields})}
    store = SimpleNamespace(get=lambda collection, name: stored.get(name))
    return SimpleNamespace(server=SimpleNamespace(store=store))


OVERHEAD, OTHER = (
    {"podFixed": {"cpu": "1"}},
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
)
IN = {"runtimeClassName": "c"}


@pytest.mark.parametrize(
    ("fields", "spec", "found"),
    [
        pytest.param({"overhead": OVERHEAD}, {}, {}, id="no-class"),
        pytest.param({}, IN, IN, id="a-class-without-rules"),
        pytest.param({"overhead": OVERHEAD}, IN, {**IN, "overhead": {"cpu": "1"}}, id="overhead"),
        pytest.param({"overhead": OVERHEAD}, {**IN, "overhead": {"cpu": "1"}}, {**IN, "overhead": {"cpu": "1"}}, id="the-same-overhead"),
        pytest.param({"overhead": {}}, {**IN, "overhead": {}}, IN, id="an-empty-overhead"),
        pytest.param({"scheduling": {"nodeSelector": {"a": "1"}}}, IN, {**IN, "nodeSelector": {"a": "1"}}, id="a-selector"),
        pytest.param(
            {"scheduling": {"nodeSelector": {"a": "1", "b": "2"}}}, {**IN, "nodeSelector": {"a": "1", "c": "3"}},
            {**IN, "nodeSelector": {"a": "1", "b": "2", "c": "3"}}, id="both-selectors",
        ),
        pytest.param(
            {"scheduling": {"tolerations": [{"key": "a"}, {"key": "b"}]}}, {**IN, "tolerations": [{"key": "b"}, {"key": "c"}]},
            {**IN, "tolerations": [{"key": "b"}, {"key": "c"}, {"key": "a"}]}, id="both-tolerations",
        ),
        pytest.param({"scheduling": {}}, IN, IN, id="no-scheduling"),
    ],
)  # fmt: skip
def test_a_pod_gets_the_rules_of_its_runtime_class(fields: Object, spec: Object, found: Object) -> None:
    assert runtimeclass.mutate_pod(classes(**fields), pod(**spec), None) == pod(**found)


@pytest.mark.parametrize(
    ("fields", "spec", "why"),
    [
        ({}, {"runtimeClassName": "d"}, 'pod rejected: RuntimeClass "d" not found'),
        ({"overhead": OVERHEAD}, {**IN, "overhead": {"cpu": "2"}}, OTHER),
        (
            {"scheduling": {"nodeSelector": {"a": "1"}}}, {**IN, "nodeSelector": {"a": "2"}},
            "conflict: runtimeClass.scheduling.nodeSelector[a] = 1; pod.spec.nodeSelector[a] = 2",
        ),
    ],
)  # fmt: skip
def test_pods_that_conflict_with_their_runtime_class(fields: Object, spec: Object, why: str) -> None:
    with pytest.raises(StatusError) as refused:
        runtimeclass.mutate_pod(classes(**fields), pod(**spec), None)
    assert (refused.value.code, refused.value.message) == (403, f'pods "p" is forbidden: {why}')


def test_a_runtime_class_without_a_name_is_not_asked_for() -> None:
    with pytest.raises(StatusError) as refused:
        runtimeclass.mutate_pod(classes(), pod(runtimeClassName=""), None)
    assert (refused.value.code, refused.value.message) == (500, "resource name may not be empty")


@pytest.mark.parametrize(
    ("fields", "spec", "why"),
    [
        ({}, {}, ""),
        ({}, IN, ""),
        ({"overhead": OVERHEAD}, {**IN, "overhead": {"cpu": "1"}}, ""),
        ({"overhead": OVERHEAD}, IN, OTHER),
        ({"overhead": OVERHEAD}, {**IN, "overhead": {"cpu": "2"}}, OTHER),
        ({"overhead": {}}, IN, ""),
        ({"overhead": {}}, {**IN, "overhead": {"cpu": "1"}}, OTHER),
        ({}, {**IN, "overhead": {"cpu": "1"}},
         "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        ({}, {"overhead": {}}, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        ({}, {"runtimeClassName": "d"}, 'pod rejected: RuntimeClass "d" not found'),
    ],
)  # fmt: skip
def test_the_overhead_of_a_pod_is_that_of_its_class(fields: Object, spec: Object, why: str) -> None:
    given = pod(**spec)
    runtimeclass.validate_pod(classes(**fields), given, given)
    if not why:
        runtimeclass.validate_pod(classes(**fields), given, None)
        return
    with pytest.raises(StatusError) as refused:
        runtimeclass.validate_pod(classes(**fields), given, None)
    assert refused.value.message == f'pods "p" is forbidden: {why}'


def test_an_update_removes_only_an_empty_overhead() -> None:
    assert runtimeclass.mutate_pod(classes(), pod(overhead={}, **IN), pod()) == pod(**IN)
    for spec in ({"overhead": {"cpu": "1"}}, IN, {}):
        given = pod(**spec)
        assert runtimeclass.mutate_pod(classes(overhead=OVERHEAD), given, pod()) is given


# --- quotas ----------------------------------------------------------------------------------------------------------


def running(name: str, **resources: Object) -> Object:
    return {"name": name, "resources": resources}


@pytest.mark.parametrize(
    ("containers", "init", "demanded", "missing"),
    [
        ([running("a", requests={"cpu": "1"})], [], {"requests.cpu"}, ""),
        ([running("a", requests={"cpu": "1"})], [], {"cpu"}, ""),
        ([running("a", limits={"cpu": "1"})], [], {"limits.cpu"}, ""),
        ([running("a")], [], {"limits.cpu"}, "limits.cpu for: a"),
        ([running("b"), running("a")], [running("c")], {"requests.cpu"}, "requests.cpu for: a,b,c"),
        (
            [running("a", requests={"cpu": "1"}), running("b")], [], {"requests.memory", "requests.cpu"},
            "requests.cpu for: b; requests.memory for: a,b",
        ),
        ([running("a")], [], set(), ""),
    ],
)  # fmt: skip
def test_resources_that_a_quota_demands(
    containers: list[Object], init: list[Object], demanded: set[str], missing: str
) -> None:
    spec = {"containers": containers, "initContainers": init}
    assert quota._missing(spec, demanded) == missing
    assert quota._missing({**spec, "resources": {"requests": {"cpu": "1"}}}, demanded) == ""


@pytest.mark.parametrize(
    ("collection", "subresource", "update", "handled"),
    [
        ("configmaps", "", False, True),
        ("configmaps", "", True, False),
        ("configmaps", "status", False, False),
        ("pods", "", False, True),
        ("pods", "resize", True, True),
        ("pods", "status", True, False),
        ("services", "", True, True),
        ("services", "status", True, True),
        ("persistentvolumeclaims", "", True, True),
        ("resourceclaims.resource.k8s.io", "", True, True),
        ("resourceclaims.resource.k8s.io", "status", True, False),
        ("events", "", False, False),
    ],
)
def test_writes_that_change_the_usage_of_a_quota(
    collection: str, subresource: str, update: bool, handled: bool
) -> None:
    call: Any = SimpleNamespace(
        resource=SimpleNamespace(collection=collection), info=SimpleNamespace(subresource=subresource)
    )
    assert quota._handles(call, pod(), pod() if update else None) is handled


@pytest.mark.parametrize(
    ("new", "old", "handled"),
    [({}, {}, False), ({"activeDeadlineSeconds": 1}, {}, True), ({}, {"activeDeadlineSeconds": 1}, True)],
)
def test_a_pod_that_begins_to_terminate_changes_the_usage(new: Object, old: Object, handled: bool) -> None:
    call: Any = SimpleNamespace(resource=SimpleNamespace(collection="pods"), info=SimpleNamespace(subresource=""))
    assert quota._handles(call, pod(**new), pod(**old)) is handled


def test_an_update_is_charged_with_what_it_adds() -> None:
    assert quota._beyond({"cpu": "3", "memory": "2Gi", "pods": "1"}, {"cpu": "1500m", "memory": "1Gi"}) == {
        "cpu": "1500m", "memory": "1Gi", "pods": "1",
    }  # fmt: skip
    assert quota._beyond({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}) == {"cpu": "-1"}


# --- priorities ------------------------------------------------------------------------------------------------------


def priorities(**classes: Object) -> Any:
    """A call of a server with PriorityClasses."""
    entries = {
        name: SimpleNamespace(object={"metadata": {"name": name}, **fields}) for name, fields in sorted(classes.items())
    }
    collection = SimpleNamespace(scan=lambda prefix, after, limit: list(entries.items()))
    store = SimpleNamespace(get=lambda _, name: entries.get(name), collection=lambda name: collection)
    return SimpleNamespace(
        server=SimpleNamespace(store=store), resource=SimpleNamespace(qualified="priorityclasses"), namespace="",
        info=SimpleNamespace(name=""),
    )  # fmt: skip


HIGH, LOW = {"value": 10, "globalDefault": True}, {"value": 5, "globalDefault": True, "preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    ("classes", "spec", "found"),
    [
        ({}, {}, (0, "PreemptLowerPriority", None)),
        ({"a": {"value": 7}}, {}, (0, "PreemptLowerPriority", None)),
        ({"a": {"value": 7}}, {"priorityClassName": "a"}, (7, "PreemptLowerPriority", "a")),
        ({"a": {"value": 7}}, {"priorityClassName": "a", "priority": 7}, (7, "PreemptLowerPriority", "a")),
        ({"a": {"value": 0}}, {"priorityClassName": "a"}, (0, "PreemptLowerPriority", "a")),
        ({"high": HIGH}, {}, (10, "PreemptLowerPriority", "high")),
        ({"high": HIGH, "low": LOW}, {}, (5, "Never", "low")),
        ({"high": HIGH, "low": LOW}, {"priorityClassName": "high"}, (10, "PreemptLowerPriority", "high")),
        ({"low": LOW}, {"preemptionPolicy": "Never"}, (5, "Never", "low")),
    ],
)
def test_the_priority_of_a_new_pod(classes: Object, spec: Object, found: tuple[int, str, str | None]) -> None:
    made = priority.mutate_pod(priorities(**classes), pod(**spec), None)["spec"]
    assert (made["priority"], made["preemptionPolicy"], made.get("priorityClassName")) == found


def test_an_updated_pod_keeps_its_priority() -> None:
    old = pod(priority=3, preemptionPolicy="Never")
    call = priorities()
    assert priority.mutate_pod(call, pod(), old) == old
    assert priority.mutate_pod(call, pod(priority=4), old) == pod(priority=4, preemptionPolicy="Never")
    same = pod(priority=4, preemptionPolicy="PreemptLowerPriority")
    assert priority.mutate_pod(call, same, old) is same
    assert priority.mutate_pod(call, same, pod()) is same


@pytest.mark.parametrize(
    ("classes", "name", "fields", "refused"),
    [
        ({}, "a", HIGH, False),
        ({"a": HIGH}, "a", HIGH, False),
        ({"a": HIGH}, "b", HIGH, True),
        ({"a": HIGH}, "b", {"value": 1}, False),
        ({"a": HIGH}, "b", {"value": 1, "globalDefault": False}, False),
        ({"a": {"value": 1}}, "b", HIGH, False),
    ],
)
def test_one_class_is_the_default(classes: Object, name: str, fields: Object, refused: bool) -> None:
    given = {"metadata": {"name": name}, **fields}
    if refused:
        with pytest.raises(StatusError, match="PriorityClass a is already marked as default"):
            priority.validate_class(priorities(**classes), given, None)
    else:
        priority.validate_class(priorities(**classes), given, None)
