"""The detectors, and the reports of other parts of the harness under a name of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from fakekube.harness.detectors.cachemutation import CacheMutations
from fakekube.harness.detectors.children import Children
from fakekube.harness.detectors.conflicts import IgnoredConflicts, UnrepeatedConflicts
from fakekube.harness.detectors.detector import Detector, Scene
from fakekube.harness.detectors.faultuse import UnusedFaults
from fakekube.harness.detectors.finalizers import Finalizers
from fakekube.harness.detectors.leadership import FollowerWrites, UnelectedWrites
from fakekube.harness.detectors.looping.clientloops import ClientLoops
from fakekube.harness.detectors.looping.fights import Fights
from fakekube.harness.detectors.looping.hotloops import HotLoops
from fakekube.harness.detectors.orphans import Orphans
from fakekube.harness.detectors.permissions import MissingPermissions
from fakekube.harness.detectors.polling import PlainWatches, PolledLists, ShortRequeues
from fakekube.harness.detectors.reconcileerrors import ReconcileErrors
from fakekube.harness.detectors.remains.stuck import Stuck
from fakekube.harness.detectors.remains.tasks import Tasks
from fakekube.harness.detectors.remains.threadleaks import Threads
from fakekube.harness.detectors.restwrites import RestWrites
from fakekube.harness.detectors.resyncs import ResyncWrites
from fakekube.harness.detectors.timestamps import TimestampLoops
from fakekube.harness.detectors.updates import IgnoredStatus, NoopWrites, UnguardedUpdates

#: Fights and the hot loop come last: they raise, and the others have to know of the reconcile by then.
ALL: Sequence[Callable[[Scene], Detector]] = (
    ReconcileErrors, TimestampLoops, NoopWrites, IgnoredStatus, UnguardedUpdates, CacheMutations, IgnoredConflicts,
    UnrepeatedConflicts, Finalizers, Children, Orphans, Tasks, Threads, Stuck, MissingPermissions, FollowerWrites,
    UnelectedWrites, UnusedFaults, PolledLists, ShortRequeues, ResyncWrites, RestWrites, PlainWatches, ClientLoops,
    Fights, HotLoops,
)  # fmt: skip


def detectors_for(names: Collection[str], scene: Scene) -> Sequence[Detector]:
    """A detector for each name that is not only reported by others."""
    return [make(scene) for make in ALL if any(name in names for name in make.names)]  # type: ignore[attr-defined]
