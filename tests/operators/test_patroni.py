"""Patroni's leader election for PostgreSQL (urllib3 in threads): two members, each with two threads that watch."""

from dataclasses import dataclass, field

import pytest
from patroni.dcs import get_dcs
from patroni.exceptions import DCSError

HOUR = 3600

pytestmark = pytest.mark.fakekube(configure=True)
LABELS = {"application": "patroni", "cluster-name": "shop"}


def pod(name):
    meta = {"name": name, "namespace": "default", "labels": LABELS}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [{"name": "db", "image": "db"}]},
    }


def settings(name):
    store = {"labels": {"application": "patroni"}, "context": "fakekube", "pod_ip": "10.0.0.1"}
    return {"name": name, "scope": "shop", "ttl": 30, "loop_wait": 10, "retry_timeout": 10, "kubernetes": store}


@dataclass(slots=True)
class Member:
    """The loop of Patroni's `Ha`, without a database."""

    kube: object
    name: str
    running: bool = True
    thread: object = None
    notes: list = field(default_factory=list)

    def run(self):
        store = get_dcs(settings(self.name))
        while self.running:
            try:
                self.run_cycle(store)
            except DCSError:
                self.note("no answer")
            store.watch(None, store.loop_wait)

    def run_cycle(self, store):
        cluster = store.get_cluster()
        if cluster.leader and cluster.leader.name == self.name:
            self.note("renewed" if store.update_leader(cluster, 42, {}) else "not renewed")
        elif cluster.is_unlocked():
            self.note("acquired" if store.attempt_to_acquire_leader() else "not acquired")

    def note(self, what):
        self.notes.append((what, round(self.kube.clock.monotonic())))


def start(kube):
    members = [Member(kube, name) for name in ("db-0", "db-1")]
    for member in members:
        kube.create(pod(member.name))
        member.thread = kube.thread(member.run, name=member.name)
    kube.settle()
    return members


def scenario(kube):
    first, _ = start(kube)
    kube.advance(hours=1)
    first.running = False
    kube.advance(minutes=10)


def renewals(kube):
    return [r.at for r in kube.requests(verb="patch", resource="configmaps", code=200)]


@pytest.mark.slow
def test_one_member_leads_and_renews_every_ten_seconds(fakekube):
    first, second = start(fakekube)
    fakekube.advance(hours=1)
    assert first.notes == [("acquired", 0), *(("renewed", at) for at in range(10, HOUR + 1, 10))]
    assert second.notes == [("not acquired", 0)]
    assert renewals(fakekube) == list(range(10, HOUR + 1, 10))
    # the server ends a watch after 30 to 60 minutes, then the cache lists again
    *_, last = fakekube.requests(verb="list", resource="configmaps")
    assert last.at == 0 or HOUR / 2 <= last.at <= HOUR
    annotations = fakekube.get("v1", "ConfigMap", "shop-leader")["metadata"]["annotations"]
    assert annotations["leader"] == "db-0"
    assert annotations["renewTime"].startswith(f"{fakekube.clock.now():%Y-%m-%dT%H:%M:%S}")


@pytest.mark.slow
def test_the_other_member_leads_when_the_lease_has_expired(fakekube):
    first, second = start(fakekube)
    fakekube.advance(hours=1)
    first.running = False
    fakekube.advance(minutes=1)
    assert second.notes == [
        ("not acquired", 0),
        ("acquired", HOUR + 40),  # the ttl of 30 s has passed since the last renewal
        *(("renewed", HOUR + at) for at in (40, 50, 60)),
    ]


@pytest.mark.slow
def test_failed_renewals_are_retried_within_ten_seconds(fakekube):
    first, _ = start(fakekube)
    fakekube.advance(minutes=1)
    with fakekube.fault(verb="patch", resource="configmaps", error=500, times=3):
        fakekube.advance(minutes=1)
    failed = fakekube.requests(verb="patch", code=500)
    assert [int(r.at) for r in failed] == [70, 70, 70]
    assert renewals(fakekube)[:6] == [10, 20, 30, 40, 50, 60]
    assert 71 <= renewals(fakekube)[6] < 72
    assert [what for what, _ in first.notes] == ["acquired"] + ["renewed"] * 11


@pytest.mark.slow
def test_watches_again_after_the_server_has_cut_the_watches(fakekube):
    first, _ = start(fakekube)
    fakekube.advance(minutes=1)
    fakekube.faults.cut_watches()
    fakekube.advance(minutes=1)
    assert len(fakekube.requests(verb="list", resource="configmaps")) == 4
    assert first.notes[-1] == ("renewed", 120)
