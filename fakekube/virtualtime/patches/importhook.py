"""Imports under frozen time: a module is executed with the real `datetime`, and frozen afterwards.

A class that is built with the fake one, as the pydantic models of the official client are when they are first used,
fails or stays fake for the rest of the process.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class RealTimeFinder:
    """The first finder of `sys.meta_path`: delegates to the others, and wraps the execution of the module."""

    def __init__(self, before: Callable[[], None], after: Callable[[ModuleType], None]) -> None:
        self._before = before
        self._after = after

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
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
            self._before()
            try:
                real(module)
            finally:
                self._after(module)

        loader.exec_module = exec_module
