"""The informer of the official client: a thread that lists, watches and resyncs, and handlers that write."""

import signal
import threading

import kubernetes
import pytest
from kubernetes import client
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer

HOUR = 3600

pytestmark = pytest.mark.fakekube(configure=True)


def config_map(name, **data):
    meta = {"name": name, "namespace": "default", "labels": {"copied": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


class Copier:
    """Keeps a Secret for each ConfigMap."""

    def __init__(self, kube):
        self.kube, self.seen = kube, []

    def run(self):
        kubernetes.config.load_kube_config()
        self.api = client.CoreV1Api()
        informer = SharedInformer(
            self.api.list_namespaced_config_map, namespace="default", label_selector="copied=yes", resync_period=600
        )
        for kind in (ADDED, MODIFIED, DELETED, ERROR):
            informer.add_event_handler(kind, lambda found, kind=kind: self.handle(kind, found))
        informer.start()
        stopping = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        stopping.wait()
        informer.stop()

    def handle(self, kind, found):
        name = None if kind == ERROR else found.metadata.name
        self.seen.append((kind, name, round(self.kube.clock.monotonic())))
        if kind == ADDED:
            body = client.V1Secret(metadata=client.V1ObjectMeta(name=name), string_data=found.data)
            self.api.create_namespaced_secret("default", body)
        elif kind == DELETED:
            self.api.delete_namespaced_secret(name, "default")


def start(kube):
    copier = Copier(kube)
    copier.thread = kube.thread(copier.run, name="copier")
    return copier


def scenario(kube):
    start(kube)
    for name in ("a", "b", "c"):
        kube.create(config_map(name, colour="red"))
        kube.advance(hours=1)
        kube.patch("v1", "ConfigMap", name, {"data": {"colour": "blue"}})
    kube.delete("v1", "ConfigMap", "b")
    kube.advance(hours=1)


def secrets(kube):
    return [found["metadata"]["name"] for found in kube.list("v1", "Secret")]


@pytest.mark.slow
def test_resyncs_every_ten_minutes(fakekube):
    fakekube.create(config_map("a"))
    copier = start(fakekube)
    fakekube.advance(hours=6)
    assert copier.seen == [("ADDED", "a", 0), *(("MODIFIED", "a", at) for at in range(600, 6 * HOUR + 1, 600))]
    for verb in ("list", "watch"):
        found = fakekube.requests(verb=verb, resource="configmaps")
        assert [r.at for r in found] == list(range(0, 6 * HOUR + 1, 600))


def test_follows_changes_at_once(fakekube):
    copier = start(fakekube)
    fakekube.advance(seconds=30)
    fakekube.create(config_map("a", colour="red"))
    fakekube.advance(seconds=30)
    assert secrets(fakekube) == ["a"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"colour": "blue"}})
    fakekube.advance(seconds=30)
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.settle()
    assert secrets(fakekube) == []
    assert copier.seen == [("ADDED", "a", 30), ("MODIFIED", "a", 60), ("DELETED", "a", 90)]


def test_lists_again_five_seconds_after_a_failed_list(fakekube):
    with fakekube.fault(verb="list", resource="configmaps", error=500, times=3):
        copier = start(fakekube)
        fakekube.advance(minutes=1)
    assert [(kind, at) for kind, _, at in copier.seen] == [("ERROR", 0), ("ERROR", 5), ("ERROR", 10)]
    assert [(r.code, r.at) for r in fakekube.requests(verb="list", resource="configmaps")] == [
        (500, 0),
        (500, 5),
        (500, 10),
        (200, 15),
    ]


@pytest.mark.slow
def test_lists_again_when_the_history_is_gone(fakekube):
    copier = start(fakekube)
    fakekube.create(config_map("a"))
    fakekube.advance(minutes=1)
    fakekube.faults.compact()
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.create(config_map("b"))
    fakekube.advance(hours=1)
    assert [(kind, name) for kind, name, _ in copier.seen][:3] == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    assert secrets(fakekube) == ["b"]


def test_a_handler_that_fails_does_not_end_the_informer(fakekube):
    copier = start(fakekube)
    fakekube.settle()
    with fakekube.fault(verb="create", resource="secrets", error=403, times=1):
        fakekube.create(config_map("a"))
        fakekube.advance(minutes=1)
    fakekube.create(config_map("b"))
    fakekube.advance(minutes=1)
    assert secrets(fakekube) == ["b"]
    assert [kind for kind, _, _ in copier.seen] == ["ADDED", "ADDED"]
