"""Calls the function of a coroutine once more: an operator that was killed is started again."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from types import CoroutineType, FunctionType
from typing import Any

Factory = Callable[[], Coroutine[Any, Any, Any]]


def factory_of(work: Coroutine[Any, Any, Any]) -> Factory | None:
    """Returns what makes a coroutine like this one: a call of its function with the same arguments.

    None if it has begun, or if its function is not known.
    """
    if not isinstance(work, CoroutineType) or inspect.getcoroutinestate(work) != inspect.CORO_CREATED:
        return None
    code, frame = work.cr_code, work.cr_frame
    functions = [one for one in gc.get_referents(work) if isinstance(one, FunctionType) and one.__code__ is code]
    if not functions or frame is None:
        return None
    function, named, values = functions[0], inspect.getargs(code), frame.f_locals
    count = code.co_argcount
    try:
        plain = [values[name] for name in named.args[:count]]
        keywords = {name: values[name] for name in named.args[count:]}
        rest = values[named.varargs] if named.varargs else ()
        more = values[named.varkw] if named.varkw else {}
    except KeyError:
        return None
    return partial(function, *plain, *rest, **keywords, **more)
