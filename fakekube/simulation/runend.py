"""The end of a run: everything settles, the final state is taken, and everything is reconciled once more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from fakekube.simulation.injection import Injection
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.recorder import Recorder, text_of
from fakekube.virtualtime import Deadlock, HotLoop, NotQuiescent

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.operator import Operator

Object = dict[str, Any]


class Run(Protocol):
    """The run that ends."""

    plan: Plan
    recorder: Recorder
    injection: Injection
    lost: list[str]
    externals: dict[str, Iterable[Any]]
    steps: list[str]

    def operators(self) -> Mapping[str, Operator]:
        """The operators that run."""


#: Virtual seconds that pass at the end of each run, so that what failed is retried. Odd, so that it ends between ticks.
GRACE = 37.5

_STUCK = (Deadlock, HotLoop, NotQuiescent)


def finished(run: Run, cluster: FakeKube, failure: BaseException | None, *, with_timeline: bool) -> Observation:
    """The observation of a run whose test has ended, with its failure if it failed."""
    unsettled = text_of(failure) if isinstance(failure, _STUCK) else ""
    failed = "" if failure is None or unsettled else text_of(failure)
    inconclusive = bool(failed) and run.injection.is_down
    unsettled = unsettled or _attempt(run, lambda: _end(run, cluster))
    final = final_objects(run, cluster)
    if not unsettled:
        unsettled = _attempt(run, lambda: _rest(run, cluster))
    external = {name: tuple(map(str, fake)) for name, fake in run.externals.items()}
    return run.recorder.observation(
        run.plan.seed,
        failure="" if inconclusive else failed.partition("\n")[0],
        inconclusive=inconclusive,
        unsettled=unsettled.partition("\n")[0],
        final=final,
        lost=tuple(run.lost),
        external=external,
        fired=tuple(run.injection.fired),
        steps=tuple(run.steps),
        timeline=cluster.timeline.to_json() if with_timeline else "",
    )


def _attempt(run: Run, move: Any) -> str:
    """Why the cluster does not settle, or nothing. Other failures are those of operators."""
    try:
        move()
    except _STUCK as error:
        return text_of(error)
    except Exception as error:
        run.lost.append(text_of(error))
    return ""


def _end(run: Run, cluster: FakeKube) -> None:
    while True:
        cluster.settle()
        if not run.injection.end_all():
            break
    cluster.advance(GRACE)


def _rest(run: Run, cluster: FakeKube) -> None:
    run.recorder.resting = True
    for operator in run.operators().values():
        operator.enqueue_all()
    cluster.settle()


def final_objects(run: Run, cluster: FakeKube) -> dict[str, Object]:
    """The objects at the end by target; those with generated names are numbered."""
    found: dict[str, Object] = {}
    store = cluster._runner.apiserver.store
    for collection in store.sizes():
        for path, entry in store.collection(collection).live.items():
            target = run.recorder.anchor_of(collection, path, None, entry.object).target
            number = 1
            while (unique := f"{target}~{number}" if target.endswith("*") else target) in found:
                number += 1
            found[unique] = entry.object
    return found
