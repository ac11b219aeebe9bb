"""What a cluster says of itself: its documentation, what runs in it, and what was written since a moment."""

import inspect
import re
from dataclasses import fields, replace

import pytest

from fakekube import Cluster, FakeKube
from fakekube.harness.engine import engine_of
from fakekube.harness.members import implements, members_of
from fakekube.harness.state.snapshot import Settings, _check_settings
from tests.harness.operators import config_map


async def idle(request, client):
    """Does nothing."""


def build(manager):
    manager.controller("idle").for_("v1", "ConfigMap").complete(idle)


def test_each_member_of_a_cluster_has_the_documentation_of_its_face():
    for name in members_of(Cluster):
        documented = inspect.getdoc(getattr(Cluster, name))
        assert documented
        assert inspect.getdoc(getattr(FakeKube, name)) == documented


def test_a_documentation_of_its_own_stays():
    name = next(one for one in members_of(Cluster) if not isinstance(getattr(Cluster, one), property))

    def member(self):
        """Its own."""

    def other(self):
        pass

    made = implements(Cluster)(type("Made", (), {name: member}))
    assert vars(made)[name].__doc__ == "Its own."
    assert vars(implements(Cluster)(type("Made", (), {name: other})))[name].__doc__ == getattr(Cluster, name).__doc__


@pytest.mark.parametrize("what", ["operator", "task", "nothing"])
def test_whether_anything_runs_beside_the_test(what):
    with FakeKube() as kube:
        assert engine_of(kube).is_busy is False
        if what == "operator":
            kube.start(build)
        elif what == "task":
            kube.task(kube.clock.sleep_until(1e6))
        assert engine_of(kube).is_busy is (what != "nothing")


def counting(*names):
    """An operator whose controllers count in a ConfigMap each, at each reconcile."""

    def build(manager):
        for name in names:
            controller(manager, name)

    def controller(manager, name):
        async def reconcile(request, client):
            if request.name != "seen":
                return
            found = await manager.api_reader.get("v1", "ConfigMap", name, "default")
            count = int((found.get("data") or {}).get("count", 0)) + 1
            await client.patch(found, {"data": {"count": str(count)}})

        manager.controller(name).for_("v1", "ConfigMap").complete(reconcile)

    return build


def test_what_is_written_at_rest_is_named_in_its_order_and_nothing_from_before():
    with FakeKube(detect={"all": "off"}) as kube:
        for name in ("seen", "first", "second"):
            kube.create(config_map(name))
        kube.start(counting("first", "second"))
        kube.settle()
        with pytest.raises(AssertionError, match="something writes although nothing changed") as failed:
            kube.findings.assert_no_writes_at_rest()
        lines = str(failed.value).split("\n")[1:]
        assert len(lines) == 2
        assert ["first" in lines[0], "second" in lines[1]] == [True, True]


def test_controllers_of_a_cluster_make_no_request_for_days():
    """Their watches last for a year, so that hours pass without anything to do."""
    with FakeKube(controllers=["namespace"]) as kube:
        kube.settle()
        before = len(kube.requests())
        kube.advance(days=40)
        assert len(kube.requests()) == before


def test_whether_the_test_has_started_a_thread():
    """Detectors look for threads that are left only then."""
    with FakeKube() as kube:
        background = engine_of(kube).background
        assert background.has_threads() is False
        kube.thread(lambda: None)
        kube.settle()
        assert background.has_threads() is True


@pytest.mark.parametrize(
    ("setting", "values", "text"),
    [
        ("admission_plugins", [("A", "B"), ("A",)], "admission_plugins=A,B, this one has A"),
        ("version", ["v1.36.2", "v1.31.14"], "version=v1.36.2, this one has v1.31.14"),
    ],
)
def test_a_snapshot_of_a_cluster_with_other_settings_is_refused(setting, values, text):
    with FakeKube() as kube:
        saved = kube.state.snapshot()
        field = next(one.name for one in fields(Settings) if one.name.endswith(setting))
        other = replace(saved.settings, **{field: values[0]})
        present = replace(saved.settings, **{field: values[1]})
        with pytest.raises(ValueError, match=f"{text}$"):
            _check_settings(other, present)
        _check_settings(other, other)


def test_a_violation_is_shown_with_six_entries_before_it():
    with FakeKube(detect={"all": "off"}) as kube:
        kube.never(lambda now: now.exists("v1", "ConfigMap", "k19"), "a twentieth map")
        for number in range(20):
            kube.create(config_map(f"k{number}"))
        with pytest.raises(AssertionError, match="a twentieth map") as failed:
            kube.settle()
        shown = set(re.findall(r"default/(k\d+)", str(failed.value)))
    assert {f"k{number}" for number in range(13, 20)} <= shown
    assert "k12" not in shown
