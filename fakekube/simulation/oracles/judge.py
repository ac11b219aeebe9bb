"""Judges a run by all oracles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fakekube.simulation.observation import TEST, Observation, Violation
from fakekube.simulation.oracles.convergence import recovers, same_as_new
from fakekube.simulation.oracles.failures import exceptions, own_assertions, predicates, raised, streams
from fakekube.simulation.oracles.finalstate import counts, final_state, is_left_revision
from fakekube.simulation.oracles.leaks import leaks, orphans
from fakekube.simulation.oracles.progress import effort, rest, settles, steady_retries
from fakekube.simulation.oracles.templatehashes import with_usual_hashes
from fakekube.simulation.oracles.truth import ahead, status_truth
from fakekube.simulation.oracles.writers import fights, flips, lost_updates, stale_decisions
from fakekube.simulation.randomnames import RandomNames
from fakekube.simulation.statemask import Mask


@dataclass(frozen=True, slots=True)
class Judge:
    """The reference of a test, and what is declared benign.

    expect_delta: changes whose number may differ, as `create job/*`. owner_labels: labels that name an owner.
    off: the oracles that are not asked, `O5`. names: the names that are compared without their random part. new: a run
    on a new cluster that is given the last spec at once; a run that may have missed a spec may end as this one.
    """

    reference: Observation
    mask: Mask = field(default_factory=Mask)
    expect_delta: Sequence[str] = ()
    owner_labels: Sequence[str] = ()
    off: Sequence[str] = ()
    names: RandomNames = field(default_factory=RandomNames)
    new: Observation | None = None

    def violations(self, run: Observation) -> Sequence[Violation]:
        """What the run does wrong, the most telling first; empty if it is correct."""
        run = with_usual_hashes(self.reference, self.names.applied(run))
        return [one for one in self._all(run) if one.oracle not in self.off]

    def of_workload(self, run: Observation, new: Observation) -> Sequence[Violation]:
        """What is wrong in a run with generated changes. `new`: a new cluster that is given the last spec at once."""
        run, new = self.names.applied(run), self.names.applied(new)
        return [one for one in self._of_workload(run, new) if one.oracle not in self.off]

    def _of_workload(self, run: Observation, new: Observation) -> Iterator[Violation]:
        if run.unjudged or run.inconclusive:
            return
        yield from predicates(run)
        yield from settles(run)
        if not (run.unsettled or run.failure or new.unjudged or new.unsettled or new.inconclusive):
            yield from same_as_new(run, new, self.mask)
            yield from orphans(self.reference, run, self.owner_labels)
            yield from status_truth(new, run)
            yield from rest(self.reference, run)
        yield from stale_decisions(run)
        yield from flips(self.reference, run)
        yield from exceptions(self.reference, run)
        yield from streams(run)
        yield from own_assertions(self.reference, run)

    def of_reference(self) -> Sequence[Violation]:
        """What is wrong in the reference itself, which runs cannot be compared for."""
        found = [
            *fights(self.reference),
            *steady_retries(self.reference),
            *ahead(self.reference),
            *raised(self.reference),
        ]
        return [one for one in found if one.oracle not in self.off]

    @property
    def _new(self) -> Observation | None:
        return None if self.new is None else self.names.applied(self.new)

    def _all(self, run: Observation) -> Iterator[Violation]:
        if run.unjudged or run.released is False:  # what is to be judged was not reached
            return
        if run.inconclusive and (run.mode or not _is_complete(self.reference, run)):
            return
        if run.mode == "fresh":
            yield from same_as_new(self.reference, run, self.mask)
            return
        if run.mode == "rollback":
            yield from settles(run)
            yield from recovers(self.reference, run, self.mask)
            yield from exceptions(self.reference, run)
            return
        yield from predicates(run)
        yield from settles(run)
        if run.released and not run.unsettled:
            yield from self._upgraded(run)
            return
        if run.unsettled:  # the final state says nothing then
            yield from exceptions(self.reference, run)
            return
        is_comparable = not run.failure or _by_test(run) == _by_test(self.reference)
        if is_comparable:  # the test has made all its changes
            yield from final_state(self.reference, run, self.mask, new=self._new)
            yield from counts(self.reference, run, self.mask, self.expect_delta)
        yield from lost_updates(run)
        if is_comparable:
            yield from leaks(self.reference, run, self.mask, self.owner_labels)
        yield from stale_decisions(run)
        yield from flips(self.reference, run)
        if is_comparable:
            yield from status_truth(self.reference, run)
            yield from rest(self.reference, run)
            yield from effort(self.reference, run)
        yield from exceptions(self.reference, run)
        yield from streams(run)
        yield from own_assertions(self.reference, run)

    def _upgraded(self, run: Observation) -> Iterator[Violation]:
        """What is wrong in a run with two releases: it ends as the last one alone does, and harms nothing on the way.

        How often objects are created and reconciled says nothing, as the other release has done a part of it.
        """
        mask = self.mask.for_upgrades()
        if not run.failure or _by_test(run) == _by_test(self.reference):
            for one in final_state(self.reference, run, mask, new=self._new):
                if not (mask.may_differ(one.target) or is_left_revision(self.reference, run, one.target)):
                    yield one
            yield from leaks(self.reference, run, mask, self.owner_labels)
            yield from status_truth(self.reference, run)
        yield from stale_decisions(run)
        yield from exceptions(self.reference, run)
        yield from streams(run)
        yield from own_assertions(self.reference, run)


def _is_complete(reference: Observation, run: Observation) -> bool:
    """Whether the test has made all its changes, and has waited as long as in the reference, before it failed."""
    return run.ended >= reference.ended and _by_test(run) == _by_test(reference)


def _by_test(run: Observation) -> Counter[str]:
    return Counter(one.anchor.signature for one in run.commits if one.actor == TEST and not one.rest)
