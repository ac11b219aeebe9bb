"""Functions of the test that the server calls: what they raise fails the test, not only the request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from fakekube.apiserver.wire.status import StatusError
from fakekube.harness.unhandled import is_unhandled

F = TypeVar("F", bound=Callable[..., Any])


def reported(function: F, failed: Callable[[BaseException], None]) -> F:
    """`function`, whose exceptions are passed to `failed` before the server answers them with 500.

    A StatusError is an answer. Generator functions remain such. Raises TypeError for what is no function.
    """
    if not callable(function):
        raise TypeError(f"handler={function!r}: pass a function")

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except StatusError:
            raise
        except BaseException as error:  # a request becomes a response, whatever happens
            if is_unhandled(error):
                failed(error)
            raise

    @functools.wraps(function)
    def converse(*args: Any) -> Generator[Any, Any, Any]:
        try:
            return (yield from function(*args))
        except (StatusError, GeneratorExit):
            raise
        except BaseException as error:  # as above
            if is_unhandled(error):
                failed(error)
            raise

    return converse if inspect.isgeneratorfunction(function) else call  # type: ignore[return-value]


def takes_nothing(function: Callable[..., object]) -> bool:
    """Whether a function can be called without arguments."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a function in C
        return True
    return True
