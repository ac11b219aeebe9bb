"""Rules of controllers whose informers and clients are held by the test: owners, monitors, quotas, events, history."""

import asyncio
from types import SimpleNamespace

import pytest

from controllerlib import ApiError, Request
from fakekube.controllers.apps.controllerrevision import template_patch
from fakekube.controllers.apps.daemonset.daemonhistory import DaemonHistory
from fakekube.controllers.apps.daemonset.daemonpods import HASH_LABEL
from fakekube.controllers.batch.job.podtracking import FinalizerExpectations, remove_finalizers
from fakekube.controllers.core.namespace import NamespaceController
from fakekube.controllers.core.resourcequotas import ResourceQuotaController, _frees, _limits_updated, counted
from fakekube.controllers.monitors import Monitors
from fakekube.controllers.nodelifecycle.periodicrequest import PeriodicRequest
from fakekube.controllers.policy.podowners import PodOwners, ScaleUnknown
from fakekube.controllers.servedresources import ServedResource, ServedResources
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.podevents import PodEvents
from tests.controllers.workloads import NOW


class HeldClock:
    """A clock that a test moves by hand."""

    def __init__(self, time=0.0):
        self.time = time

    def monotonic(self):
        return self.time


class HeldQueue(list):
    """A queue that only notes what is added."""

    def add(self, request):
        self.append(request)

    def add_after(self, request, seconds):
        self.append((request, seconds))


class HeldObjects:
    """The objects of one kind, as an informer has them."""

    def __init__(self, *objects):
        self.objects = objects

    def get(self, namespace, name):
        found = (
            one
            for one in self.objects
            if (one["metadata"].get("namespace", ""), one["metadata"]["name"]) == (namespace, name)
        )
        return next(found, None)

    def list(self, namespace=""):
        return [one for one in self.objects if one["metadata"]["namespace"] == namespace]


class HeldContext:
    """What controllers are built with, with the objects of each kind."""

    def __init__(self, client=None, **kinds):
        self._client, self._kinds = client, kinds

    def kind(self, api_version, kind):
        return self._kinds.get(kind, HeldObjects())

    def client(self, account):
        return self._client

    def now(self):
        return NOW


def run(coroutine):
    with asyncio.Runner() as runner:
        return runner.run(coroutine)


# --- how many pods a budget expects (getExpectedScale and its finders)


class HeldScales:
    """A client to which kinds have scales: api version and kind -> scale, None without one."""

    def __init__(self, scales=(), error=None):
        self.scales, self.error, self.mapper = dict(scales), error, self

    async def resource(self, api_version, kind):
        self.found = self.scales.get((api_version, kind))
        self.subresources = () if self.found is None else ("scale",)
        self.qualified = f"{kind.lower()}s.example.com"
        return self

    def path(self, namespace, name, subresource):
        return f"{namespace}/{name}/{subresource}"

    async def raw_get(self, path):
        if self.error is not None:
            raise self.error
        scale = (self.found or {}).get(path)
        if scale is None:
            raise ApiError(404, "NotFound", "not found")
        return scale


def owner(name, *, uid="", kind="ReplicaSet", api_version="apps/v1", controller=True):
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid or name, "controller": controller}


def made(name, replicas=None, *owners, namespace="ns"):
    spec = {} if replicas is None else {"replicas": replicas}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name, "ownerReferences": list(owners)},
        "spec": spec,
    }


def expected(pods, client=None, **kinds):
    return run(PodOwners(HeldContext(**kinds), client or HeldScales()).expected(pods))


DEPLOYED = HeldObjects(made("rs", 3, owner("web", kind="Deployment")))
WEB = HeldObjects(made("web", 7))


