"""One row of a timeline, and how times are written."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

MICROSECOND = timedelta(microseconds=1)

#: reconcile: of an operator · request: of a client · stored: a change that the server made by itself · informer: a LIST
#: after the first, or a failure · note: everything else
EntryKind = Literal["reconcile", "request", "stored", "informer", "note"]


class ObjectKey(NamedTuple):
    """An object, by its resource: `ObjectKey("apps", "deployments", "default", "web")`."""

    group: str
    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{resource} {self.namespace}/{self.name}" if self.namespace else f"{resource} {self.name}"


def stored_key(collection: str, path: str) -> ObjectKey:
    """The key of an object in a collection of the store (`deployments.apps`, `default/web`)."""
    resource, _, group = collection.partition(".")
    namespace, _, name = path.rpartition("/")
    return ObjectKey(group, resource, namespace, name)


class Summary(NamedTuple):
    """The text of an entry, and how it is joined to others.

    `because`: the serials of the entries that caused it, as far as they are known when it is recorded. `reacted_to`:
    the revisions that caused it. `commits`: the revisions that it stored. `facts`: further fields, for the page.
    `system`: whether the actor is a part of the cluster, as its own controllers are.
    """

    actor: str
    what: str
    resource_version: str = ""
    cause: str = ""
    kind: EntryKind = "note"
    object: ObjectKey | None = None
    because: tuple[int, ...] = ()
    reacted_to: tuple[int, ...] = ()
    commits: tuple[int, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    failed: bool = False
    duration: timedelta = timedelta()
    system: bool = False


class TimelineEntry(NamedTuple):
    """One thing that happened: when, who did it, what, at which resourceVersion, and why.

    `serial` is unique and orders everything that is recorded. `because`: the serials of the entries that caused it.
    """

    at: datetime
    actor: str
    what: str
    resource_version: str
    cause: str
    serial: int = 0
    kind: EntryKind = "note"
    object: ObjectKey | None = None
    because: tuple[int, ...] = ()

    def __str__(self) -> str:
        cause = f" [{self.cause}]" if self.cause else ""
        return f"{self.actor}: {self.what}{cause}"


def offset(since: timedelta) -> str:
    """A virtual time as the time since the cluster's start: `+1d 02:03:04.005`."""
    total = since // MICROSECOND
    seconds, micro = divmod(total, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    text = f"{hours:02}:{minutes:02}:{seconds:02}"
    if micro:
        text += f".{micro:06}".rstrip("0")
    return f"+{days}d {text}" if days else f"+{text}"
