"""The garbage collector: what is deleted when its owners are, and how."""

import itertools
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.harness.engine import engine_of

pytestmark = pytest.mark.fakekube(controllers=["garbagecollector"], rbac=True)

USER = "system:serviceaccount:kube-system:generic-garbage-collector"


def thing(name, owners=(), kind="ConfigMap", namespace="default", **meta):
    """An object that is owned by objects, or by references."""
    references = [reference(one) if "metadata" in one else one for one in owners]
    where = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, **where, "ownerReferences": references, **meta},
    }


def reference(owner, **changes):
    meta = owner["metadata"]
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    return named | changes


def names(fakekube, kind="ConfigMap"):
    return [one["metadata"]["name"] for one in fakekube.list("v1", kind)]


def writes(fakekube):
    """The writes of the garbage collector: verb, name and code."""
    return [(one.verb, one.name, one.code) for one in fakekube.requests(user=USER) if one.verb in ("delete", "patch")]


def test_dependents_are_deleted_in_the_background_each_with_its_own(fakekube):
    owner = fakekube.create(thing("owner"))
    child = fakekube.create(thing("child", [owner]))
    fakekube.create(thing("grandchild", [child]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner")
    fakekube.settle()
    assert names(fakekube) == []
    assert writes(fakekube) == [("delete", "child", 200), ("delete", "grandchild", 200)]


def test_in_the_foreground_blocking_dependents_go_first(fakekube):
    owner = fakekube.create(thing("owner"))
    fakekube.create(thing("blocking", [reference(owner, blockOwnerDeletion=True)], finalizers=["example.com/hold"]))
    fakekube.create(thing("other", [owner]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner", propagationPolicy="Foreground")
    fakekube.settle()
    assert names(fakekube) == ["blocking", "owner"]
    fakekube.patch("v1", "ConfigMap", "blocking", {"metadata": {"finalizers": None}})
    fakekube.settle()
    assert names(fakekube) == []


@pytest.mark.slow
def test_a_dependent_that_no_longer_blocks_frees_its_owner(fakekube):
    owner = fakekube.create(thing("owner"))
    blocking = reference(owner, blockOwnerDeletion=True)
    fakekube.create(thing("child", [blocking], finalizers=["example.com/hold"]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner", propagationPolicy="Foreground")
    fakekube.settle()
    unblocked = [blocking | {"blockOwnerDeletion": False}]
    fakekube.patch("v1", "ConfigMap", "child", {"metadata": {"ownerReferences": unblocked}})
    fakekube.settle()
    assert names(fakekube) == ["child"]


def test_dependents_with_dependents_are_deleted_in_the_foreground_too(fakekube):
    owner = fakekube.create(thing("owner"))
    child = fakekube.create(thing("child", [reference(owner, blockOwnerDeletion=True)]))
    fakekube.create(thing("grandchild", [reference(child, blockOwnerDeletion=True)]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner", propagationPolicy="Foreground")
    fakekube.settle()
    assert list(dict.fromkeys(writes(fakekube))) == [
        ("delete", "child", 200),
        ("delete", "grandchild", 200),
        ("patch", "child", 200),
        ("patch", "owner", 200),
    ]


def test_a_circle_of_owners_that_wait_for_each_other_is_broken(fakekube):
    first = fakekube.create(thing("first"))
    second = fakekube.create(thing("second", [reference(first, blockOwnerDeletion=True)]))
    circle = [reference(second, blockOwnerDeletion=True)]
    fakekube.patch("v1", "ConfigMap", "first", {"metadata": {"ownerReferences": circle}})
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "first", propagationPolicy="Foreground")
    fakekube.settle()
    assert names(fakekube) == []


def test_orphaned_dependents_lose_the_reference_and_stay(fakekube):
    owner, other = fakekube.create(thing("owner")), fakekube.create(thing("other"))
    fakekube.create(thing("child", [owner, other]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner", propagationPolicy="Orphan")
    fakekube.settle()
    assert names(fakekube) == ["child", "other"]
    assert fakekube.get("v1", "ConfigMap", "child")["metadata"]["ownerReferences"] == [reference(other)]
    assert writes(fakekube) == [("patch", "child", 200), ("patch", "owner", 200)]


@pytest.mark.slow
def test_an_object_with_an_owner_left_loses_only_the_reference_to_the_lost_one(fakekube):
    owner, other = fakekube.create(thing("owner")), fakekube.create(thing("other"))
    fakekube.create(thing("child", [owner, other]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner")
    fakekube.settle()
    assert fakekube.get("v1", "ConfigMap", "child")["metadata"]["ownerReferences"] == [reference(other)]


ABSENT = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "00000000-0000-0000-0000-000000000000"}


def test_an_owner_of_another_uid_counts_as_absent(fakekube):
    fakekube.create(thing("owner"))
    fakekube.create(thing("child", [ABSENT]))
    fakekube.settle()
    assert names(fakekube) == ["owner"]


def test_absent_owners_are_looked_for_once(fakekube):
    for number in range(5):
        fakekube.create(thing(f"child-{number}", [ABSENT]))
    fakekube.settle()
    assert names(fakekube) == []
    assert len(fakekube.requests(user=USER, verb="get", name="owner")) == 1


def test_an_owner_in_another_namespace_is_absent_and_reported(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    owner = fakekube.create(thing("owner", namespace="other"))
    fakekube.settle()
    fakekube.create(thing("child", [owner]))
    fakekube.settle()
    assert names(fakekube) == []
    assert fakekube.exists("v1", "ConfigMap", "owner", "other")
    (event,) = fakekube.events(reason="OwnerRefInvalidNamespace")
    uid = owner["metadata"]["uid"]
    assert (event["type"], event["source"]["component"]) == ("Warning", "garbage-collector-controller")
    assert event["message"] == (
        f'ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] does not exist in namespace "default"'
    )


@pytest.mark.slow
def test_a_cluster_scoped_object_owns_namespaced_ones_but_not_the_reverse(fakekube):
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    owner = fakekube.create(thing("owner", kind="PersistentVolume", namespace="") | {"spec": volume})
    fakekube.create(thing("child", [owner]))
    namespaced = fakekube.create(thing("namespaced"))
    fakekube.create(thing("kept", [namespaced], kind="PersistentVolume", namespace="") | {"spec": volume})
    fakekube.settle()
    fakekube.patch("v1", "PersistentVolume", "owner", {"metadata": {"finalizers": None}}, "")
    fakekube.delete("v1", "PersistentVolume", "owner", "")
    fakekube.delete("v1", "ConfigMap", "namespaced")
    fakekube.settle()
    assert names(fakekube) == []
    assert fakekube.exists("v1", "PersistentVolume", "kept", "")
    fakekube.advance("24h")
    assert fakekube.exists("v1", "PersistentVolume", "kept", "")


def definition(plural="widgets", kind="Widget"):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
        "versions": [version],
    }
    meta = {"name": f"{plural}.example.com"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}


def widget(name, owners=()):
    return thing(name, owners, "Widget") | {"apiVersion": "example.com/v1"}


def test_custom_resources_of_a_new_definition_own_and_are_owned(fakekube):
    fakekube.create(definition())
    fakekube.settle()
    owner = fakekube.create(widget("owner"))
    fakekube.create(thing("child", [owner]))
    fakekube.create(widget("other", [owner]))
    fakekube.settle()
    fakekube.delete("example.com/v1", "Widget", "owner")
    fakekube.settle()
    assert names(fakekube) == []
    assert fakekube.list("example.com/v1", "Widget") == []


def test_custom_resources_are_orphaned_by_a_merge_patch(fakekube):
    fakekube.create(definition())
    fakekube.settle()
    owner, other = fakekube.create(thing("owner")), fakekube.create(thing("other"))
    fakekube.create(widget("child", [owner, other]))
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner", propagationPolicy="Orphan")
    fakekube.settle()
    assert fakekube.get("example.com/v1", "Widget", "child")["metadata"]["ownerReferences"] == [reference(other)]
    assert writes(fakekube) == [("patch", "child", 415), ("patch", "child", 200), ("patch", "owner", 200)]


@pytest.mark.slow
def test_a_definition_that_is_deleted_is_no_longer_watched(fakekube):
    fakekube.create(definition())
    fakekube.settle()
    fakekube.create(widget("one"))
    fakekube.settle()
    fakekube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com", "")
    fakekube.settle()
    before = len(fakekube.requests(resource="widgets"))
    fakekube.advance("24h")
    assert len(fakekube.requests(resource="widgets")) == before


def test_an_owner_of_an_unknown_kind_is_tried_again_until_the_kind_exists(fakekube):
    unknown = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "owner", "uid": "1234"}
    fakekube.create(thing("child", [unknown]))
    fakekube.advance("1h")
    assert names(fakekube) == ["child"]
    times = fakekube.controllers["garbagecollector"].times("Widget default/owner")
    assert times[:5] == [timedelta(milliseconds=after) for after in (0, 5, 15, 35, 75)]
    fakekube.create(definition())
    fakekube.advance("20m")
    assert names(fakekube) == []


def test_a_change_of_something_else_does_not_stop_the_deletion(fakekube):
    """The deletion at the read resourceVersion fails; without a change of owners it is repeated without one."""
    owner = fakekube.create(thing("owner"))
    fakekube.create(thing("child", [owner]))
    fakekube.settle()
    fakekube.fault(verb="delete", resource="configmaps", name="child", delay=1, times=1)
    fakekube.delete("v1", "ConfigMap", "owner")
    fakekube.settle()
    fakekube.patch("v1", "ConfigMap", "child", {"data": {"changed": "true"}})
    fakekube.advance(2)
    assert names(fakekube) == []
    assert writes(fakekube) == [("delete", "child", 409), ("delete", "child", 200)]
    assert fakekube.controllers["garbagecollector"].results("ConfigMap default/child") == ["success"]


def test_a_new_owner_stops_the_deletion(fakekube):
    owner, other = fakekube.create(thing("owner")), fakekube.create(thing("other"))
    fakekube.create(thing("child", [owner]))
    fakekube.settle()
    fakekube.fault(verb="delete", resource="configmaps", name="child", delay=1, times=1)
    fakekube.delete("v1", "ConfigMap", "owner")
    fakekube.settle()
    fakekube.patch("v1", "ConfigMap", "child", {"metadata": {"ownerReferences": [reference(owner), reference(other)]}})
    fakekube.advance(2)
    assert fakekube.get("v1", "ConfigMap", "child")["metadata"]["ownerReferences"] == [reference(other)]
    assert writes(fakekube) == [("delete", "child", 409), ("patch", "child", 200)]


@pytest.mark.slow
def test_events_are_not_collected(fakekube):
    owner = fakekube.create(thing("owner"))
    meta = {"name": "owner-event", "namespace": "default", "ownerReferences": [reference(owner)]}
    involved = {"kind": "ConfigMap", "name": "owner", "namespace": "default"}
    fakekube.create({"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": involved})
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "owner")
    fakekube.settle()
    assert fakekube.exists("v1", "Event", "owner-event")


def test_it_is_held_and_stepped(fakekube):
    owner = fakekube.create(thing("owner"))
    fakekube.create(thing("child", [owner]))
    fakekube.settle()
    controller = fakekube.controllers["garbagecollector"]
    controller.suspend()
    fakekube.delete("v1", "ConfigMap", "owner")
    fakekube.settle()
    assert names(fakekube) == ["child"]
    assert controller.ready == ["ConfigMap default/child"]
    assert controller.reconcile_next().key == "ConfigMap default/child"
    assert names(fakekube) == []


def test_it_is_idle_when_nothing_happens(fakekube):
    fakekube.create(thing("child", [fakekube.create(thing("owner"))]))
    fakekube.settle()
    before = len(fakekube.requests())
    fakekube.advance("24h")
    assert fakekube.requests()[before:] == []


# --- random graphs

KINDS = ("ConfigMap", "Secret")

#: An object (by its number) with its owners: the numbers of earlier objects, and whether each is blocked. Object -1 does
#: not exist.
CREATE = st.tuples(
    st.just("create"), st.sampled_from(KINDS), st.lists(st.tuples(st.integers(-1, 12), st.booleans()), max_size=3)
)
ADOPT = st.tuples(st.just("adopt"), st.integers(0, 12), st.tuples(st.integers(0, 12), st.booleans()))
DELETE = st.tuples(st.just("delete"), st.integers(0, 12), st.sampled_from(["Background", "Foreground", "Orphan"]))


class Graph:
    """What the rules say: the owners of each living object, by uid."""

    def __init__(self):
        self.owners = {}

    def collect(self, dead=()):
        """Remove `dead`, and in turn what has owners, but none that lives; then references to what is gone."""
        for uid in dead:
            self.owners.pop(uid)
        while True:
            gone = [uid for uid, owners in self.owners.items() if owners and not any(o in self.owners for o in owners)]
            if not gone:
                break
            for uid in gone:
                del self.owners[uid]
        self.drop_dangling()

    def drop_dangling(self):
        self.owners = {uid: {o for o in owners if o in self.owners} for uid, owners in self.owners.items()}


class Cluster:
    """The objects of one example, and what is checked at each commit."""

    numbers = itertools.count()

    def __init__(self, fakekube, circles=True):
        """`circles`: whether objects may own each other. If all of a circle are deleted in the foreground at the same time,
        they wait for each other for ever, as in Kubernetes.
        """
        self.fakekube, self.prefix, self.circles = fakekube, f"e{next(self.numbers)}", circles
        self.made, self.live, self.asked = [], {}, set()
        self.forget = engine_of(fakekube).server.on_write(self.check)

    def check(self, change):
        if change.collection not in ("configmaps", "secrets"):
            return
        obj = (change.after or change.before).object
        meta = obj["metadata"]
        if not meta["name"].startswith(f"{self.prefix}-"):
            return
        if change.after is not None:
            kind = "ConfigMap" if change.collection == "configmaps" else "Secret"
            self.live[meta["uid"]] = obj | {"kind": kind}
            return
        del self.live[meta["uid"]]
        references = meta.get("ownerReferences") or ()
        if meta["uid"] not in self.asked:
            assert references, f"{meta['name']} was deleted, but has no owner"
            assert not [one["name"] for one in references if self.is_solid(one["uid"])], f"{meta['name']} has an owner"
        if "foregroundDeletion" in (change.before.object["metadata"].get("finalizers") or ()):
            left = [one["metadata"]["name"] for one in self.live.values() if self.blocks(one, meta["uid"])]
            assert not left, f"{meta['name']} went before {left}"

    def is_solid(self, uid):
        meta = (self.live.get(uid) or {}).get("metadata")
        waits = meta and meta.get("deletionTimestamp") and "foregroundDeletion" in (meta.get("finalizers") or ())
        return bool(meta) and not waits

    def blocks(self, obj, uid):
        references = obj["metadata"].get("ownerReferences") or ()
        return any(one["uid"] == uid and one.get("blockOwnerDeletion") for one in references)

    def reference(self, number, blocks):
        if number == -1 or not self.made:
            return ABSENT
        return reference(self.made[number % len(self.made)], blockOwnerDeletion=blocks)

    def create(self, kind, owners):
        found = {one["uid"]: one for one in itertools.starmap(self.reference, owners)}
        made = self.fakekube.create(thing(f"{self.prefix}-{len(self.made)}", found.values(), kind))
        self.made.append(made)
        return made["metadata"]["uid"], set(found)

    def alive(self, number):
        """One of the living objects that are not being deleted, or None."""
        uids = [uid for uid, obj in self.live.items() if not obj["metadata"].get("deletionTimestamp")]
        return self.live[uids[number % len(uids)]] if uids else None

    def adopt(self, number, owner):
        obj, found = self.alive(number), self.reference(*owner)
        if obj is None or found["uid"] == obj["metadata"]["uid"] or found is ABSENT:
            return None
        meta = obj["metadata"]
        order = [one["metadata"]["uid"] for one in self.made]
        if not self.circles and order.index(found["uid"]) > order.index(meta["uid"]):
            return None
        references = [one for one in meta.get("ownerReferences") or () if one["uid"] != found["uid"]]
        self.fakekube.patch("v1", obj["kind"], meta["name"], {"metadata": {"ownerReferences": [*references, found]}})
        return meta["uid"], found["uid"]

    def delete(self, number, policy):
        obj = self.alive(number)
        if obj is None:
            return None
        self.asked.add(obj["metadata"]["uid"])
        self.fakekube.delete("v1", obj["kind"], obj["metadata"]["name"], propagationPolicy=policy)
        return obj["metadata"]["uid"]

    def graph(self):
        rows = ((uid, obj["metadata"].get("ownerReferences") or ()) for uid, obj in self.live.items())
        return {uid: {one["uid"] for one in references} for uid, references in rows}


@pytest.mark.slow
def test_random_graphs_end_as_the_rules_say_after_each_step(fakekube):
    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.one_of(CREATE, CREATE, ADOPT, DELETE), min_size=4, max_size=24))
    def check(steps):
        cluster, model = Cluster(fakekube), Graph()
        for verb, *arguments in steps:
            done = getattr(cluster, verb)(*arguments)
            fakekube.settle()
            if done is None:
                continue
            if verb == "create":
                model.owners[done[0]] = done[1]
                model.collect()
            elif verb == "adopt":
                model.owners[done[0]].add(done[1])
                model.collect()
            elif arguments[1] == "Orphan":
                del model.owners[done]
                model.drop_dangling()
            else:
                model.collect([done])
            assert cluster.graph() == model.owners
        cluster.forget()

    check()


@pytest.mark.slow
def test_random_graphs_under_deletions_at_the_same_time_keep_the_rules(fakekube):
    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.one_of(CREATE, ADOPT), min_size=4, max_size=16), st.lists(DELETE, min_size=1, max_size=8))
    def check(steps, deletions):
        cluster = Cluster(fakekube, circles=False)
        for verb, *arguments in steps:
            getattr(cluster, verb)(*arguments)
            fakekube.settle()
        for _, *arguments in deletions:
            cluster.delete(*arguments)
        fakekube.settle()
        fakekube.advance("1h")
        assert not [obj for obj in cluster.live.values() if obj["metadata"].get("deletionTimestamp")]
        owned = cluster.graph()
        assert {owner for owners in owned.values() for owner in owners} <= owned.keys()
        cluster.forget()

    check()
