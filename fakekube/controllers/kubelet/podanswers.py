"""Logs and commands of simulated containers: what a test has scripted for a pod, else nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from fakekube.apiserver.kubelet import ExecHandler, ExecRequest, ExecResult, Kubelet, LogHandler, LogOutput, LogRequest
from fakekube.apiserver.wire.status import bad_request, internal_error
from fakekube.controllers.kubelet.stage import PodSelector
from fakekube.struct import Struct

#: What a container runtime answers if the image has no `tar`. `kubectl cp` would otherwise succeed and copy nothing.
_NO_TAR = ExecResult(
    stderr="OCI runtime exec failed: exec failed: unable to start container process: "
    'exec: "tar": executable file not found in $PATH: unknown\n',
    exit_code=126,
)

#: The answer to a command that no test has scripted.
_NOT_RUN = ExecResult(
    stderr="fakekube: this container is simulated, the command was not run; a test scripts it with pods().exec()\n"
)


class _Script(Struct, frozen=True):
    selector: PodSelector
    container: str
    logs: LogHandler | None = None
    exec: ExecHandler | None = None

    def concerns(self, pod: Mapping[str, Any], container: str) -> bool:
        return self.container in ("", container) and self.selector.matches(pod)


class PodAnswers:
    """Answers requests for pods of the kubelets; the script that was added last decides."""

    def __init__(self) -> None:
        self._scripts: list[_Script] = []
        self._before = Kubelet()

    def install(self, kubelet: Kubelet) -> None:
        """Answer the requests of a server; handlers that it has already are used where there is no script."""
        self._before = Kubelet(kubelet.logs, kubelet.exec)
        kubelet.logs, kubelet.exec = self.logs, self.exec

    def script_logs(self, selector: PodSelector, container: str, logs: LogHandler) -> None:
        self._scripts.insert(0, _Script(selector, container, logs=logs))

    def script_exec(self, selector: PodSelector, container: str, handler: ExecHandler) -> None:
        self._scripts.insert(0, _Script(selector, container, exec=handler))

    def logs(self, request: LogRequest) -> LogOutput:
        """The log of a container. Raises 400 if it has not started."""
        for one in self._scripts:
            if one.logs is not None and one.concerns(request.pod, request.container):
                return one.logs(request)
        if self._before.logs is not None:
            return self._before.logs(request)
        _check_started(request)
        return b""

    def exec(self, request: ExecRequest) -> ExecResult | str | bytes:
        """The result of a command; without a script it succeeds and says on stderr that it was not run. `tar` fails.

        Raises 500 if the container does not run.
        """
        for one in self._scripts:
            if one.exec is not None and one.concerns(request.pod, request.container):
                _check_running(request)
                return one.exec(request)
        if self._before.exec is not None:
            return cast(ExecHandler, self._before.exec)(request)
        _check_running(request)
        return _NO_TAR if request.command[:1] == ("tar",) else _NOT_RUN


def constant(text: LogOutput) -> LogHandler:
    """A handler that returns the same log for each request."""
    return lambda request: text


def _check_running(request: ExecRequest) -> None:
    """Raises 500 for a container that does not run (kubelet: `GetExec`)."""
    status = request.pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for one in status.get(field) or ():
            if one["name"] == request.container and (one.get("state") or {}).get("running") is not None:
                return
    raise internal_error(f'unable to upgrade connection: container not found ("{request.container}")')


def _check_started(request: LogRequest) -> None:
    """Raises 400 for a container without a log (`validateContainerLogStatus`)."""
    status, name = request.pod.get("status") or {}, request.pod["metadata"]["name"]
    for field in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(field) or ():
            if one["name"] != request.container:
                continue
            state, last = one.get("state") or {}, (one.get("lastState") or {}).get("terminated")
            if request.previous and last is None:
                raise bad_request(f'previous terminated container "{request.container}" in pod "{name}" not found')
            waiting = state.get("waiting")
            if waiting is not None and last is None:
                why = waiting.get("reason") or "ContainerCreating"
                if why in ("ErrImagePull", "ImagePullBackOff"):
                    text = "trying and failing to pull image"
                    raise bad_request(f'container "{request.container}" in pod "{name}" is waiting to start: {text}')
                raise bad_request(f'container "{request.container}" in pod "{name}" is waiting to start: {why}')
