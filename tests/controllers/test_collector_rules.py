"""Attempts of the garbage collector, one at a time: what is read, deleted and patched (`garbagecollector.go`)."""

import asyncio
from types import SimpleNamespace

import pytest

from controllerlib import ApiError
from fakekube.controllers.garbagecollector.collector import Attempt, GarbageCollector, UnknownKind, collected
from fakekube.controllers.garbagecollector.dependencygraph import Identity, Node
from fakekube.controllers.servedresources import ServedResource, ServedResources

NOT_FOUND, CONFLICT = ApiError(404, "NotFound", "x"), ApiError(409, "Conflict", "x")
UNSUPPORTED, BROKEN = ApiError(415, "UnsupportedMediaType", "x"), ApiError(500, "InternalError", "broken")

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


def served(kind="ConfigMap", *, group="", namespaced=True, plural="", verbs=("delete", "list", "watch")):
    return ServedResource(group, "v1", plural or f"{kind.lower()}s", kind, namespaced, frozenset(verbs))


SERVED = (served(), served("Node", namespaced=False))


class HeldServer:
    """A server with objects by kind, namespace and name, that notes all requests but reads."""

    def __init__(self, *objects, **errors):
        self.objects = {
            (kind, one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for kind, one in objects
        }
        self.errors, self.writes, self.reads = errors, [], []

    async def get(self, api_version, kind, name, namespace):
        self.reads.append(name)
        if "get" in self.errors:
            raise self.errors["get"]
        if (kind, namespace, name) not in self.objects:
            raise NOT_FOUND
        return self.objects[kind, namespace, name]

    async def delete(self, api_version, kind, name, namespace, *, uid, resource_version, propagation):
        self.writes.append(("delete", name, uid, resource_version, propagation))
        problem = self.errors.get("delete")
        if isinstance(problem, list):
            problem = problem.pop(0) if problem else None
        if problem:
            raise problem

    async def patch(self, target, patch, *, type):
        self.writes.append((type, target["metadata"]["name"], patch["metadata"]))
        if type in self.errors:
            raise self.errors[type]


class HeldQueue:
    """A queue that notes what is added, and whether with a delay."""

    def __init__(self):
        self.items, self.cause = [], None

    def with_options(self, cause):
        self.cause = tuple(cause)
        return self

    def add(self, attempt, *, rate_limited):
        self.items.append((attempt.what, attempt.node.identity.name, rate_limited))


def collector(server):
    manager = SimpleNamespace(cache=SimpleNamespace(informers=SimpleNamespace(find=None)), random=None)
    recorder = SimpleNamespace(
        event=lambda obj, *event: server.writes.append(("event", obj["metadata"]["name"], *event))
    )
    context = SimpleNamespace(
        client=lambda account: server, recorder=lambda component: recorder, manager=manager, clock=None,
        kind=lambda *_: None, form_of=None,
    )  # fmt: skip
    made = GarbageCollector(context)
    made._queue = HeldQueue()
    made._monitors.served = ServedResources({(one.api_version, one.kind): one for one in SERVED}, SERVED)
    return made


def reference(name, uid="", kind="ConfigMap", **more):
    return {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid or name, **more}


def obj(name, *owners, namespace="ns", finalizers=(), uid="", version="7", **meta):
    where = {"namespace": namespace} if namespace else {}
    meta = {
        "name": name,
        **where,
        "uid": uid or name,
        "resourceVersion": version,
        "finalizers": list(finalizers),
        **meta,
    }
    return {"metadata": {**meta, "ownerReferences": list(owners)}}


def identity(name, namespace="ns", kind="ConfigMap", uid=""):
    return Identity(kind, "v1", namespace, name, uid or name)


def node(name="a", *owners, dependents=(), namespace="ns", kind="ConfigMap", **state):
    made = Node(identity(name, namespace, kind), owners, **state)
    made.dependents.update(dict.fromkeys(dependents))
    return made


def attempted(server, found, what="delete", graph=True):
    made = collector(server)
    if graph:
        made._graph._nodes[found.identity.uid] = found
    with asyncio.Runner() as runner:
        result = runner.run(made.reconcile(Attempt(what, found)))
    return made, result


def maps(*objects):
    return [("ConfigMap", one) for one in objects]


OWNED = obj("a", reference("o"))
GONE = ("delete", "a", "a", "7", "Background")


@pytest.mark.parametrize(
    ("live", "writes"),
    [
        ([OWNED], [GONE]),
        ([OWNED, obj("o")], []),
        ([OWNED, obj("o", uid="new")], [GONE]),
        ([obj("a")], []),
        ([obj("a", reference("o"), finalizers=[ORPHAN])], [(*GONE[:4], "Orphan")]),
        ([obj("a", reference("o"), finalizers=[FOREGROUND])], [(*GONE[:4], "Foreground")]),
        ([obj("a", reference("o"), finalizers=[FOREGROUND, ORPHAN])], [(*GONE[:4], "Orphan")]),
        ([obj("a", reference("o"), reference("p"))], [GONE]),
        (
            [obj("a", reference("o"), reference("p"), reference("w")), obj("p"), obj("w", finalizers=[FOREGROUND], **DELETED)],
            [("strategic", "a", {"uid": "a", "ownerReferences": [{"$patch": "delete", "uid": "o"}, {"$patch": "delete", "uid": "w"}]})],
        ),
        ([OWNED, obj("o", finalizers=[FOREGROUND], **DELETED)], [GONE]),
        ([OWNED, obj("o", finalizers=[ORPHAN], **DELETED)], []),
        ([OWNED, obj("o", finalizers=[FOREGROUND])], []),
    ],
    ids=["no owner", "an owner", "another uid", "no references", "orphans", "foreground", "both", "two gone", "one left", "waits", "orphans dependents", "not deleted"],
)  # fmt: skip
def test_an_object_is_deleted_if_no_owner_is_left(live, writes):
    server = HeldServer(*maps(*live))
    _, result = attempted(server, node())
    assert (server.writes, result) == (writes, None)


def test_an_object_with_dependents_is_deleted_before_its_waiting_owner_and_after_them():
    waiting = obj("o", finalizers=[FOREGROUND], **DELETED)
    server = HeldServer(*maps(OWNED, waiting))
    attempted(server, node("a", dependents=[node("d")]))
    assert server.writes == [(*GONE[:4], "Foreground")]
    server = HeldServer(*maps(OWNED, waiting))
    blocking = reference("o", blockOwnerDeletion=True)
    attempted(server, node("a", blocking, reference("p"), dependents=[node("d"), node("e", deleting_dependents=True)]))
    unblocked = {"uid": "a", "ownerReferences": [{**blocking, "blockOwnerDeletion": False}]}
    assert server.writes == [("strategic", "a", unblocked), (*GONE[:4], "Foreground")]


def test_an_object_that_is_being_deleted_or_gone_is_not_attempted():
    server = HeldServer(*maps(OWNED))
    attempted(server, node(being_deleted=True))
    assert (server.reads, server.writes) == ([], [])
    for live in ([], [obj("a", reference("o"), uid="new")]):
        server = HeldServer(*maps(*live))
        made, result = attempted(server, node(dependents=[node("d")]))
        assert (server.writes, result) == ([], None)
        assert made._graph.find("a") is None
        assert made._queue.items == [("delete", "d", False)]
    with pytest.raises(ApiError, match="broken"):
        attempted(HeldServer(get=BROKEN), node())


def test_an_absent_owner_is_looked_for_once():
    server = HeldServer(*maps(OWNED))
    made, _ = attempted(server, node())
    assert (server.reads, identity("o") in made._graph.absent) == (["a", "o"], True)
    with asyncio.Runner() as runner:
        runner.run(made.reconcile(Attempt("delete", node())))
    assert server.reads == ["a", "o", "a"]


@pytest.mark.parametrize(
    ("reads", "problem", "deletions"),
    [
        (obj("a", reference("o"), version="8"), None, ["7", ""]),
        (obj("a", reference("o"), reference("p"), version="8"), CONFLICT, ["7"]),
        (OWNED, CONFLICT, ["7"]),
        (obj("a", reference("o"), version="8", uid="new"), CONFLICT, ["7"]),
    ],
    ids=["another field", "another owner", "nothing", "another object"],
)
def test_a_conflict_of_another_change_than_of_owners_does_not_stop_a_deletion(reads, problem, deletions):
    server = HeldServer(*maps(OWNED), delete=[CONFLICT])
    made = collector(server)
    kept = server.delete

    async def delete(*given, **options):
        server.objects["ConfigMap", "ns", "a"] = reads
        await kept(*given, **options)

    server.delete = delete
    with asyncio.Runner() as runner:
        if problem:
            with pytest.raises(ApiError) as caught:
                runner.run(made.reconcile(Attempt("delete", node())))
            assert caught.value is problem
        else:
            runner.run(made.reconcile(Attempt("delete", node())))
    assert [write[3] for write in server.writes] == deletions


@pytest.mark.parametrize("errors", [[NOT_FOUND], [CONFLICT, NOT_FOUND]])
def test_an_object_that_is_gone_when_it_is_deleted_leaves_the_graph(errors):
    server = HeldServer(*maps(obj("a", reference("o"), version="8")), delete=list(errors))
    first = OWNED

    async def get(api_version, kind, name, namespace, kept=server.get):
        nonlocal first
        if name == "a" and first is not None:
            found, first = first, None
            return found
        return await kept(api_version, kind, name, namespace)

    server.get = get
    made, result = attempted(server, node(dependents=[node("d")]))
    assert (result, made._graph.find("a"), made._queue.items) == (None, None, [("delete", "d", False)])


def test_other_errors_of_deletions_are_tried_again():
    with pytest.raises(ApiError, match="broken"):
        attempted(HeldServer(*maps(OWNED), delete=BROKEN), node())


# --- owners that were never observed


def test_a_virtual_owner_that_exists_is_attempted_until_it_is_observed():
    server = HeldServer(*maps(obj("a")))
    _, result = attempted(server, node(virtual=True))
    assert (result.requeue, server.reads) == (True, ["a"])


@pytest.mark.parametrize("known", [None, node()])
def test_a_virtual_owner_that_was_observed_or_forgotten_is_not_attempted(known):
    server = HeldServer(*maps(obj("a")))
    made = collector(server)
    if known is not None:
        made._graph._nodes["a"] = known
    with asyncio.Runner() as runner:
        assert runner.run(made.reconcile(Attempt("delete", node(virtual=True)))) is None
    assert server.reads == []


def test_a_virtual_owner_that_does_not_exist_makes_its_dependents_garbage():
    made, result = attempted(HeldServer(), node(virtual=True, dependents=[node("d", reference("a"))]))
    assert (result, made._queue.items) == (None, [("delete", "d", False)])
    assert made._queue.cause[:5] == ("generic", "v1", "ConfigMap", "ns", "a")
    assert identity("a") in made._graph.absent


def test_kinds_that_are_not_served_are_tried_again():
    server = HeldServer(*maps(obj("a", reference("o", kind="Widget"))))
    with pytest.raises(UnknownKind, match=r"unable to get REST mapping for v1/Widget\."):
        attempted(server, node())


@pytest.mark.parametrize("live", [[], [("ConfigMap", obj("o", namespace="ns"))]])
def test_a_namespaced_owner_of_a_cluster_scoped_object_is_an_error_that_stays(live):
    server = HeldServer(("Node", obj("a", reference("o"), namespace="")), *live)
    _, result = attempted(server, node("a", namespace="", kind="Node"))
    assert (server.writes, server.reads, result) == ([], ["a"], None)
    server = HeldServer()
    assert attempted(server, node("a", namespace="", virtual=True))[1] is None
    assert server.reads == []


def test_a_cluster_scoped_owner_is_looked_for_without_a_namespace():
    owned = obj("a", reference("n", kind="Node"))
    server = HeldServer(*maps(owned), ("Node", obj("n", namespace="")))
    attempted(server, node())
    assert server.writes == []
    server = HeldServer(*maps(owned))
    made, _ = attempted(server, node())
    assert (len(server.writes), identity("n", "", "Node") in made._graph.absent) == (1, True)


# --- the foreground


def waiting(*dependents, **live):
    owner = obj("a", finalizers=[FOREGROUND, "x"], **DELETED)
    server = HeldServer(*maps(owner), **live)
    found = node("a", dependents=dependents, being_deleted=True, deleting_dependents=True)
    made, _ = attempted(server, found)
    return server.writes, made._queue.items


FREED = ("merge", "a", {"resourceVersion": "7", "finalizers": ["x"]})


def test_an_owner_waits_for_the_dependents_that_block_it():
    blocking = reference("a", blockOwnerDeletion=True)
    assert waiting() == ([FREED], [])
    assert waiting(node("d", reference("a"))) == ([FREED], [])
    assert waiting(node("d", blocking), node("e", reference("a"))) == ([], [("delete", "d", False)])
    assert waiting(node("d", blocking, deleting_dependents=True), node("e", blocking)) == ([], [("delete", "e", False)])


# --- orphans


def orphaned(*dependents, finalizers=(ORPHAN,), **errors):
    server = HeldServer(
        *maps(obj("a", finalizers=finalizers, **DELETED), obj("d", reference("a"), reference("o"))), **errors
    )
    attempted(server, node("a", dependents=dependents), "orphan")
    return server.writes


RELEASED = ("strategic", "d", {"uid": "d", "ownerReferences": [{"$patch": "delete", "uid": "a"}]})


def test_dependents_lose_the_reference_before_their_owner_is_freed():
    freed = ("merge", "a", {"resourceVersion": "7", "finalizers": None})
    assert orphaned(node("d")) == [RELEASED, freed]
    assert orphaned(finalizers=["x"]) == []
    assert orphaned(node("d"), strategic=NOT_FOUND) == [RELEASED, freed]
    with pytest.raises(ApiError, match="broken"):
        orphaned(node("d"), strategic=BROKEN)


def test_custom_resources_are_patched_by_merge_patches():
    def find(api_version, kind, namespace, name):
        return None

    server = HeldServer(
        *maps(obj("a", finalizers=[ORPHAN]), obj("d", reference("a"), reference("o"))), strategic=UNSUPPORTED
    )
    made = collector(server)
    made._monitors.find = find
    with asyncio.Runner() as runner:
        runner.run(made.reconcile(Attempt("orphan", node("a", dependents=[node("d")]))))
    assert server.writes[1] == ("merge", "d", {"resourceVersion": "7", "ownerReferences": [reference("o")]})
    made._monitors.find = lambda *_: obj("d", reference("a"), version="5")
    with asyncio.Runner() as runner:
        runner.run(made.reconcile(Attempt("orphan", node("a", dependents=[node("d")]))))
    assert server.writes[4] == ("merge", "d", {"resourceVersion": "5", "ownerReferences": None})


def test_an_owner_that_is_gone_needs_no_finalizer_removed():
    server = HeldServer()
    attempted(server, node("a"), "orphan")
    assert server.writes == []
    with pytest.raises(ApiError, match="broken"):
        attempted(HeldServer(get=BROKEN), node("a"), "orphan")


# --- what is watched, and its changes


def test_what_can_be_listed_watched_and_deleted_is_collected_but_events():
    every = ("delete", "list", "watch")
    some = [served(f"K{left}", verbs=[one for one in every if one != left]) for left in every]
    events = [served("Event"), served("Event", group="events.k8s.io")]
    kept = [served(), served("Event", group="example.com"), served("Node", namespaced=False)]
    assert collected(ServedResources({}, (*some, *events, *kept))) == kept


def test_changes_of_objects_are_changes_of_the_graph():
    server = HeldServer()
    made = collector(server)
    handler = made._handler(served())
    owned = obj("a", reference("o"))
    handler.on_add(owned, False)
    assert made._queue.items == [("delete", "o", False)]
    assert made._queue.cause[:6] == ("added", "v1", "ConfigMap", "ns", "a", "7")
    handler.on_update(owned, obj("a", reference("o"), finalizers=[ORPHAN], version="8", **DELETED))
    assert made._queue.items[1:] == [("orphan", "a", False)]
    assert made._queue.cause[:6] == ("updated", "v1", "ConfigMap", "ns", "a", "8")
    handler.on_delete(owned)
    assert made._graph.find("a") is None
    assert made._queue.cause[:6] == ("deleted", "v1", "ConfigMap", "ns", "a", "7")
    other = obj("b", reference("o"), namespace="elsewhere")
    handler.on_add(obj("o"), False)
    handler.on_add(other, False)
    message = 'ownerRef [v1/ConfigMap, namespace: elsewhere, name: o, uid: o] does not exist in namespace "elsewhere"'
    assert server.writes == [("event", "b", "Warning", "OwnerRefInvalidNamespace", message)]


def test_attempts_are_named_by_their_object():
    assert str(Attempt("delete", node())) == "ConfigMap ns/a"
    assert str(Attempt("orphan", node("n", namespace="", kind="Node"))) == "orphan Node n"
