"""Results that are remembered by the text of a JSON value.

Tests, operators and controllers write the same spec many times. What a rule says about it depends on its text alone,
which is found more quickly than the rule is followed. (`registry.generic.validation.rules.memoized` is for rules about
a few scalars.)
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import orjson

from fakekube.apiserver.features import current

R = TypeVar("R")

#: The number of results that a function remembers, and of marks that it has noted; beyond it, all are forgotten.
MOST, MOST_NOTED = 1024, 4096

#: The longest text in bytes that is kept; of longer ones a digest is.
LONGEST = 4 * 1024


class Remembered(Generic[R]):
    """A function of the spec of a built-in kind, of immutable objects such as a schema, and of the server's features.

    A result is remembered when its text comes again: many specs come once, and what is kept costs more than a mark.
    Equal texts have one result, so it must not be changed. What differs only in what orjson writes alike (NaN and null,
    `WholeFloat(1)` and 1, tuples and lists) has one text; such values are not in decoded specs of built-in kinds.
    """

    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self._results: dict[tuple[object, ...], tuple[R, tuple[object, ...]]] = {}
        self._noted: set[int] = set()

    def __call__(self, spec: Any, *others: object) -> R:
        """Calls the function, or returns what it has returned for this text and the same others (not: equal ones)."""
        selector = spec.get("selector") if type(spec) is dict else None
        labels = selector.get("matchLabels") if type(selector) is dict else None
        if type(labels) is dict and self._note(tuple(labels.items())):
            return self._function(spec, *others)  # most specs of workloads differ in their labels, and need no text
        try:
            text = orjson.dumps(spec)
        except TypeError:  # what orjson cannot encode, such as integers beyond 64 bits
            return self._function(spec, *others)
        others_and_features = (*others, current())
        key: tuple[object, ...] = (
            text if len(text) <= LONGEST else blake2b(text).digest(),
            *map(id, others_and_features),
        )
        found = self._results.get(key)
        if found is not None:
            return found[0]
        result = self._function(spec, *others)
        if not self._note(key):
            if len(self._results) >= MOST:
                self._results.clear()
            self._results[key] = result, others_and_features  # kept, so that no other object gets their identity
        return result

    def _note(self, mark: object) -> bool:
        """Notes that a text, or labels, have come; returns whether it is for the first time."""
        try:
            noted = hash(mark)
        except TypeError:  # values that are no labels
            return False
        if noted in self._noted:
            return False
        if len(self._noted) >= MOST_NOTED:
            self._noted.clear()
        self._noted.add(noted)
        return True
