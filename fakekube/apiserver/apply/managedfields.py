"""Updates the managedFields of written objects (apimachinery `util/managedfields`, `FieldManager`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from fakekube.apiserver.apply import fieldset, typed
from fakekube.apiserver.apply.comparison import Comparison, compare
from fakekube.apiserver.apply.fieldset import Tree
from fakekube.apiserver.apply.managedfieldsentry import (
    UNMANAGED,
    Managed,
    ManagedFieldsEntry,
    Undecodable,
    decode,
    decode_own,
    encode,
    in_order,
    manager_of,
    with_time,
)
from fakekube.apiserver.apply.pathelement import encoded, shown
from fakekube.apiserver.apply.updater import Conflict, Conflicts, Manager, Updater, VersionedSet
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire.gojson import is_same
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError
from fakekube.struct import Struct, replace

#: The number of managers with an entry for updates; more are merged into one (`DefaultMaxUpdateManagers`).
MAX_UPDATE_MANAGERS = 10

#: The field manager of the server's own client.
OWN_CLIENT = "kube-apiserver"

OLD_UPDATES = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"

#: The annotation of client-side apply, and the manager that may take over its fields.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"

#: The annotation is removed if all annotations would exceed this size (`TotalAnnotationSizeLimitB`).
ANNOTATIONS_LIMIT = 256 * 1024

#: The limit of the name of a manager in bytes (`FieldManagerMaxLength`).
MANAGER_LIMIT = 128

_SERVER_OWNED = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip

#: Fields that no manager owns (`stripMetaManager`).
STRIPPED: Tree = {
    "f:apiVersion": fieldset.LEAF,
    "f:kind": fieldset.LEAF,
    "f:metadata": fieldset.member({f"f:{name}": fieldset.LEAF for name in _SERVER_OWNED}),
}


class Writer(Struct, frozen=True):
    """The field manager, time and subresource of a write."""

    name: str
    now: str
    subresource: str = ""

    def manager(self, operation: str, version: str) -> Manager:
        """The manager of the entry; applies have one entry for all versions."""
        name = self.name or "unknown"
        return Manager(name, operation, "" if operation == "Apply" else version, self.subresource)


@lru_cache(maxsize=1024)
def manager_name(field_manager: str, user_agent: str) -> str:
    """`fieldManager`, or the User-Agent up to its first slash (`managerOrUserAgent`)."""
    if field_manager:
        return field_manager
    name, size = [], 0
    for char in user_agent.split("/")[0]:
        if not char.isprintable():
            continue
        size += len(char.encode())
        if size > MANAGER_LIMIT:
            break
        name.append(char)
    return "".join(name)


def _with_entries(obj: Object, managed: Managed, updater: Updater) -> Object:
    """The object with entries added."""
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "managedFields": encode(managed, updater.latest)} if managed.managers else meta}


def without_entries(obj: Object) -> Object:
    """The object without managedFields, for comparison."""
    if "managedFields" not in obj["metadata"]:
        return obj
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def _sent_or_live(
    sent: Sequence[ManagedFieldsEntry] | None, current: Sequence[ManagedFieldsEntry], *, typed: bool
) -> Managed:
    """The entries that a client has sent if they are valid, else those of the live object (`decodeLiveOrNew`).

    `typed`: an empty list differs from none, as in Go's types.
    """
    if sent is None:  # an empty list was sent
        return UNMANAGED if typed else decode_own(current)
    if list(sent) == [{}]:
        return UNMANAGED
    try:
        managed = decode(sent)
    except Undecodable:
        return decode_own(current)
    return managed if managed.managers else decode_own(current)


# --- writes ----------------------------------------------------------------------------------------------------------


def updated(live: Object, new: Object, updater: Updater, writer: Writer) -> Object:
    """The object of a create, update or patch with its managedFields (`FieldManager.Update`).

    `live` is the stored object; for a create, an empty object of the kind.
    """
    before, after = live["metadata"], new["metadata"]
    entries: Sequence[ManagedFieldsEntry] = before.get("managedFields") or ()
    keeps = bool(writer.subresource) or "managedFields" not in after or after["managedFields"] == entries
    sent = None if keeps else _sent_or_live(after["managedFields"], entries, typed=not updater.reconciles)
    bare = without_entries(live)
    # most writes do not change metadata: the same dict is kept, so that it need not be compared
    new = {**new, "metadata": bare["metadata"]} if after is before else without_entries(new)
    if before.get("uid") and not (entries if sent is None else sent.managers):
        return new  # field management is disabled for the object
    try:
        if updater.check_live is not None:
            updater.check_live(bare)
        if updater.check is not None:
            updater.check(bare, new)
        compared = updater.compared(bare, new)
        same = _with_same_sets(entries, compared, updater, writer) if entries and sent is None else None
        if same is not None:
            return {**new, "metadata": {**new["metadata"], "managedFields": same}}
        managed = _tracked(bare, new, compared, decode_own(entries) if sent is None else sent, updater, writer)
    except typed.Mismatch:
        return new  # as `UpdateNoErrors`, which removes the entries
    return _with_entries(new, managed, updater)


def _with_same_sets(
    entries: Sequence[ManagedFieldsEntry], compared: Comparison, updater: Updater, writer: Writer
) -> list[ManagedFieldsEntry] | None:
    """The entries after a write that changes only what its manager owns alone, as most writes of controllers do: no set
    changes, only the manager's time. None if it is another write."""
    if len(entries) > MAX_UPDATE_MANAGERS or compared.removed:
        return None  # a set becomes smaller, or there are so many entries that some are merged
    changed, own = compared.changed, writer.manager("Update", updater.version)
    managers = [manager_of(entry) for entry in entries]
    if not changed or not fieldset.are_disjoint(STRIPPED, changed) or managers.count(own) != 1:
        return None
    if len(managers) > 2 and len(set(managers)) < len(managers):
        return None  # two entries of one manager become one
    after = []
    for manager, entry in zip(managers, entries, strict=True):
        fields = entry["fieldsV1"]
        if not fields or entry["apiVersion"] != updater.version or updater.reconciled_set(fields) is not fields:
            return None
        is_own = manager == own
        rewritten = with_time(writer.now, entry) if is_own else entry
        if rewritten is None or not (fieldset.covers if is_own else fieldset.are_disjoint)(fields, changed):
            return None
        after.append(rewritten)
    return in_order(after)


