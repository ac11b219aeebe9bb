"""In which order a cluster names things: what tests compare, and what errors list, does not depend on when it was made."""

import pytest

from fakekube import FakeKube
from fakekube.harness.detectors.knowndetectors import DEFAULTS, KNOWN
from tests.harness.operators import config_map


def pod(name, *containers):
    spec = {"containers": [{"name": one, "image": "x"} for one in containers or ("main",)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}


@pytest.mark.fakekube(nodes=1)
def test_pods_and_containers_are_named_in_alphabetical_order(fakekube):
    for name in ("b", "c", "a"):
        fakekube.create(pod(name, "proxy", "main"))
    fakekube.advance(40)
    assert fakekube.pods("app=web").names == ["a", "b", "c"]
    with pytest.raises(LookupError, match="pods: default/a, default/b, default/c"):
        fakekube.pods("app=none").crash()
    with pytest.raises(LookupError, match=r"no pod has a container 'none' \(main, proxy\)"):
        fakekube.pods("app=web").crash(container="none")


def test_what_is_unknown_is_named_in_alphabetical_order(fakekube):
    with pytest.raises(TypeError, match=r"requests\(\) has no argument agee, zone \(accepted: "):
        fakekube.requests(zone=1, agee=2)
    with pytest.raises(ValueError, match="no mask 'alpha'"):
        fakekube.state.assert_golden("x.yaml", unmasked=["zeta", "alpha"])


def test_the_actors_of_a_timeline_are_named_in_alphabetical_order(fakekube):
    def build(manager):
        async def reconcile(request, client):
            """Does nothing."""

        manager.controller("c").for_("v1", "ConfigMap").complete(reconcile)

    for name in ("zoo", "ant"):
        fakekube.start(build, name=name)
    fakekube.create(config_map("a"))
    fakekube.settle()
    with pytest.raises(LookupError, match=r"no actor 'none' \(actors: .*ant.*zoo.*\)"):
        fakekube.timeline.by("none")


def test_events_are_in_the_order_in_which_they_were_written(fakekube):
    def event(name, count):
        meta = {"name": name, "namespace": "default"}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": meta,
            "involvedObject": {"namespace": "default"},
            "count": count,
        }

    for number, name in enumerate(("c", "a", "b", *"defghijk")):
        fakekube.create(event(name, number))
    first = fakekube.get("v1", "Event", "c")
    fakekube.update({**first, "count": 99})
    assert [one["metadata"]["name"] for one in fakekube.events()] == ["a", "b", *"defghijk", "c"]


def test_detectors_are_in_alphabetical_order_and_those_that_raise_come_last():
    assert list(DEFAULTS) == sorted(DEFAULTS)
    raising = [bool(getattr(one, "raises", False)) for one in KNOWN]
    assert raising == sorted(raising)
    assert any(raising)


def test_what_is_exported_begins_with_what_others_need():
    """Namespaces and definitions come before the objects in them, so that the manifests can be applied in their order."""
    with FakeKube() as kube:
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
        kinds = [line.partition(" ")[2] for line in kube.state.export().splitlines() if line.startswith("kind: ")]
        assert kinds.index("Namespace") < kinds.index("ConfigMap")
        assert kinds[0] == "Namespace"
