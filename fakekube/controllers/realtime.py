"""The controllers in real time: beside a server of this process, or against any cluster.

This is `fakekube serve --controllers` and `fakekube controllers`. A server without controllers does not import
controllerlib.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fakekube.server.standalone import Options, Running, running

if TYPE_CHECKING:
    from fakekube.controllers.settings import Settings


@asynccontextmanager
async def cluster(options: Options, controllers: Sequence[str] = ()) -> AsyncIterator[Running]:
    """A server that listens until the context ends, with the selected controllers on its event loop.

    Each controller acts as its own service account. Raises CannotServe, and ValueError for an unknown name.
    """
    from fakekube.controllers.catalogue import admission_plugins

    plugins = [one for one in admission_plugins(controllers) if one not in options.disable_admission_plugins]
    options = replace(options, enable_admission_plugins=(*options.enable_admission_plugins, *plugins))
    async with running(options) as server:
        if not controllers:
            yield server
            return
        task = asyncio.create_task(_beside(server, controllers), name="controllers of the cluster")
        try:
            yield server
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _beside(server: Running, names: Sequence[str]) -> None:
    from fakekube.controllers.componentusers import component_user
    from fakekube.controllers.controllermanager import controller_manager
    from fakekube.controllers.settings import Settings
    from fakekube.server.certificates import Authority
    from fakekube.server.direct import DirectTransport

    runner = server.server.runner
    authority = server.authority or Authority()
    settings = Settings(
        root_ca=authority.certificate.decode(),
        sign_token=runner.apiserver.issuer.keys.sign,
        signing_ca=(authority.certificate, authority.key),
    )
    found = controller_manager(names, lambda user: DirectTransport(runner, user=component_user(user)), settings)
    await found.manager.start()


async def against(kubeconfig: Path, names: Sequence[str], settings: Settings | None = None) -> None:
    """Run the selected controllers against the cluster of a kubeconfig, all as its user, until cancelled.

    Raises ValueError for an unknown name, and what the manager fails with.
    """
    from controllerlib.client import HttpTransport
    from fakekube.controllers.controllermanager import controller_manager

    transport = HttpTransport.from_kubeconfig(str(kubeconfig))
    found = controller_manager(names, lambda user: transport, settings)
    try:
        await found.manager.start()
    finally:
        await transport.aclose()
