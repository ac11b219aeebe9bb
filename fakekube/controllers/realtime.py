"""The controllers in real time: beside a server of this process, or against any cluster.

This is `fakekube serve --controllers` and `fakekube controllers`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fakekube.apiserver.auth.authorizer import with_node_mode
from fakekube.controllers.catalogue import admission_plugins, selection
from fakekube.controllers.nodespec import numbered
from fakekube.server.standalone import Options, Running, running
from fakekube.struct import replace

if TYPE_CHECKING:
    from controllerlib.client import Headers, Query, Response, Transport
    from fakekube.controllers.controllermanager import ControllerManager
    from fakekube.controllers.scalingmetrics import Metrics
    from fakekube.server.process.pacedloop import PacedClock
    from fakekube.server.runner import ServerRunner

log: logging.Logger = logging.getLogger(__name__)

_NONE: Mapping[str, str] = MappingProxyType({})


def unsteered(running: Running, controllers: ControllerManager | None) -> None:
    """Without a control API there is nothing to do."""


@asynccontextmanager
async def cluster(
    options: Options,
    controllers: Sequence[str] = (),
    nodes: int | None = None,
    stages: Sequence[Path] = (),
    *,
    sock: socket.socket | None = None,
    clock: PacedClock | None = None,
    steer: Callable[[Running, ControllerManager | None], None] = unsteered,
) -> AsyncIterator[Running]:
    """A server that listens until the context ends, with the selected controllers on its event loop.

    Each controller acts as its own service account. With simulated nodes the scheduler and the kubelet run too, and
    RBAC has the Node authorizer before it. `stages`: files of stages of their pods. `sock`: what `taken` has returned
    for the address. `clock`: of the server and its controllers. `steer` is called with both before the controllers
    start. Raises CannotServe, and ValueError for an unknown name.
    """
    plugins = [one for one in admission_plugins(controllers) if one not in options.disable_admission_plugins]
    options = replace(options, enable_admission_plugins=(*options.enable_admission_plugins, *plugins))
    names = [one.name for one in selection(controllers, nodes)]
    if "kubelet" in names:
        options = replace(options, authorization_mode=with_node_mode(options.authorization_mode))
    async with running(options, sock, clock) as server:
        if not names:
            steer(server, None)
            yield server
            return
        found = _beside(server, controllers, nodes, stages, {} if clock is None else {"clock": clock})
        if "kubelet" in found.parts and found.metrics is not None:
            await serve_metrics(server.server.runner, found.metrics)
        steer(server, found)
        task = asyncio.create_task(found.manager.start(), name="controllers of the cluster")
        try:
            yield server
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def _beside(
    server: Running, names: Sequence[str], nodes: int | None, stages: Sequence[Path], more: Mapping[str, Any]
) -> ControllerManager:
    from fakekube.controllers.componentusers import component_user
    from fakekube.controllers.controllermanager import controller_manager
    from fakekube.controllers.scalingmetrics import Metrics
    from fakekube.controllers.settings import Settings
    from fakekube.controllers.waking import alarm_of, watch
    from fakekube.server.certificates import Authority
    from fakekube.server.direct import DirectTransport

    runner = server.server.runner
    authority = server.authority or Authority()
    settings = Settings(
        root_ca=authority.certificate.decode(),
        sign_token=runner.apiserver.issuer.keys.sign,
        signing_ca=(authority.certificate, authority.key),
        nodes=None if nodes is None else numbered(nodes),
        stages=stages,
        metrics=Metrics(),
        feature_gates=runner.apiserver.features.states,
    )
    alarm = alarm_of(runner)
    found = controller_manager(
        names,
        lambda user: DirectTransport(runner, user=component_user(user), shared=True),
        settings,
        alarm=alarm,
        **more,
    )
    watch(runner, alarm)
    if "kubelet" in found.parts:
        found.parts["kubelet"].answers.install(runner.apiserver.kubelet)
    runner.apiserver.more_metrics.append(partial(_exported, found))
    return found


async def serve_metrics(runner: ServerRunner, metrics: Metrics) -> None:
    """Serve metrics.k8s.io, unless the cluster has another server for it. It is discovered when this returns."""
    from fakekube.apiserver.user import ADMIN
    from fakekube.controllers import metricsserver
    from fakekube.server.direct import DirectTransport

    server = metricsserver.MetricsServer(runner.apiserver.store, metrics, lambda: runner.clock.now())
    runner.proxy.local[metricsserver.SERVICE] = server.answer
    runner.webhooks.services.setdefault(metricsserver.SERVICE, "https://metrics-server.kube-system.svc")
    client = DirectTransport(runner, user=ADMIN)
    for path, body in metricsserver.OBJECTS.items():
        client.request_now("POST", path, body=body)  # one of a data directory or of manifests stays
    await runner.check(metricsserver.API_SERVICE)


def _exported(found: ControllerManager) -> Iterable[str]:
    """The metrics of the controllers' work queues and reconciles as text."""
    yield found.manager.registry.text()


class Watched:
    """A transport that reports when its server does not answer, and when it does again."""

    def __init__(self, inner: Transport, url: str) -> None:
        self._inner, self._url = inner, url
        self._is_gone = False

    async def request(
        self, method: str, path: str, *, query: Query = (), headers: Headers = _NONE, body: Any = None
    ) -> Response:
        return await self._reported(self._inner.request(method, path, query=query, headers=headers, body=body))

    async def open_watch(self, path: str, *, query: Query = (), headers: Headers = _NONE) -> Response:
        return await self._reported(self._inner.open_watch(path, query=query, headers=headers))

    async def _reported(self, answer: Awaitable[Response]) -> Response:
        try:
            found = await answer
        except OSError as error:
            if not self._is_gone:
                self._is_gone = True
                log.error("the server %s does not answer, trying again: %s", self._url, error)
            raise
        if self._is_gone:
            self._is_gone = False
            log.warning("the server %s answers again", self._url)
        return found

    async def aclose(self) -> None:
        await self._inner.aclose()


async def against(
    kubeconfig: Path, names: Sequence[str], nodes: int | None = None, stages: Sequence[Path] = ()
) -> None:
    """Run the selected controllers against the cluster of a kubeconfig, all as its user, until cancelled.

    `nodes`: the number of simulated nodes; `stages`: files of stages of their pods. Storage drivers are not simulated:
    the cluster can have real ones. Raises ValueError for an unknown name, and what the manager fails with.
    """
    from controllerlib.client import HttpTransport
    from fakekube.controllers.controllermanager import controller_manager
    from fakekube.controllers.settings import Settings

    simulated = None if nodes is None else numbered(nodes)
    settings = Settings(nodes=simulated, stages=stages, storage_drivers=(), storage_class="")
    http = HttpTransport.from_kubeconfig(str(kubeconfig))
    transport = Watched(http, http.url)
    found = controller_manager(names, lambda user: transport, settings)
    try:
        await found.manager.start()
    finally:
        await transport.aclose()
