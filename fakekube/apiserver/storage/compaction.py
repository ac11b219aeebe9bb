"""The times at which old revisions can no longer be read (`etcd3.compactor`)."""

from __future__ import annotations

from fakekube.apiserver.storage.store import Store

#: The interval of compactions in seconds (`--etcd-compaction-interval`).
INTERVAL = 300.0

#: The collection of leases, which are renewed every few seconds, and how many of its changes are kept for watches.
#: (The watch cache of kube-apiserver keeps the changes of 75 seconds, and at least 100.)
LEASES, RENEWALS = "leases.coordination.k8s.io", 2_000


class Compactor:
    """At each interval, makes the revisions unreadable that are older than the revision one interval before.

    So a continue token is valid for five to ten minutes, even if nothing is written: kube-apiserver records each
    compaction under a key of its own, which takes a revision. Here a revision is taken only where it shows: by the next
    token, if nothing was written since (`Store.revision_of_token`).
    Watches do not depend on it: kube-apiserver serves them from the watch cache, whose history here is `Store.window`,
    and of leases the last RENEWALS changes.
    """

    def __init__(self, store: Store, now: float) -> None:
        self._store = store
        self._next = now + INTERVAL
        self._noted = store.revision

    def begin(self, now: float) -> None:
        """Begin again, after the store was restored."""
        self._next, self._noted = now + INTERVAL, self._store.revision

    def observe(self, now: float) -> None:
        """Compact for the time that has passed. To be called before the first write after each interval."""
        if now < self._next:
            return
        intervals = int((now - self._next) // INTERVAL) + 1
        last = self._noted if intervals == 1 else self._store.revision
        self._store.floor = last + 1
        self._noted = self._store.revision
        self._next += intervals * INTERVAL
        self._store.shorten(LEASES, RENEWALS)
