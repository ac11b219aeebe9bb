"""The state of a pod at its kubelet: what it would read from the container runtime and from its probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from fakekube.controllers.kubelet.stage import Action, Probe
from fakekube.controllers.workload.podstate import moment
from fakekube.struct import Struct, field

Pod = Mapping[str, Any]
Role = Literal["init", "sidecar", "main", "ephemeral"]


class Ended(Struct, frozen=True):
    """How a container ended."""

    code: int
    reason: str
    message: str = ""
    started: datetime | None = None
    finished: datetime | None = None
    container_id: str = ""


class Backoff(Struct):
    """The back-off of a container or an image (client-go: flowcontrol.Backoff)."""

    seconds: float = 0.0
    updated: datetime | None = None

    INITIAL = 10.0
    LONGEST = 300.0

    def until(self, event: datetime) -> float:
        """The seconds after `event`, the last failure, during which nothing is tried."""
        return 0.0 if self._expired(event) else self.seconds

    def next(self, event: datetime, now: datetime) -> None:
        """Something is tried now; the next back-off is twice as long."""
        fresh = self.seconds == 0.0 or self._expired(event)
        self.seconds = self.INITIAL if fresh else min(self.seconds * 2, self.LONGEST)
        self.updated = now

    def _expired(self, event: datetime) -> bool:
        return self.updated is not None and (event - self.updated).total_seconds() > 2 * self.LONGEST


class ProbeState(Struct):
    """The consecutive results of a probe. `due`: when it is tried next; None while its result cannot change."""

    probe: Probe
    result: bool
    count: int = 0
    due: datetime | None = None


class Container(Struct):
    """A container. `pending` happens at `due`; `state` is what its status shows.

    `waiting`: reason and message while it waits. `ended`: how it ended last, `last`: how it ended before that.
    """

    name: str
    spec: Mapping[str, Any]
    role: Role
    state: Literal["waiting", "running", "ended"] = "waiting"
    waiting: tuple[str, str] = ("ContainerCreating", "")
    started_at: datetime | None = None
    ended: Ended | None = None
    last: Ended | None = None
    restarts: int = 0
    container_id: str = ""
    ready: bool = False
    started: bool = False
    pulled: bool = False
    pending: Action | None = None
    due: datetime | None = None
    restart: Backoff = field(default_factory=Backoff)
    pull: Backoff = field(default_factory=Backoff)
    probes: dict[Probe, ProbeState] = field(default_factory=dict)
    #: Why the kubelet stops it, as the message of its Event.
    stopping: str = ""

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def termination(self) -> Ended | None:
        """How it ended, if it does not run."""
        return None if self.state == "running" else self.ended

    def plan(self, action: Action | None, due: datetime | None) -> None:
        self.pending, self.due = action, due


class PodRun(Struct):
    """A pod on its node. `verdict`: reason and message with which the pod fails, whatever its containers do."""

    uid: str
    namespace: str
    name: str
    node: str
    containers: dict[str, Container]
    started_at: datetime
    ip: str = ""
    host_network: bool = False
    verdict: tuple[str, str] | None = None
    #: When the kubelet began to stop the containers, the seconds that they may take, and until when that is.
    stopping_since: datetime | None = None
    grace: float = 0.0
    deadline: datetime | None = None
    sandbox: bool = False
    finished: bool = False
    #: The node has no room for it: its containers were never created.
    rejected: bool = False
    #: Messages of events that are recorded once.
    reported: set[str] = field(default_factory=set)
    #: The status that was written last.
    written: Mapping[str, Any] | None = None

    def of(self, *roles: Role) -> Sequence[Container]:
        return [one for one in self.containers.values() if one.role in roles]

    @property
    def is_initialized(self) -> bool:
        """Whether a regular container has been started."""
        return any(one.is_running or one.ended is not None for one in self.of("main"))

    def observe(self, pod: Pod) -> None:
        """Take over the ephemeral containers that were added to the pod."""
        for one in pod["spec"].get("ephemeralContainers") or ():
            if one["name"] not in self.containers:
                self.containers[one["name"]] = Container(one["name"], one, "ephemeral")

    def next_due(self) -> datetime | None:
        """When something happens next."""
        times = [one.due for one in self.containers.values() if one.due is not None]
        times += [p.due for c in self.containers.values() for p in c.probes.values() if p.due is not None]
        if self.deadline is not None and not self.finished:
            times.append(self.deadline)
        return min(times, default=None)


def new_run(pod: Pod, now: datetime) -> PodRun:
    """The state of a pod that this kubelet sees first; of one that runs already, as its status says."""
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    initial = spec.get("initContainers") or ()
    waiting = ("PodInitializing" if initial else "ContainerCreating", "")
    containers = {}
    for one in initial:
        role: Role = "sidecar" if one.get("restartPolicy") == "Always" else "init"
        containers[one["name"]] = Container(one["name"], one, role, waiting=waiting)
    for one in spec["containers"]:
        containers[one["name"]] = Container(one["name"], one, "main", waiting=waiting)
    run = PodRun(
        meta["uid"],
        meta["namespace"],
        meta["name"],
        spec["nodeName"],
        containers,
        started_at=moment(status.get("startTime")) or now,
        ip=status.get("podIP") or "",
        host_network=bool(spec.get("hostNetwork")),
        sandbox=bool(status.get("podIP")),
    )
    run.observe(pod)
    if status.get("startTime"):  # another kubelet has run it before
        for field in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
            for one in status.get(field) or ():
                if one["name"] in containers:
                    _restore(containers[one["name"]], one)
        run.written = status
    return run


def _restore(container: Container, status: Mapping[str, Any]) -> None:
    state = status.get("state") or {}
    container.restarts = status.get("restartCount") or 0
    container.container_id = status.get("containerID") or ""
    container.ready, container.started = bool(status.get("ready")), bool(status.get("started"))
    container.last = _ended((status.get("lastState") or {}).get("terminated"))
    if "running" in state:
        container.state, container.started_at = "running", moment(state["running"].get("startedAt"))
        container.pulled = True
    elif "terminated" in state:
        container.state, container.ended = "ended", _ended(state["terminated"])
    elif container.last is not None:
        container.ended, container.last = container.last, None


def _ended(found: Mapping[str, Any] | None) -> Ended | None:
    if found is None:
        return None
    return Ended(
        found.get("exitCode") or 0,
        found.get("reason") or "",
        found.get("message") or "",
        moment(found.get("startedAt")),
        moment(found.get("finishedAt")),
        found.get("containerID") or "",
    )
