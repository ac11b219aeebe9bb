"""What a test asks for at the end, and its last change: data of the runs with the last spec, and of rollbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a test asks for of an object that it creates. `wanted`: its last content, None if the test has deleted it.

    `first`: the content with which it was created. `changed`: whether the test has changed it since.
    """

    kind: str
    namespace: str
    name: str
    first: Object
    wanted: Object | None
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Intents:
    """The intents of a test, in the order of creation.

    `others`: how many changes the test made of what it has not created, or of a status. `ended`: the virtual seconds
    at which the test ended.
    """

    objects: Sequence[Intent] = ()
    others: int = 0
    ended: float = 0.0

    @property
    def has_history(self) -> bool:
        """Whether the test has changed or deleted an object that it created."""
        return any(one.wanted != one.first for one in self.objects)

    def find(self, kind: str, namespace: str, name: str) -> Intent | None:
        """The intent of an object."""
        key = (kind, namespace, name)
        return next((one for one in self.objects if (one.kind, one.namespace, one.name) == key), None)


@dataclass(frozen=True, slots=True)
class Step:
    """The last change that a test made of an object of its own. `revision`: that of the change."""

    revision: int
    kind: str
    namespace: str
    name: str
    before: Object
    after: Object
