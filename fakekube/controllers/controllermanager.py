"""Adds the selected controllers to a manager (`cmd/kube-controller-manager/app`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from controllerlib import Client, Manager
from controllerlib.client import Transport
from fakekube.controllers.catalogue import BY_NAME, selection
from fakekube.controllers.context import USER_AGENT, ControllerContext
from fakekube.controllers.dormancy import Alarm, DormantManager
from fakekube.controllers.hold import HoldGate
from fakekube.controllers.scalingmetrics import Metrics
from fakekube.controllers.settings import Settings
from fakekube.struct import Struct

#: The user of the shared informers, and of the controllers' Events.
USER = "system:kube-controller-manager"


class ControllerManager(Struct, frozen=True):
    """A manager with the selected controllers of the cluster.

    `gates`: those of the work queues, by name. `parts`: what controllers offer to the harness: the "kubelet".
    """

    manager: Manager
    gates: dict[str, HoldGate]
    parts: dict[str, Any]
    metrics: Metrics | None = None
    """What HorizontalPodAutoscalers read before they request metrics."""

    def queue_name(self, controller: str) -> str:
        """The name of the work queue of a controller, by its name or alias. Raises KeyError."""
        found = BY_NAME.get(controller)
        name = controller if found is None else found.name
        if name not in self.manager.controllers:
            running = ", ".join(self.manager.controllers) or "none"
            select = f"; select it with controllers=[{controller!r}]" if found is not None and found.module else ""
            raise KeyError(f"no controller {controller!r} of the cluster runs{select} (running: {running})")
        return name


def controller_manager(
    names: Iterable[str],
    connect: Callable[[str], Transport],
    settings: Settings | None = None,
    *,
    alarm: Alarm | None = None,
    **options: Any,
) -> ControllerManager:
    """A manager with the controllers that `names` select, which is not started.

    `connect` returns the transport of a user. `alarm` wakes the controllers; without one they do not sleep. `options`
    are those of `controllerlib.Manager`. Raises ValueError for an unknown name. Nodes in the settings select the
    scheduler and the kubelet.
    """
    settings = settings or Settings()
    chosen = selection(names, len(settings.nodes or ()))
    made = Manager if alarm is None else partial(DormantManager, alarm)
    manager = made(Client(connect(USER), copies=False), user_agent=f"{USER_AGENT}/shared-informers", **options)
    context = ControllerContext(manager, connect, settings)
    for one in chosen:
        one.add(context)
    return ControllerManager(manager, context.gates, context.parts, settings.metrics)
