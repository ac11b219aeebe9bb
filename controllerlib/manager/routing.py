"""The group of a runnable (controller-runtime: pkg/manager/runnable_group.go)."""

from dataclasses import dataclass
from typing import Any, Literal

GroupName = Literal["http", "webhooks", "caches", "others", "warmup", "leader_election"]
#: In the order in which they are started.
GROUPS: tuple[GroupName, ...] = ("http", "webhooks", "caches", "others", "warmup", "leader_election")


@dataclass(frozen=True, slots=True)
class Route:
    """The group of a runnable, and whether its warmup is started too."""

    group: GroupName
    warmup: bool = False


def route(runnable: Any) -> Route:
    """Return the group of a runnable by its attributes.

    These are `runnable_group` ("http", "webhooks" or "caches"), `need_leader_election` and `warmup`. A runnable without
    them, such as a function, runs on the leader only.
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
