"""Calls listeners before and after a module is executed that is imported while they listen.

Frozen time needs it: a class that is built with the fake `datetime`, as the pydantic models of the official client are
when they are first used, fails or stays fake for the rest of the process. So a module is executed with the real one,
and frozen afterwards.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class ImportHook:
    """The first finder of `sys.meta_path` while it has listeners: delegates to the others, and wraps the execution."""

    def __init__(self) -> None:
        self._listeners: list[tuple[Callable[[], None], Callable[[ModuleType], None]]] = []

    def listen(
        self, after: Callable[[ModuleType], None], before: Callable[[], None] | None = None
    ) -> Callable[[], None]:
        """Call `before` and `after` around the execution of each module. Returns a function that removes them."""
        listener = (before or _nothing, after)
        if not self._listeners:
            sys.meta_path.insert(0, self)
        self._listeners.append(listener)
        return partial(self._remove, listener)

    def _remove(self, listener: tuple[Callable[[], None], Callable[[ModuleType], None]]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners and self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for finder in tuple(sys.meta_path):
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                self._wrap(spec.loader)
                return spec
        return None

    def _wrap(self, loader: Any) -> None:
        """Replace `exec_module` of this loader for one call."""
        real = getattr(loader, "exec_module", None)
        if real is None or isinstance(loader, type):  # built-in modules execute no Python
            return

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            listeners = tuple(self._listeners)
            for before, _ in listeners:
                before()
            try:
                real(module)
            finally:
                for _, after in reversed(listeners):
                    after(module)

        loader.exec_module = exec_module


def _nothing() -> None:
    pass


IMPORTS = ImportHook()
"""The hook of the process."""
