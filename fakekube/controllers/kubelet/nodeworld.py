"""What surrounds a pod on its node: stages, images, and the objects that it refers to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controllerlib.random import Random
from fakekube.controllers.kubelet import podneeds
from fakekube.controllers.kubelet.commandreading import Outcome, is_loop, outcome_of
from fakekube.controllers.kubelet.podrun import Container
from fakekube.controllers.kubelet.stage import DEFAULT_STAGES, Command, Exit, Moment, PodSelector, Run, Stage
from fakekube.controllers.lister import CachedKind
from fakekube.struct import Struct

Pod = Mapping[str, Any]


class Stages:
    """The stages that were added, the latest first, before the default ones."""

    def __init__(self, random: Random, configured: Iterable[Stage] = ()) -> None:
        """`configured`: those that `reset` keeps, the first one before the others."""
        self._random, self._configured = random, list(configured)
        self._added = list(self._configured)

    def add(self, stage: Stage) -> None:
        self._added.insert(0, stage)

    def reset(self) -> None:
        """Remove the stages that were added."""
        self._added = list(self._configured)

    def forget(self, selector: PodSelector, uids: Iterable[str]) -> None:
        """Remove the stages with this selector, and those of the pods with these uids."""
        gone = frozenset(uids)
        kept = []
        for one in self._added:
            rest = one.selector.uids - gone
            if one.selector.uids and rest:
                kept.append(replace(one, selector=replace(one.selector, uids=rest)))
            elif not one.selector.uids and one.selector != selector:
                kept.append(one)
        self._added = kept

    def find(self, at: Moment, pod: Pod, container: Container) -> tuple[Stage, float] | None:
        """The first stage of a container at a moment, and its delay."""
        for stages in (self._added, DEFAULT_STAGES):
            for one in stages:
                if not one.applies(at, pod, container.name, container.role):
                    continue
                if isinstance(one.action, Command):
                    read = _read(one, container)
                    if read is not None:
                        return read
                else:
                    return one, one.delay + (self._drawn(one, pod, container) if one.jitter else 0.0)
        return None

    def scripts(self, pod: Pod, container: Container) -> Sequence[Any]:
        """The actions at the moment `probing`."""
        return [one.action for one in self._added if one.applies("probing", pod, container.name, container.role)]

    def _drawn(self, stage: Stage, pod: Pod, container: Container) -> float:
        key = f"{stage.name}/{pod['metadata']['uid']}/{container.name}"
        return stage.jitter * self._random.fraction("kubelet-stage", key, container.restarts)


def _read(stage: Stage, container: Container) -> tuple[Stage, float] | None:
    """A stage that does what the command of a container says, and its delay; None if there is no command."""
    assert isinstance(stage.action, Command)
    found = outcome_of(container.spec)
    if found is None:
        return None
    if is_loop(container.spec):
        found = Outcome(None if stage.action.waits else 0.0)
    if found.seconds is None:
        return replace(stage, action=Run()), 0.0
    return replace(stage, action=Exit(found.code)), found.seconds or stage.delay


class NamespacedObjects(Struct, frozen=True):
    """Reads of the objects of a namespace from the shared informers, by kind."""

    kinds: Mapping[str, CachedKind]
    namespace: str

    def get(self, kind: str, name: str) -> Mapping[str, Any] | None:
        return self.kinds[kind].get(self.namespace, name)


class NodeWorld(Struct, frozen=True):
    """The surroundings of a pod on a node with these images. Implements `podmachine.World`."""

    stages: Stages
    images: set[str]
    objects: NamespacedObjects

    def stage(self, at: Moment, pod: Pod, container: Container) -> tuple[Stage, float] | None:
        return self.stages.find(at, pod, container)

    def scripts(self, pod: Pod, container: Container) -> Sequence[Any]:
        return self.stages.scripts(pod, container)

    def pull(self, image: str, policy: str) -> bool:
        if image in self.images and policy != "Always":
            return False
        self.images.add(image)
        return policy != "Never"

    def volume_problem(self, pod: Pod) -> str:
        return podneeds.volume_problem(pod, self.objects) if pod["spec"].get("volumes") else ""

    def config_problem(self, pod: Pod, container: Mapping[str, Any]) -> str:
        if not container.get("env") and not container.get("envFrom"):
            return ""
        return podneeds.config_problem(container, self.objects.namespace, self.objects)
