"""Conflicts, finalizers and followers: what happens too late, or by the wrong replica."""

import asyncio

import pytest

from controllerlib import ApiError, ControllerOptions, Result
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
    reports = [text for text in texts(kube) if not text.startswith("[noop-write")]
    follower = (
        "[follower-write] the runnable beat of replica two made patch configmaps default/beat -> 200 although one"
    )
    assert reports == ([f"{follower} holds the lease op; one and two write this object"] if shared else [])


def test_a_task_of_a_replica_that_has_lost_its_lease(kube):
    async def beat(client, found):
        while True:
            await asyncio.sleep(10)
            await client.patch_status(found, {"status": {"at": str(asyncio.get_running_loop().time())}})

    kept = []

    async def reconcile(request, client):
        if not kept or kept[-1][0] is not client:
            kept.append((client, asyncio.create_task(beat(client, await read(client, request)))))

    def start(identity):
        options = LeaderElectionOptions("op", namespace="default", identity=identity)
        return kube.start(operator(reconcile), election=LeaderElection(options))

    kube.apply(CRD, database())
    first = start("one")
    start("two")
    kube.advance(60)
    kube.stop(first)
    kube.advance(60)
    line = beat.__code__.co_firstlineno
    assert any(
        f"[follower-write] a task of {beat.__qualname__} (test_orders.py:{line}) of replica one made patch "
        "databases/status default/a -> 200 although two holds the lease op; one and two write this object" in text
        for text in texts(kube)
    )


def elected(kube, build):
    """Start an operator that elects a leader."""
    options = LeaderElectionOptions("op", namespace="default", identity="one")
    kube.start(build, election=LeaderElection(options))


class Publisher:
    """A runnable that writes an object."""

    def __init__(self, client, leads, kind="ConfigMap", name="summary"):
        self.client, self.need_leader_election = client, leads
        self.obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}}

    async def run(self):
        await asyncio.create_task(self.client.apply(self.obj, field_manager="publisher", force=True))
        await asyncio.Event().wait()


@pytest.mark.parametrize("leads", [True, False])
def test_r4_a_runnable_that_does_not_need_to_lead(kube, leads):
    elected(kube, lambda manager: manager.add(Publisher(manager.client, leads)))
    kube.advance(60)
    reports = [text for text in texts(kube) if "follower" not in text]
    assert reports == ([] if leads else [RUNNABLE])


RUNNABLE = (
    "[unelected-write] the runnable Publisher made patch configmaps default/summary -> 201 and does not need to lead "
    "(need_leader_election is False): each replica makes this write, although the operator elects a leader"
)


@pytest.mark.parametrize(("kind", "name"), [("Secret", "webhook-cert"), ("ConfigMap", "state-of-one")])
def test_r4_what_each_replica_has_for_itself(kube, kind, name):
    elected(kube, lambda manager: manager.add(Publisher(manager.client, False, kind, name)))
    kube.advance(60)
    assert texts(kube) == []


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("elects", [True, False])
def test_r4_a_controller_that_does_not_need_to_lead(kube, leads, elects):
    async def reconcile(request, client):
        found = await read(client, request)
        if not found.get("status"):
            await client.patch_status(found, {"status": {"ok": True}})

    def build(manager):
        options = ControllerOptions(need_leader_election=leads)
        manager.controller("c").for_(API, "Database").with_options(options).complete(reconcile)

    kube.apply(CRD, database())
    if elects:
        elected(kube, build)
    else:
        kube.start(build)
    kube.advance(60)
    reports = texts(kube)
    assert len(reports) == int(elects and not leads)
    assert all(
        "[unelected-write] c reconciling default/a [added] made patch databases/status" in one for one in reports
    )
