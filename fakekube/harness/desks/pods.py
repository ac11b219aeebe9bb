"""The desk `fakekube.pods`: the pods on simulated nodes, their logs and commands, and the metrics of autoscalers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from controllerlib.client import parse_selector
from fakekube.apiserver.kubelet import ExecHandler, ForwardHandler, InteractiveHandler, LogHandler
from fakekube.harness import arguments
from fakekube.harness.callbacks import reported
from fakekube.harness.members import Need, changes, reads
from fakekube.harness.operators.background import Background
from fakekube.server.runner import ServerRunner
from fakekube.struct import replace

if TYPE_CHECKING:
    from fakekube.controllers.kubelet.stage import Stage
    from fakekube.controllers.scalingmetrics import Metrics
    from fakekube.harness.pods.simulatedpods import Scope, SimulatedPods

Exec = TypeVar("Exec", bound=ExecHandler | InteractiveHandler)


class Pods:
    """The pods on simulated nodes: `fakekube.pods("app=web").crash()`.

    Handlers answer `kubectl logs`, `exec`, `attach` and `port-forward`, for any pod of the cluster; they may be used as
    decorators. `simulated(caller)` returns the kubelets; it raises RuntimeError if none runs.
    """

    def __init__(
        self,
        simulated: Callable[[str], Scope],
        runner: ServerRunner,
        background: Background,
        metrics: Callable[[], Metrics],
    ) -> None:
        self._simulated, self._runner, self._background, self._metrics = simulated, runner, background, metrics

    @reads(Need.CONTROLLERS)
    def __call__(
        self, label_selector: str | Mapping[str, str] = "", *, namespace: str | None = "default", name: str = ""
    ) -> SimulatedPods:
        """The pods that match: `pods("app=web").crash()`. `name` may be a shell pattern.

        `namespace` None: those of all namespaces. Raises RuntimeError if no kubelet runs.
        """
        from fakekube.controllers.kubelet.stage import PodSelector
        from fakekube.harness.pods.simulatedpods import SimulatedPods
        from fakekube.harness.pods.simulationarguments import check_pods

        check_pods(namespace, name)
        text = arguments.selector("label_selector", label_selector)
        selector = PodSelector(parse_selector(text), namespace or "", name)
        scope = replace(self._simulated("pods()"), guard=lambda found: reported(found, self._background.failed))
        return SimulatedPods(scope, selector, text or name)

    @changes(Need.CONTROLLERS)
    def add_stages(self, source: str | Path | Stage) -> None:
        """Add stages, which decide before those that were added earlier: a Stage, YAML, or the path of a YAML file."""
        from fakekube.controllers.kubelet.stagedocument import stages_of
        from fakekube.harness.pods.simulationarguments import check_stage

        scope = self._simulated("pods.add_stages()")
        stages = stages_of(source) if isinstance(source, str | Path) else [source]
        for stage in reversed(stages):
            check_stage(stage)
            scope.kubelets.stages.add(stage)

    @property
    @reads(Need.CONTROLLERS)
    def metrics(self) -> Metrics:
        """The metrics that HorizontalPodAutoscalers read, which a test sets."""
        return self._metrics()

    @changes(Need.KUBELET)
    def on_logs(self, handler: LogHandler) -> LogHandler:
        """`handler` returns the log of a container (LogRequest -> text or bytes).

        A generator function yields lines with their times, `yield 90, "ready"`: seconds after the start of the
        container. A log that is followed stays open until the container ends, if the status of its pod has it running.
        """
        self._runner.apiserver.kubelet.logs = reported(handler, self._background.failed)
        return handler

    @changes(Need.KUBELET)
    def on_exec(self, handler: Exec) -> Exec:
        """`handler` runs a command in a container (ExecRequest -> its output, or an ExecResult).

        A generator function is interactive: it yields output, and the value of `yield` is the client's next input
        (`b""` at its end).
        """
        self._runner.apiserver.kubelet.exec = reported(handler, self._background.failed)
        return handler

    @changes(Need.KUBELET)
    def on_attach(self, handler: Exec) -> Exec:
        """`handler` answers an attach to a container (ExecRequest without a command -> output)."""
        self._runner.apiserver.kubelet.attach = reported(handler, self._background.failed)
        return handler

    @changes(Need.KUBELET)
    def on_port_forward(self, handler: ForwardHandler) -> ForwardHandler:
        """`handler` answers data that is sent to a port of a pod (ForwardRequest -> bytes)."""
        self._runner.apiserver.kubelet.forward = reported(handler, self._background.failed)
        return handler
