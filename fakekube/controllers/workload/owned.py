"""What a controlling object owns, in the shared informers (`controller.FilterPodsByOwner`, `GetPodReplicaSets`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllerlib.client import Selector, label_selector_as_selector
from fakekube.controllers.context import CONTROLLER_INDEX, ControllerContext, controller_index
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.workload.podstate import Pod

Object = Mapping[str, Any]


def by_controller(context: ControllerContext, api_version: str, kind: str) -> CachedKind:
    """The objects of a kind, indexed by their controller."""
    context.index(api_version, kind, CONTROLLER_INDEX, controller_index)
    return context.kind(api_version, kind)


def pods_by_controller(context: ControllerContext) -> CachedKind:
    """The pods, indexed by their controller."""
    return by_controller(context, "v1", "Pod")


def owned_and_orphans(indexed: CachedKind, owner: Object) -> Sequence[Object]:
    """The objects that `owner` controls, then those of its namespace without a controller."""
    meta = owner["metadata"]
    mine = indexed.by_index(CONTROLLER_INDEX, meta["uid"])
    return [*mine, *indexed.by_index(CONTROLLER_INDEX, f"orphan/{meta['namespace']}")]


def selecting(owners: CachedKind, selector_of: Callable[[Object], Selector]) -> Callable[[Pod], Sequence[Object]]:
    """A function that returns the objects of the pod's namespace that select a pod by its labels."""

    def matching(pod: Pod) -> Sequence[Object]:
        labels = pod["metadata"].get("labels")
        if not labels:
            return ()
        return [one for one in owners.list(pod["metadata"]["namespace"]) if selector_of(one).matches(labels)]

    return matching


def template_selector(owner: Object) -> Selector:
    """The selector `spec.selector` of an object of apps/v1 or batch/v1; an empty one selects nothing."""
    selector = label_selector_as_selector(owner["spec"].get("selector"))
    return Selector(nothing=True) if selector.is_everything else selector