@pytest.mark.parametrize(
    ("owners", "kinds", "number"),
    [
        ([owner("rs")], {"ReplicaSet": HeldObjects(made("rs", 3))}, 3),
        ([owner("rs", api_version="extensions/v1beta1")], {"ReplicaSet": HeldObjects(made("rs", 3))}, 3),
        ([owner("rs")], {"ReplicaSet": HeldObjects(made("rs"))}, 0),
        ([owner("rs")], {"ReplicaSet": DEPLOYED, "Deployment": WEB}, 7),
        ([owner("db", kind="StatefulSet")], {"StatefulSet": HeldObjects(made("db", 2))}, 2),
        ([owner("web", kind="Deployment")], {"Deployment": WEB}, 7),
        (
            [owner("rc", kind="ReplicationController", api_version="v1")],
            {"ReplicationController": HeldObjects(made("rc", 4))},
            4,
        ),
        ([owner("rs"), owner("rs")], {"ReplicaSet": HeldObjects(made("rs", 3))}, 3),
        ([owner("rs"), owner("two")], {"ReplicaSet": HeldObjects(made("rs", 3), made("two", 1))}, 4),
    ],
    ids=[
        "replica set",
        "its former group",
        "no number",
        "its deployment",
        "stateful set",
        "deployment",
        "replication controller",
        "one of two pods",
        "two",
    ],
)
def test_a_budget_expects_what_the_owners_of_its_pods_want(owners, kinds, number):
    pods = [made(f"p{index}", None, one) for index, one in enumerate(owners)]
    assert expected(pods, **kinds) == (number, [])


def test_pods_without_a_controller_are_not_expected():
    pods = [made("bare"), made("owned", None, owner("rs", controller=False)), made("p", None, owner("rs"))]
    assert expected(pods, ReplicaSet=HeldObjects(made("rs", 3))) == (3, ["bare", "owned"])


@pytest.mark.parametrize(
    ("reference", "kinds"),
    [
        (owner("rs", uid="other"), {"ReplicaSet": HeldObjects(made("rs", 3))}),
        (owner("rs", api_version="other/v1"), {"ReplicaSet": HeldObjects(made("rs", 3))}),
        (owner("rs"), {"ReplicaSet": HeldObjects(made("rs", 3, namespace="other"))}),
        (owner("rs"), {"ReplicaSet": DEPLOYED}),
        (
            owner("db", kind="StatefulSet", api_version="extensions/v1beta1"),
            {"StatefulSet": HeldObjects(made("db", 3))},
        ),
        (owner("custom", kind="Custom", api_version="example.com/v1"), {}),
    ],
    ids=["another uid", "another group", "another namespace", "its deployment is gone", "a group without it", "custom"],
)
def test_an_owner_that_no_informer_has_is_asked_for_its_scale(reference, kinds):
    pods = [made("p", None, reference)]
    key, path = (reference["apiVersion"], reference["kind"]), f"ns/{reference['name']}/scale"

    def scales(uid, spec):
        return HeldScales({key: {path: {"metadata": {"uid": uid}, "spec": spec}}})

    assert expected(pods, scales(reference["uid"], {"replicas": 9}), **kinds) == (9, [])
    assert expected(pods, scales(reference["uid"], None), **kinds) == (0, [])
    with pytest.raises(ScaleUnknown, match='found no controllers for pod "p"'):
        expected(pods, scales("replaced", {"replicas": 9}), **kinds)
    with pytest.raises(ScaleUnknown, match='found no controllers for pod "p"'):
        expected(pods, HeldScales({key: {}}), **kinds)
    with pytest.raises(ScaleUnknown, match=r"s\.example\.com does not implement the scale subresource"):
        expected(pods, HeldScales(), **kinds)
    with pytest.raises(ApiError, match="broken"):
        expected(pods, HeldScales({key: {}}, ApiError(500, "InternalError", "broken")), **kinds)


def test_a_replica_set_of_another_owner_than_a_deployment_counts_itself():
    sets = HeldObjects(made("rs", 3, owner("web", kind="Rollout", api_version="example.com/v1")))
    assert expected([made("p", None, owner("rs"))], ReplicaSet=sets, Deployment=WEB) == (3, [])


# --- monitors (resyncMonitors)


class HeldInformer:
    """An informer that notes its handlers. It is also the indexer of its objects."""

    def __init__(self, synced=True):
        self.handlers, self.synced = [], synced
        self.informers, self.indexer = {"": self}, self

    def add_handler(self, handler):
        self.handlers.append(handler)
        return handler

    def remove_handler(self, handler):
        self.handlers.remove(handler)

    def has_synced(self):
        return self.synced

    def get_by_key(self, key):
        return f"object {key}"

    def by_index(self, index, value):
        return [f"objects by {index} {value}"]


