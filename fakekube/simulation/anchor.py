"""Anchors: the points of a run at which faults are injected, named after state changes and never after times.

The text of an anchor is `VERB KIND/NAME{FIELDS}#OCCURRENCE`, like `update store/a{spec.storage}#2`: the second change
of this field of this object. A namespace other than `default` stands before the name: `pod/prod/a-0`. The random part
of a generated name is `*`. KIND is the short name of the resource, else the lower-case kind. A text that is read may
have another name of the kind, the namespace `default`, and no occurrence: `update stores/default/a{spec.storage}`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

Object = Mapping[str, Any]

VERBS = ("create", "update", "delete")

#: The first part of targets that are items of external APIs: `create external/buckets/photos#1`.
EXTERNAL = "external"

#: Characters that an anchor has no place for, and the longest item in one.
_RESERVED, _LONGEST_ITEM = re.compile(r"[\s{},#()+@]|\.\.+"), 100

#: Requests of an operator that change nothing; only `error` is anchored at them. They are counted as changes are.
READS = ("get", "list")

#: A call of an operator to an external API: `call external/buckets/create/photos#1`.
CALL = "call"

#: More changed fields than these are abbreviated to their common parents.
_MANY_FIELDS = 4

_ANCHOR = re.compile(
    r"(?P<verb>[a-z]+) (?P<object>[^\s{}#]+)(?:\{(?P<fields>[^{}]*)\})?(?:#(?P<occurrence>[1-9][0-9]*))?"
)

#: A uid, as names and values contain them that are made of one.
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

#: Fields that the server maintains: they change with every write, or say nothing about what was written.
_SERVER_FIELDS = frozenset({"metadata.resourceVersion", "metadata.managedFields", "metadata.generation"})


@dataclass(frozen=True, slots=True)
class Anchor:
    """The `occurrence`-th state change with a signature. `fields` is empty for a creation and a deletion."""

    verb: str
    target: str
    fields: tuple[str, ...] = ()
    occurrence: int = 1

    @property
    def signature(self) -> str:
        """The text without the occurrence."""
        return signature(self.verb, self.target, self.fields)

    @property
    def kind(self) -> str:
        """The part of the target before its first slash."""
        return self.target.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.signature}#{self.occurrence}"

    def resolved(self, kinds: Mapping[str, str]) -> Anchor:
        """The anchor with the target as runs record it. `kinds`: the name of each kind by all its names."""
        return replace(self, target=resolved_target(self.target, kinds))


def signature(verb: str, target: str, fields: tuple[str, ...]) -> str:
    """The text of a state change, equal for changes that an anchor does not distinguish but by their occurrence."""
    return f"{verb} {target}{{{','.join(fields)}}}" if fields else f"{verb} {target}"


def parse_anchor(text: str) -> Anchor:
    """The anchor of a text; without an occurrence it is the first one. Raises ValueError."""
    found = _ANCHOR.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"anchor {text!r}: expected 'VERB KIND/NAME{{FIELDS}}#OCCURRENCE', like 'delete sts/a#1'")
    if found["verb"] not in (*VERBS, *READS, CALL):
        raise ValueError(f"anchor {text!r}: the verb is one of {', '.join((*VERBS, *READS, CALL))}")
    if "/" not in found["object"]:
        raise ValueError(f"anchor {text!r}: {found['object']!r} has no name, expected KIND/NAME")
    fields = tuple(part.strip() for part in (found["fields"] or "").split(",") if part.strip())
    return Anchor(found["verb"], found["object"], fields, int(found["occurrence"] or 1))


def resolved_target(target: str, kinds: Mapping[str, str]) -> str:
    """A target as runs record it: the kind by its name, without the namespace `default`."""
    kind, _, path = target.partition("/")
    if kind == EXTERNAL:
        return target
    return f"{kinds.get(kind.lower(), kind)}/{path.removeprefix('default/')}"


def target_of(kind: str, namespace: str, name: str, generate_name: str = "") -> str:
    """`KIND/NAME`, with the namespace unless it is `default`. The random part of a generated name and uids are `*`."""
    name = f"{generate_name}*" if generate_name and name.startswith(generate_name) else UID.sub("*", name)
    return f"{kind}/{namespace}/{name}" if namespace not in ("", "default") else f"{kind}/{name}"


def numbered(target: str, taken: Container[str]) -> str:
    """A target whose name is generated, with the first number that is not taken: `pod/a-*~2`."""
    return next(found for number in count(1) if (found := f"{target}~{number}") not in taken)


def external_target(name: str, item: str) -> str:
    """`external/NAME/ITEM`, the target of an item of an external API."""
    return f"{EXTERNAL}/{_RESERVED.sub('_', name)}/{_RESERVED.sub('_', item)[:_LONGEST_ITEM]}"


def changed_fields(before: Object, after: Object) -> tuple[str, ...]:
    """The paths of the fields that differ, sorted, without those that the server maintains.

    Items of a list are named by their `name`, `type` or `key` if they have one, else the list counts as one field.
    More than four fields are abbreviated to their parents, until at most four are left.
    """
    found = sorted({path for path in _differences("", before, after) if path not in _SERVER_FIELDS})
    while len(found) > _MANY_FIELDS and (shorter := _parents(found)) != found:
        found = shorter
    return tuple(found)


def _parents(paths: list[str]) -> list[str]:
    """The deepest paths without their last part."""
    deepest = max(path.count(".") for path in paths)
    if not deepest:
        return paths
    return sorted({path.rpartition(".")[0] if path.count(".") == deepest else path for path in paths})


def _differences(path: str, before: Any, after: Any) -> list[str]:
    if before == after:
        return []
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [*before, *(name for name in after if name not in before)]
        return [
            one
            for name in names
            for one in _differences(_joined(path, str(name)), before.get(name), after.get(name))
            if path != "metadata" or name != "managedFields"
        ]
    if isinstance(before, list) and isinstance(after, list):
        old, new = _by_key(before), _by_key(after)
        if old is not None and new is not None:
            return [
                one
                for name in dict.fromkeys([*old, *new])
                for one in _differences(f"{path}[{name}]", old.get(name), new.get(name))
            ]
    # a value that appears or disappears is named with the fields that it has
    for whole, other in ((before, after), (after, before)):
        if isinstance(whole, Mapping) and whole and other is None:
            return [one for name, value in whole.items() for one in _differences(_joined(path, str(name)), None, value)]
    return [path]


def _joined(path: str, name: str) -> str:
    name = re.sub(r"[\s{},#()+]", "_", name)
    return f"{path}.{name}" if path else name


def _by_key(items: list[Any]) -> dict[str, Any] | None:
    """The items by their name, type or key; None unless all have the same one, and each a value of its own."""
    for key in ("name", "type", "key"):
        if all(isinstance(item, Mapping) and isinstance(item.get(key), str) for item in items):
            found = {re.sub(r"[\s{},#()+]", "_", item[key]): item for item in items}
            if len(found) == len(items):
                return found
    return None


class Occurrences:
    """Counts the state changes of a run by their signatures."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, verb: str, target: str, fields: tuple[str, ...]) -> Anchor:
        """The anchor of a state change that happens now."""
        found = signature(verb, target, fields)
        self._counts[found] += 1
        return Anchor(verb, target, fields, self._counts[found])

    def peek(self, anchor: Anchor) -> Anchor:
        """The anchor that the next state change with this signature gets."""
        return replace(anchor, occurrence=self._counts[anchor.signature] + 1)
