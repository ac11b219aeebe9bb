"""Marks in the timeline of a run where the atoms of its plan take effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness.engine import engine_of
from fakekube.harness.records.entry import Summary
from fakekube.simulation.anchor import EXTERNAL
from fakekube.simulation.atoms import Atom, Zombie
from fakekube.simulation.plan import Plan

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube

#: The actor of the marks.
FAULT = "fault"


class Marks:
    """Adds an entry to the timeline of a cluster for each atom that takes effect.

    An atom that takes effect while a request is handled is marked after the request, which is its cause.
    """

    def __init__(self, cluster: FakeKube, plan: Plan) -> None:
        self._timeline, self._clock = cluster.timeline, cluster.clock
        self._server = engine_of(cluster).server
        self._plan = plan
        self._fired: list[int] = []
        self.detach = self._server.on_request(self._requested)

    def fired(self, number: int) -> None:
        """Called with the number of an atom when it takes effect."""
        if self._server.answering is None or _is_before_request(self._plan.atoms[number]):
            self._mark(number, ())
        else:
            self._fired.append(number)

    def _requested(self, record: RequestRecord) -> None:
        fired, self._fired = self._fired, []
        for number in fired:
            self._mark(number, (record.serial,))

    def _mark(self, number: int, because: tuple[int, ...]) -> None:
        what, facts = str(self._plan.atoms[number]), (("atom", str(number)),)
        self._timeline.add(self._clock.now(), _summary, what, because, facts)


def _is_before_request(atom: Atom) -> bool:
    """Whether an atom takes effect before a request of the operator is handled, which is not its cause."""
    at = getattr(atom, "at", None)
    return isinstance(atom, Zombie) or (at is not None and at.kind == EXTERNAL)


def _summary(what: str, because: tuple[int, ...], facts: tuple[tuple[str, str], ...]) -> Summary:
    return Summary(FAULT, what, because=because, facts=facts)
