"""Scripting of simulated pods in a test: `fakekube.pods("app=web").crash()`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fakekube.apiserver.kubelet import ExecHandler, ExecResult, LogHandler, LogOutput
from fakekube.controllers.kubelet.kubelet import Kubelets
from fakekube.controllers.kubelet.podanswers import constant
from fakekube.controllers.kubelet.podrun import Container
from fakekube.controllers.kubelet.podscripts import PodScripts
from fakekube.controllers.kubelet.stage import (
    Action,
    Apply,
    CreateError,
    Exit,
    Hang,
    Moment,
    Objects,
    PodSelector,
    Probe,
    ProbeResult,
    PullError,
    Readiness,
    Stage,
    Start,
)
from fakekube.harness.pods.simulationarguments import check_command, check_exit_code, check_log, check_probe, objects_of
from fakekube.struct import Struct
from fakekube.virtualtime import Duration
from fakekube.virtualtime.durations import microseconds

Object = dict[str, Any]

Effect = Callable[[Mapping[str, Any]], Objects | None]
"""A function of a pod that returns the objects which one of its containers applies."""

#: Seconds after which a start that fails does.
_TRY = 1.0

#: How a container is described whose memory limit was exceeded.
_OOM = Exit(137, "OOMKilled")


class LaterScript(Struct):
    """What `pods(...).always()` is to do with pods that come later.

    text: as the test has written it. has_matched: whether there was a container on a simulated node that it concerns.
    only_now: it concerns nothing that comes later.
    """

    text: str
    selector: PodSelector
    container: str
    has_matched: bool
    only_now: bool

    def observe(self, pod: Object) -> None:
        """Note a pod as it is stored now."""
        spec = pod["spec"]
        if spec.get("nodeName") and not self.only_now and self.selector.matches(pod):
            names = [one["name"] for part in ("containers", "initContainers") for one in spec.get(part) or ()]
            self.has_matched = not self.container or any(fnmatchcase(name, self.container) for name in names)


def _unguarded(function: Effect) -> Effect:
    return function


def _unnoted(script: LaterScript) -> None:
    """Ignores a script."""


class Scope(Struct, frozen=True):
    """What the scripts of a test reach: the kubelets, how to settle afterwards, and what notes the scripts of
    `always()`."""

    kubelets: Kubelets
    scripts: PodScripts
    settle: Callable[[], Awaitable[None]]
    note: Callable[[LaterScript], None] = _unnoted
    #: Wraps a function of the test, whose exceptions fail the test.
    guard: Callable[[Effect], Effect] = _unguarded


class SimulatedPods:
    """The pods of the kubelets that a selector matches, for scripting.

    Methods apply to the pods that exist now, and raise LookupError if there are none; after `always()` they also apply
    to pods that are created later. They settle: in an async test they must be awaited. `container` is a name, which may
    be a shell pattern, or "" for all regular containers; LookupError is raised as well if none of the pods has it.
    """

    def __init__(self, scope: Scope, selector: PodSelector, text: str, *, always: bool = False) -> None:
        self._scope, self._selector, self._text, self._always = scope, selector, text, always

    def __repr__(self) -> str:
        return f"<SimulatedPods {self._text or 'all'}{' always' if self._always else ''}: {', '.join(self.names)}>"

    def __len__(self) -> int:
        return len(self._found())

    def __iter__(self) -> Iterator[Object]:
        return iter([deepcopy(dict(pod)) for _, pod in self._found()])

    @property
    def names(self) -> Sequence[str]:
        """The names of the pods, in their order."""
        return sorted(pod["metadata"]["name"] for _, pod in self._found())

    def always(self) -> SimulatedPods:
        """The same pods and those that are created later."""
        return SimulatedPods(self._scope, self._selector, self._text, always=True)

    # --- how containers end

    def fail(
        self, reason: str = "Error", *, exit_code: int = 1, message: str = "", container: str = ""
    ) -> Awaitable[None]:
        """Containers that run end with an exit code, once; restartPolicy decides what follows.

        After `always()` they end whenever they have started.
        """
        return self._end(Exit(exit_code, reason, message), container)

    def succeed(self, *, container: str = "") -> Awaitable[None]:
        """Containers that run end with exit code 0, once; after `always()` whenever they have started."""
        return self._end(Exit(0), container)

    def oom(self, *, container: str = "") -> Awaitable[None]:
        """Containers that run are killed for their use of memory, once; after `always()` whenever they have started."""
        return self._end(_OOM, container)

    def crash(self, *, exit_code: int = 1, after: Duration = 0, container: str = "") -> Awaitable[None]:
        """Containers end now and whenever they have been started again, `after` a time: CrashLoopBackOff."""
        check_exit_code(exit_code)
        how = Exit(exit_code)
        uids = self._uids(container)
        self._add("crash", "running", how, container, delay=_seconds(after))
        self._scope.scripts.exit(uids, how, container)
        return self._scope.settle()

    def exit_after(self, delay: Duration, *, exit_code: int = 0, container: str = "") -> Awaitable[None]:
        """Containers end a time after they have started."""
        check_exit_code(exit_code)
        uids = self._uids(container)
        self._add("exit", "running", Exit(exit_code), container, delay=_seconds(delay))
        self._scope.scripts.plan_ends(uids)
        return self._scope.settle()

    def run(
        self,
        effect: Object | Sequence[Object] | str | Path | Effect,
        *,
        delay: Duration = 1,
        exit_code: int = 0,
        container: str = "",
    ) -> Awaitable[None]:
        """Containers apply objects, `delay` after their start (default: a second), and end with `exit_code`.

        `effect`: an object, a list of objects, the text or the path of manifests, or a function of the pod that returns
        objects or None. The service account of the pod creates them, or applies those that exist (server-side, with
        force), by default in the namespace of the pod. If the server rejects one, the container ends with exit code 1
        and its message, and restartPolicy decides what follows. What the function raises fails the test.
        """
        check_exit_code(exit_code)
        objects = self._scope.guard(effect) if callable(effect) else objects_of(effect)
        uids = self._uids(container)
        self._add("run", "running", Apply(objects, exit_code), container, delay=_seconds(delay))
        self._scope.scripts.plan_ends(uids)
        return self._scope.settle()

    def evict(self, reason: str = "Evicted", message: str = "The node was low on resource: memory.") -> Awaitable[None]:
        """The kubelet stops the pods, whose phase becomes Failed with this reason."""
        uids = self._uids()
        self._note("evict", "", only_now=True)
        self._scope.scripts.evict(uids, reason, message)
        return self._scope.settle()

    def _end(self, how: Exit, container: str) -> Awaitable[None]:
        check_exit_code(how.code)
        uids = self._uids(container)
        if self._always:
            self._add("end", "running", how, container)
        ended = self._scope.scripts.exit(uids, how, container)
        if not ended and not self._always:
            what = f"container {container!r}" if container else "container"
            raise LookupError(f"pods({self._text!r}): no {what} of {', '.join(self.names)} runs")
        return self._scope.settle()

    # --- how containers start

    def image_pull_error(self, message: str = "", *, container: str = "") -> Awaitable[None]:
        """The image cannot be pulled: containers that have not started wait with ErrImagePull, ImagePullBackOff."""
        return self._script("image pull error", "creating", PullError(message), container, delay=_TRY)

    def create_error(
        self, message: str, *, reason: str = "CreateContainerError", container: str = ""
    ) -> Awaitable[None]:
        """Containers that have not started cannot be created."""
        return self._script("create error", "creating", CreateError(reason, message), container, delay=_TRY)

    def start_after(self, delay: Duration, *, container: str = "") -> Awaitable[None]:
        """Containers take this long to start, beginning with the next start that is not planned yet."""
        return self._script("start", "creating", Start(), container, delay=_seconds(delay))

    # --- how containers run

    def not_ready(self, *, container: str = "") -> Awaitable[None]:
        """Containers are not ready, at once, as after enough failures of the readiness probe."""
        return self._script("not ready", "probing", Readiness(False), container)

    def ready(self, *, container: str = "") -> Awaitable[None]:
        """Containers that run are ready, at once."""
        return self._script("ready", "probing", Readiness(True), container)

    def fail_probe(self, probe: Probe, *, container: str = "") -> Awaitable[None]:
        """A probe ("startup", "readiness", "liveness") fails from now on; failureThreshold failures count."""
        self._check_probe(probe, container)
        return self._script(f"fail {probe}", "probing", ProbeResult(probe, False), container)

    def pass_probe(self, probe: Probe, *, container: str = "") -> Awaitable[None]:
        """A probe passes from now on; successThreshold successes count."""
        self._check_probe(probe, container)
        return self._script(f"pass {probe}", "probing", ProbeResult(probe, True), container)

    # --- how containers stop

    def hang_on_termination(self, *, container: str = "") -> Awaitable[None]:
        """Containers ignore SIGTERM: they are killed at the end of terminationGracePeriodSeconds."""
        return self._script("hang", "terminating", Hang(), container)

    def stop_after(self, delay: Duration, *, exit_code: int = 0, container: str = "") -> Awaitable[None]:
        """Containers take this long to end after SIGTERM."""
        check_exit_code(exit_code)
        return self._script("stop", "terminating", Exit(exit_code), container, delay=_seconds(delay))

    def recover(self) -> Awaitable[None]:
        """Forget the scripts of these pods: containers start, run, are probed and stop as by default."""
        uids = self._present()
        self._scope.scripts.forget_scripts(self._selector, uids)
        return self._scope.settle()

    # --- logs and commands

    def logs(self, text: LogOutput | LogHandler, *, container: str = "") -> None:
        """The log of containers: a text, lines with their times, or a function of the request that returns these.

        Lines are pairs, `[(0, "starting"), (90, "ready")]`: seconds after the start of the container, and the text. A
        generator function may yield them. Each is in the log from its time on, and not if the container has ended
        before. `kubectl logs --follow` ends with the container.
        """
        check_log(text)
        self._uids(container)
        self._note("logs", container)
        handler = text if callable(text) else constant(text)
        self._scope.kubelets.answers.script_logs(self._concerned(), container, handler)

    def exec(self, handler: ExecHandler | str | ExecResult, *, container: str = "") -> None:
        """The result of commands in containers: an output, or a function of the request (ExecRequest -> output)."""
        check_command(handler)
        self._uids(container)
        self._note("exec", container)
        found: ExecHandler = handler if callable(handler) else lambda request: handler
        self._scope.kubelets.answers.script_exec(self._concerned(), container, found)

    # --- selecting

    def _script(self, name: str, at: Moment, action: Action, container: str, *, delay: float = 0.0) -> Awaitable[None]:
        uids = self._uids(container)
        self._add(name, at, action, container, delay=delay)
        self._scope.scripts.rescript(uids)
        return self._scope.settle()

    def _add(self, name: str, at: Moment, action: Action, container: str, *, delay: float = 0.0) -> None:
        self._note(name, container)
        stage = Stage(name, at, action, self._concerned(), container or "*", delay, main_only=not container)
        self._scope.kubelets.stages.add(stage)

    def _concerned(self) -> PodSelector:
        """The selector of new stages: of exactly the present pods, unless they are to apply always."""
        return self._selector if self._always else replace(self._selector, uids=frozenset(self._uids()))

    def _note(self, what: str, container: str, *, only_now: bool = False) -> None:
        """Note a script that concerns later pods, too."""
        if self._always:
            has_matched = bool(self._containers(self._present(), container))
            text = f"pods({self._text!r}).always(): {what!r}{f' of container {container!r}' if container else ''}"
            self._scope.note(LaterScript(text, self._selector, container, has_matched, only_now))

    def _found(self) -> Sequence[Any]:
        return self._scope.scripts.select(self._selector)

    def _present(self) -> Sequence[str]:
        return [run.uid for run, _ in self._found()]

    def _check_probe(self, probe: Probe, container: str) -> None:
        """Raises ValueError for an unknown probe, LookupError if no container has it, unless later pods count."""
        check_probe(probe)
        uids, field = self._uids(container), f"{probe}Probe"
        if not self._always and not any(one.spec.get(field) for one in self._containers(uids, container)):
            raise LookupError(f"pods({self._text!r}): no container of {', '.join(self.names)} has a {field}")

    def _containers(self, uids: Sequence[str], container: str) -> Sequence[Container]:
        """The containers of pods that `container` matches."""
        every = [one for uid in uids for one in self._scope.kubelets.runs[uid].containers.values()]
        return [one for one in every if not container or fnmatchcase(one.name, container)]

    def _uids(self, container: str = "") -> Sequence[str]:
        """The uids of the present pods.

        Raises LookupError if there are none, or if none has the container, unless later ones count.
        """
        found = self._present()
        if not found and not self._always:
            runs = self._scope.kubelets.runs.values()
            names = sorted(f"{run.namespace}/{run.name}" for run in runs)
            raise LookupError(
                f"no pod on a simulated node matches pods({self._text!r}) (pods: {', '.join(names) or 'none'}); "
                + (
                    f"this is a label selector: use pods(name={self._text!r}) for the pod of this name"
                    if not self._selector.name and any(run.name == self._text for run in runs)
                    else "use .always() for pods that are created later"
                )
            )
        if not self._always and not self._containers(found, container):
            names = sorted({one.name for one in self._containers(found, "")})
            raise LookupError(f"pods({self._text!r}): no pod has a container {container!r} ({', '.join(names)})")
        return found


def _seconds(duration: Duration) -> float:
    return microseconds(duration) / 1_000_000
