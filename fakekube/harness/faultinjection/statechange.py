"""State changes: the committed writes at which faults are anchored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.resource import Resource
from fakekube.struct import Struct

Object = dict[str, Any]

_ANCHOR = re.compile(
    r"(?P<verb>[a-z*]+) (?P<kind>[A-Za-z0-9.*-]+)/(?:(?P<namespace>[^/{#]+)/)?(?P<name>[^/{#]+)"
    r"(?:\{(?P<field>[^}]+)\})?(?:#(?P<occurrence>[1-9][0-9]*))?"
)
_FIELD = re.compile(r"(?P<path>[^:=]+)(?:=(?P<now>.*)|:(?P<old>.*)>(?P<new>.*))?")

#: The verbs of state changes; any verb of a write that changes an object is an update.
VERBS = ("create", "update", "delete", "*")

#: Paths that change with every write.
_ALWAYS = ("metadata.resourceVersion", "metadata.managedFields", "metadata.generation")


class StateChange(Struct, frozen=True):
    """One committed write: what it did, to which object, and by which process ("": the test or a foreign process).

    `before` and `after` are the stored objects (None: absent), which must not be changed. `number` counts the changes
    of one verb and object.
    """

    verb: str
    resource: Resource
    namespace: str
    name: str
    before: Object | None
    after: Object | None
    process: str
    number: int

    @property
    def anchor(self) -> str:
        """The anchor that names exactly this change: `update configmap/default/a#2`."""
        return f"{self.verb} {self.resource.singular}/{self._path()}#{self.number}"

    def _path(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def fields(self) -> Iterator[str]:
        """The paths of the fields that differ before and after, without those that every write changes."""
        for path in sorted(set(_leaves(self.before or {})) | set(_leaves(self.after or {}))):
            if not path.startswith(_ALWAYS) and field(self.before, path) != field(self.after, path):
                yield path


class Anchor(Struct, frozen=True):
    """A state change as text: `verb kind/[namespace/]name{field change}#occurrence`.

    The verb is create, update, delete or `*`; the kind may be a plural or a short name; kind, namespace and name may
    be shell-like `*`. The field change is `{spec.replicas}` (it changes), `{spec.replicas=3}` (it changes to 3) or
    `{spec.replicas:1>3}`. The occurrence is counted from 1 among the changes that match the rest.
    """

    verb: str
    kind: str
    namespace: str
    name: str
    field: str = ""
    occurrence: int = 1

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Raises TypeError, ValueError naming the problem."""
        if not isinstance(text, str):
            raise TypeError(f"anchor {text!r}: pass text, like 'update deployment/default/web{{spec.replicas}}#2'")
        found = _ANCHOR.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f"anchor {text!r} is not 'verb kind/name', 'verb kind/namespace/name{{field}}' or '...#occurrence'"
            )
        if found["verb"] not in VERBS:
            raise ValueError(f"anchor {text!r}: the verb of a state change is one of {', '.join(VERBS)}")
        return cls(
            found["verb"],
            found["kind"],
            found["namespace"] or "*",
            found["name"],
            found["field"] or "",
            int(found["occurrence"] or 1),
        )

    def matches(self, change: StateChange) -> bool:
        """Whether this is the change, apart from the occurrence."""
        if self.verb not in ("*", change.verb) or not self._is_kind(change.resource):
            return False
        if not _fits(self.namespace, change.namespace) or not _fits(self.name, change.name):
            return False
        return not self.field or self._has_field_change(change)

    def _is_kind(self, resource: Resource) -> bool:
        names = (resource.kind.lower(), resource.plural, resource.singular, *resource.short_names)
        return self.kind == "*" or self.kind.lower() in names

    def _has_field_change(self, change: StateChange) -> bool:
        found = _FIELD.fullmatch(self.field)
        assert found is not None, "every text is a path at least"
        path = found["path"].strip()
        old, new = field(change.before, path), field(change.after, path)
        if old == new:
            return False
        if found["now"] is not None:
            return str(new) == found["now"].strip()
        return found["new"] is None or (str(old) == found["old"].strip() and str(new) == found["new"].strip())

    def __str__(self) -> str:
        where = self.name if self.namespace == "*" else f"{self.namespace}/{self.name}"
        shown = f"{{{self.field}}}" if self.field else ""
        return f"{self.verb} {self.kind}/{where}{shown}#{self.occurrence}"


def field(obj: Object | None, path: str) -> Any:
    """The value at a path like `spec.containers.0.image`; None if there is none."""
    found: Any = obj
    for part in path.split("."):
        if isinstance(found, dict):
            found = found.get(part)
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}.{number}")
    else:
        yield path


def _fits(pattern: str, value: str) -> bool:
    if "*" not in pattern:
        return pattern == value
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), value) is not None
