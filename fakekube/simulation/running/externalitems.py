"""External APIs that a test declares: their items, and what has changed in them.

The fake is any iterable. It is looked at when an operator makes a request, when a reconcile ends, and when the cluster
is quiescent; an item that appears and disappears between two looks is not seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fakekube.simulation.anchor import UID, external_target

#: Parts of an item that differ between correct runs: uids, times, and the addresses of Python objects.
_VARYING = re.compile(rf"{UID.pattern}|20\d\d-\d\d-\d\d[T_ ]?[\d:.]*Z?|\b20\d{{6}}[-T_]?\d{{4,6}}Z?\b| at 0x[0-9a-f]+")


def text_of(item: object) -> str:
    """An item as text, with `*` in place of uids and times."""
    return _VARYING.sub("*", str(item))


class ExternalItems:
    """The external APIs of one run by name, and the targets of the items that each had when it was last looked at."""

    def __init__(self) -> None:
        self._fakes: dict[str, Iterable[Any]] = {}
        self._known: Counter[str] = Counter()

    @property
    def is_empty(self) -> bool:
        """Whether no API is declared."""
        return not self._fakes

    def declare(self, name: str, fake: Iterable[Any]) -> None:
        """Look at an API from now on. What it has is no change."""
        self._fakes[name] = fake
        self._known = Counter(self.targets())

    def targets(self) -> Sequence[str]:
        """The targets of all items that exist now."""
        return [external_target(name, text_of(item)) for name, fake in self._fakes.items() for item in fake]

    def changes(self) -> Iterator[tuple[str, str]]:
        """What has changed since the last look: `delete` or `create`, and the target of the item."""
        known, self._known = self._known, Counter(self.targets())
        yield from (("delete", target) for target in (known - self._known).elements())
        yield from (("create", target) for target in (self._known - known).elements())
