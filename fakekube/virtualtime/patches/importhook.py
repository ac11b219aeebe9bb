"""Imports under frozen time: a module is executed with the real `datetime`, and frozen after it.

A class that is built around the fake one while its module runs (pydantic models do it, and the official client is made
of them and loads them lazily) fails, or stays fake for the rest of the process.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class RealTimeFinder:
    """First on `sys.meta_path`: lets the others find a module, and stands around its execution."""

    def __init__(self, thaw: Callable[[], None], freeze: Callable[[ModuleType], None]) -> None:
        self._thaw = thaw
        self._freeze = freeze

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for finder in tuple(sys.meta_path):
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                self._surround(spec.loader)
                return spec
        return None

    def _surround(self, loader: Any) -> None:
        """Replace `exec_module` of this one loader, for one call."""
        real = getattr(loader, "exec_module", None)
        if real is None or isinstance(loader, type):  # built-in modules: nothing of theirs runs
            return

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            self._thaw()
            try:
                real(module)
            finally:
                self._freeze(module)

        loader.exec_module = exec_module
