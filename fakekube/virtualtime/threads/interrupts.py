"""Raises an exception in another thread that runs Python code."""

import ctypes


def raise_in(ident: int, error: type[BaseException]) -> None:
    """Raise `error` in the thread `ident` when it executes its next bytecode; a call of C code is not interrupted."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))
