"""Stages: what happens to the containers of selected pods, and after how long. The behavior of a pod is this data.

At each moment of a container the first stage that selects it decides. The order is that of the list: the stages that a
test has added, the latest first, and then DEFAULT_STAGES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from controllerlib.client import EVERYTHING, Selector
from fakekube.struct import Struct

Pod = Mapping[str, Any]

Moment = Literal["creating", "running", "terminating", "probing"]
"""When a stage applies: a container is to be started, runs, has to end because its pod does, or is probed."""

Probe = Literal["startup", "readiness", "liveness"]


@dataclass(frozen=True, slots=True)
class Start:
    """The container starts."""


@dataclass(frozen=True, slots=True)
class PullError:
    """The image cannot be pulled; the kubelet tries again with a back-off of 10 s to 300 s."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class CreateError:
    """The container cannot be created (`reason`: CreateContainerError, RunContainerError, ...); tried again after
    `retry` seconds."""

    reason: str = "CreateContainerError"
    message: str = ""
    retry: float = 10.0


@dataclass(frozen=True, slots=True)
class Exit:
    """The container ends. `reason` "": Completed for exit code 0, else Error."""

    code: int = 0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The container runs until something else ends it."""


@dataclass(frozen=True, slots=True)
class Hang:
    """The container ignores SIGTERM; it is killed at the end of the grace period."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The container is ready or not, at once, whatever the thresholds of its readiness probe are."""

    ready: bool


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a probe from now on; `failureThreshold` or `successThreshold` of them count."""

    probe: Probe
    passes: bool


class Command(Struct, frozen=True):
    """The container does what its command says (`commandreading.outcome_of`); without a command the next stage decides.

    `waits`: a loop that waits for something runs for ever, else it ends.
    """

    waits: bool = True


Objects = Sequence[Mapping[str, Any]]
"""Kubernetes objects."""


class Apply(Struct, frozen=True):
    """The container applies objects, then ends with the exit code `code`; with 1 if the server rejects one.

    `objects`: Kubernetes objects, or a function of the pod that returns them, or None for none. The service
    account of the pod creates them, or applies those that exist (`kubectl apply --server-side --force-conflicts`), by
    default in its namespace.
    """

    objects: Objects | Callable[[Pod], Objects | None]
    code: int = 0


Action = Start | PullError | CreateError | Exit | Run | Hang | Readiness | ProbeResult | Command | Apply


class FieldMatch(Struct, frozen=True):
    """A field of the pod and what it must be.

    `path`: names of fields, "[]" for each element of a list; `operator`: In, NotIn, Exists, DoesNotExist.
    """

    path: tuple[str, ...]
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, pod: Pod) -> bool:
        found = [one for one in _values(pod, self.path) if one not in (None, "", [], {})]
        if self.operator in ("Exists", "DoesNotExist"):
            return bool(found) == (self.operator == "Exists")
        texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in found]
        return any(text in self.values for text in texts) == (self.operator == "In")


def _values(found: Any, path: Sequence[str]) -> Sequence[Any]:
    """The values at a path."""
    for index, name in enumerate(path):
        if name == "[]":
            return [value for one in found or () for value in _values(one, path[index + 1 :])]
        found = found.get(name) if isinstance(found, Mapping) else None
    return [found]


@dataclass(frozen=True, slots=True)
class PodSelector:
    """Which pods a stage concerns: those for which all fields that are set match.

    `owner`: the kind of the controlling object. `uids`: exactly these pods.
    """

    labels: Selector = EVERYTHING
    namespace: str = ""
    name: str = ""
    owner: str = ""
    uids: frozenset[str] = frozenset()
    annotations: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[FieldMatch, ...] = ()

    def matches(self, pod: Pod) -> bool:
        meta = pod["metadata"]
        if self.uids and meta["uid"] not in self.uids:
            return False
        if self.namespace and meta["namespace"] != self.namespace:
            return False
        if self.name and not fnmatchcase(meta["name"], self.name):
            return False
        if not self.labels.matches(meta.get("labels")):
            return False
        if self.owner and self.owner not in _controllers(pod):
            return False
        found = meta.get("annotations") or {}
        if any(found.get(key) != value for key, value in self.annotations.items()):
            return False
        return all(one.matches(pod) for one in self.fields)


def _controllers(pod: Pod) -> Sequence[str]:
    return [one.get("kind", "") for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")]


@dataclass(frozen=True, slots=True)
class Stage:
    """What happens to a container at a moment.

    `delay`: seconds from the beginning of the moment until `action`, to which a random part of `jitter` is added.
    `container`: the name of the container, as a shell pattern. `init_only`, `main_only`: only init containers, or none
    of them nor sidecars.
    """

    name: str
    at: Moment
    action: Action
    selector: PodSelector = PodSelector()
    container: str = "*"
    delay: float = 0.0
    jitter: float = 0.0
    init_only: bool = False
    main_only: bool = False

    def applies(self, at: Moment, pod: Pod, container: str, role: str = "main") -> bool:
        """Whether the stage decides about a container; `role`: "init", "sidecar" or "main"."""
        return (
            self.at == at
            and (role == "init" or not self.init_only)
            and (role == "main" or not self.main_only)
            and fnmatchcase(container, self.container)
            and self.selector.matches(pod)
        )


#: The pods whose containers are not restarted whenever they end.
_ENDING = PodSelector(fields=(FieldMatch(("spec", "restartPolicy"), "In", ("Never", "OnFailure")),))

#: Containers start one second after they can. Init containers, and those of pods that are not restarted always, do what
#: their command says. Without a command, init containers and containers of Jobs succeed after another second, others
#: run for ever. All end one second after SIGTERM.
DEFAULT_STAGES: Sequence[Stage] = (
    Stage("start", "creating", Start(), delay=1.0),
    Stage("command of an init container", "running", Command(waits=False), delay=1.0, init_only=True),
    Stage("command", "running", Command(), _ENDING, delay=1.0, main_only=True),
    Stage("init container succeeds", "running", Exit(0), delay=1.0, init_only=True),
    Stage("Job succeeds", "running", Exit(0), PodSelector(owner="Job"), delay=1.0, main_only=True),
    Stage("run", "running", Run()),
    Stage("stop", "terminating", Exit(0), delay=1.0),
)
