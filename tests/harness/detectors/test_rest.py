"""What is written when everything is reconciled once more after the test."""

import asyncio
import socket
import subprocess
from datetime import UTC, datetime

import pytest

from controllerlib import Result
from controllerlib.controller import generation_changed
from fakekube import FakeKube
from tests.harness.detectors.scenes import operator, read, texts
from tests.harness.planted import API, CRD, database


@pytest.fixture
def kube():
    with FakeKube() as kube:  # it is on by default
        yield kube


def copying(status, result=None):
    """Writes a status, and again when it differs."""

    async def reconcile(request, client):
        seen = await read(client, request)
        wanted = status(seen)
        if seen.get("status") != wanted:
            await client.update_status({**seen, "status": wanted})
        return result

    return reconcile


def start(kube, reconcile):
    def add(manager):
        manager.controller("c").for_(API, "Database", predicates=[generation_changed]).complete(reconcile)

    kube.apply(CRD, database())
    kube.start(add)
    kube.advance(60)


def label(seen):
    return {"label": (seen["metadata"].get("labels") or {}).get("x", "")}


def test_a_change_that_a_predicate_drops(kube):
    start(kube, copying(label))
    kube.patch(API, "Database", "a", {"metadata": {"labels": {"x": "y"}}})
    kube.advance(60)
    assert texts(kube) == [
        "[writes-at-rest] c: databases default/a is written (.status.label: '' -> 'y') when default/a is reconciled "
        "once more: an event or a requeue was missed, a predicate dropped an event, or the reconcile always writes"
    ]


def test_a_number_that_was_missed(kube):
    start(kube, copying(lambda seen: {"labels": len(seen["metadata"].get("labels") or {})}))
    kube.patch(API, "Database", "a", {"metadata": {"labels": {"x": "y"}}})
    kube.advance(60)
    (text,) = texts(kube)
    assert "(.status.labels: 0 -> 1)" in text


@pytest.mark.parametrize(
    "status",
    [
        lambda seen: {"times": (seen.get("status") or {}).get("times", 0) + 1},
        lambda seen: {"at": datetime.now(UTC).isoformat()},
    ],
    ids=["count", "time"],
)
def test_a_heartbeat_of_each_reconcile(kube, status):
    start(kube, copying(status))
    assert texts(kube) == []


def test_what_is_requeued_soon_has_not_been_missed(kube):
    start(kube, copying(label, Result(requeue_after=300)))
    kube.patch(API, "Database", "a", {"metadata": {"labels": {"x": "y"}}})
    kube.advance(10)
    assert texts(kube) == []


def test_nothing_is_reconciled_once_more_while_a_fault_is_armed(kube):
    start(kube, copying(label))
    kube.patch(API, "Database", "a", {"metadata": {"labels": {"x": "y"}}})
    with kube.fault(verb="delete", error=500):
        kube.findings.allow("unused-fault", reason="it is armed only")
        assert texts(kube) == []


def test_nothing_outside_is_reached(kube):
    refused = []

    async def reconcile(request, client):
        if kube.clock.monotonic() < 60:
            return
        with socket.socket() as outside, pytest.raises(ConnectionRefusedError):
            outside.connect(("203.0.113.1", 80))
        with pytest.raises(PermissionError):
            subprocess.run(["true"])  # noqa: ASYNC221 - refused
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("203.0.113.1", 80)
        refused.append(request.name)

    kube.apply(CRD, database())
    kube.start(operator(reconcile))
    kube.advance(60)
    assert refused == []
    assert texts(kube) == []
    assert refused == ["a"]
    subprocess.run(["true"], check=True)
