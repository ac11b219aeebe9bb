"""Results that are remembered by the text of a JSON value.

Tests, operators and controllers write the same pod template and the same spec many times. What a rule says about one
depends on its text alone, which is found more quickly than the rule is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import orjson

R = TypeVar("R")

#: The number of results that a function remembers, and of values that it knows to have seen; beyond it, all are
#: forgotten.
MOST, MOST_SEEN = 1024, 4096

#: The longest text in bytes that is kept; of longer ones a digest is.
LONGEST = 4 * 1024


class Remembered(Generic[R]):
    """A pure function of a JSON value and of objects that do not change, such as a schema.

    Results are remembered from the second time on: many values come once, and what is kept costs more than a digest.
    The text of a spec whose selector comes for the first time is not even made. Equal values have one result, so it
    must not be changed.
    """

    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self._results: dict[tuple[object, ...], tuple[R, tuple[object, ...]]] = {}
        self._seen: set[int] = set()

    def __call__(self, value: Any, *others: object) -> R:
        """What the function returns. For `others`, equality does not count: each object is another one."""
        if type(value) is dict and "selector" in value and self._selects_anew(value["selector"]):
            return self._function(value, *others)
        try:
            text = orjson.dumps(value)
        except TypeError:  # numbers that JSON of orjson does not have
            return self._function(value, *others)
        key = text if len(text) <= LONGEST else blake2b(text).digest(), *map(id, others)
        found = self._results.get(key)
        if found is not None:
            return found[0]
        result = self._function(value, *others)
        if not self._is_new(key):
            if len(self._results) >= MOST:
                self._results.clear()
            self._results[key] = result, others  # the others are kept, so that no object gets the identity of one
        return result

    def _is_new(self, mark: object) -> bool:
        """Whether a text or a selector comes for the first time."""
        digest = hash(mark)
        if digest in self._seen:
            return False
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen.add(digest)
        return True

    def _selects_anew(self, selector: Any) -> bool:
        """Whether a selector asks for labels that come for the first time."""
        labels = selector.get("matchLabels") if type(selector) is dict else None
        try:
            return type(labels) is dict and self._is_new(tuple(labels.items()))
        except TypeError:  # values that are no labels
            return False
