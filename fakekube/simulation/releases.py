"""Two releases of an operator: the function that an old one is started with, and that of the new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Start = Callable[..., Any]
"""What a test passes to `start`, `task` or `thread`."""


@dataclass(frozen=True, slots=True)
class Releases:
    """What an operator is started with in its old and in its new release. The test starts the new one."""

    old: Start
    new: Start


def releases_of(found: object) -> Releases | None:
    """The releases of `upgrade=(OLD, NEW)`, each a function or `"module:name"`; None for None.

    Raises TypeError, ValueError naming what is wrong.
    """
    if found is None:
        return None
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise TypeError(f"upgrade={found!r}: pass two functions, (old, new), each itself or as 'module:name'")
    old, new = map(_function, found)
    if old == new:
        raise ValueError(f"upgrade={found!r}: both releases are the same function")
    return Releases(old, new)


def _function(found: object) -> Start:
    if callable(found):
        return found
    if not isinstance(found, str):
        raise TypeError(f"upgrade: {found!r} is no function and no text 'module:name'")
    module, colon, name = found.partition(":")
    if not colon or not name:
        raise ValueError(f"upgrade: {found!r} must be 'module:name'")
    try:
        value: Any = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"upgrade: {found!r} cannot be imported: {error}") from None
    if not callable(value):
        raise TypeError(f"upgrade: {found!r} is {value!r}, which is no function")
    result: Start = value
    return result