_CURRENT = Manager("current-operation", "", "", "")


def with_own_status(live: Object, new: Object, schema: Schema, version: str, reset: Sequence[str], now: str) -> Object:
    """The object with an updated list after the server's own client has written the status.

    `reset` has the fields that the status subresource resets.
    """
    return updated(live, new, _own_updater(schema, version, tuple(reset)), Writer(OWN_CLIENT, now, "status"))


@lru_cache(maxsize=64)
def _own_updater(schema: Schema, version: str, reset: tuple[str, ...]) -> Updater:
    ignored = {version: {f"f:{name}": fieldset.LEAF for name in reset}}
    return Updater(version, lambda obj, _, wanted: (obj, schema) if wanted == version else None, ignored)


def _tracked(
    live: Object, new: Object, compared: Comparison, managed: Managed, updater: Updater, writer: Writer
) -> Managed:
    manager = writer.manager("Update", updater.version)
    if not managed.managers:  # the object is new: no other manager loses a field
        fields = fieldset.difference(compared.changed, STRIPPED)
        if not fields:
            return managed
        return Managed({manager: VersionedSet(fields, updater.version, applied=False)}, {manager: writer.now})
    managers = updater.update(live, new, compared, managed.managers, _CURRENT, manager)
    times = dict(managed.times)
    taken = managers.pop(_CURRENT, None)
    fields = fieldset.difference(taken.fields, STRIPPED) if taken is not None else fieldset.EMPTY
    if not fields:
        return Managed(managers, times)
    before = managers.get(manager)
    if before is None:
        managers[manager] = VersionedSet(fields, updater.version, applied=False)
    elif (both := fieldset.union(fields, before.fields)) != before.fields:
        managers[manager] = before.having(both)
    times[manager] = writer.now
    return _capped(Managed(managers, times))


def _capped(managed: Managed) -> Managed:
    """Merges the entries of the oldest updates if there are too many (`capManagersManager`)."""
    managers, times = managed.managers, managed.times
    updaters = [manager for manager, owned in managers.items() if not owned.applied]
    surplus = len(updaters) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managed
    first: dict[str, Manager] = {}
    for manager in sorted(updaters, key=lambda one: (times.get(one, ""), one)):
        if surplus <= 0:
            break
        owned = managers[manager]
        bucket = Manager(OLD_UPDATES, "Update", owned.version, "")
        if owned.version not in first:
            first[owned.version] = manager
            continue
        if bucket not in managers:
            managers[bucket] = managers.pop(first[owned.version])
        merged = fieldset.union(owned.fields, managers[bucket].fields)
        managers[bucket] = VersionedSet(merged, owned.version, applied=False)
        if manager != bucket:
            del managers[manager]
        times[bucket] = times.get(manager, "")
        surplus -= 1
    return managed


