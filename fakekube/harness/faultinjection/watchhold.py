"""Holds: watches that deliver nothing beyond a resourceVersion until they are released."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Self

from fakekube.apiserver.storage.watch import Watch


class Hold:
    """Watches of one client that are late: they deliver changes up to `at`, and the rest when they are released.

    A watch that the client opens meanwhile is held, too. Used as a context manager, the hold is released at the end of
    the block. `seen` counts the watches that it has held.
    """

    def __init__(
        self, at: int, resource: str, namespace: str, user_agent: str, process: object, on_release: Callable[[], None]
    ) -> None:
        self.at: int = at
        self.resource: str = resource
        self.namespace: str = namespace
        self.user_agent: str = user_agent
        self.seen: int = 0
        self.active: bool = True
        #: called when it is released, with what is said of it
        self.on_released: Callable[[str], None] | None = None
        self._process, self._on_release = process, on_release
        self._watches: list[Watch] = []

    def applies(self, watch: Watch) -> bool:
        """Whether a watch is one of those that are held."""
        user_agent, process = watch.client
        if self._process is not None and process is not self._process:
            return False
        plural = watch.collection.partition(".")[0]
        return (
            fnmatchcase(plural, self.resource)
            and fnmatchcase(watch.selection.namespace, self.namespace)
            and fnmatchcase(user_agent, self.user_agent)
        )

    def add(self, watch: Watch) -> None:
        """Hold a watch."""
        watch.limits.append(self.at)
        self._watches.append(watch)
        self.seen += 1

    def release(self) -> None:
        """Let the watches deliver what they have missed. May be called again."""
        if not self.active:
            return
        self.active = False
        for watch in self._watches:
            watch.limits.remove(self.at)
        self._watches.clear()
        if self.on_released is not None:
            self.on_released(f"released: {self.text}")
        self._on_release()

    @property
    def text(self) -> str:
        """What is held: `watches of configmaps of db held at resourceVersion 53`."""
        who = getattr(self._process, "name", "") or (f"clients {self.user_agent}" if self.user_agent != "*" else "")
        what = f"of {self.resource}" if self.resource != "*" else ""
        return " ".join(filter(None, ("watches", what, who and f"of {who}", f"held at resourceVersion {self.at}")))

    @property
    def problem(self) -> str:
        """Why the hold has done nothing; empty if it has held a watch."""
        who = getattr(self._process, "name", "") or f"user_agent={self.user_agent!r}"
        what = f"hold_watches({who}, resource={self.resource!r}, namespace={self.namespace!r})"
        return "" if self.seen else f"{what} has held no watch: the operator must watch before or during the hold"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def __repr__(self) -> str:
        state = f"{len(self._watches)} watches" if self.active else "released"
        who = getattr(self._process, "name", "") or self.user_agent
        return f"<Hold {self.resource} of {who} at resourceVersion {self.at}: {state}>"
