"""Conflicts, finalizers and followers: what happens too late, or by the wrong replica."""

import asyncio

import pytest

from controllerlib import ApiError, Result
from controllerlib.controller import add_finalizer, remove_finalizer
from controllerlib.leaderelection import LeaderElection, LeaderElectionOptions
from tests.harness.detectors.scenes import operator, read, run, texts
from tests.harness.planted import API, CRD, database

FINALIZER = "planted.example.com/x"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a-backup", "namespace": "default"}}


@pytest.mark.parametrize(("after", "lost"), [(7200, True), (60, False)])
def test_a_conflict_that_is_requeued_far_away(kube, after, lost):
    async def reconcile(request, client):
        found = await read(client, request)
        if not found.get("status"):
            try:
                await client.update_status({**found, "status": {"phase": "Ready"}})
            except ApiError:
                pass
        return Result(requeue_after=after)

    with kube.fault(verb="update", error=409, times=1):
        run(kube, reconcile, seconds=10)
    assert [text.rpartition(": ")[2] for text in texts(kube)] == (["the write is lost until then"] if lost else [])


@pytest.mark.parametrize("early", [True, False])
def test_a_finalizer_that_is_removed_before_the_clean_up(kube, early):
    async def reconcile(request, client):
        try:
            found = await read(client, request)
        except ApiError:
            return
        if "deletionTimestamp" in found["metadata"]:
            if early:
                await client.update(remove_finalizer(found, FINALIZER)[0])
            await client.delete(SECRET)
            if not early:
                await client.update(remove_finalizer(found, FINALIZER)[0])
            return
        found, added = add_finalizer(found, FINALIZER)
        if added:
            await client.update(found)
            await client.create(SECRET)

    run(kube, reconcile)
    kube.delete(API, "Database", "a")
    kube.advance(60)
    assert [text.partition("]")[0] for text in texts(kube)] == (["[late-finalizer"] if early else [])


@pytest.mark.parametrize("shared", [True, False])
def test_a_runnable_of_a_follower(kube, shared):
    async def nothing(request):
        return None

    class Beat:
        need_leader_election = False

        def __init__(self, manager, identity):
            self.manager, self.name = manager, "beat" if shared else f"beat-{identity}"

        async def start(self):
            meta = {"name": self.name, "namespace": "default"}
            if not shared:
                first = {"name": f"{self.name}-first", "namespace": "default"}
                await self.manager.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": first})
            while True:
                await asyncio.sleep(60)
                data = {"at": str(self.manager.clock.monotonic()), "by": self.name}
                await self.manager.client.patch(
                    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}, {"data": data}
                )

    def replica(identity):
        def add(manager):
            operator(nothing)(manager)
            manager.add(Beat(manager, identity))

        options = LeaderElectionOptions("op", namespace="default", identity=identity)
        kube.start(add, election=LeaderElection(options))

    for name in ("beat", "beat-one", "beat-two"):
        kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    kube.apply(CRD, database())
    replica("one")
    replica("two")
    kube.advance(300)
    reports = [text for text in texts(kube) if "noop-write" not in text]
    assert [text.partition("]")[0] for text in reports] == (["[follower-write"] if shared else [])
