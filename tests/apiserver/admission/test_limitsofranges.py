"""LimitRanger without a server: the defaults of containers and the words of each limit (`limitranger/admission.go`)."""

from types import SimpleNamespace
from typing import Any

import pytest

from fakekube.apiserver.admission import limitranger

Object = dict[str, Any]


def call(*ranges: Object, subresource: str = "") -> Any:
    """A call in the namespace of these LimitRanges."""
    entries = [("", SimpleNamespace(object={"spec": {"limits": [one]}})) for one in ranges]
    collection = SimpleNamespace(scan=lambda prefix, after, limit: entries)
    store = SimpleNamespace(collection=lambda name: collection)
    return SimpleNamespace(
        namespace="default", info=SimpleNamespace(subresource=subresource), server=SimpleNamespace(store=store)
    )


def limits(kind: str = "Container", **fields: Object) -> Object:
    return {"type": kind, **fields}


def container(name: str = "c", requests: Object | None = None, limits: Object | None = None) -> Object:
    resources = {"requests": requests, "limits": limits}
    return {"name": name, "resources": {key: value for key, value in resources.items() if value is not None}}


def pod(*containers: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


@pytest.mark.parametrize(
    ("range", "given", "resources", "note"),
    [
        pytest.param(limits(), container(), {}, None, id="no-defaults"),
        pytest.param(limits(default={"cpu": "2"}), container(), {"limits": {"cpu": "2"}}, "cpu limit for container c", id="limit"),
        pytest.param(
            limits(default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "1"}), container(),
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}},
            "cpu request for container c; cpu, memory limit for container c", id="both",
        ),
        pytest.param(
            limits(default={"cpu": "2", "memory": "1Gi"}), container(limits={"cpu": "3"}),
            {"limits": {"cpu": "3", "memory": "1Gi"}}, "memory limit for container c", id="what-is-missing",
        ),
        pytest.param(limits(default={"cpu": "2"}), container(limits={"cpu": "3"}), {"limits": {"cpu": "3"}}, None, id="nothing-is-missing"),
        pytest.param(limits("Pod", default={"cpu": "2"}), container(), {}, None, id="of-pods"),
    ],
)  # fmt: skip
def test_the_defaults_of_a_container(range: Object, given: Object, resources: Object, note: str | None) -> None:
    made = limitranger.mutate_pod(call(range), pod(given), None)
    assert made["spec"]["containers"][0].get("resources", {}) == resources
    annotations = made["metadata"].get("annotations") or {}
    assert annotations.get(limitranger.ANNOTATION) == (f"LimitRanger plugin set: {note}" if note else None)


def test_init_containers_have_the_defaults_of_containers() -> None:
    made = limitranger.mutate_pod(
        call(limits(default={"cpu": "2"})), pod(container("a"), initContainers=[container("b")]), None
    )
    assert made["spec"]["initContainers"][0]["resources"] == {"limits": {"cpu": "2"}}
    assert made["metadata"]["annotations"][limitranger.ANNOTATION] == (
        "LimitRanger plugin set: cpu limit for container a; cpu limit for init container b"
    )


@pytest.mark.parametrize(
    ("subresource", "deleted", "applies"), [("", False, False), ("resize", False, True), ("resize", True, False)]
)
def test_of_updates_only_a_resize_has_limits(subresource: str, deleted: bool, applies: bool) -> None:
    old = pod(container())
    if deleted:
        old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    given = call(limits(default={"cpu": "2"}), subresource=subresource)
    assert (limitranger.mutate_pod(given, pod(container()), old) != pod(container())) is applies


MIN, MAX, RATIO = (
    "minimum cpu usage per Container is 1", "maximum cpu usage per Container is 2",
    "cpu max limit to request ratio per Container is 2",
)  # fmt: skip


