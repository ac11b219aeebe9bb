"""The protocol for whatever makes `datetime.now()` and `time.time()` of the code under test read virtual time."""

from datetime import datetime
from typing import Protocol


class WallClock(Protocol):
    """Frozen from `start` to `stop`. Code of fakekube does not use it: it reads the bubble's clock."""

    def start(self, now: datetime) -> None:
        """Freeze at `now`. If it raises, nothing stays frozen."""

    def move(self, now: datetime) -> None:
        """Virtual time is `now`. RuntimeError if another library has replaced the wall clock since `start`."""

    def stop(self) -> None:
        """Restore real time."""


class RealWallClock:
    """Leaves the code under test in real time."""

    def start(self, now: datetime) -> None:
        return None

    def move(self, now: datetime) -> None:
        return None

    def stop(self) -> None:
        return None
