"""Updates the field sets of all managers after a write (structured-merge-diff `merge.Updater`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from fakekube.apiserver.apply import fieldset, merging, typed
from fakekube.apiserver.apply.comparison import Comparison, compare, compare_created
from fakekube.apiserver.apply.fieldset import Path, Tree
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema

#: The number of sets whose reconciled ones are known; beyond it, all are forgotten.
MOST_KNOWN = 1000


class Manager(NamedTuple):
    """The identity of an entry of managedFields. Applies have one for all versions: `version` is empty."""

    name: str
    operation: str
    version: str
    subresource: str


@dataclass(frozen=True, slots=True)
class VersionedSet:
    """The fields of a manager in one API version."""

    fields: Tree
    version: str
    applied: bool
    entry: Object | None = field(default=None, compare=False)
    """The encoded entry of managedFields with exactly these fields, if there is one."""

    def having(self, fields: Tree) -> VersionedSet:
        """The set with other fields."""
        return self if fields is self.fields else VersionedSet(fields, self.version, self.applied)


Managers = dict[Manager, VersionedSet]

ConvertToVersion = Callable[[Object, str, str], tuple[Object, Schema] | None]
"""Converts an object from one API version to another, and returns the schema of the latter as well; None if the version
no longer exists.

Raises Mismatch if the object cannot be converted, or does not conform to the schema of the version.
"""


class Conflict(NamedTuple):
    manager: Manager
    path: Path


class Conflicts(Exception):
    """An apply that conflicts with other managers."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Updater:
    """Updates the field sets of a kind.

    `ignored`: the fields that a write to the subresource resets, by version. `empty` is an object without fields that
    a client has set.
    """

    version: str
    convert: ConvertToVersion
    ignored: Mapping[str, Tree]
    empty: Object = field(default_factory=lambda: {"metadata": {}})
    reconciles: bool = False
    """Whether the schema can have changed since the sets were made."""
    check: Callable[[Object, Object], None] | None = None
    """Raises Mismatch if the new object, whose live version is the first argument, does not conform to the schema."""
    check_live: Callable[[Object], None] | None = None
    """Raises Mismatch if the live object does not conform to the schema."""
    schema: Schema = field(init=False, repr=False, compare=False)
    """The schema of `version`."""
    known: dict[int, tuple[Tree, Tree]] = field(init=False, repr=False, compare=False, default_factory=dict)
    """By identity: sets, and what they are when they are reconciled with the schema."""
    latest: Managers = field(init=False, repr=False, compare=False, default_factory=dict)
    """The set of each manager that was encoded last: the next object of the kind often has the same (see `encode`)."""

    def __post_init__(self) -> None:
        found = self.convert({}, self.version, self.version)
        assert found is not None, "the version of the write exists"
        object.__setattr__(self, "schema", found[1])

    def compared(self, live: Object, new: Object) -> Comparison:
        """What a write changes, without the fields that it resets. `live` is `empty` itself for a new object."""
        found = (compare_created if live is self.empty else compare)(live, new, self.schema)
        return found.outside(self._ignored(self.version))

    def update(
        self, live: Object, new: Object, compared: Comparison, managers: Managers, manager: Manager, heir: Manager
    ) -> Managers:
        """The sets after a create, update or patch: the manager owns the fields that it changed.

        `compared` is what it changed. `heir` is the manager whose set the caller merges with the manager's set
        afterwards.
        """
        managers = self._reconciled(live, managers)
        managers = self._changed(live, new, compared, managers, manager, force=True, heir=heir)
        fields = managers[manager].fields if manager in managers else fieldset.EMPTY
        fields = fieldset.difference(fields, compared.removed)
        fields = fieldset.union(fields, compared.changed)
        fields = fieldset.without(fields, self._ignored(self.version))
        managers.pop(manager, None)
        if fields:
            managers[manager] = VersionedSet(fields, self.version, applied=False)
        return managers

    def apply(
        self, live: Object, config: Object, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[Object, Managers]:
        """The live object merged with the configuration, and the sets after the apply. Raises Conflicts."""
        managers = self._reconciled(live, managers)
        schema = self.schema
        merged = merging.merge(live, config, schema)
        last = managers.get(manager)
        fields = fieldset.without(
            typed.field_set(config, schema, remembers=not self.reconciles), self._ignored(self.version)
        )
        managers[manager] = VersionedSet(fields, self.version, applied=True)
        if last is not None and last.fields and not self._covers(fields, last, managers):
            with _explained("failed to prune fields"):
                merged = self._pruned(merged, managers, last)
        return merged, self._changed(live, merged, self.compared(live, merged), managers, manager, force=force)

    def _ignored(self, version: str) -> Tree:
        return self.ignored.get(version, fieldset.EMPTY)

    def _reconciled(self, live: Object, managers: Managers) -> Managers:
        if not self.reconciles:
            return dict(managers)
        out: Managers = {}
        for manager, owned in managers.items():
            if owned.version == self.version:
                out[manager] = owned.having(self.reconciled_set(owned.fields))
            elif (found := self.convert(live, self.version, owned.version)) is not None:
                out[manager] = owned.having(typed.reconciled(owned.fields, found[1]))
        return out

    def reconciled_set(self, fields: Tree) -> Tree:
        """A set in the version of the write, reconciled with its schema. Most sets are those of the write before."""
        if not self.reconciles:
            return fields
        known = self.known.get(id(fields))
        if known is not None:
            return known[1]
        found = typed.reconciled(fields, self.schema)
        if len(self.known) >= MOST_KNOWN:
            self.known.clear()
        self.known[id(fields)] = fields, found  # the set is kept, so that no other one gets its identity
        return found

    def _changed(
        self,
        old: Object,
        new: Object,
        compared: Comparison,
        managers: Managers,
        writer: Manager,
        *,
        force: bool,
        heir: Manager | None = None,
    ) -> Managers:
        """Removes the fields that the writer changes or removes from all other sets. Raises Conflicts unless `force`.

        The heir keeps its fields, as it would get them back, unless metadata changes, part of which is never owned.
        """
        versions = {self.version: compared}
        out: Managers = {}
        conflicts: list[Conflict] = []
        for manager, owned in managers.items():
            if manager == writer:
                out[manager] = owned
                continue
            other = versions.get(owned.version)
            if other is None:
                converted = self._compared_in(old, new, owned.version)
                if converted is None:
                    continue
                other = versions[owned.version] = converted
            changed = other.changed
            keeps = manager == heir and "f:metadata" not in changed
            lost = fieldset.EMPTY if keeps else fieldset.intersection(owned.fields, changed)
            if lost and not force:
                conflicts += [Conflict(manager, path) for path in fieldset.paths(lost)]
            fields = fieldset.difference(fieldset.difference(owned.fields, lost), other.removed)
            if fields:
                out[manager] = owned.having(fields)
        if conflicts:
            raise Conflicts(sorted(conflicts, key=lambda conflict: conflict.manager))
        if writer in out and not out[writer].fields:
            del out[writer]
        return out

    def _compared_in(self, old: Object, new: Object, version: str) -> Comparison | None:
        with _explained("failed to convert old object"):
            before = self.convert(old, self.version, version)
        with _explained("failed to convert new object"):
            after = self.convert(new, self.version, version)
        if before is None or after is None:
            return None
        return compare(before[0], after[0], before[1]).outside(self._ignored(version))

    # --- fields that an apply removes --------------------------------------------------------------------------------

    def _covers(self, fields: Tree, last: VersionedSet, managers: Managers) -> bool:
        """Whether an apply has all fields of the last one, so that it prunes nothing.

        Where objects need not conform to the schema (`check_live`), they are walked, as that can fail.
        """
        if self.check_live is not None or any(owned.version != self.version for owned in (last, *managers.values())):
            return False
        return fieldset.covers(fields, last.fields)

    def _pruned(self, merged: Object, managers: Managers, last: VersionedSet) -> Object:
        """The object without the fields of the manager's last apply that no manager owns now."""
        with _explained("failed to convert merged object to last applied version"):
            found = self.convert(merged, self.version, last.version)
        if found is None:
            return merged
        merged, schema = found
        last_fields = typed.with_named_fields(last.fields, schema)
        pruned = merging.remove(merged, last_fields, schema)
        with _explained("failed add back owned items"):
            pruned = self._owned_added_back(merged, pruned, last.version, managers)
        kept = fieldset.difference(_named(merged, schema), _named(pruned, schema))
        pruned = merging.remove(merged, fieldset.intersection(kept, last_fields), schema)
        back = self.convert(pruned, last.version, self.version)
        assert back is not None, "the version of the write exists"
        return back[0]

    def _owned_added_back(self, merged: Object, pruned: Object, version: str, managers: Managers) -> Object:
        """The pruned object with the fields restored that other managers or the new configuration own."""
        by_version: dict[str, Tree] = {version: fieldset.EMPTY}
        shown = version
        for owned in managers.values():
            by_version[owned.version] = fieldset.union(by_version.get(owned.version, fieldset.EMPTY), owned.fields)
        for other, fields in by_version.items():
            if not fields:
                continue
            with _explained(f"failed to convert merged object at version {other}"):
                whole = self.convert(merged, shown, other)
            with _explained(f"failed to convert pruned object at version {other}"):
                part = self.convert(pruned, shown, other)
            if whole is None or part is None:
                continue
            shown, (merged, schema) = other, whole
            stays = fieldset.union(_named(part[0], schema), typed.with_named_fields(fields, schema))
            pruned = merging.remove(merged, fieldset.difference(_named(merged, schema), stays), schema)
        with _explained("failed to convert pruned object to last applied version"):
            back = self.convert(pruned, shown, version)
        return back[0] if back is not None else pruned


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Adds what failed to the message of a Mismatch."""
    try:
        yield
    except typed.Mismatch as problem:
        raise typed.Mismatch(f"{what}: {problem}") from None


def _named(value: Object, schema: Schema) -> Tree:
    return typed.with_named_fields(typed.field_set(value, schema), schema)
