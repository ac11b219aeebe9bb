"""The names of operators, and the names under which records show their controllers."""

from __future__ import annotations

from typing import NamedTuple


class Identity(NamedTuple):
    """An operator by name and incarnation: 1, and one more after each restart."""

    operator: str
    incarnation: int

    def __str__(self) -> str:
        return self.operator if self.incarnation == 1 else f"{self.operator}@{self.incarnation}"


class Identities:
    """The operators of a cluster, and which of them have a controller of a name."""

    def __init__(self) -> None:
        self._latest: dict[str, Identity] = {}
        self._owners: dict[str, dict[Identity, None]] = {}

    def claim(self, name: str, default: str) -> Identity:
        """The identity of a new operator: `name`, or `default` with a number that makes it unique ("db", "db-2").

        Raises ValueError for a `name` that is in use.
        """
        if name in self._latest:
            raise ValueError(f"name={name!r} is in use by another operator (in use: {', '.join(self._latest)})")
        unique, number = name or default, 1
        while unique in self._latest:
            number += 1
            unique = f"{default}-{number}"
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

    def lane(self, identity: Identity, controller: str) -> str:
        """The name of a controller in records: with its operator if several have one of this name ("db-2/backup")."""
        return controller if len(self._owners.get(controller, ())) < 2 else f"{identity}/{controller}"
