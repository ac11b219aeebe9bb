"""Raises an exception in another thread that runs Python code."""

import _thread
import ctypes
import sys

_set = ctypes.pythonapi.PyThreadState_SetAsyncExc

#: In CPython 3.11, an exception that waits for a thread makes each traced function (coverage, debuggers) of every other
#: thread repeat its first instruction, for ever if that thread waits in C code.
_WAITING_STOPS_TRACED_CODE = sys.version_info < (3, 12)


class _Withdrawn(Exception):
    """Raised in the calling thread, which resets the interpreter's flag that an exception waits."""


def raise_in(ident: int, error: type[BaseException]) -> None:
    """Raise `error` in the thread `ident` when it executes its next bytecode; a call of C code is not interrupted."""
    _set(ctypes.c_ulong(ident), ctypes.py_object(error))


def interrupt(ident: int, error: type[BaseException], ended: "_thread.LockType", seconds: float) -> bool:
    """Raise `error` in the thread `ident`; returns whether it released `ended` within real `seconds`.

    If it did not, the exception is withdrawn. No Python function may be called meanwhile, see above.
    """
    thread, nothing, own = ctypes.c_ulong(ident), ctypes.py_object(), ctypes.c_ulong(_thread.get_ident())
    raised, withdrawn = ctypes.py_object(error), ctypes.py_object(_Withdrawn)
    _set(thread, raised)
    if ended.acquire(timeout=seconds):
        return True
    _set(thread, nothing)
    if _WAITING_STOPS_TRACED_CODE:
        try:
            _set(own, withdrawn)
            for _ in range(2):
                pass
        except _Withdrawn:
            pass
    return False
