"""Leader election on Leases (client-go: tools/leaderelection)."""

from controllerlib.leaderelection.elector import LeaderCallbacks, LeaderElector, LeaderHealthz
from controllerlib.leaderelection.leaderelection import Election, LeaderElection, LeaderElectionOptions
from controllerlib.leaderelection.lease import LeaseRecord
from controllerlib.leaderelection.lock import LeaseLock, Lock, new_lock

__all__ = [
    "Election",
    "LeaderCallbacks",
    "LeaderElection",
    "LeaderElectionOptions",
    "LeaderElector",
    "LeaderHealthz",
    "LeaseLock",
    "LeaseRecord",
    "Lock",
    "new_lock",
]