def applied(live: Object, config: Object, updater: Updater, writer: Writer, *, force: bool) -> Object:
    """The live object merged with an applied configuration, and its managedFields (`FieldManager.Apply`).

    `config` has apiVersion and kind; `live` is the stored object, or an empty object of the kind. Raises 409 with all
    conflicts.
    """
    managed = decode_own(live["metadata"].get("managedFields") or ())
    live = without_entries(live)
    try:
        return _applied(live, config, managed, updater, writer, force=force)
    except Conflicts as found:
        conflicts = found.conflicts
    if writer.name == KUBECTL:
        allowed = _last_applied_and_unchanged(live, updater)
        if allowed is not None:
            paths = fieldset.difference(fieldset.of(*(conflict.path for conflict in conflicts)), allowed)
            remaining = set(fieldset.paths(paths))
            if not remaining:
                return _applied(live, config, managed, updater, writer, force=True)
            conflicts = [conflict for conflict in conflicts if conflict.path in remaining]
    raise conflict_error(conflicts)


def _applied(
    live: Object, config: Object, managed: Managed, updater: Updater, writer: Writer, *, force: bool
) -> Object:
    if not managed.managers and live["metadata"].get("uid"):
        first = replace(writer, name=BEFORE_FIRST_APPLY)
        compared = updater.compared(updater.empty, live)
        managed = _tracked(updater.empty, live, compared, managed, updater, first)
    manager = writer.manager("Apply", updater.version)
    applied_fields = {key: value for key, value in config.items() if key not in ("apiVersion", "kind")}
    merged, managers = updater.apply(live, applied_fields, managed.managers, manager, force=force)
    times = dict(managed.times)
    if manager in managers:
        fields = fieldset.difference(managers[manager].fields, STRIPPED)
        if fields:
            managers[manager] = managers[manager].having(fields)
        else:
            del managers[manager]
    if merged != live:
        times[manager] = writer.now
    if writer.name == KUBECTL:
        merged = _with_last_applied(merged, config)
    return _with_entries(merged, Managed(managers, times), updater)


def keep_times(new: Object, old: Object) -> Object:
    """The old object if only timestamps of managedFields differ (`IgnoreManagedFieldsTimestampsTransformer`)."""
    entries, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not before or entries == before or len(entries) != len(before):
        return new
    for one, other in zip(entries, before, strict=True):
        if one is not other and _timeless(one) != _timeless(other):
            return new
    kept = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return kept if is_same(kept, old) else new


def _timeless(entry: ManagedFieldsEntry) -> ManagedFieldsEntry:
    return {key: value for key, value in entry.items() if key != "time"}


# --- kubectl's client-side apply -------------------------------------------------------------------------------------


def _last_applied_and_unchanged(live: Object, updater: Updater) -> Tree | None:
    """The fields of the last client-side apply that have not changed since; None if there was none."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return None
    try:
        last = json.loads(text)
    except ValueError:
        return None
    version = last.get("apiVersion") if isinstance(last, dict) else None
    found = updater.convert(live, updater.version, version) if version else None
    if found is None:
        return None
    live_version, schema = found
    last = {key: value for key, value in last.items() if key not in ("apiVersion", "kind")}
    try:
        typed.check(last, schema)
    except typed.Mismatch:
        return None
    compared = compare(last, live_version, schema)
    fields = typed.field_set(last, schema)
    for changed in (compared.modified, compared.added, compared.removed):
        fields = fieldset.difference(fields, changed)
    return fields


def _with_last_applied(obj: Object, config: Object) -> Object:
    """The object with its last-applied annotation updated, if it has one (`lastAppliedUpdater`)."""
    annotations = obj["metadata"].get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return obj
    named = config["metadata"].get("annotations")
    if named is not None:
        kept = {key: value for key, value in named.items() if key != LAST_APPLIED}
        config = {**config, "metadata": {**config["metadata"], "annotations": kept}}
    annotations = {**annotations, LAST_APPLIED: encoded(config) + "\n"}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        del annotations[LAST_APPLIED]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


# --- conflicts -------------------------------------------------------------------------------------------------------


def conflict_error(conflicts: Sequence[Conflict]) -> StatusError:
    """409 with a cause for each field that another manager owns."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_shown(c.manager)}", "field": shown(c.path)}
        for c in conflicts
    ]
    return StatusError(409, "Conflict", _conflict_message(conflicts), {"causes": causes})


def _conflict_message(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_shown(manager)}: {shown(path)}"
    lines = []
    for manager in sorted({conflict.manager for conflict in conflicts}):
        lines.append(f"conflicts with {_shown(manager)}:")
        lines += [f"- {shown(conflict.path)}" for conflict in conflicts if conflict.manager == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _shown(manager: Manager) -> str:
    text = go_quote(manager.name)
    if manager.subresource:
        text += f" with subresource {go_quote(manager.subresource)}"
    if manager.operation == "Update":
        text += f" using {manager.version}"
    return text
