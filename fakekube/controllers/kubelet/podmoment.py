"""A pod at a moment: the object, the state of its containers at the kubelet, and what surrounds it on its node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from fakekube.controllers.kubelet.podrun import Container, Ended, PodRun, Role
from fakekube.controllers.kubelet.restartpolicy import restarts_after
from fakekube.controllers.kubelet.stage import Exit, Moment, Stage
from fakekube.struct import Struct

Pod = Mapping[str, Any]

#: Where containers are in the spec.
_FIELDS: Mapping[Role, str] = {
    "init": "initContainers",
    "sidecar": "initContainers",
    "main": "containers",
    "ephemeral": "ephemeralContainers",
}


class PodEvent(Struct, frozen=True):
    """An Event about a pod, or about one of its containers, which is in a list `field` of the spec."""

    kind: str
    reason: str
    message: str
    container: str = ""
    field: str = ""


class World(Protocol):
    """What surrounds a pod on its node."""

    def stage(self, at: Moment, pod: Pod, container: Container) -> tuple[Stage, float] | None:
        """The stage of a container at a moment, and its delay in seconds."""

    def scripts(self, pod: Pod, container: Container) -> Sequence[Any]:
        """The actions of the stages that script the probes of a container, the first one first."""

    def pull(self, image: str, policy: str) -> bool:
        """Whether an image has to be pulled; it is present from now on."""

    def volume_problem(self, pod: Pod) -> str:
        """The message about a volume that cannot be mounted, or ""."""

    def config_problem(self, pod: Pod, container: Mapping[str, Any]) -> str:
        """The message about a missing ConfigMap or Secret in the container's environment, or ""."""


class PodMoment(Struct):
    """`pod` is the object in the API, `run` the state at the kubelet, which changes."""

    run: PodRun
    pod: Pod
    world: World
    now: datetime
    record: Callable[[PodEvent], object]

    def may_start(self, one: Container) -> bool:
        """Whether a container that does not run is started, for the first time or again."""
        ended = one.termination
        return ended is None or restarts_after(one.spec, self.pod["spec"], ended.code)

    def end(self, one: Container, how: Exit) -> None:
        """End a container that runs."""
        reason = how.reason or ("Completed" if how.code == 0 else "Error")
        ended = Ended(how.code, reason, how.message, one.started_at, self.now, one.container_id)
        one.state, one.ended = "ended", ended
        one.ready = one.role == "init" and how.code == 0
        one.started = False
        one.stopping = ""
        one.probes.clear()
        one.plan(None, None)

    # --- events

    def note(self, one: Container, kind: str, reason: str, message: str) -> None:
        """Record an Event about a container."""
        self.record(PodEvent(kind, reason, message, one.name, _FIELDS[one.role]))

    def once(self, kind: str, reason: str, message: str) -> None:
        """Record an Event about the pod, unless it has been."""
        if message not in self.run.reported:
            self.run.reported.add(message)
            self.record(PodEvent(kind, reason, message))
