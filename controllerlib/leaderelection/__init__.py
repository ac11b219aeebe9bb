"""Leader election on Leases (client-go: tools/leaderelection)."""

from controllerlib.leaderelection.elector import LeaderCallbacks, LeaderElector, LeaderHealthz
from controllerlib.leaderelection.leaderelection import Election, LeaderElection, LeaderElectionOptions
from controllerlib.leaderelection.leaselock import LeaseLock, Lock, new_lock
from controllerlib.leaderelection.leaserecord import LeaseRecord

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