class HeldInformers:
    """The shared informers, by kind and form."""

    def __init__(self):
        self.all, self.mapper, self.forgotten = {}, self, 0

    async def get_informer(self, api_version, kind, *, form, block_until_synced):
        assert not block_until_synced
        return self.all.setdefault((api_version, kind, form), HeldInformer())

    def find(self, api_version, kind, form):
        return self.all.get((api_version, kind, form))

    def remove_informer(self, api_version, kind, form):
        del self.all[api_version, kind, form]

    def forget(self):
        self.forgotten += 1


def served(group, kind="Widget", *, namespaced=True, verbs=("create", "list", "watch", "delete")):
    return ServedResource(group, "v1", f"{kind.lower()}s", kind, namespaced, frozenset(verbs))


ONE, TWO = served("one.com"), served("two.com", "Gadget")


def discovery(*resources, stale=()):
    return ServedResources({(one.api_version, one.kind): one for one in resources}, resources, stale)


def monitors(form="metadata"):
    informers = HeldInformers()
    found = Monitors(
        None,
        informers,
        HeldClock(),
        lambda *_: form,
        lambda resource: f"handler of {resource.kind}",
        lambda all: all.preferred,
    )
    return found, informers


def test_what_is_served_is_watched_until_it_is_served_no_more():
    found, informers = monitors()
    run(found._resync(discovery(ONE, TWO)))
    assert found.watched() == (ONE, TWO)
    assert informers.all["one.com/v1", "Widget", "metadata"].handlers == ["handler of Widget"]
    assert found.served.find("two.com/v1", "Gadget") is TWO
    run(found._resync(discovery(TWO)))
    assert found.watched() == (TWO,)
    assert list(informers.all) == [("two.com/v1", "Gadget", "metadata")]
    assert informers.forgotten == 1  # until the first answer nothing can be out of date


def test_the_resources_of_a_version_that_does_not_answer_are_watched_as_before():
    found, _ = monitors()
    run(found._resync(discovery(ONE, TWO)))
    run(found._resync(discovery(TWO, stale=["one.com/v1"])))
    assert found.watched() == (ONE, TWO)
    assert found.served.stale == ["one.com/v1"]
    run(found._resync(discovery(TWO, stale=["one.com/v2"])))
    assert found.watched() == (TWO,)


def test_the_same_discovery_changes_nothing():
    found, informers = monitors()
    run(found._resync(discovery(ONE)))
    run(found._resync(discovery(ONE)))
    assert (informers.forgotten, informers.all["one.com/v1", "Widget", "metadata"].handlers) == (
        0,
        ["handler of Widget"],
    )


def test_an_informer_of_whole_objects_is_shared_and_stays():
    found, informers = monitors("structured")
    run(found._resync(discovery(ONE)))
    run(found._resync(discovery()))
    assert informers.all["one.com/v1", "Widget", "structured"].handlers == []


def test_an_informer_that_has_been_replaced_is_not_removed():
    found, informers = monitors()
    run(found._resync(discovery(ONE)))
    informers.all["one.com/v1", "Widget", "metadata"] = HeldInformer()
    run(found._resync(discovery()))
    assert len(informers.all) == 1


def test_objects_are_found_by_kind_and_listed_when_they_are_known():
    found, informers = monitors()
    run(found._resync(discovery(ONE)))
    assert found.find("one.com/v1", "Widget", "ns", "a") == "object ns/a"
    assert found.find("one.com/v1", "Widget", "", "a") == "object a"
    assert found.find("one.com/v2", "Widget", "ns", "a") is None
    assert found.find("one.com/v1", "Gadget", "ns", "a") is None
    assert found.list(ONE, "ns") == ["objects by namespace ns"]
    informers.all["one.com/v1", "Widget", "metadata"].synced = False
    assert found.list(ONE, "ns") is None


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ({"spec": 1, "status": 1}, {"spec": 1, "status": 1, "metadata": 2}, False),
        ({"spec": 1, "status": 1}, {"spec": 2, "status": 1}, True),
        ({"spec": 1, "status": 1}, {"spec": 1, "status": 2}, True),
    ],
)
def test_a_changed_definition_is_a_reason_to_ask_what_is_served(old, new, again):
    found, _ = monitors()
    found._updated(old, new)
    assert found._changed.is_set() is again


# --- quotas


def pod(phase="Running", *, deadline=None, statuses=None, inits=None):
    spec = {} if deadline is None else {"activeDeadlineSeconds": deadline}
    status = {"phase": phase, "containerStatuses": statuses, "initContainerStatuses": inits}
    return {"metadata": {"namespace": "ns", "name": "p"}, "spec": spec, "status": status}


