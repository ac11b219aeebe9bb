"""The seam to the wall clock of user code: whatever makes `datetime.now()` and `time.time()` read virtual time."""

from datetime import datetime
from typing import Protocol


class WallClock(Protocol):
    """Frozen from `start` to `stop`. Nothing of our own may need it: it reads the bubble's clock."""

    def start(self, now: datetime) -> None:
        """Freeze at `now`. On an error nothing stays frozen."""

    def move(self, now: datetime) -> None:
        """Virtual time is `now` from here on. RuntimeError if somebody else has taken the clock over."""

    def stop(self) -> None:
        """Give the real time back."""


class RealWallClock:
    """Leaves user code in real time."""

    def start(self, now: datetime) -> None:
        return None

    def move(self, now: datetime) -> None:
        return None

    def stop(self) -> None:
        return None
