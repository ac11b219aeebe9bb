"""What a test does with simulated pods: it ends their containers, and changes the stages that decide about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from fakekube.controllers.kubelet import probing
from fakekube.controllers.kubelet.kubelet import Kubelets, Pod
from fakekube.controllers.kubelet.podmachine import PodMachine
from fakekube.controllers.kubelet.podrun import PodRun
from fakekube.controllers.kubelet.stage import Exit, PodSelector


class PodScripts:
    """Changes the state of pods at their kubelets, which reconcile them then."""

    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    def select(self, selector: PodSelector) -> Sequence[tuple[PodRun, Pod]]:
        """The pods at the kubelets that a selector matches."""
        found = []
        for run in self._kubelets.runs.values():
            pod = self._kubelets.pods.get(run.namespace, run.name)
            if pod is not None and pod["metadata"]["uid"] == run.uid and selector.matches(pod):
                found.append((run, pod))
        return found

    def rescript(self, uids: Sequence[str]) -> None:
        """The stages have changed: reconsider what the containers of pods wait for, and their probes."""
        for machine in self._machines(uids):
            machine.replan()
            probing.rescript(machine)
        self._kubelets.touch(uids)

    def forget_scripts(self, selector: PodSelector, uids: Sequence[str]) -> None:
        """Forget the stages that were added for pods; they go on as by default."""
        self._kubelets.stages.forget(selector, uids)
        self.rescript(uids)
        self.plan_ends(uids)

    def forget_all(self) -> None:
        """Forget all stages that were added; pods go on as by default."""
        self._kubelets.stages.reset()
        uids = list(self._kubelets.runs)
        self.rescript(uids)
        self.plan_ends(uids)

    def plan_ends(self, uids: Sequence[str]) -> None:
        """The stages have changed: plan again how containers that run end by themselves."""
        for machine in self._machines(uids):
            for one in machine.run.containers.values():
                if one.is_running and not one.stopping:
                    machine.plan_end(one)
        self._kubelets.touch(uids)

    def _machines(self, uids: Sequence[str]) -> Iterator[PodMachine]:
        kubelets, now = self._kubelets, self._kubelets.now()
        for uid in uids:
            run = kubelets.runs.get(uid)
            pod = kubelets.pods.get(run.namespace, run.name) if run is not None else None
            if run is not None and pod is not None and run.node in kubelets.agents:
                yield kubelets.machine(run, pod, kubelets.agents[run.node], now)

    def exit(self, uids: Sequence[str], how: Exit, container: str) -> int:
        """End the running containers of pods that `container` matches ("": all regular ones); returns how many."""
        ended, now = 0, self._kubelets.now()
        for uid in uids:
            run = self._kubelets.runs.get(uid)
            for one in run.containers.values() if run is not None else ():
                if one.is_running and (fnmatchcase(one.name, container) if container else one.role == "main"):
                    one.plan(how, now)
                    ended += 1
        self._kubelets.touch(uids)
        return ended

    def evict(self, uids: Sequence[str], reason: str, message: str) -> None:
        """Stop the containers of pods; the pods fail with `reason`."""
        for uid in uids:
            run = self._kubelets.runs.get(uid)
            if run is not None and not run.finished:
                run.verdict = (reason, message)
        self._kubelets.touch(uids)