def status(cpu, name="c"):
    return [{"name": name, "resources": {"requests": {"cpu": cpu}}}]


def service(kind=None):
    return {"spec": {} if kind is None else {"type": kind}}


@pytest.mark.parametrize(
    ("resource", "old", "new", "frees"),
    [
        ("pods", pod(), pod("Succeeded"), True),
        ("pods", pod("Failed"), pod("Succeeded"), False),
        ("pods", pod("Failed"), pod(), False),
        ("pods", pod(), pod(), False),
        ("pods", pod(), pod(deadline=5), True),
        ("pods", pod(deadline=5), pod(deadline=3), False),
        ("pods", pod(statuses=status("1")), pod(statuses=status("2")), True),
        ("pods", pod(statuses=status("1")), pod(statuses=status("1")), False),
        ("pods", pod(inits=status("1")), pod(inits=status("2")), True),
        ("pods", pod(statuses=status("1")), pod(statuses=status("2", "other")), False),
        ("pods", pod(), pod(statuses=status("2")), False),
        ("services", service(), service("ClusterIP"), False),
        ("services", service(), service("NodePort"), True),
        ("services", service("LoadBalancer"), service("NodePort"), True),
        ("services", service("LoadBalancer"), service("LoadBalancer"), False),
        ("services", service("ExternalName"), {}, False),
        ("persistentvolumeclaims", {}, {}, True),
        ("configmaps", {}, {}, False),
    ],
)
def test_updates_that_may_free_what_a_quota_limits(resource, old, new, frees):
    """`DefaultUpdateFilter` of the evaluators."""
    assert _frees(resource, old, new, HeldContext()) is frees


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ({"pods": "1"}, {"pods": "1"}, False),
        ({"cpu": "1"}, {"cpu": "1000m"}, False),
        ({"pods": "1"}, {"pods": "2"}, True),
        ({"pods": "1"}, {"pods": "1", "cpu": "1"}, True),
        (None, {"pods": "1"}, True),
        (None, None, False),
    ],
)
def test_a_quota_is_counted_again_if_its_limits_change(old, new, again):
    queue = HeldQueue()
    quota = {"metadata": {"namespace": "ns", "name": "q"}}
    _limits_updated({**quota, "spec": {"hard": old}}, {**quota, "spec": {"hard": new}}, queue)
    assert queue == ([Request("ns", "q")] if again else [])


def test_quotas_count_what_can_be_created_listed_watched_and_deleted_in_namespaces():
    every = ("create", "list", "watch", "delete")
    some = [served(f"g{index}", verbs=[one for one in every if one != left]) for index, left in enumerate(every)]
    uncounted = [served("", "Event"), served("events.k8s.io", "Event"), served("x", namespaced=False)]
    assert counted(discovery(ONE, *some, *uncounted, TWO)) == [ONE, TWO]


def test_what_is_deleted_is_counted_again_by_the_quotas_of_its_namespace_that_limit_it():
    def quota(name, namespace="ns", **limits):
        return {"metadata": {"namespace": namespace, "name": name}, "status": {"hard": limits}}

    class Quotas(HeldContext):
        manager = SimpleNamespace(cache=SimpleNamespace(informers=None))
        clock, form_of = HeldClock(), None

    class Queue(HeldQueue):
        def with_options(self, cause):
            self.cause = cause
            return self

    some = [
        quota("pods", pods="1"),
        quota("all", **{"count/pods": "1"}),
        quota("cpu", cpu="1"),
        quota("secrets", secrets="1"),
    ]
    unset = {"metadata": {"namespace": "ns", "name": "new"}}
    kinds = {"ResourceQuota": HeldObjects(*some, unset, quota("elsewhere", "other", pods="1"))}
    controller, queue = ResourceQuotaController(Quotas(**kinds)), Queue()
    controller._queue = queue
    controller._handler(served("", "Pod")).on_delete(pod())
    assert [one.name for one in queue] == ["pods", "all", "cpu"]
    assert queue.cause[:5] == ("deleted", "v1", "Pod", "ns", "p")
    controller._handler(served("", "Pod")).on_update(pod(), pod())
    assert len(queue) == 3
    controller._handler(served("", "Pod")).on_update(pod(), pod("Failed"))
    assert len(queue) == 6


# --- namespaces


