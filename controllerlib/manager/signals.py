"""Running an operator as a process: credentials, manager and signals (controller-runtime: pkg/manager/signals)."""

import asyncio
import inspect
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from controllerlib.client.transport import Transport
from controllerlib.manager.manager import Manager

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run `work`; the first SIGTERM or SIGINT cancels it, a second one ends the process with status 1.

    Returns when `work` ends, also after a signal; raises its exceptions. Must be called in the main thread (ValueError
    elsewhere). In controller-runtime: SetupSignalHandler.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work, name="operator")
    signalled = False

    def handle() -> None:
        nonlocal signalled
        if signalled:
            os._exit(1)
        signalled = True
        task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, handle)
    try:
        await task
    except asyncio.CancelledError:
        if not signalled:
            raise
    finally:
        task.cancel()
        for number in SIGNALS:
            loop.remove_signal_handler(number)


def run(
    build: Callable[[Manager], Awaitable[None] | None],
    *,
    transport: Transport | None = None,
    metrics_bind_address: str = ":8080",
    **options: Any,
) -> None:
    """Run an operator in this process until SIGTERM or SIGINT, then stop it in order.

    A leader releases its lease then if its `LeaderElectionOptions` have `release_on_cancel=True`; by default the lease
    expires, as in controller-runtime. `build` adds controllers to the manager; it may be a coroutine function.
    `transport` None connects to the cluster that get_config finds. `options` are those of Manager;
    `metrics_bind_address` "0" disables the metrics server.
    Raises the exceptions of `Manager.start`; after LeaderElectionLost the process must end.
    """
    asyncio.run(_run(build, transport, {**options, "metrics_bind_address": metrics_bind_address}))


async def _run(
    build: Callable[[Manager], Awaitable[None] | None], transport: Transport | None, options: dict[str, Any]
) -> None:
    if transport is None:
        from controllerlib.client.http import HttpTransport

        transport = HttpTransport.from_environment()
    manager = Manager(transport, **options)
    answer = build(manager)
    if inspect.isawaitable(answer):
        await answer
    try:
        await until_signal(manager.start())
    finally:
        await transport.aclose()
