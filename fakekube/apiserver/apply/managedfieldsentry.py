"""Decodes and encodes the entries of metadata.managedFields (apimachinery `util/managedfields/internal`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.apply import fieldset
from fakekube.apiserver.apply.fieldset import Tree
from fakekube.apiserver.apply.pathelement import BadElement
from fakekube.apiserver.apply.pathelement import check as check_element
from fakekube.apiserver.apply.updater import Manager, Managers, VersionedSet
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct

ManagedFieldsEntry = dict[str, Any]

#: The number of sets that an updater remembers; beyond it, all are forgotten.
MOST_LATEST = 100


class Managed(Struct, frozen=True):
    """The managers of an object, and the time of each one's last change, if any."""

    managers: Managers
    times: dict[Manager, str]


UNMANAGED = Managed({}, {})


class Undecodable(ValueError):
    """Invalid entries of managedFields."""


def decode(entries: Sequence[ManagedFieldsEntry]) -> Managed:
    """Decodes the entries of a client. Raises Undecodable."""
    managers: Managers = {}
    times: dict[Manager, str] = {}
    for i, entry in enumerate(entries):
        operation, version = entry.get("operation") or "", entry.get("apiVersion") or ""
        if operation not in ("Apply", "Update"):
            raise Undecodable("operation must be `Apply` or `Update`")
        if not version:
            raise Undecodable("apiVersion must not be empty")
        kind = entry.get("fieldsType") or ""
        if kind != "FieldsV1":
            why = f"invalid fieldsType {go_quote(kind)}" if kind else "missing fieldsType"
            raise Undecodable(f"{why} in managed fields entry {i}")
        applied = operation == "Apply"
        manager = Manager(
            entry.get("manager") or "", operation, "" if applied else version, entry.get("subresource") or ""
        )
        managers[manager] = VersionedSet(_checked(entry.get("fieldsV1") or {}), version, applied)
        if entry.get("time"):
            times[manager] = entry["time"]
    return Managed(managers, times)


def _checked(tree: Any) -> Tree:
    if not isinstance(tree, dict):
        raise Undecodable("error decoding set: expected an object")
    try:
        return {pe if pe == fieldset.SELF else check_element(pe): _checked(below) for pe, below in tree.items()}
    except BadElement as problem:
        raise Undecodable(f"error decoding set: {problem}") from None


def decode_own(entries: Sequence[ManagedFieldsEntry]) -> Managed:
    """Decodes entries that this server encoded."""
    managers: Managers = {}
    times: dict[Manager, str] = {}
    for entry in entries:
        manager = manager_of(entry)
        managers[manager] = VersionedSet(entry["fieldsV1"], entry["apiVersion"], entry["operation"] == "Apply", entry)
        if "time" in entry:
            times[manager] = entry["time"]
    return Managed(managers, times)


def manager_of(entry: ManagedFieldsEntry) -> Manager:
    """The manager of an entry that this server encoded."""
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return Manager(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def encode(managed: Managed, latest: Managers | None = None) -> list[ManagedFieldsEntry]:
    """Encodes the entries in the real server's order.

    `latest` remembers the sets that were encoded last. An object with the same set gets the same entry: entries are
    shared among objects, and never changed.
    """
    get, sets = managed.times.get, {} if latest is None else latest
    return in_order([_entry(one, owned, get(one), sets) for one, owned in managed.managers.items()])


def in_order(entries: list[ManagedFieldsEntry]) -> list[ManagedFieldsEntry]:
    """The entries in the real server's order: by operation, time, manager and version (`sortEncodedManagedFields`)."""
    return entries if len(entries) == 1 else sorted(entries, key=_order)


def _order(entry: ManagedFieldsEntry) -> tuple[str, ...]:
    get = entry.get
    return entry["operation"], get("time", ""), get("manager", ""), entry["apiVersion"], get("subresource", "")


def _entry(manager: Manager, owned: VersionedSet, time: str | None, latest: Managers) -> ManagedFieldsEntry:
    if owned.entry is not None:
        return with_time(time, owned.entry) or _new_entry(manager, owned, time)
    known = latest.get(manager)
    entry = with_time(time, known.entry) if known is not None and known.entry is not None and known == owned else None
    entry = entry or _new_entry(manager, owned, time)
    if known is None or known.entry is not entry:
        if len(latest) >= MOST_LATEST:
            latest.clear()
        latest[manager] = VersionedSet(owned.fields, owned.version, owned.applied, entry)
    return entry


def with_time(time: str | None, entry: ManagedFieldsEntry) -> ManagedFieldsEntry | None:
    """The entry with this time: itself, if it has it; None if only one of the two has a time."""
    before = entry.get("time")
    if before == time:
        return entry
    return {**entry, "time": time} if before is not None and time is not None else None


def _new_entry(manager: Manager, owned: VersionedSet, time: str | None) -> ManagedFieldsEntry:
    entry: ManagedFieldsEntry = {
        "manager": manager.name,
        "operation": "Apply" if owned.applied else "Update",
        "apiVersion": owned.version,
    }
    if time is not None:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fieldset.in_order(owned.fields)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    if not manager.name:
        del entry["manager"]
    return entry