class HeldNamespace:
    """A client that has one namespace."""

    def __init__(self, **meta):
        self.namespace, self.gets = {"metadata": {"name": "ns", **meta}}, 0

    async def get(self, api_version, kind, name):
        self.gets += 1
        return self.namespace


@pytest.mark.parametrize(("uid", "same"), [("1", True), ("2", False)])
def test_after_a_conflict_a_namespace_is_written_as_it_is_then_unless_it_is_another(uid, same):
    client = HeldNamespace(uid=uid)
    controller = NamespaceController(HeldContext(client))
    tried = []

    async def write(namespace):
        tried.append(namespace)
        if namespace is not client.namespace:
            raise ApiError(409, "Conflict", "changed")
        return "written"

    before = {"metadata": {"name": "ns", "uid": "1"}}
    if same:
        assert run(controller._retried(before, write)) == "written"
        assert tried == [before, client.namespace]
    else:
        with pytest.raises(RuntimeError, match="namespace uid has changed across retries"):
            run(controller._retried(before, write))


def test_only_conflicts_are_retried():
    async def write(namespace):
        raise ApiError(500, "InternalError", "broken")

    client = HeldNamespace(uid="1")
    with pytest.raises(ApiError, match="broken"):
        run(NamespaceController(HeldContext(client))._retried(client.namespace, write))
    assert client.gets == 0


# --- periods


@pytest.mark.parametrize(
    ("now", "moment", "seconds"),
    [
        (100.0, 100.0, 0.0),
        (100.5, 100.5, 4.5),
        (105.0, 105.0, 0.0),
        (101.0, 104.0, 4.0),
        (101.0, 106.0, 9.0),
        (109.0, 101.0, 0.0),
    ],
)
def test_a_request_waits_for_the_end_of_the_period_of_its_moment(now, moment, seconds):
    clock = HeldClock(100.0)
    request = PeriodicRequest(clock, Request("", "*"), 5.0)
    request.begin(HeldQueue())
    clock.time = now
    assert request.seconds_until(moment) == seconds
    queue = HeldQueue()
    request.enqueue(queue)
    assert queue == [(Request("", "*"), request.seconds_until(now))]


# --- which objects the event of a pod concerns (addPod, updatePod, deletePod)


class HeldSets(HeldObjects):
    """ReplicaSets of an informer."""

    kind = "ReplicaSet"


def owned_pod(*owners, ready=False, version="1", **meta):
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    found = {"name": "p", "namespace": "ns", "resourceVersion": version, "ownerReferences": list(owners), **meta}
    return {"metadata": found, "status": status}


RS, OTHER = owner("rs"), owner("other")
SETS = HeldSets(made("rs"), {**made("other"), "spec": {"minReadySeconds": 10}})
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def events(expectations=None, margin=0.0):
    return PodEvents(SETS, lambda pod: [made("adopts"), made("too")], expectations, margin=margin)


def names(queue):
    return [one[0].name if type(one) is tuple else one.name for one in queue]


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        (owned_pod(RS), ["rs"]),
        (owned_pod(), ["adopts", "too"]),
        (owned_pod(owner("rs", controller=False)), ["adopts", "too"]),
        (owned_pod(owner("rs", uid="replaced")), []),
        (owned_pod(owner("gone")), []),
        (owned_pod(owner("rs", kind="Job")), []),
        (owned_pod(RS, **DELETED), ["rs"]),
        (owned_pod(**DELETED), []),
    ],
)
def test_a_new_pod_concerns_its_controller_or_those_that_may_adopt_it(pod, found):
    queue = HeldQueue()
    events()._created(pod, queue)
    assert names(queue) == found
    queue = HeldQueue()
    events()._gone(pod, queue)
    assert names(queue) == [name for name in found if name == "rs"]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (owned_pod(RS), owned_pod(RS, version="2"), ["rs"]),
        (owned_pod(RS), owned_pod(RS, ready=True), []),
        (owned_pod(RS), owned_pod(OTHER, version="2"), ["rs", "other"]),
        (owned_pod(RS), owned_pod(version="2"), ["rs", "adopts", "too"]),
        (owned_pod(owner("gone")), owned_pod(RS, version="2"), ["rs"]),
        (owned_pod(), owned_pod(RS, version="2"), ["rs"]),
        (owned_pod(), owned_pod(version="2"), []),
        (owned_pod(), owned_pod(version="2", labels={"a": "1"}), ["adopts", "too"]),
        (owned_pod(RS), owned_pod(RS, version="2", **DELETED), ["rs"]),
        (owned_pod(RS), owned_pod(RS, version="2", labels={"a": "1"}, **DELETED), ["rs", "rs"]),
        (owned_pod(), owned_pod(version="2", labels={"a": "1"}, **DELETED), []),
        (owned_pod(OTHER), owned_pod(OTHER, version="2", ready=True), ["other", "other"]),
        (owned_pod(OTHER, ready=True), owned_pod(OTHER, version="2", ready=True), ["other"]),
        (owned_pod(OTHER), owned_pod(OTHER, version="2"), ["other"]),
        (owned_pod(RS), owned_pod(RS, version="2", ready=True), ["rs"]),
    ],
)
def test_a_changed_pod_concerns_its_controllers_before_and_after(old, new, found):
    queue = HeldQueue()
    events()._updated(old, new, queue)
    assert names(queue) == found


