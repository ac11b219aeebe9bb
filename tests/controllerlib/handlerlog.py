"""Handlers that log their notifications, one line each."""

import asyncio
from collections.abc import Callable
from typing import Any

from controllerlib.cache.sharedinformer import SharedIndexInformer
from tests.controllerlib.objects import named


class HandlerLog:
    """Logs `add a@1!` (of the initial list), `update a@1>2`, `delete a@3`, `delete a@3?` (a tombstone)."""

    def __init__(self, before: Callable[[str], Any] | None = None) -> None:
        self.log: list[str] = []
        self.at: list[float] = []
        self._before = before

    def on_add(self, obj: Any, is_in_initial_list: bool) -> Any:
        return self._note(f"add {named(obj)}{'!' if is_in_initial_list else ''}")

    def on_update(self, old: Any, new: Any) -> Any:
        return self._note(f"update {named(old)}>{new['metadata'].get('resourceVersion', '')}")

    def on_delete(self, obj: Any) -> Any:
        return self._note(f"delete {named(obj)}")

    def since(self, moment: float) -> list[str]:
        return [line for line, at in zip(self.log, self.at, strict=True) if at >= moment]

    def _note(self, line: str) -> Any:
        self.log.append(line)
        self.at.append(asyncio.get_running_loop().time())
        return self._before(line) if self._before else None


async def advance(seconds: float = 0.0) -> None:
    """Advance virtual time and run everything that is due."""
    await asyncio.get_running_loop().advance(seconds)  # type: ignore[attr-defined]


async def running(informer: SharedIndexInformer, seconds: float = 0.0) -> "asyncio.Task[None]":
    """Start an informer and advance virtual time."""
    task = asyncio.create_task(informer.run(), name="informer")
    await advance(seconds)
    return task


__all__ = ["HandlerLog", "advance", "running"]
