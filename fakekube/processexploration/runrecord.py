"""Records one run of a process: its changes with their writers, as the oracles of simulations compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.server.process.serverlog import is_own_agent
from fakekube.server.runner import ServerRunner
from fakekube.simulation.anchor import Anchor
from fakekube.simulation.observation import OPERATOR, TEST, Observation
from fakekube.simulation.running.recorder import Actor, Kinds, Recorder

Object = dict[str, Any]

#: The User-Agent of the changes that the exploration makes itself.
OWN = "fakekube/explore"


@dataclass(slots=True)
class _Stored:
    """A change, the request that made it, and its record once it is answered."""

    change: Change
    at: float
    info: RequestInfo | None
    record: RequestRecord | None = None


class RunRecord:
    """What happens from its creation until `leave`. `agent`: a shell pattern of the User-Agent of the process."""

    def __init__(self, runner: ServerRunner, kinds: Kinds, agent: str) -> None:
        self._runner, self._kinds, self._agent = runner, kinds, agent
        self._stored: list[_Stored] = []
        self._open: list[_Stored] = []
        self.records: list[RequestRecord] = []
        self._ends: list[Callable[[], None]] = [runner.on_write(self._written), runner.on_answer(self._answered)]

    def leave(self) -> None:
        for end in self._ends:
            end()

    def _written(self, change: Change) -> None:
        made = _Stored(change, self._runner.clock.monotonic(), self._runner.answering)
        self._stored.append(made)
        if made.info is not None:
            self._open.append(made)

    def _answered(self, request: Request, info: RequestInfo, response: Response, record: RequestRecord) -> None:
        if self.is_agent(record.user_agent):
            self.records.append(record)
        if self._open:
            for one in self._open:
                if one.info is info:
                    one.record = record
            self._open = [one for one in self._open if one.record is None]

    def is_agent(self, user_agent: str) -> bool:
        """Whether a client is the process that is explored."""
        return fnmatchcase(user_agent, self._agent) and not is_own_agent(user_agent)

    def has_lease(self, first: int = 0) -> bool:
        """Whether the process has written a lease, among its requests from the one of this number on."""
        return any(
            one.resource == "leases" and one.verb in ("create", "update", "patch") and one.code < 400
            for one in self.records[first:]
        )

    def observed(self, unsettled: str = "", *, skipped: bool = False) -> tuple[Observation, Mapping[int, Anchor]]:
        """The observation, and the first change that each request of the process has made, by its serial."""
        recorder = Recorder(self._kinds)
        changes: dict[int, Anchor] = {}
        for one in self._stored:
            commit = recorder.committed(one.change, self._actor(one.record), one.at)
            if one.record is not None and commit.by_operator:
                changes.setdefault(one.record.serial, commit.anchor)
        final = recorder.final_objects(self._runner.apiserver.store)
        return recorder.observation(0, final=final, unsettled=unsettled, skipped=skipped), changes

    def _actor(self, record: RequestRecord | None) -> Actor:
        if record is None:
            return Actor("controller server")
        if record.user_agent == OWN:
            return Actor(TEST)
        return Actor(f"{OPERATOR}agent" if self.is_agent(record.user_agent) else f"controller {record.user_agent}")
