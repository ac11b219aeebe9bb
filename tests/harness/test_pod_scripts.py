"""Scripts of simulated pods: which containers they concern, and what they change."""

import pytest

pytestmark = pytest.mark.fakekube(nodes=1)


def pod(name="a", containers=("c",), **spec):
    made = [{"name": one, "image": "i"} for one in containers]
    meta = {"name": name, "namespace": "default", "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": made, **spec}}


def states(kube, name="a"):
    """The state of each container, and the reason for which it waits or has ended."""
    found = kube.get("v1", "Pod", name)["status"].get("containerStatuses") or []
    return {one["name"]: next((kind, state.get("reason", "")) for kind, state in one["state"].items()) for one in found}


def test_containers_that_cannot_be_created_and_recover(fakekube):
    fakekube.pods("app=a").always().create_error("no such secret", reason="CreateContainerConfigError", container="c")
    fakekube.create(pod(containers=("c", "d")))
    fakekube.advance(5)
    assert states(fakekube) == {"c": ("waiting", "CreateContainerConfigError"), "d": ("running", "")}
    fakekube.pods("app=a").recover()
    fakekube.advance(30)
    assert states(fakekube) == {"c": ("running", ""), "d": ("running", "")}


def test_an_image_that_cannot_be_pulled(fakekube):
    fakekube.pods("app=a").always().image_pull_error("denied")
    fakekube.create(pod())
    fakekube.create(pod("b"))
    fakekube.advance(5)
    assert states(fakekube)["c"][0] == "waiting"
    assert states(fakekube)["c"][1] in ("ErrImagePull", "ImagePullBackOff")
    assert states(fakekube, "b") == {"c": ("running", "")}


@pytest.mark.parametrize(("container", "what"), [("", "container"), ("c", "container 'c'")])
def test_containers_that_do_not_run_cannot_end(fakekube, container, what):
    fakekube.create(pod(restartPolicy="Never"))
    fakekube.advance(5)
    fakekube.pods("app=a").fail(exit_code=3)
    assert states(fakekube) == {"c": ("terminated", "Error")}
    with pytest.raises(LookupError, match=rf"^pods\('app=a'\): no {what} of a runs$"):
        fakekube.pods("app=a").succeed(container=container)


def test_pods_and_containers_that_do_not_exist(fakekube):
    fakekube.create(pod("a", containers=("c", "d")))
    fakekube.settle()
    with pytest.raises(LookupError, match=r"^pods\('app=a'\): no pod has a container 'x' \(c, d\)$"):
        fakekube.pods("app=a").fail(container="x")
    with pytest.raises(LookupError, match=r"matches pods\('app=z'\) \(pods: default/a\); use .always\(\)"):
        fakekube.pods("app=z").fail()
    with pytest.raises(LookupError, match=r"this is a label selector: use pods\(name='a'\) for the pod of this name"):
        fakekube.pods("a").fail()


def test_scripts_of_present_pods_do_not_concern_later_ones(fakekube):
    fakekube.create(pod("a"))
    fakekube.advance(5)
    fakekube.pods().not_ready()
    fakekube.create(pod("b"))
    fakekube.advance(5)
    ready = {name: fakekube.get("v1", "Pod", name)["status"]["containerStatuses"][0]["ready"] for name in "ab"}
    assert ready == {"a": False, "b": True}
    assert (fakekube.pods().names, len(fakekube.pods()), len(fakekube.pods(name="a*"))) == (["a", "b"], 2, 1)
    assert repr(fakekube.pods("app=a").always()) == "<SimulatedPods app=a always: a>"
    assert repr(fakekube.pods()) == "<SimulatedPods all: a, b>"


def test_the_nodes_of_a_cluster_and_its_controllers(fakekube):
    assert (len(fakekube.nodes), len(list(fakekube.nodes))) == (1, 1)
    (name,) = fakekube.nodes
    assert not fakekube.nodes[name].is_lost
    assert len(fakekube.controllers) == len(list(fakekube.controllers)) == len(dict(fakekube.controllers)) > 0
    fakekube.nodes.add("other")
    assert list(fakekube.nodes) == [name, "other"]


@pytest.mark.fakekube(nodes=None)
def test_a_cluster_without_controllers(fakekube):
    assert (len(fakekube.controllers), list(fakekube.controllers), repr(fakekube.controllers)) == (
        0,
        [],
        "<Controllers none>",
    )
    with pytest.raises(
        KeyError, match=r"no controller 'job' of the cluster runs: select it with controllers=\['job'\]"
    ):
        fakekube.controllers["job"]
    with pytest.raises(KeyError, match="jobs"):
        fakekube.controllers["jobs"]
