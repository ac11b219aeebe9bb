"""The names of operators, and the names under which records show their controllers."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

#: What is replaced in the name of a controller that names its operator.
_UNUSABLE = re.compile(r"[^\w.-]+")

_TRACE = re.compile(r"([\w.-]+)(?:@(\d+))?(?:/(.*)#(\d+))?", re.DOTALL)

#: The name of the operator whose controllers are the cluster's own.
CLUSTER = "cluster"


def unique_name(name: str, taken: Collection[str]) -> str:
    """`name`, or with the first number from 2 on that makes it unique: "db", "db-2"."""
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


class Identity(NamedTuple):
    """An operator by name and incarnation: 1, and one more after each restart."""

    operator: str
    incarnation: int

    def __str__(self) -> str:
        return self.operator if self.incarnation == 1 else f"{self.operator}@{self.incarnation}"


class Trace(NamedTuple):
    """Who made a request: an operator, and the controller and the serial of its reconcile ("" and 0: none)."""

    identity: Identity
    controller: str
    serial: int

    def __str__(self) -> str:
        return f"{self.identity}/{self.controller}#{self.serial}" if self.serial else str(self.identity)

    @classmethod
    def parse(cls, text: str) -> Trace | None:
        """The trace of a request's record; None if it is not one of an operator."""
        found = _TRACE.fullmatch(text)
        if found is None:
            return None
        operator, incarnation, controller, serial = found.groups()
        return cls(Identity(operator, int(incarnation or 1)), controller or "", int(serial or 0))


class Identities:
    """The operators of a cluster, and which of them have a controller of a name."""

    def __init__(self) -> None:
        self._latest: dict[str, Identity] = {}
        self._owners: dict[str, dict[Identity, None]] = {}
        self._kinds: dict[tuple[Identity, str], tuple[str, str]] = {}

    def claim(self, name: str, default: str) -> Identity:
        """The identity of a new operator: `name`, or `default` with a number that makes it unique ("db", "db-2").

        Raises TypeError, ValueError for a `name` that is not a word, or in use.
        """
        if not isinstance(name, str):
            raise TypeError(f"name={name!r}: the name of an operator is text")
        if _UNUSABLE.search(name):
            raise ValueError(f"name={name!r}: the name of an operator has letters, digits, '-', '_' and '.' only")
        default = _UNUSABLE.sub("-", default)
        if name in self._latest:
            raise ValueError(f"name={name!r} is in use by another operator (in use: {', '.join(self._latest)})")
        unique = name or unique_name(default, self._latest)
        self._latest[unique] = Identity(unique, 1)
        return self._latest[unique]

    def next_incarnation(self, operator: str) -> Identity:
        """The identity of an operator after a restart. Raises KeyError for an unknown name."""
        if operator not in self._latest:
            raise KeyError(f"no operator {operator!r} (operators: {', '.join(self._latest) or 'none'})")
        self._latest[operator] = Identity(operator, self._latest[operator].incarnation + 1)
        return self._latest[operator]

    def has_controller(self, identity: Identity, controller: str) -> None:
        """Note that the operator has a controller of this name."""
        self._owners.setdefault(controller, {})[identity] = None

    def reconciles(self, identity: Identity, controller: str, api_version: str, kind: str) -> None:
        """Note of which kind the keys of a controller are; the first that is noted remains."""
        self._kinds.setdefault((identity, controller), (api_version, kind))

    def kind(self, identity: Identity, controller: str) -> tuple[str, str] | None:
        """The apiVersion and kind of a controller's keys, if they are known."""
        return self._kinds.get((identity, controller))

    def lane(self, identity: Identity, controller: str) -> str:
        """The name of a controller in records: with its operator if several have one of this name ("db-2/backup")."""
        return controller if len(self._owners.get(controller, ())) < 2 else f"{identity}/{controller}"
