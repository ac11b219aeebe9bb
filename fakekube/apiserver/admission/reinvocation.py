"""A second round of mutation: what changed an object after others had seen it has them called again, once
(`apiserver/pkg/admission/reinvocation.go`, `plugin/webhook/mutating/reinvocationcontext.go`)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]


@dataclass(slots=True)
class Calls:
    """The calls of one plugin for one request: who asked to be called again if somebody changes the object later, and
    whom that has happened to. `second` is the round; what was not called in the first is not called in it either."""

    second: bool = False
    changed: bool = False
    """Somebody changed the object in the first round."""
    _before: set[Hashable] = field(default_factory=set)
    _again: set[Hashable] = field(default_factory=set)
    _output: Object | None = None

    def begin_again(self, obj: Object | None) -> None:
        """The second round, with the object as other plugins have left it."""
        self.second = True
        if obj != self._output:
            self._require()

    def is_wanted(self, key: Hashable) -> bool:
        return not self.second or key in self._again

    def called(self, key: Hashable, *, changed: bool, reinvocable: bool) -> None:
        if changed:
            self.changed = True
            self._require()
        if reinvocable:
            self._before.add(key)

    def end(self, obj: Object | None, *, touched: bool = False) -> None:
        """The round is over; `touched`: even what changed nothing counts, as it does for policies."""
        self._output = obj
        if touched:
            self.changed = True
            self._require()

    def _require(self) -> None:
        self._again |= self._before
        self._before = set()