@pytest.mark.parametrize(
    ("range", "requests", "most", "problems"),
    [
        (limits(min={"cpu": "1"}), {"cpu": "1"}, {"cpu": "1"}, []),
        (limits(min={"cpu": "1"}), {"cpu": "1"}, {}, []),
        (limits(min={"cpu": "1"}), {}, {}, [f"{MIN}.  No request is specified"]),
        (limits(min={"cpu": "1"}), {"cpu": "999m"}, {"cpu": "1"}, [f"{MIN}, but request is 999m"]),
        (limits(min={"cpu": "1"}), {"cpu": "1"}, {"cpu": "999m"}, [f"{MIN}, but limit is 999m"]),
        (limits(max={"cpu": "2"}), {"cpu": "2"}, {"cpu": "2"}, []),
        (limits(max={"cpu": "2"}), {}, {"cpu": "2"}, []),
        (limits(max={"cpu": "2"}), {"cpu": "1"}, {}, [f"{MAX}.  No limit is specified"]),
        (limits(max={"cpu": "2"}), {"cpu": "1"}, {"cpu": "2001m"}, [f"{MAX}, but limit is 2001m"]),
        (limits(max={"cpu": "2"}), {"cpu": "2001m"}, {"cpu": "2"}, [f"{MAX}, but request is 2001m"]),
        (limits(maxLimitRequestRatio={"cpu": "2"}), {"cpu": "1"}, {"cpu": "2"}, []),
        (limits(maxLimitRequestRatio={"cpu": "2"}), {"cpu": "1"}, {"cpu": "2500m"}, [f"{RATIO}, but provided ratio is 2.500000"]),
        (limits(maxLimitRequestRatio={"cpu": "2"}), {"cpu": "0"}, {"cpu": "2"}, [f"{RATIO}, but no request is specified or request is 0"]),
        (limits(maxLimitRequestRatio={"cpu": "2"}), {}, {"cpu": "2"}, [f"{RATIO}, but no request is specified or request is 0"]),
        (limits(maxLimitRequestRatio={"cpu": "2"}), {"cpu": "1"}, {}, [f"{RATIO}, but no limit is specified or limit is 0"]),
        (
            limits(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "2"}), {"cpu": "500m"}, {"cpu": "3"},
            [f"{MIN}, but request is 500m", f"{MAX}, but limit is 3", f"{RATIO}, but provided ratio is 6.000000"],
        ),
    ],
)  # fmt: skip
def test_the_limits_of_a_container(range: Object, requests: Object, most: Object, problems: list[str]) -> None:
    given = pod(container(requests=requests, limits=most))
    assert list(limitranger._problems_of_pod(range, given["spec"])) == problems
    assert (
        list(limitranger._problems_of_pod(range, {"containers": [], "initContainers": given["spec"]["containers"]}))
        == problems
    )


def test_the_limits_of_a_pod_are_those_of_its_totals() -> None:
    spec = pod(container("a", {"cpu": "1"}, {"cpu": "2"}), container("b", {"cpu": "1"}, {"cpu": "2"}))["spec"]
    assert list(limitranger._problems_of_pod(limits("Pod", max={"cpu": "4"}), spec)) == []
    assert list(limitranger._problems_of_pod(limits("Pod", max={"cpu": "3"}, min={"cpu": "3"}), spec)) == [
        "minimum cpu usage per Pod is 3, but request is 2", "maximum cpu usage per Pod is 3, but limit is 4",
    ]  # fmt: skip
    assert list(limitranger._problems_of_pod(limits("PersistentVolumeClaim", max={"cpu": "1"}), spec)) == []


CLAIM = "usage per PersistentVolumeClaim is"


@pytest.mark.parametrize(
    ("range", "requests", "problems"),
    [
        ({"min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}, {"storage": "1Gi"}, []),
        ({"min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}, {"storage": "2Gi"}, []),
        ({"min": {"storage": "1Gi"}}, {"storage": "1Mi"}, [f"minimum storage {CLAIM} 1Gi, but request is 1Mi"]),
        ({"max": {"storage": "2Gi"}}, {"storage": "3Gi"}, [f"maximum storage {CLAIM} 2Gi, but request is 3Gi"]),
        ({"max": {"storage": "2Gi"}}, {}, [f"maximum storage {CLAIM} 2Gi.  No request is specified"]),
        ({"min": {"storage": "1Gi"}}, {}, [f"minimum storage {CLAIM} 1Gi.  No request is specified"]),
    ],
)
def test_the_limits_of_a_claim(range: Object, requests: Object, problems: list[str]) -> None:
    assert list(limitranger._problems_of_claim(limits("PersistentVolumeClaim", **range), requests)) == problems
    assert list(limitranger._problems_of_claim(limits("Container", **range), requests)) == []
