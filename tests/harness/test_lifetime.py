"""A cluster is open once: what is called before and after that says so."""

from collections.abc import Mapping, Sequence

import pytest

from fakekube import FakeKube
from fakekube.harness import members
from fakekube.harness.face import DESKS
from fakekube.virtualtime import Bubble
from tests.face import public_names

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@pytest.mark.parametrize("desk", ["", *DESKS])
def test_every_public_member_says_when_it_can_be_used_and_what_it_needs(desk):
    with FakeKube() as kube:
        face = type(getattr(kube, desk) if desk else kube)
    marked = members.members_of(face)
    assert [name for name in public_names(face) if name not in {*marked, *DESKS, *dir(Mapping), *dir(Sequence)}] == []


@pytest.mark.parametrize("call", [lambda kube: kube.advance(5), lambda kube: kube.start(lambda manager: None)])
def test_a_step_of_a_cluster_that_is_not_open_is_refused(call):
    kube = FakeKube()
    with pytest.raises(RuntimeError, match=r"the cluster is not open: use the fixture `fakekube`, or `with FakeKube"):
        call(kube)
    kube.close()


@pytest.mark.parametrize(
    "call",
    [
        lambda kube: kube.advance(5),
        lambda kube: kube.create(CONFIG_MAP),
        lambda kube: kube.fault(verb="create", error=500),
        lambda kube: kube.always(lambda cluster: True, "true"),
    ],
)
def test_a_change_of_a_closed_cluster_is_refused(call):
    with FakeKube() as kube:
        kube.create(CONFIG_MAP)
    with pytest.raises(RuntimeError, match=r"\(\): this cluster is closed: its records .* can be read"):
        call(kube)
    assert kube.exists("v1", "ConfigMap", "a")
    assert len(kube.state.versions("v1", "ConfigMap", "a")) == 1


@pytest.mark.parametrize("name", ["url", "kubeconfig"])
def test_a_closed_cluster_has_no_address(name):
    with FakeKube() as kube:
        assert getattr(kube.access, name)
    with pytest.raises(RuntimeError, match=f"{name}: this cluster is closed"):
        getattr(kube.access, name)


def test_a_closed_cluster_is_not_opened_again_and_nothing_stays_open():
    kube = FakeKube()
    with kube:
        pass
    with pytest.raises(RuntimeError, match="this cluster is closed, and cannot be opened again: make a new one"), kube:
        pass
    with FakeKube() as another:
        another.advance(5)


def test_an_open_cluster_is_not_opened_again_and_stays_open():
    with FakeKube() as kube:
        with pytest.raises(RuntimeError, match="this cluster is open already"), kube:
            pass
        kube.advance(5)


def test_a_bubble_is_not_opened_again():
    bubble = Bubble()
    with bubble:
        with pytest.raises(RuntimeError, match="was opened before"):
            bubble.open()
        bubble.advance(5)
    with pytest.raises(RuntimeError, match="was opened before"):
        bubble.open()
    with Bubble() as another:
        another.advance(5)