def test_a_pod_that_gets_ready_is_looked_at_again_when_it_is_available():
    queue = HeldQueue()
    events(margin=1.0)._updated(owned_pod(OTHER), owned_pod(OTHER, version="2", ready=True), queue)
    assert queue == [Request("ns", "other"), (Request("ns", "other"), 11.0)]


def test_creations_and_deletions_of_pods_are_observed():
    expectations = Expectations(HeldClock())
    expectations.expect_creations("ns/rs", 1)
    events(expectations)._created(owned_pod(), HeldQueue())
    assert not expectations.satisfied("ns/rs")
    events(expectations)._created(owned_pod(RS), HeldQueue())
    assert expectations.satisfied("ns/rs")
    expectations.expect_deletions("ns/rs", ["ns/p"])
    events(expectations)._updated(owned_pod(RS), owned_pod(RS, version="2"), HeldQueue())
    assert not expectations.satisfied("ns/rs")
    events(expectations)._updated(owned_pod(RS), owned_pod(RS, version="2", **DELETED), HeldQueue())
    assert expectations.satisfied("ns/rs")


# --- revisions of DaemonSets (constructHistory)


class HeldWrites:
    """A client that notes its writes and accepts each."""

    def __init__(self):
        self.writes = []

    async def update(self, obj):
        self.writes.append(("update", obj["metadata"]["name"]))
        return obj

    async def patch(self, obj, patch):
        self.writes.append(("patch", obj["metadata"]["name"], patch["metadata"]["labels"][HASH_LABEL]))

    async def delete(self, obj):
        self.writes.append(("delete", obj["metadata"]["name"]))

    async def create(self, obj):
        self.writes.append(("create", obj["revision"]))
        return obj


DAEMON_SET = {"metadata": {"name": "d", "namespace": "ns", "uid": "d"}, "spec": {"template": {"spec": {"x": 1}}}}


def revision(name, number, *, current=False, labels=None):
    data = template_patch(DAEMON_SET if current else {"spec": {"template": {"spec": {"x": 2}}}})
    labels = {HASH_LABEL: name} if labels is None else labels
    return {"metadata": {"name": name, "labels": labels}, "revision": number, "data": data}


def hashed(name, label):
    return {"metadata": {"name": name, "labels": {HASH_LABEL: label} if label else None}}


@pytest.mark.parametrize(
    ("claimed", "pods", "kept", "old", "writes"),
    [
        ([], [], 1, [], [("create", 1)]),
        ([revision("a", 3), revision("b", 5)], [], 6, ["a", "b"], [("create", 6)]),
        ([revision("a", 1), revision("b", 2, current=True)], [], 2, ["a"], []),
        ([revision("a", 3), revision("b", 2, current=True)], [], 2, ["a"], [("update", "b")]),
        ([revision("b", 2, current=True, labels={"x": "1"})], [], 2, [], [("update", "b")]),
        (
            [revision("a", 1, current=True), revision("b", 2, current=True)],
            [hashed("p", "a"), hashed("q", "b"), hashed("r", None)],
            2,
            [],
            [("patch", "p", "b"), ("patch", "r", "b"), ("delete", "a")],
        ),
    ],
    ids=[
        "none",
        "none for this template",
        "the last one",
        "an earlier one",
        "without a label",
        "two for this template",
    ],
)
def test_the_revision_of_a_template(claimed, pods, kept, old, writes):
    client = HeldWrites()
    found, others = run(DaemonHistory(client, DAEMON_SET).construct(claimed, pods))
    assert (found["revision"], [one["metadata"]["name"] for one in others], client.writes) == (kept, old, writes)


