"""Virtual time: a clock and an event loop for one test, where time advances only when nothing is left to run."""

from fakekube.virtualtime.bubble import Bubble
from fakekube.virtualtime.clock import EPOCH, VirtualClock
from fakekube.virtualtime.durations import Duration
from fakekube.virtualtime.errors import BubbleClosed, Deadlock, HotLoop, NotQuiescent
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.seeds import Seed
from fakekube.virtualtime.wallclock import WallClock

__all__ = [
    "EPOCH",
    "Bubble",
    "BubbleClosed",
    "Deadlock",
    "Duration",
    "Gate",
    "HotLoop",
    "NotQuiescent",
    "Seed",
    "VirtualClock",
    "VirtualTimeLoop",
    "WallClock",
]
