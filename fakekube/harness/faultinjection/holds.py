"""Begins holds of watches: of those that are open, and of those that are opened later."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.harness.faultinjection.interceptor import Interceptor
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.server.runner import ServerRunner


class Holds:
    """The holds of a server. `update` is called when the interceptor has a new one."""

    def __init__(self, runner: ServerRunner, interceptor: Interceptor, update: Callable[[], None]) -> None:
        self._runner, self._interceptor, self._update = runner, interceptor, update

    def hold(self, process: object, resource: str, namespace: str, user_agent: str, at: int | str | None) -> Hold:
        """Hold the watches of a process, or of clients with a User-Agent. Raises ValueError."""
        revision = self._runner.apiserver.store.revision
        wanted = revision if at is None else at
        if not str(wanted).isdigit():
            raise ValueError(f"at={at!r} must be a resourceVersion")
        made = Hold(int(wanted), resource, namespace, user_agent, process, self._runner.streams.wake_all)
        passed = max((watch.revision for watch in self._runner.watches if made.applies(watch)), default=0)
        if at is not None and int(at) < revision and passed > int(at):
            raise ValueError(f"at={at!r}: a watch has been delivered changes up to {passed}, and cannot go back")
        return self.add(made)

    def add(self, made: Hold) -> Hold:
        """Begin a hold: of the watches that are open, and of those that are opened later."""
        self._interceptor.holds.append(made)
        for watch in tuple(self._runner.watches):
            if made.applies(watch):
                made.add(watch)
        self._update()
        return made
