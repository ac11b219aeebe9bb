"""Tests of controllerlib run on a virtual-time loop: a coroutine test is a task on it, and time advances when it
waits.
"""

import asyncio
import inspect

import pytest

from fakekube.virtualtime import VirtualTimeLoop


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    if "fakekube" in pyfuncitem.fixturenames:  # the plugin of the fixture runs the test on its own loop
        return None
    names = pyfuncitem._fixtureinfo.argnames
    loop = VirtualTimeLoop()
    try:
        loop.run_until_complete(_run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})))
    finally:
        loop.close()
    return True


async def _run(test: object) -> None:
    """Run the test, and then cancel the tasks that it left running, oldest first."""
    try:
        await test  # type: ignore[misc]
    finally:
        mine = asyncio.current_task()
        left = sorted((task for task in asyncio.all_tasks() if task is not mine), key=lambda task: task.get_name())
        for _ in range(3):  # tasks may need a second cancellation
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True) if all(t.done() for t in left) else await _turns()


async def _turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)  # noqa: TID251  turns of the loop, not time


@pytest.fixture
def seen() -> list[object]:
    return []
