"""The leader elections of the official client (threads), of `kubernetes.aio` and of kubernetes_asyncio (tasks)."""

import asyncio
import time
from dataclasses import dataclass, field

import kubernetes.aio
import kubernetes_asyncio
import pytest
from kubernetes.aio.leaderelection import leaderelection as aio_election
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock as AioLeaseLock
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes_asyncio.leaderelection import electionconfig as asyncio_config
from kubernetes_asyncio.leaderelection import leaderelection as asyncio_election
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock as AsyncioLeaseLock

LIBRARIES = ("kubernetes", "kubernetes.aio", "kubernetes_asyncio")
PERIODS = {"lease_duration": 170, "renew_deadline": 150, "retry_period": 50}
HOUR = 3600

pytestmark = pytest.mark.fakekube(configure=True)


@dataclass(slots=True)
class Work:
    """What the candidates do: who led and worked when, and who stopped."""

    kube: object
    worked: list = field(default_factory=list)
    stopped: list = field(default_factory=list)

    def note(self, notes, name):
        notes.append((name, int(self.kube.clock.monotonic())))

    def lead(self, name):
        while True:
            self.note(self.worked, name)
            time.sleep(HOUR)

    async def alead(self, name):
        while True:
            self.note(self.worked, name)
            await asyncio.sleep(HOUR)

    async def astop(self, name):
        self.note(self.stopped, name)


def threaded(work, name):
    """A candidate of the official client."""
    kubernetes.config.load_kube_config()
    config = electionconfig.Config(
        LeaseLock("operator", "default", name),
        onstarted_leading=lambda: work.lead(name),
        onstopped_leading=lambda: work.note(work.stopped, name),
        **PERIODS,
    )
    leaderelection.LeaderElection(config).run()


async def awaited(library, election, config, lock, work, name):
    """A candidate of one of the asyncio clients, whose elections have the same interface."""
    await library.config.load_kube_config()
    async with library.client.ApiClient() as api:
        wanted = config(
            lock("operator", "default", name, api),
            onstarted_leading=lambda: work.alead(name),
            onstopped_leading=lambda: work.astop(name),
            **PERIODS,
        )
        await election(wanted).run()


def candidate(kube, work, library, name):
    match library:
        case "kubernetes":
            return kube.thread(threaded, work, name, name=name)
        case "kubernetes.aio":
            parts = (kubernetes.aio, aio_election.LeaderElection, aio_election.Config, AioLeaseLock)
        case "kubernetes_asyncio":
            parts = (kubernetes_asyncio, asyncio_election.LeaderElection, asyncio_config.Config, AsyncioLeaseLock)
    return kube.task(awaited(*parts, work, name), name=name)


def start(kube, library="kubernetes"):
    """Two candidates. For `kubernetes.aio` 37.0.2 the Lease exists, as it cannot create one, and the time has a fraction
    of a second: it writes whole seconds without `.000000`, which API servers reject in a MicroTime."""
    kube.advance(milliseconds=250)
    kube.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "operator"}})
    work = Work(kube)
    return work, [candidate(kube, work, library, name) for name in ("a", "b")]


def scenario(kube, library="kubernetes"):
    start(kube, library)
    kube.advance(hours=1)
    with kube.fault(verb="update", resource="leases", error=500):
        kube.advance(minutes=10)


@pytest.fixture(params=LIBRARIES)
def elected(request, fakekube):
    work, candidates = start(fakekube, request.param)
    fakekube.settle()
    return work, candidates


def renewals(kube):
    return [int(r.at) for r in kube.requests(verb="update", resource="leases", code=200)]


def holder(kube):
    return kube.get("coordination.k8s.io/v1", "Lease", "operator")["spec"]["holderIdentity"]


@pytest.mark.slow
def test_one_leads_and_renews_its_lease(fakekube, elected):
    work, _ = elected
    fakekube.advance(hours=4)
    assert work.worked == [("a", hour * HOUR) for hour in range(5)]
    # it renews at once when it has begun to lead, then every 50 s
    assert renewals(fakekube) == [0, *range(0, 4 * HOUR + 1, 50)]
    assert holder(fakekube) == "a"


@pytest.mark.slow
def test_the_other_takes_over_from_a_leader_that_cannot_renew(fakekube, elected):
    work, _ = elected
    fakekube.advance(minutes=30)
    with fakekube.fault(verb="update", resource="leases", error=500):
        fakekube.advance(minutes=3)
    fakekube.advance(minutes=10)

    # the first renewal fails 50 s after minute 30, the renew deadline is 150 s later
    assert work.stopped == [("a", 1800 + 50 + 150)]
    # the other saw the last renewal at 1850 s; the lease expires at 2020 s
    assert work.worked == [("a", 0), ("b", 2050)]
    assert holder(fakekube) == "b"


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_the_other_takes_over_from_a_cancelled_leader(fakekube, library):
    work, (leader, _) = start(fakekube, library)
    fakekube.advance(minutes=30)
    leader.cancel()
    fakekube.advance(minutes=10)
    assert work.worked == [("a", 0), ("b", 2050)]
    assert work.stopped == []


@pytest.mark.slow
def test_conflicting_renewals_are_retried(fakekube, elected):
    work, _ = elected
    fakekube.advance(minutes=30)
    with fakekube.fault(verb="update", resource="leases", error=409, times=2):
        fakekube.advance(minutes=5)
    assert work.stopped == []
    # the first is the other's, who tried to acquire the lease at the same moment
    assert [int(r.at) for r in fakekube.requests(verb="update", resource="leases", code=409)] == [0, 1850, 1900]
    assert renewals(fakekube)[-4:] == [1950, 2000, 2050, 2100]
