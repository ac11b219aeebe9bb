"""Where coroutines come from: their functions, and the code that calls or drops them."""

from __future__ import annotations

import asyncio
import dis
import gc
import inspect
import types
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fakekube.harness.detectors.texts.places import CONTROLLERLIB, FAKEKUBE, LIBRARIES

#: Where the tasks of the project itself come from, which end with their operator.
_OWN = (CONTROLLERLIB, FAKEKUBE)

#: What refers to no objects of an operator.
_LEAVES = (type, types.ModuleType, types.CodeType, types.FrameType, str, bytes, int, float, types.NoneType)

#: Packages whose tasks belong to connections.
_CONNECTIONS = tuple(f"/site-packages/{name}/" for name in ("aiohttp", "httpx", "httpcore", "anyio", "grpc"))


#: What objects of these modules refer to is not searched: it is large, or belongs to the library.
_NOT_SEARCHED = (
    "asyncio",
    "fakekube",
    "logging",
    "controllerlib.cache",
    "controllerlib.client",
    "controllerlib.workqueue",
)

#: The most objects that are searched.
_SEARCHED = 5_000


def unstarted(roots: Iterable[object]) -> Sequence[types.CoroutineType[Any, Any, Any]]:
    """The coroutines that have never run and that objects keep, directly or by others."""
    found, seen, ahead = [], set[int](), deque(roots)
    while ahead and len(seen) < _SEARCHED:
        one = ahead.popleft()
        if id(one) in seen or isinstance(one, _LEAVES) or type(one).__module__.startswith(_NOT_SEARCHED):
            continue
        seen.add(id(one))
        if isinstance(one, types.CoroutineType):
            if inspect.getcoroutinestate(one) == inspect.CORO_CREATED:
                found.append(one)
        elif isinstance(one, types.FunctionType):
            ahead.extend((one.__closure__, one.__defaults__, one.__kwdefaults__))
        else:
            ahead.extend(gc.get_referents(one))
    return found


def is_of_controllerlib(coro: Any) -> bool:
    """Whether a coroutine is one of controllerlib's functions."""
    return _file_of(coro).startswith(CONTROLLERLIB)


def is_ours(coro: Any) -> bool:
    """Whether a coroutine is one of the project itself, or of a connection."""
    name = _file_of(coro)
    return name.startswith(_OWN) or any(one in name for one in _CONNECTIONS)


def is_library(coro: Any) -> bool:
    """Whether a coroutine is a function of a library, or of the project itself."""
    return _file_of(coro).startswith(LIBRARIES)


def _file_of(coro: Any) -> str:
    code = getattr(coro, "cr_code", None) or getattr(coro, "gi_code", None)
    return getattr(code, "co_filename", "")


#: In place of the place of a call. Asyncio tracks where coroutines are created if the variable is set.
UNKNOWN_PLACE = " (the place of the call is not known; PYTHONASYNCIODEBUG=1 finds it)"


def called_at(coro: Any, dropped_by: types.FrameType) -> str:
    """Where a coroutine that was never awaited was called, for a text; empty if that is not known.

    That is known if the line of the call has dropped it, or if asyncio tracks it: " (op.py:30)". Else the line that has
    dropped it from a variable: " (dropped at op.py:31)".
    """
    if created := created_at(coro):
        return f" ({created})"
    return dropped_at(dropped_by)


def created_at(coro: Any) -> str:
    """The innermost line of the code under test that has created a coroutine: "op.py:30"; empty if not tracked."""
    for file, line, _ in getattr(coro, "cr_origin", None) or ():
        if not file.startswith(LIBRARIES):
            return f"{Path(file).name}:{line}"
    return ""


def dropped_at(frame: types.FrameType) -> str:
    """The line that has dropped a coroutine: " (op.py:30)"; empty if a library or the garbage collection did.

    That is the line of the call, unless a variable had it. To track where coroutines are created would slow down every
    call of every coroutine.
    """
    code = frame.f_code
    if code.co_filename.startswith(LIBRARIES):
        return ""
    instruction = dis.opname[code.co_code[frame.f_lasti]]
    lines = [start for start, *_ in code.co_positions()][: frame.f_lasti // 2 + 1]
    known = next((one for one in reversed(lines) if one is not None), frame.f_lineno)  # jumps have no line
    line = f"{Path(code.co_filename).name}:{known}"
    if instruction == "POP_TOP":
        return f" ({line})"
    return f" (dropped at {line})" if instruction.startswith(("STORE_", "DELETE_")) else ""


def definition_of(coro: Any) -> str:
    """The file and line of the function of a coroutine."""
    code = getattr(coro, "cr_code", None) or getattr(coro, "gi_code", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else "?"


def named(coro: Any) -> str:
    """The qualified name of a coroutine, with the file and line of its function."""
    code = getattr(coro, "cr_code", None) or getattr(coro, "gi_code", None)
    name = getattr(coro, "__qualname__", None) or repr(coro)
    return f"{name} ({definition_of(coro)})" if code is not None else str(name)


def failed_child(future: asyncio.Future[Any], error: BaseException) -> asyncio.Task[Any] | None:
    """The task of an `asyncio.gather` future that has failed with its error."""
    for child in getattr(future, "_children", ()):
        if isinstance(child, asyncio.Task) and child.done() and not child.cancelled() and child.exception() is error:
            return child
    return None


def tested_place(coro: Any) -> str:
    """The outermost function of the code under test in which a task waits: "in Cleaner.run (op.py:30)"."""
    while coro is not None and _file_of(coro).startswith(LIBRARIES):
        coro = getattr(coro, "cr_await", None)
    frame = getattr(coro, "cr_frame", None)
    return f"in {coro.__qualname__} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})" if frame else ""
