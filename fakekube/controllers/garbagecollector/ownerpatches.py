"""The patches of owner references and finalizers (`patch.go`).

Built-in kinds take strategic merge patches, whose uid is a precondition. Custom resources do not: for them there are
merge patches, whose resourceVersion is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
Reference = Mapping[str, Any]


def strategic_removal(uid: str, owners: Sequence[str]) -> Object:
    """Removes the references to owners, given by uid, from the object `uid`."""
    references = [{"$patch": "delete", "uid": owner} for owner in owners]
    return {"metadata": {"uid": uid, "ownerReferences": references}}


def merge_removal(obj: Object, owners: Sequence[str]) -> Object:
    """Removes the references to owners, given by uid, from an object."""
    references = obj["metadata"].get("ownerReferences") or ()
    return _merge(obj, [one for one in references if one["uid"] not in owners] or None)


def strategic_unblocking(uid: str, references: Sequence[Reference]) -> Object:
    """Lets the deletion of the owners not be blocked by the object `uid`, which has these references."""
    blocking = [{**one, "blockOwnerDeletion": False} for one in references if one.get("blockOwnerDeletion")]
    return {"metadata": {"uid": uid, "ownerReferences": blocking}}


def merge_unblocking(obj: Object, references: Sequence[Reference]) -> Object:
    """Lets the deletion of the owners not be blocked by an object, which has these references."""
    return _merge(obj, [{**one, "blockOwnerDeletion": False} for one in references] or None)


def finalizer_removal(obj: Object, finalizer: str) -> Object:
    """Removes a finalizer from an object, as a merge patch."""
    meta = obj["metadata"]
    left = [one for one in meta.get("finalizers") or () if one != finalizer]
    return {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left or None}}


def _merge(obj: Object, references: Sequence[Reference] | None) -> Object:
    return {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"], "ownerReferences": references}}