class HeldCollisions(HeldWrites):
    """A server that has a revision of each name, with other data, and a DaemonSet."""

    def __init__(self, daemon_set):
        super().__init__()
        self.daemon_set = daemon_set

    async def create(self, obj):
        raise ApiError(409, "AlreadyExists", "x")

    async def get(self, api_version, kind, name, namespace):
        return self.daemon_set if kind == "DaemonSet" else {"data": {"spec": {}}}

    async def update_status(self, obj):
        self.writes.append(obj["status"])


@pytest.mark.parametrize(
    ("known", "live", "written"),
    [
        (None, {"numberReady": 3}, [{"numberReady": 3, "collisionCount": 1}]),
        (2, {"numberReady": 3, "collisionCount": 2}, [{"numberReady": 3, "collisionCount": 3}]),
        (None, None, [{"collisionCount": 1}]),
        (None, {"collisionCount": 1}, []),
        (1, {"collisionCount": 2}, []),
    ],
)
def test_a_collision_is_counted_unless_it_was(known, live, written):
    """`update.go`: snapshot counts it in the status of the live object, if that is as the cache has it."""
    status = {} if known is None else {"status": {"collisionCount": known}}
    client = HeldCollisions({**DAEMON_SET, **({} if live is None else {"status": live})})
    with pytest.raises(ApiError, match="x"):
        run(DaemonHistory(client, {**DAEMON_SET, **status}).construct([], []))
    assert client.writes == written


def test_a_revision_without_the_label_gets_its_name_as_label():
    history = DaemonHistory(HeldWrites(), DAEMON_SET)
    assert run(history._labelled(revision("b", 1, labels={"x": "1"})))["metadata"]["labels"] == {
        "x": "1",
        HASH_LABEL: "b",
    }
    bare = revision("b", 1)
    del bare["metadata"]["labels"]
    assert run(history._labelled(bare))["metadata"]["labels"] == {HASH_LABEL: "b"}


@pytest.mark.parametrize(
    ("limit", "live", "deleted"),
    [
        (None, [], []),
        (2, [], ["a"]),
        (1, [], ["a", "b"]),
        (1, ["a"], ["b", "c"]),
        (0, ["a", "b", "c"], []),
        (3, [], []),
    ],
)
def test_the_oldest_revisions_without_pods_go_first(limit, live, deleted):
    client = HeldWrites()
    more = {} if limit is None else {"revisionHistoryLimit": limit}
    history = DaemonHistory(client, {**DAEMON_SET, "spec": {**DAEMON_SET["spec"], **more}})
    old = [revision("c", 10), revision("a", 2), revision("b", 3)]
    run(history.clean_up(old, [hashed("p", label) for label in live]))
    assert client.writes == [("delete", name) for name in deleted]


# --- finalizers of the pods of Jobs (trackJobStatusAndRemoveFinalizers)


class HeldControl:
    """Patches pods, some of which fail."""

    def __init__(self, **errors):
        self.errors, self.patched = errors, []

    async def patch(self, owner, pod, patch):
        self.patched.append((owner, pod["metadata"]["uid"], patch))
        if pod["metadata"]["uid"] in self.errors:
            raise self.errors[pod["metadata"]["uid"]]


def test_pods_without_a_finalizer_are_those_that_were_patched_or_are_gone():
    gone, broken, late = (
        ApiError(code, reason, "x") for code, reason in ((404, "NotFound"), (500, "InternalError"), (500, "Late"))
    )
    control, expectations = HeldControl(b=gone, c=broken, d=late), FinalizerExpectations()
    pods = [{"metadata": {"uid": uid}} for uid in "abcd"]
    removed, problem = run(remove_finalizers(control, DAEMON_SET, "ns/j", pods, expectations))
    assert (removed, problem) == ({"a", "b"}, broken)
    assert expectations.expected("ns/j") == {"a"}
    removal = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"]}}
    assert control.patched == [(DAEMON_SET, uid, removal) for uid in "abcd"]
    assert run(remove_finalizers(HeldControl(), DAEMON_SET, "ns/j", pods[:1], expectations)) == ({"a"}, None)
