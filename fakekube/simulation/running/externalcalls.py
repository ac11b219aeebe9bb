"""Calls of operators to external APIs: each is recorded, and may fail, lose its answer or be answered late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from fakekube.simulation.anchor import Anchor, external_target
from fakekube.simulation.running.externalitems import text_of
from fakekube.simulation.running.injection import Injection
from fakekube.simulation.running.recorder import Actor, Recorder

#: Special methods that are calls: those of a dict as an API.
_ITEMS = {"__getitem__": "getitem", "__setitem__": "setitem", "__delitem__": "delitem"}


class ExternalCalls:
    """The calls to external APIs in one run. `actor`: returns the operator whose code runs, None for others.

    `look`: called with an operator after each of its calls, to record what that has changed.
    """

    def __init__(
        self,
        recorder: Recorder,
        injection: Injection,
        actor: Callable[[], Actor | None],
        look: Callable[[Actor], object],
    ) -> None:
        self._recorder, self._injection, self._actor, self._look = recorder, injection, actor, look

    def wrapped(self, name: str, fake: Any, error: Callable[[], BaseException]) -> Any:
        """What stands for a fake: calls of its public methods by operators may fail with `error`."""

        def method(called: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def anchor(actor: Actor, args: Sequence[Any], named: Mapping[str, Any], waits: bool) -> Anchor:
                item = next((text_of(one) for one in (*args, *named.values()) if isinstance(one, str | int)), "")
                target = external_target(name, f"{called}/{item}" if item else called)
                return self._recorder.called(target, actor, waits)

            @wraps(function)
            def call(*args: Any, **named: Any) -> Any:
                actor = self._actor()
                if actor is None:
                    return function(*args, **named)
                at = anchor(actor, args, named, False)
                self._begin(at, error)
                found = function(*args, **named)
                self._end(at, actor, error)
                return found

            @wraps(function)
            async def awaited(*args: Any, **named: Any) -> Any:
                actor = self._actor()
                if actor is None:
                    return await function(*args, **named)
                at = anchor(actor, args, named, True)
                self._begin(at, error)
                found = await function(*args, **named)
                self._end(at, actor, error)
                gate = asyncio.Event()
                if self._injection.holds_answer(at, gate.set):
                    await gate.wait()
                return found

            return awaited if iscoroutinefunction(function) else call

        return _standing_for(fake, method)

    def _begin(self, at: Anchor, error: Callable[[], BaseException]) -> None:
        if self._injection.before_read(at):
            raise error()

    def _end(self, at: Anchor, actor: Actor, error: Callable[[], BaseException]) -> None:
        self._look(actor)
        if self._injection.loses(at):
            raise error()


def _standing_for(fake: Any, method: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Any:
    """An object that has all attributes of another one, with `method(name, function)` in place of public methods."""

    def get(self: object, name: str) -> Any:
        found = getattr(fake, name)
        return method(name, found) if callable(found) and not name.startswith("_") else found

    def special(name: str) -> Callable[..., Any]:
        function = getattr(fake, name)
        function = method(_ITEMS[name], function) if name in _ITEMS else function
        return lambda self, *args, **named: function(*args, **named)

    known = type(fake)
    names = [one for one in dir(known) if one.startswith("__") and one not in dir(type)] + ["__eq__", "__repr__"]
    members: dict[str, Any] = {one: special(one) for one in names if callable(getattr(fake, one, None))}
    members["__getattr__"] = get
    members["__setattr__"] = lambda self, name, value: setattr(fake, name, value)
    members["__class__"] = property(lambda self: known)
    return type(known.__name__, (), members)()
