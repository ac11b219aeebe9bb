"""The graph of objects and their owners, and what follows from each change of it (`graph.go`, `graph_builder.go`).

A node is identified by its uid. An owner that is referenced but was not observed has a virtual node, whose identity
is what the reference says. Nothing here waits: a change returns what is to be attempted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from fakekube.controllers.workload.objectfinalizers import is_deletion_candidate
from fakekube.struct import Struct, field

Object = Mapping[str, Any]
Reference = Mapping[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

#: The most absent owners that are remembered.
ABSENT_OWNERS = 500


class Identity(NamedTuple):
    """Where an object is. In this order identities are compared. `namespace` is "" for cluster-scoped objects."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, api_version: str, kind: str, obj: Object) -> Identity:
        meta = obj["metadata"]
        return cls(kind, api_version, meta.get("namespace") or "", meta["name"], meta["uid"])

    @classmethod
    def referenced(cls, reference: Reference, namespace: str) -> Identity:
        """The owner that a reference of an object in `namespace` names."""
        return cls(reference["kind"], reference["apiVersion"], namespace, reference["name"], reference["uid"])

    def is_named_by(self, reference: Reference) -> bool:
        """Whether a reference has its uid, name, kind and apiVersion."""
        return self == Identity.referenced(reference, self.namespace)

    def __str__(self) -> str:
        where = f"namespace: {self.namespace}, name: {self.name}, uid: {self.uid}"
        return f"[{self.api_version}/{self.kind}, {where}]"


class Node(Struct, eq=False):
    """An object in the graph. `dependents`: the nodes that name its uid as owner, in the order of their appearance.

    `virtual`: it was not observed. `deleting_dependents`: it is being deleted in the foreground.
    """

    identity: Identity
    owners: Sequence[Reference] = ()
    dependents: dict[Node, None] = field(default_factory=dict)
    virtual: bool = False
    being_deleted: bool = False
    deleting_dependents: bool = False

    def blocking_dependents(self) -> Sequence[Node]:
        """The dependents that block its deletion."""
        uid = self.identity.uid
        return [one for one in self.dependents if any(r["uid"] == uid and _blocks(r) for r in one.owners)]

    def replaced(self, identity: Identity) -> Node:
        """The same node with another identity."""
        return Node(
            identity, self.owners, dict(self.dependents), self.virtual, self.being_deleted, self.deleting_dependents
        )

    def __str__(self) -> str:
        where = f"{self.identity.namespace}/" if self.identity.namespace else ""
        return f"{self.identity.kind} {where}{self.identity.name}"


class AbsentOwners:
    """Owners that were found to be absent; the least recently used ones are forgotten."""

    def __init__(self, most: int = ABSENT_OWNERS) -> None:
        self._most, self._known = most, OrderedDict[Identity, None]()

    def add(self, identity: Identity) -> None:
        self._known[identity] = None
        self._known.move_to_end(identity)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def __contains__(self, identity: Identity) -> bool:
        if identity not in self._known:
            return False
        self._known.move_to_end(identity)
        return True


class Todo(Struct, frozen=True):
    """What follows from a change.

    delete: attempt to delete the node · delete later: the same with the delay of the rate limiter · orphan: attempt to
    orphan its dependents · report: its reference to `owner` names an object of another namespace.
    """

    what: Literal["delete", "delete later", "orphan", "report"]
    node: Node
    owner: Identity | None = None


