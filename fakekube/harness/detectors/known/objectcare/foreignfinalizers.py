"""Detects writes that remove a finalizer of another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import Exchange, Scene, meta_of
from fakekube.harness.detectors.levels import Level

#: Finalizers that the cluster itself processes.
_OF_THE_CLUSTER = frozenset(
    {"foregroundDeletion", "orphan", "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"}
)


class ForeignFinalizers:
    """Updates and patches that remove a finalizer which belongs to another program.

    A finalizer is a program's own if it has added it, or another one of the same domain, if the domain is that of the
    object's group, or if it has the name of the program's library. Others are reported if another program has added
    them, if the cluster processes them, or if they were not meant: the object is not being deleted, or they are removed
    together with a finalizer of the program. One that the test has set on an object that is being deleted may belong to
    the operator.
    """

    levels: Mapping[str, Level] = {"foreign-finalizer": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the finalizer: the programs that have added it
        self._added: dict[str, set[str]] = {}
        #: by the program: the domains of the finalizers that it has added
        self._domains: dict[str, set[str]] = {}

    def finalized(self, change: Change, exchange: Exchange) -> None:
        old = tuple(meta_of(change.before.object).get("finalizers") or ()) if change.before is not None else ()
        new = tuple(meta_of(change.after.object).get("finalizers") or ()) if change.after is not None else ()
        program = exchange.program
        for finalizer in set(new).difference(old, _OF_THE_CLUSTER):
            self._added.setdefault(finalizer, set()).add(program)
            self._domains.setdefault(program, set()).add(_domain(finalizer))
        removed = [one for one in old if one not in new]
        if removed:
            is_terminating = change.before is not None and "deletionTimestamp" in meta_of(change.before.object)
            for finalizer in self._not_meant(exchange, removed, is_terminating):
                self._report(exchange, finalizer)

    def _not_meant(self, exchange: Exchange, removed: list[str], is_terminating: bool) -> Iterator[str]:
        foreign = [one for one in removed if not self._is_own(exchange, one)]
        for finalizer in foreign:
            is_known = finalizer in _OF_THE_CLUSTER or bool(self._added.get(finalizer))
            if is_known or not is_terminating or len(foreign) < len(removed):
                yield finalizer

    def _is_own(self, exchange: Exchange, finalizer: str) -> bool:
        if finalizer in _OF_THE_CLUSTER:
            return False
        domain, group = _domain(finalizer), exchange.record.group
        library = exchange.agent.partition("/")[0].lower()
        return (
            exchange.program in self._added.get(finalizer, ())
            or domain in self._domains.get(exchange.program, ())
            or (bool(group) and _registered(domain) == _registered(group))
            or (len(library) > 3 and library in finalizer.lower())
        )

    def _report(self, exchange: Exchange, finalizer: str) -> None:
        by = "the cluster itself processes" if finalizer in _OF_THE_CLUSTER else "belongs to another program"
        added = sorted(self._added.get(finalizer, ()))
        self._scene.report(
            "foreign-finalizer",
            f"{exchange.record} has removed the finalizer {finalizer}, which {by}"
            f"{f' ({added[0]} has added it)' if added else ''}{exchange.within}: what it protects may never be cleaned "
            "up; remove only your own from the list that was read",
            who=exchange.who,
            key=(exchange.program, finalizer),
        )

    def finish(self) -> None:
        """Nothing is left to report."""


def _domain(finalizer: str) -> str:
    """`example.com` of `example.com/backup`; a finalizer without a domain is its own."""
    return finalizer.partition("/")[0]


def _registered(domain: str) -> str:
    """The last two labels of a domain: `example.com` of `db.example.com`."""
    return ".".join(domain.split(".")[-2:])


DETECTORS = (ForeignFinalizers,)
