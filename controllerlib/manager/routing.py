"""Which group of a manager something to run belongs to (controller-runtime: pkg/manager/runnable_group.go)."""

from dataclasses import dataclass
from typing import Any, Literal

GroupName = Literal["http", "webhooks", "caches", "others", "warmup", "leader_election"]
#: The order of starting.
GROUPS: tuple[GroupName, ...] = ("http", "webhooks", "caches", "others", "warmup", "leader_election")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a runnable is started, and whether its warm-up is, too."""

    group: GroupName
    warmup: bool = False


def route(runnable: Any) -> Route:
    """By what the runnable says of itself: `runnable_group` ("http", "webhooks", "caches"), `need_leader_election`,
    `warmup`. What says nothing, plain functions too, runs on the leader only.
    """
    needs = getattr(runnable, "need_leader_election", None)
    needs = needs() if callable(needs) else needs
    declared = getattr(runnable, "runnable_group", None)
    if declared == "http":
        return Route("leader_election" if needs else "http")
    if declared == "webhooks":
        return Route("webhooks")
    if declared == "caches":
        return Route("caches")
    warmup = callable(getattr(runnable, "warmup", None))
    return Route("others" if needs is False else "leader_election", warmup)