class DependencyGraph:
    """The nodes by uid, and the owners that are known to be absent."""

    absent: AbsentOwners

    def __init__(self) -> None:
        self.absent = AbsentOwners()
        self._nodes: dict[str, Node] = {}
        self._todo: list[Todo] = []

    def find(self, uid: str) -> Node | None:
        """The node of a uid, or None."""
        return self._nodes.get(uid)

    def __len__(self) -> int:
        return len(self._nodes)

    def observed(self, identity: Identity, obj: Object, old: Object | None = None) -> Sequence[Todo]:
        """An informer has a new object, or a changed one, which was `old` before."""
        node = self._seen(identity)
        meta = obj["metadata"]
        owners: Sequence[Reference] = meta.get("ownerReferences") or ()
        being_deleted = bool(meta.get("deletionTimestamp"))
        if node is None:
            foreground = is_deletion_candidate(obj, FOREGROUND)
            node = Node(identity, owners, being_deleted=being_deleted, deleting_dependents=foreground)
            self._nodes[identity.uid] = node
            self._add_to_owners(node, owners)
        else:
            self._update_owners(node, owners)
            node.being_deleted = node.being_deleted or being_deleted
        self._transitions(node, obj, old)
        return self._taken()

    def deleted(self, identity: Identity) -> Sequence[Todo]:
        """An informer has lost an object."""
        node = self._seen(identity)
        if node is not None:
            self._remove(node, identity)
        return self._taken()

    def found_absent(self, identity: Identity) -> Sequence[Todo]:
        """The server does not have an object of this identity ("virtual delete event")."""
        node = self._nodes.get(identity.uid)
        if node is not None and not self._is_kept(node, identity):
            self._remove(node, identity)
        return self._taken()

    # --- parts of a change

    def _taken(self) -> Sequence[Todo]:
        todo, self._todo = self._todo, []
        return todo

    def _delete(self, nodes: Iterable[Node]) -> None:
        self._todo += [Todo("delete", node) for node in nodes]

    def _seen(self, identity: Identity) -> Node | None:
        """The node of an object that an informer has; one that was virtual gets the object's identity."""
        node = self._nodes.get(identity.uid)
        if node is None or not node.virtual:
            return node
        if identity != node.identity:
            for one in _partition(node.dependents, identity)[1]:
                if identity.namespace and one.identity.namespace != identity.namespace:
                    self._report(one, identity.uid)
                self._delete([one])
            node = self._nodes[identity.uid] = node.replaced(identity)
        node.virtual = False
        return node

    def _add_to_owners(self, node: Node, owners: Sequence[Reference]) -> None:
        """Make the node a dependent of its owners; if a reference may be wrong, attempt to delete the node."""
        suspicious = False
        for reference in owners:
            owner = self._nodes.get(reference["uid"])
            if owner is None:
                owner = Node(Identity.referenced(reference, node.identity.namespace), virtual=True)
                self._nodes[reference["uid"]] = owner
                owner.dependents[node] = None
                self._delete([owner])
                continue
            owner.dependents[node] = None
            suspicious = suspicious or self._is_suspicious(node, owner, reference)
        if suspicious:
            self._delete([node])

    def _is_suspicious(self, node: Node, owner: Node, reference: Reference) -> bool:
        """Whether a reference differs from the known identity of the owner."""
        where = owner.identity.namespace
        if where and where != node.identity.namespace:
            if not owner.virtual:
                self._report(node, reference["uid"])
            return True
        if not owner.identity.is_named_by(reference):
            return True
        return not where and where != node.identity.namespace and owner.virtual

    def _update_owners(self, node: Node, owners: Sequence[Reference]) -> None:
        before = {one["uid"]: one for one in node.owners}
        after = {one["uid"]: one for one in owners}
        added = [one for uid, one in after.items() if uid not in before]
        removed = [one for uid, one in before.items() if uid not in after]
        changed = [(before[uid], one) for uid, one in after.items() if uid in before and before[uid] != one]
        if not (added or removed or changed):
            return
        unblocked = [one["uid"] for one in removed if _blocks(one)]
        unblocked += [new["uid"] for old, new in changed if _blocks(old) and not _blocks(new)]
        self._delete(owner for uid in unblocked if (owner := self._nodes.get(uid)) is not None)
        node.owners = owners
        self._add_to_owners(node, added)
        self._remove_from_owners(node, removed)

    def _remove_from_owners(self, node: Node, owners: Iterable[Reference]) -> None:
        for reference in owners:
            owner = self._nodes.get(reference["uid"])
            if owner is not None:
                owner.dependents.pop(node, None)

    def _transitions(self, node: Node, obj: Object, old: Object | None) -> None:
        """The deletion of an object begins that orphans its dependents, or that waits for them."""
        if _deletion_begins(obj, old, ORPHAN):
            self._todo.append(Todo("orphan", node))
        elif _deletion_begins(obj, old, FOREGROUND):
            node.deleting_dependents = True
            self._delete([*node.dependents, node])

    def _is_kept(self, node: Node, absent: Identity) -> bool:
        """Whether a node stays although an object of one identity of its uid is absent.

        Dependents may name the same uid with different names, kinds or namespaces. Those that name the absent one have
        lost their owner; for the others, each of the identities is looked for in turn.
        """
        if not node.virtual and node.identity == absent:
            return False
        matching, others = _partition(node.dependents, absent)
        if node.virtual and not others:
            return False
        if matching:
            self.absent.add(absent)
            self._delete(matching)
        if node.virtual and node.identity == absent:
            other = _alternate(others, absent)
            if other is not None:
                replacement = self._nodes[absent.uid] = node.replaced(other)
                self._todo.append(Todo("delete later", replacement))
        return True

    def _remove(self, node: Node, identity: Identity) -> None:
        """Remove a node; its dependents may be deleted now, and its owners may be if they have waited for it."""
        self._nodes.pop(node.identity.uid, None)
        self._remove_from_owners(node, node.owners)
        if node.dependents:
            self.absent.add(identity)
        self._delete(node.dependents)
        owners = [self._nodes.get(reference["uid"]) for reference in node.owners]
        self._delete(owner for owner in owners if owner is not None and owner.deleting_dependents)

    def _report(self, node: Node, uid: str) -> None:
        reference = next((one for one in node.owners if one["uid"] == uid), None)
        if reference is not None:
            owner = Identity.referenced(reference, node.identity.namespace)
            self._todo.append(Todo("report", node, owner))


def _blocks(reference: Reference) -> bool:
    return bool(reference.get("blockOwnerDeletion"))


def _deletion_begins(obj: Object, old: Object | None, finalizer: str) -> bool:
    """Whether the object is being deleted with a finalizer, and was not before."""
    return is_deletion_candidate(obj, finalizer) and not (old is not None and is_deletion_candidate(old, finalizer))


def _partition(dependents: Iterable[Node], owner: Identity) -> tuple[Sequence[Node], Sequence[Node]]:
    """The dependents that name an owner, and those that name its uid otherwise; one with two references may be both."""
    matching, others = [], []
    for node in dependents:
        if owner.namespace and owner.namespace != node.identity.namespace:
            others.append(node)
            continue
        named = [owner.is_named_by(one) for one in node.owners if one["uid"] == owner.uid]
        if any(named):
            matching.append(node)
        if not all(named):
            others.append(node)
    return matching, others


def _alternate(dependents: Iterable[Node], absent: Identity) -> Identity | None:
    """Another identity that dependents give to the uid of `absent`: the next in order, or else the first."""
    found = set()
    for node in dependents:
        for reference in node.owners:
            if reference["uid"] != absent.uid:
                continue
            same_place = not absent.namespace or absent.namespace == node.identity.namespace
            if same_place and absent.is_named_by(reference):
                continue
            identity = Identity.referenced(reference, node.identity.namespace)
            if not absent.namespace and identity[:2] == absent[:2]:  # the kind is cluster-scoped
                identity = identity._replace(namespace="")
            found.add(identity)
    found.discard(absent)
    following = [one for one in found if one > absent]
    return min(following or found, default=None)
