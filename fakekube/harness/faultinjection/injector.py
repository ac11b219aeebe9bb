"""The interface of an engine that decides about faults: the points at which it is asked, and its actions."""

from __future__ import annotations

from typing import Any, Protocol

from fakekube.harness.faultinjection.statechange import StateChange
from fakekube.struct import Struct


class BeforeRequest(Struct, frozen=True):
    """A request is about to be processed. Actions: Error, Reset, Lose, Delay, Crash."""

    process: str
    user_agent: str
    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str


class AfterCommit(Struct, frozen=True):
    """A write has been stored, and its answer has not been sent. Actions: Lose, Crash."""

    change: StateChange

    @property
    def process(self) -> str:
        return self.change.process


class AfterRequest(Struct, frozen=True):
    """The answer of a request is about to be sent. Actions: Lose, Crash."""

    process: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int


class BeforeDelta(Struct, frozen=True):
    """An informer is about to apply a delta to its cache. Actions: Delay, Hold, Crash."""

    process: str
    informer: str
    type: str
    object: Any


class BeforeEvent(Struct, frozen=True):
    """A watch is about to deliver an event. Actions: Delay, Crash."""

    process: str
    user_agent: str
    collection: str
    type: str
    namespace: str
    name: str
    revision: int


Point = BeforeRequest | AfterCommit | AfterRequest | BeforeDelta | BeforeEvent


class Proceed(Struct, frozen=True):
    """Nothing happens."""


class Error(Struct, frozen=True):
    """The request is answered with this code; with `committed` it is processed nevertheless."""

    code: int
    committed: bool = False


class Reset(Struct, frozen=True):
    """The connection breaks, and the request is not processed."""


class Lose(Struct, frozen=True):
    """The request is processed, and the connection breaks before its answer is sent."""


class Crash(Struct, frozen=True):
    """The process that the point belongs to is killed; nothing happens if there is none."""


class Delay(Struct, frozen=True):
    """It waits for so many seconds of virtual time."""

    seconds: float


class Hold:
    """The delta waits until `release()`."""

    def __init__(self) -> None:
        self.released: bool = False
        self.on_release: list[Any] = []

    def release(self) -> None:
        self.released = True
        callbacks, self.on_release = self.on_release, []
        for callback in callbacks:
            callback()


Action = Proceed | Error | Reset | Lose | Crash | Delay | Hold

PROCEED = Proceed()


class Injector(Protocol):
    """Decides at each point. It must be deterministic, and must not block or move time."""

    def decide(self, point: Point) -> Action: ...


class IllegalAction(ValueError):
    """An injector has decided on an action that the point does not have."""

    def __init__(self, point: Point, action: Action) -> None:
        super().__init__(f"{type(action).__name__} cannot happen at {type(point).__name__}")
