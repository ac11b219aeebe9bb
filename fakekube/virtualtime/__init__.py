"""Virtual time: one clock and one loop that a test owns, and the rule by which time may move."""

from fakekube.virtualtime.bubble import Bubble
from fakekube.virtualtime.clock import EPOCH, VirtualClock
from fakekube.virtualtime.errors import BubbleClosed, Deadlock, HotLoop, NotQuiescent
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.loop import VirtualTimeLoop

__all__ = [
    "EPOCH",
    "Bubble",
    "BubbleClosed",
    "Deadlock",
    "Gate",
    "HotLoop",
    "NotQuiescent",
    "VirtualClock",
    "VirtualTimeLoop",
]
