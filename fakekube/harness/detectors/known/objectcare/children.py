"""Detects children without an owner, and children that were created twice because the cache was stale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controllerlib import Manager
from controllerlib.controller import OwnerKind
from fakekube.apiserver.response import StoredObject
from fakekube.apiserver.storage.store import path_of
from fakekube.harness.detectors.createdchild import Child, child_of
from fakekube.harness.detectors.detector import Doing, Exchange, Scene, Sent, meta_of
from fakekube.harness.detectors.levels import Level


class Children:
    """What the controllers of operators create.

    `missing-owner`: an object of a kind that the controller owns has no owner reference of its kind, so its changes
    reconcile nothing and it outlives its owner. Objects outside of the owner's namespace cannot have one: an object of
    any client with a reference to an owner in another namespace is reported, because the garbage collector looks for
    the owner in the namespace of the object, does not find it and deletes the object.
    `duplicate-child`: a reconcile created an object with a generated name although an earlier one of the same key had
    created the same, which the cache did not have yet.
    """

    levels: Mapping[str, Level] = {"missing-owner": "error", "duplicate-child": "error"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ownerless: list[tuple[Child, OwnerKind]] = []
        self._generated: dict[tuple[tuple[int, str, str], str, str, str], Child] = {}

    def made(self, doing: Doing, sent: Sent) -> None:
        answer = sent.answer
        if not isinstance(answer, dict):
            return
        child = child_of(doing, answer)
        owner = doing.operator.owned.get(doing.run.controller, {}).get((child.api_version, child.kind))
        if owner is not None and not owner.names_in(answer) and child.can_be_owned:
            self._ownerless.append((child, owner))
        if generated := meta_of(answer).get("generateName"):
            self._check_twice(child, generated)

    def created(self, exchange: Exchange) -> None:
        """Report a reference to an owner in another namespace."""
        if not isinstance(exchange.response.body, StoredObject):
            return
        obj = exchange.response.body.entry.object
        for reference in obj["metadata"].get("ownerReferences") or ():
            elsewhere = self._namespace_of(reference, meta_of(obj).get("namespace", ""))
            if elsewhere is not None:
                self._scene.report(
                    "missing-owner",
                    f"{exchange.record} has an owner reference to {reference['kind']} {reference['name']}, which is in "
                    f"the namespace {elsewhere}{exchange.within}: references do not reach other namespaces, so the "
                    "garbage collector deletes the object; use a finalizer of the owner, and delete it there",
                    who=exchange.who,
                    key=(exchange.agent, exchange.record.group, exchange.record.resource, reference["kind"]),
                )

    def _namespace_of(self, reference: Mapping[str, Any], namespace: str) -> str | None:
        """The namespace of the owner, if it is another one."""
        resource = self._scene.runner.apiserver.catalog.find_kind(reference["apiVersion"], reference["kind"])
        if resource is None or not resource.namespaced:
            return None
        live = self._scene.store.collection(resource.collection).live
        if path_of(namespace, reference["name"]) in live:
            return None
        for entry in live.values():
            if meta_of(entry.object).get("uid") == reference.get("uid"):
                return str(meta_of(entry.object)["namespace"])
        return None

    def _check_twice(self, child: Child, generated: str) -> None:
        place = (child.doing.who, child.kind, child.namespace, generated)
        before = self._generated.get(place)
        self._generated[place] = child
        if before is None or before.doing is child.doing or before.stored(self._scene) is None:
            return
        if _cached(child.doing.operator.manager, before) is False:
            self._scene.report(
                "duplicate-child",
                f"{child.doing} created {child.kind} {child.key} although an earlier reconcile had created "
                f"{before.name}, which the cache did not have yet: give children names that are derived from their "
                "owner, or wait until the cache has what was created",
            )

    def finish(self) -> None:
        for child, owner in self._ownerless:
            meta = child.stored(self._scene)
            if meta is None or owner.names_in({"metadata": meta}):
                continue
            if replace(owner, only_controller=False).names_in({"metadata": meta}):
                lacks = (
                    f"with an owner reference to a {owner.kind} that is not its controller: owns() ignores its "
                    "changes; use set_controller_reference, or owns(..., match_every_owner=True)"
                )
            else:
                lacks = (
                    f"without an owner reference to a {owner.kind}{_others(meta)}: its changes reconcile nothing, and "
                    f"it remains when the {owner.kind} is deleted"
                )
            self._scene.report(
                "missing-owner",
                f"{child.doing} created {child.kind} {child.key} {lacks}",
                key=(child.doing.run.controller, child.kind, id(child.doing.operator)),
            )


def _others(meta: Mapping[str, Any]) -> str:
    """The owner references that an object has, as an addition to a text."""
    names = [f"{one['apiVersion']} {one['kind']} {one['name']}" for one in meta.get("ownerReferences") or ()]
    return f" (it has one to {' and one to '.join(names)})" if names else ""


def _cached(manager: Manager | None, child: Child) -> bool | None:
    """Whether the operator's cache has an object; None if the kind is not cached."""
    informer = manager.cache.informers.find(child.api_version, child.kind) if manager is not None else None
    if informer is None:
        return None
    found = [shared.indexer.get_by_key(child.key) for shared in informer.informers.values()]
    return any(meta_of(obj).get("uid") == child.uid for obj in found if obj is not None)


DETECTORS = (Children,)
