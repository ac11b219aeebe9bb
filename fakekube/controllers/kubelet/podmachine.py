"""What happens to a pod at its kubelet until a moment: containers start, are probed, end and are started again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from fakekube.controllers.kubelet import imagenames, podstopping, probing
from fakekube.controllers.kubelet.podmoment import PodMoment
from fakekube.controllers.kubelet.podrun import Container
from fakekube.controllers.kubelet.stage import Apply, CreateError, Exit, PullError, Run, Start

#: Seconds from an image's failed pull until its status is ImagePullBackOff.
_PULL_ERROR_SHOWN = 1.0


class PodMachine(PodMoment):
    """Moves one pod to the present."""

    def advance(self) -> None:
        """Let happen what is due, but for effects (`effects.py`), which wait for the server."""
        run = self.run
        if run.finished:
            return
        run.observe(self.pod)
        podstopping.check_deadline(self)
        while True:
            changed = self._settle_due() | probing.advance(self)
            if podstopping.should_stop(self):
                changed |= podstopping.stop(self)
            else:
                changed |= self._start()
            if not changed:
                return

    # --- what is due

    def _settle_due(self) -> bool:
        changed = False
        for one in self.run.containers.values():
            if one.due is not None and one.due <= self.now and not isinstance(one.pending, Apply):
                action = one.pending
                one.plan(None, None)
                self._do(one, action)
                changed = True
        return changed

    def _do(self, one: Container, action: Any) -> None:
        if one.is_running:
            if isinstance(action, Exit):
                self.end(one, action)
        elif isinstance(action, Start):
            self._started(one)
        elif isinstance(action, PullError):
            self._not_pulled(one, action)
        elif isinstance(action, CreateError):
            one.waiting = (action.reason, action.message)
            self.note(one, "Warning", "Failed", f"Error: {action.message or action.reason}")
            self._plan_start(one, action.retry)

    # --- starting

    def _start(self) -> bool:
        """Plan the start of the containers whose turn it is."""
        problem = self.world.volume_problem(self.pod) if not self.run.sandbox else ""
        if problem:
            self.once("Warning", "FailedMount", problem)
            return False
        planned = [self._plan_start(one) for one in self._wanted() if one.pending is None]
        return any(planned)

    def _wanted(self) -> Sequence[Container]:
        """The containers that do not run and should."""
        found: list[Container] = []
        for one in self.run.of("init", "sidecar"):
            if one.role == "init":
                if one.termination is not None and one.termination.code == 0:
                    continue
                if not self.run.is_initialized:
                    return [*found, *([] if one.is_running else [one])]
            elif not one.is_running:
                found.append(one)
                if not self.run.is_initialized:
                    return found
            elif not one.started and not self.run.is_initialized:
                return found
        found += [one for one in self.run.of("main") if not one.is_running and self.may_start(one)]
        started = self.run.is_initialized
        return [*found, *(one for one in self.run.of("ephemeral") if started and one.state == "waiting")]

    def _plan_start(self, one: Container, least: float = 0.0) -> bool:
        """Plan the start: after the delay of the stage and the back-off, which count from the end of the last run.

        Returns False if it cannot start for lack of a ConfigMap or a Secret.
        """
        problem = self.world.config_problem(self.pod, one.spec)
        if problem:
            if one.waiting != ("CreateContainerConfigError", problem):
                one.waiting = ("CreateContainerConfigError", problem)
                one.state = "waiting"
                self.note(one, "Warning", "Failed", f"Error: {problem}")
            one.plan(None, None)
            return False
        found = self.world.stage("creating", self.pod, one)
        stage, delay = found if found is not None else (None, 0.0)
        since = one.ended.finished if one.ended is not None and one.ended.finished is not None else self.now
        wait = one.restart.until(since) if one.ended is not None else 0.0
        due = max(since + timedelta(seconds=max(delay, wait)), self.now + timedelta(seconds=least))
        if since + timedelta(seconds=wait) > self.now:
            self._crash_loop(one, wait)
        one.plan(stage.action if stage is not None else Start(), due)
        return True

    def _crash_loop(self, one: Container, wait: float) -> None:
        where = f"{self.run.name}_{self.run.namespace}({self.run.uid})"
        text = f"back-off {go_duration(wait)} restarting failed container={one.name} pod={where}"
        one.state, one.waiting = "waiting", ("CrashLoopBackOff", text)
        self.note(one, "Warning", "BackOff", f"Back-off restarting failed container {one.name} in pod {where}")

    def _started(self, one: Container) -> None:
        run, image = self.run, one.spec.get("image") or ""
        if one.ended is not None:
            one.restart.next(one.ended.finished or self.now, self.now)
            one.last, one.ended = one.ended, None
            one.restarts += 1
        run.sandbox = True
        if self.world.pull(image, one.spec.get("imagePullPolicy") or "IfNotPresent"):
            self.note(one, "Normal", "Pulling", f'Pulling image "{image}"')
            size = imagenames.IMAGE_SIZE
            text = f'Successfully pulled image "{image}" in 1s (1s including waiting). Image size: {size} bytes.'
        else:
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
        self.note(one, "Normal", "Pulled", text)
        self.note(one, "Normal", "Created", "Container created")
        self.note(one, "Normal", "Started", "Container started")
        one.state, one.started_at, one.pulled = "running", self.now, True
        one.container_id = imagenames.container_id(run.uid, one.name, one.restarts)
        one.waiting = ("", "")
        probing.begin(self, one)
        self.plan_end(one)

    def plan_end(self, one: Container) -> None:
        """Plan how a container that runs ends by itself, if it does."""
        found = self.world.stage("running", self.pod, one)
        if found is None or isinstance(found[0].action, Run):
            one.plan(None, None)
        else:
            one.plan(found[0].action, (one.started_at or self.now) + timedelta(seconds=found[1]))

    def _not_pulled(self, one: Container, action: PullError) -> None:
        image = one.spec.get("image") or ""
        full = imagenames.normalized(image)
        why = action.message or f'failed to pull and unpack image "{full}": failed to resolve image: {full}: not found'
        if one.waiting[0] == "ErrImagePull" and one.state == "waiting" and one.waiting[1] == why:
            one.waiting = ("ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {why}')
            self.note(one, "Normal", "BackOff", f'Back-off pulling image "{image}"')
            self.note(one, "Warning", "Failed", "Error: ImagePullBackOff")
            self._replan_pull(one, one.pull.seconds - _PULL_ERROR_SHOWN)
            return
        one.pull.next(self.now, self.now)
        one.state, one.waiting = "waiting", ("ErrImagePull", why)
        self.note(one, "Normal", "Pulling", f'Pulling image "{image}"')
        self.note(one, "Warning", "Failed", f'Failed to pull image "{image}": {why}')
        self.note(one, "Warning", "Failed", "Error: ErrImagePull")
        one.plan(action, self.now + timedelta(seconds=_PULL_ERROR_SHOWN))

    def _replan_pull(self, one: Container, wait: float) -> None:
        """Try again after the back-off, with what the stages say then."""
        found = self.world.stage("creating", self.pod, one)
        one.plan(found[0].action if found is not None else Start(), self.now + timedelta(seconds=wait))

    def replan(self) -> None:
        """The stages have changed: plan again what containers that do not run wait for."""
        for one in self.run.containers.values():
            found = self.world.stage("creating", self.pod, one)
            if not one.is_running and one.due is not None and found is not None and one.pending != found[0].action:
                one.plan(found[0].action, max(one.due, self.now))


def go_duration(seconds: float) -> str:
    """Whole seconds as Go prints a duration: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
