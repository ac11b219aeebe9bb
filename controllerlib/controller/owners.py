"""Owner references (controller-runtime: pkg/controller/controllerutil)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.names import Object, ObjectName
from controllerlib.client.resource import split_api_version


class AlreadyOwned(Exception):
    """The object is controlled by another owner (controller-runtime: controllerutil.AlreadyOwnedError)."""

    def __init__(self, obj: ObjectName, owner: Mapping[str, Any]) -> None:
        whose = f"{owner.get('kind')} controller {owner.get('name')}"
        super().__init__(f"Object {obj.namespace}/{obj.name} is already owned by another {whose}")
        self.owner = owner


class NotOwned(Exception):
    """The owner reference to remove does not exist."""


@dataclass(frozen=True, slots=True)
class OwnerKind:
    """A kind of owner, in any version of its group (controller-runtime `handler.enqueueRequestForOwner`).

    namespaced: whether owners have the namespace of what they own; True by default. only_controller: whether only the
    managing controller counts, as by default, or every owner.
    """

    group: str
    kind: str
    namespaced: bool = True
    only_controller: bool = True

    def names_in(self, obj: Mapping[str, Any] | None) -> Sequence[ObjectName]:
        """Return the names of the object's owners of this kind, in the order of the references.

        A reference with an invalid apiVersion (two or more slashes) ends the search.
        """
        meta = (obj or {}).get("metadata") or {}
        found: list[ObjectName] = []
        for reference in meta.get("ownerReferences") or ():
            if self.only_controller and not reference.get("controller"):
                continue
            api_version = reference.get("apiVersion") or ""
            if api_version.count("/") > 1:
                return found
            if reference.get("kind") == self.kind and split_api_version(api_version)[0] == self.group:
                namespace = (meta.get("namespace") or "") if self.namespaced else ""
                found.append(ObjectName(namespace, reference.get("name") or ""))
        return found


def _is_same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Compare group, kind and name, but not uid and version."""
    return (
        split_api_version(left.get("apiVersion") or "")[0] == split_api_version(right.get("apiVersion") or "")[0]
        and left.get("kind") == right.get("kind")
        and left.get("name") == right.get("name")
    )


def _reference(owner: Mapping[str, Any]) -> Object:
    meta = owner.get("metadata") or {}
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": meta.get("name"),
        "uid": meta.get("uid"),
    }


def _check_namespaces(owner: Mapping[str, Any], obj: Mapping[str, Any]) -> None:
    over = (owner.get("metadata") or {}).get("namespace") or ""
    under = (obj.get("metadata") or {}).get("namespace") or ""
    if over and not under:
        raise ValueError(f"cluster-scoped resource must not have a namespace-scoped owner, owner's namespace {over}")
    if over and over != under:
        raise ValueError(
            f"cross-namespace owner references are disallowed, owner's namespace {over}, obj's namespace {under}"
        )


def _with_references(obj: Object, references: Sequence[Mapping[str, Any]]) -> Object:
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "ownerReferences": list(references)}}


def _references(obj: Mapping[str, Any]) -> list[Object]:
    return list((obj.get("metadata") or {}).get("ownerReferences") or ())


def _upsert(obj: Object, reference: Object) -> Object:
    references = _references(obj)
    for index, present in enumerate(references):
        if _is_same(present, reference):
            references[index] = reference
            return _with_references(obj, references)
    return _with_references(obj, [*references, reference])


def set_controller_reference(owner: Mapping[str, Any], obj: Object, *, block_owner_deletion: bool = True) -> Object:
    """Return `obj` with `owner` as its controller; AlreadyOwned, or ValueError if the namespaces are incompatible.

    Returns a changed copy. An existing reference to an owner with that group, kind and name is replaced.
    """
    _check_namespaces(owner, obj)
    reference = {**_reference(owner), "controller": True, "blockOwnerDeletion": block_owner_deletion}
    present = controller_of(obj)
    if present is not None and not _is_same(present, reference):
        meta = obj.get("metadata") or {}
        raise AlreadyOwned(ObjectName(meta.get("namespace") or "", meta.get("name") or ""), present)
    return _upsert(obj, reference)


def set_owner_reference(owner: Mapping[str, Any], obj: Object, *, block_owner_deletion: bool | None = None) -> Object:
    """Return `obj` with `owner` as an owner, not as its controller; ValueError if the namespaces are incompatible."""
    _check_namespaces(owner, obj)
    extra = {} if block_owner_deletion is None else {"blockOwnerDeletion": block_owner_deletion}
    return _upsert(obj, {**_reference(owner), **extra})


def remove_owner_reference(owner: Mapping[str, Any], obj: Object) -> Object:
    """Return `obj` without the reference to `owner`; raises NotOwned."""
    references = _references(obj)
    if not references:
        raise NotOwned(f"{obj.get('kind')} does not have any owner references")
    index = _index_of(owner, references)
    if index is None:
        raise NotOwned(f"{obj.get('kind')} does not have an owner reference for {owner.get('kind')}")
    return _with_references(obj, [*references[:index], *references[index + 1 :]])


def remove_controller_reference(owner: Mapping[str, Any], obj: Object) -> Object:
    """Return `obj` without the reference to its controller `owner`; raises NotOwned."""
    kind, references = obj.get("kind"), _references(obj)
    if not has_controller_reference(obj):
        raise NotOwned(f"{kind} does not have a owner reference with controller equals true")
    index = _index_of(owner, references)
    if index is None:
        raise NotOwned(f"{kind} does not have an controller reference for {owner.get('kind')}")
    if not references[index].get("controller"):
        raise NotOwned(f"{owner.get('kind')} owner is not the controller reference for {kind}")
    return _with_references(obj, [*references[:index], *references[index + 1 :]])


def _index_of(owner: Mapping[str, Any], references: Sequence[Mapping[str, Any]]) -> int | None:
    wanted = _reference(owner)
    return next((index for index, present in enumerate(references) if _is_same(present, wanted)), None)


def controller_of(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the controller reference, or None."""
    return next((reference for reference in _references(obj) if reference.get("controller")), None)


def has_controller_reference(obj: Mapping[str, Any]) -> bool:
    """Return whether `obj` has a controller."""
    return controller_of(obj) is not None


def has_owner_reference(owner: Mapping[str, Any], obj: Mapping[str, Any]) -> bool:
    """Return whether `obj` has a reference to `owner`."""
    reference = _reference(owner)
    return any(_is_same(present, reference) for present in _references(obj))
