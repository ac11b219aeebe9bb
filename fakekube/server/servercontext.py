"""Time and randomness of requests, as the rules of the API server read them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from fakekube.server.random import Random
from fakekube.server.systemclock import Clock
from fakekube.struct import Struct


@lru_cache(maxsize=4)
def _in_seconds(moment: datetime) -> str:
    """A time in seconds (RFC 3339). The objects that are written within a second share the text."""
    return f"{moment.isoformat()[:19]}Z"  # faster than strftime


#: The time that was asked for last, and its text: a write asks several times, and virtual time stands still meanwhile.
_last: tuple[datetime, str] | None = None


class ServerContext(Struct, frozen=True):
    """Time and randomness of requests; implements `apiserver.call.RequestContext`."""

    clock: Clock
    random: Random

    @property
    def now(self) -> str:
        global _last
        moment, last = self.clock.now(), _last
        if last is None or last[0] is not moment:
            last = _last = moment, _in_seconds(moment.replace(microsecond=0))  # the same for all writes of a second
        return last[1]

    @property
    def micro(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def after(self, seconds: float) -> str:
        try:
            moment = self.clock.now() + timedelta(seconds=seconds)
        except OverflowError:  # a grace period of thousands of years
            moment = datetime.max
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self, key: str) -> str:
        return self.random.uid(key)

    def suffix(self, key: str) -> str:
        return self.random.suffix(key)

    def fraction(self, purpose: str, key: str) -> float:
        return self.random.fraction(purpose, key)
