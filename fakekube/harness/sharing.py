"""Clusters of several tests: each test gets a cluster of its own with the state that wider fixtures have prepared."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from fakekube.harness.engine import engine_of
from fakekube.harness.face import Cluster
from fakekube.harness.state.snapshot import Snapshot

#: The most characters of a namespace's name (a DNS label).
_LONGEST = 63


class SharedCluster:
    """Opens a cluster for fixtures of a module or a session, and one for each test, in the state of the former.

    Neither is open between tests. `make` creates the cluster of the fixtures.
    """

    def __init__(self, make: Callable[[], Cluster]) -> None:
        self._make = make
        self._saved: Snapshot | None = None
        self._prepared: Cluster | None = None
        self._of_test: Cluster | None = None

    def present(self) -> Cluster:
        """The cluster of the test that runs, else that of the fixtures, which is opened if necessary."""
        if self._of_test is not None:
            return self._of_test
        if self._prepared is None:
            self._prepared = self._opened(self._make)
        return self._prepared

    def begin(self, make: Callable[[], Cluster]) -> Cluster:
        """Open the cluster of a test, which `make` creates. Raises ValueError if its settings differ."""
        self.present()
        self.keep()
        self._of_test = self._opened(make)
        return self._of_test

    def end(self) -> None:
        """Close the cluster of the test; what the test has changed is undone."""
        closing, self._of_test = self._of_test, None
        if closing is not None:
            closing.__exit__(None, None, None)

    def keep(self) -> None:
        """Keep the state that fixtures have prepared, and close their cluster."""
        closing, self._prepared = self._prepared, None
        if closing is None:
            return
        try:
            was_busy = engine_of(closing).is_busy
            closing.settle()
            self._saved = closing.state.snapshot()
        finally:
            closing.__exit__(None, None, None)
        if was_busy:
            raise RuntimeError(
                "a fixture of a module or a session has started an operator, a task or a thread, which ends before the "
                "test begins: start it in the test, or in a fixture of function scope"
            )

    def close(self) -> None:
        """Close what is open, and forget the state."""
        try:
            self.end()
        finally:
            self.keep()
            self._saved = None

    def _opened(self, make: Callable[[], Cluster]) -> Cluster:
        cluster = make()
        if self._saved is not None:
            try:
                cluster.state.restore(self._saved)  # before anything runs in it
            except BaseException:
                cluster.close()
                raise
        cluster.__enter__()
        return cluster


class ClusterProxy:
    """What fixtures and tests hold: the present cluster of a SharedCluster, under all its names."""

    def __init__(self, shared: SharedCluster) -> None:
        self._shared = shared

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shared.present(), name)

    def __dir__(self) -> list[str]:
        return dir(self._shared.present())

    def __repr__(self) -> str:
        return repr(self._shared.present())


def namespace_for(test: str, run: str = "") -> str:
    """A namespace for a test, by its node id: the same in each run, and unique by a hash.

    `run` distinguishes test runs that share a cluster.
    """
    digest = hashlib.blake2b(f"{test}{run}".encode(), digest_size=4).hexdigest()
    short = re.sub(r"[^a-z0-9]+", "-", test.rpartition("::")[2].lower()).strip("-")
    return f"{short[: _LONGEST - len(digest) - 1].strip('-') or 'test'}-{digest}"
