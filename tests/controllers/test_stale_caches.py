"""Controllers that wait until their informers have seen what they wrote (`pkg/controller/util/consistency`)."""

import pytest

from tests.controllers.test_daemonset import daemon_set
from tests.controllers.test_disruption import bare_pod
from tests.controllers.test_endpoints import service
from tests.controllers.test_replicaset import replica_set
from tests.controllers.test_statefulset import stateful_set
from tests.controllers.workloads import node, pods, set_ready


def bound_pod(name):
    made = bare_pod(name)
    return {**made, "spec": {**made["spec"], "nodeName": "n1"}}


def written(fakekube, resource):
    """The revision of the last write of a resource."""
    return fakekube.requests(verb="update", resource=resource)[-1].revision


def case(controller, kind, resource, objects, also=()):
    mark = pytest.mark.fakekube(controllers=[controller, *also])
    return pytest.param(controller, kind, resource, objects, marks=mark, id=kind)


@pytest.mark.parametrize(
    ("controller", "kind", "resource", "objects"),
    [
        case("replicaset", "ReplicaSet", "replicasets", [replica_set(2)]),
        case("statefulset", "StatefulSet", "statefulsets", [stateful_set(2, podManagementPolicy="Parallel")]),
        case("daemonset", "DaemonSet", "daemonsets", [node("n1"), node("n2"), daemon_set()], also=["nodelifecycle"]),
        case("endpoint", "Endpoints", "endpoints", [service(), bound_pod("a"), bound_pod("b")]),
    ],
)
def test_nothing_is_written_again_before_the_cache_has_what_was_written(fakekube, controller, kind, resource, objects):
    for one in objects:
        fakekube.create(one)
    fakekube.advance("1s")
    fakekube.faults.disturb_watches(resource=resource, delay="20s")
    fakekube.faults.cut_watches()  # the next watch is late
    fakekube.advance("5s")
    before = len(fakekube.requests(verb="update", resource=resource))
    for number, pod in enumerate(pods(fakekube)):
        set_ready(fakekube, pod)
        status = {"podIP": f"10.1.0.{number}", "podIPs": [{"ip": f"10.1.0.{number}"}]}
        fakekube.patch("v1", "Pod", pod["metadata"]["name"], {"status": status}, subresource="status")
        fakekube.advance("1s")
    assert [one.code for one in fakekube.requests(verb="update", resource=resource)[before:]] == [200]
    errors = [str(error) for error in fakekube.controllers[controller].errors()]
    assert all(
        f"is not as new as written version: {written(fakekube, resource)} for {kind} objects" in one for one in errors
    )
    assert errors
    fakekube.advance("25s")
    assert [one.code for one in fakekube.requests(verb="update", resource=resource)[before:]] == [200, 200]


@pytest.mark.parametrize(
    ("controller", "kind", "resource", "objects"),
    [
        case("replicaset", "ReplicaSet", "replicasets", [replica_set(2)]),
        case("statefulset", "StatefulSet", "statefulsets", [stateful_set(2, podManagementPolicy="Parallel")]),
        case("daemonset", "DaemonSet", "daemonsets", [node("n1"), node("n2"), daemon_set()], also=["nodelifecycle"]),
    ],
)
def test_pods_that_the_cache_does_not_have_yet_are_waited_for(fakekube, controller, kind, resource, objects):
    *others, owner = objects
    for one in others:
        fakekube.create(one)
    fakekube.advance("1s")
    fakekube.faults.disturb_watches(resource="pods", delay="20s")
    fakekube.faults.cut_watches()
    fakekube.advance("5s")
    fakekube.create(owner)
    fakekube.settle()
    made = len(fakekube.requests(verb="create", resource="pods"))
    before = len(fakekube.requests(verb="update", resource=resource))
    name = owner["metadata"]["name"]
    for number in range(3):
        fakekube.patch("apps/v1", kind, name, {"metadata": {"labels": {"again": f"{number}"}}})
        fakekube.advance("1s")
    errors = [str(error) for error in fakekube.controllers[controller].errors()]
    assert errors
    assert all("is not as new as written version: " in one and one.endswith("for Pod objects") for one in errors)
    assert len(fakekube.requests(verb="create", resource="pods")) == made == 2
    assert len(fakekube.requests(verb="update", resource=resource)) == before
    fakekube.advance("25s")
    assert len(fakekube.requests(verb="create", resource="pods")) == 2
