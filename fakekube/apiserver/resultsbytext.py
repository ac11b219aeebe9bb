"""Results that are remembered by the text of a JSON value.

Tests, operators and controllers write the same spec many times. What a rule says about it depends on its text alone,
which is found more quickly than the rule is followed. (`registry.generic.validation.rules.memoized` is for rules about
a few scalars.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import orjson

from fakekube.apiserver.features import current
from fakekube.apiserver.names import label_value_problems

R = TypeVar("R")

#: The number of results that a function remembers, and of marks that it has noted; beyond it, all are forgotten.
MOST, MOST_NOTED = 1024, 4096

#: The longest text in bytes that is kept; of longer ones a digest is.
LONGEST = 4 * 1024


class Remembered(Generic[R]):
    """A function of the spec of a built-in kind, of immutable objects such as a schema, and of the server's features.

    Its result depends on the names of a template's labels, but not on their values, if all are valid and the selector's
    are among them.

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
        try:
            bare, labels = _without_label_values(spec)
            text = orjson.dumps(bare)
        except TypeError:  # what orjson cannot encode, such as integers beyond 64 bits; labels that are no texts
            return self._function(spec, *others)
        others_and_features = (*others, current())
        key: tuple[object, ...] = (
            text if len(text) <= LONGEST else blake2b(text).digest(),
            labels,
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

    def _note(self, key: object) -> bool:
        """Notes that a text has come; returns whether it is for the first time."""
        noted = hash(key)
        if noted in self._noted:
            return False
        if len(self._noted) >= MOST_NOTED:
            self._noted.clear()
        self._noted.add(noted)
        return True


def _without_label_values(spec: Any) -> tuple[Any, object]:
    """A spec without the labels of its template and its selector, and their names: most specs differ in the values.

    Specs whose labels matter are returned as they are: one may be invalid, or the selector may not select them.
    """
    if type(spec) is not dict:
        return spec, None
    selector, template = spec.get("selector"), spec.get("template")
    if type(selector) is not dict or type(template) is not dict or selector.get("matchExpressions"):
        return spec, None
    meta, selected = template.get("metadata"), selector.get("matchLabels")
    if type(meta) is not dict or type(selected) is not dict:
        return spec, None
    labels = meta.get("labels")
    if (
        type(labels) is not dict
        or not selected.items() <= labels.items()
        or not all(map(_is_label_value, labels.values()))
    ):
        return spec, None
    named = {**template, "metadata": {**meta, "labels": None}}
    return {**spec, "selector": {**selector, "matchLabels": None}, "template": named}, (*selected, None, *labels)


@lru_cache(MOST_NOTED)
def _is_label_value(value: str) -> bool:
    # `validation.content` remembers the problems of a value, but is above this module
    return not label_value_problems(value)
