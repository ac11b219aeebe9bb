"""Late watches and kills that a test has asked for, and that have not happened."""

import pytest

from fakekube import FakeKube
from tests.harness.detectors.scenes import texts
from tests.harness.operators import build, config_map, nothing


@pytest.fixture
def kube():
    with FakeKube(detect={"all": "off", "unused-fault": "warn"}) as kube:
        yield kube


async def write_once(request, client):
    found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
    if found.get("data") != {"n": "1"}:
        await client.update({**found, "data": {"n": "1"}})


def test_a_kill_after_a_write_that_is_not_made(kube):
    kube.apply(config_map("a"))
    operator = kube.start(build(nothing), name="idle")
    kube.kill(operator, after_write=3)
    kube.advance(60)
    assert texts(kube) == ["[unused-fault] kill(idle, after_write=3) has not happened: 0 matching writes were made"]


def test_a_kill_at_an_anchor_that_is_not_reached(kube):
    operator = kube.start(build(nothing), name="idle")
    kube.kill(operator, at="create secret/a-key")
    kube.advance(60)
    assert texts(kube) == [
        "[unused-fault] kill(idle, at='create secret/a-key#1') has not happened: 0 matching writes were made"
    ]


def test_a_late_watch_that_holds_none(kube):
    operator = kube.start(build(nothing), name="idle")
    with kube.faults.hold_watches(operator, resource="secrets"):
        kube.advance(60)
    assert texts(kube) == [
        "[unused-fault] hold_watches(idle, resource='secrets', namespace='*') has held no watch: the operator must "
        "watch before or during the hold"
    ]


def test_plans_that_happen_or_are_given_up_are_fine(kube):
    operator = kube.start(build(write_once), name="busy")
    with kube.faults.hold_watches(operator):
        kube.apply(config_map("a"))
    plan = kube.kill(operator, after_write=1)
    kube.kill(operator, after_write=9).cancel()
    kube.advance(60)
    assert plan.hits == 1
    assert texts(kube) == []


def test_kills_are_in_the_timeline(kube):
    first, second = kube.start(build(write_once), name="planned"), kube.start(build(nothing), name="plain")
    kube.kill(first, after_write=1)
    kube.apply(config_map("a"))
    kube.advance(1)
    kube.kill(second)
    rows = [(entry.actor, entry.what) for entry in kube.timeline if entry.what.startswith("killed")]
    assert rows == [("planned", "killed after update configmap/default/a#1"), ("plain", "killed")]
