"""Converts the ownership of replicas between an object and its Scale (apimachinery `managedfields.ScaleHandler`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakekube.apiserver.apply import fieldset
from fakekube.apiserver.apply.fieldset import Path, Tree
from fakekube.apiserver.apply.managedfieldsentry import Managed, ManagedFieldsEntry, decode_own, encode
from fakekube.apiserver.apply.updater import Manager, Managers, VersionedSet

VERSION = "autoscaling/v1"
REPLICAS: Path = ("f:spec", "f:replicas")

Paths = Mapping[str, Path | None]
"""API version of the scaled kind -> path of the replicas; None if the version has no scale subresource."""


def _owns(fields: Tree, path: Path) -> bool:
    node = fields
    for element in path:
        below = node.get(element)
        if below is None:
            return False
        node = below
    return fieldset.is_member(node)


def to_scale(entries: Sequence[ManagedFieldsEntry], paths: Paths) -> list[ManagedFieldsEntry]:
    """The entries of the Scale, made of the entries of the scaled object that own the replicas."""
    managed = decode_own(entries)
    managers: Managers = {}
    for manager, owned in managed.managers.items():
        path = paths.get(owned.version)
        if path is not None and _owns(owned.fields, path):
            managers[manager] = VersionedSet(fieldset.of(REPLICAS), VERSION, owned.applied)
    return encode(Managed(managers, managed.times))


def to_parent(
    entries: Sequence[ManagedFieldsEntry], of_scale: Sequence[ManagedFieldsEntry], paths: Paths, version: str
) -> list[ManagedFieldsEntry]:
    """The entries of the scaled object after a write of its Scale.

    `of_scale` are the new entries of the Scale; `version` is the API version of the write. Managers that no longer own
    the replicas in the Scale lose them.
    """
    parent, scale = decode_own(entries), decode_own(of_scale)
    found: Managers = {}
    times: dict[Manager, str] = {}
    remaining = dict(scale.managers)
    for manager, owned in parent.managers.items():
        if owned.version not in paths:
            continue
        path, kept = paths[owned.version], owned
        if path is not None and _owns(owned.fields, path) and remaining.pop(manager, None) is None:
            kept = owned.having(fieldset.difference(owned.fields, fieldset.of(path)))
        if kept.fields:
            found[manager] = kept
            if manager in parent.times:
                times[manager] = parent.times[manager]
    own = paths.get(version)
    for manager, owned in remaining.items():
        if own is not None and _owns(owned.fields, REPLICAS):
            # the key has the version of the Scale, so there is no time for it
            found[manager] = VersionedSet(fieldset.of(own), version, owned.applied)
    return encode(Managed(found, times))
