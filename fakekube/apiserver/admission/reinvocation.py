"""Reinvocation of mutating policies and webhooks if the object has changed since their first invocation
(`apiserver/pkg/admission/reinvocation.go`, `plugin/webhook/mutating/reinvocationcontext.go`)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from fakekube.struct import Struct, field

Object = dict[str, Any]


class Calls(Struct):
    """The invocations of the webhooks or policies for one request.

    `second`: this is the second round, in which only those are invoked that were invoked in the first round, have
    reinvocationPolicy IfNeeded, and precede a change of the object.
    """

    second: bool = False
    changed: bool = False
    """The object was changed in the first round."""
    _before: set[Hashable] = field(default_factory=set)
    _again: set[Hashable] = field(default_factory=set)
    _output: Object | None = None

    def begin_again(self, obj: Object | None) -> None:
        """Begin the second round with the object as other plugins have changed it."""
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
        """End a round. `touched`: treat the object as changed even if it is equal, as for policies."""
        self._output = obj
        if touched:
            self.changed = True
            self._require()

    def _require(self) -> None:
        self._again |= self._before
        self._before = set()
