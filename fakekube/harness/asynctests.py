"""Runs async tests and async fixtures on the cluster's event loop, whatever plugin they are written for."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, Token, copy_context
from typing import Any

from fakekube.virtualtime import Bubble

Function = Callable[..., Any]


def is_async(function: object) -> bool:
    """Whether a test or a fixture is a coroutine function or an asynchronous generator function."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def synchronous(bubble: Bubble, test: Function) -> Function:
    """A sync function that runs the async test on the loop of the bubble."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        bubble.run(test(*args, **kwargs))

    return run


def set_up(
    bubble: Bubble, function: Function, arguments: Mapping[str, Any], at_end: Callable[[Callable[[], None]], None]
) -> Any:
    """The value of an async fixture; `at_end` takes what tears it down.

    Context variables that it sets are set in the test, too, and reset afterwards.
    """
    context = copy_context()
    if inspect.iscoroutinefunction(function):
        value = bubble.run(function(**arguments), context)
    else:
        fixture = _Generator(bubble, function(**arguments), function.__qualname__)
        value = fixture.set_up(context)
        at_end(fixture.tear_down)
    tokens = _adopt(context)
    if tokens:
        at_end(lambda: _reset(tokens))
    return value


class _Generator:
    """An asynchronous generator fixture: one task sets it up and tears it down, as cancel scopes of anyio require."""

    def __init__(self, bubble: Bubble, generator: AsyncGenerator[Any, None], name: str) -> None:
        self._bubble, self._generator, self._name = bubble, generator, name
        self._ready: asyncio.Future[Any] = bubble.loop.create_future()
        self._leave: asyncio.Future[None] = bubble.loop.create_future()
        self._task: asyncio.Task[None] | None = None

    def set_up(self, context: Context) -> Any:
        loop = self._bubble.loop
        self._task = loop.create_task(self._life(), name=f"fixture {self._name}", context=context)
        loop.tasks.own(self._task)
        return self._bubble.run(self._value(self._task))

    async def _value(self, task: asyncio.Task[None]) -> Any:
        await asyncio.wait([self._ready, task], return_when=asyncio.FIRST_COMPLETED)
        return self._ready.result() if self._ready.done() else await task

    def tear_down(self) -> None:
        if not self._leave.done():
            self._leave.set_result(None)
        self._bubble.run(self._ended())

    async def _ended(self) -> None:
        if self._task is not None:
            await self._task

    async def _life(self) -> None:
        value = await anext(self._generator)
        self._ready.set_result(value)
        await self._leave
        try:
            await anext(self._generator)
        except StopAsyncIteration:
            return
        await self._generator.aclose()
        raise RuntimeError(f"the fixture {self._name} yielded more than once")


def _adopt(context: Context) -> list[tuple[Any, Token[Any]]]:
    """Set the variables that differ in `context`."""
    current = copy_context()
    missing = object()
    return [(var, var.set(value)) for var, value in context.items() if current.get(var, missing) is not value]


def _reset(tokens: list[tuple[Any, Token[Any]]]) -> None:
    for var, token in reversed(tokens):
        var.reset(token)


@contextmanager
def on_loop(item: Any, bubble: Bubble) -> Iterator[None]:
    """Replaces the async function of a pytest item, so that other plugins see a sync one."""
    owner, name = _function_of(item)
    function = getattr(owner, name)
    if not inspect.iscoroutinefunction(function):
        yield
        return
    setattr(owner, name, synchronous(bubble, function))
    try:
        yield
    finally:
        setattr(owner, name, function)


def _function_of(item: Any) -> tuple[Any, str]:
    """The object and the attribute that holds the function of an item: hypothesis calls an inner one."""
    tested = getattr(item.obj, "hypothesis", None)
    return (item, "obj") if tested is None else (tested, "inner_test")
