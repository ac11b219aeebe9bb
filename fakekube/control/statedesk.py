"""The state of the cluster: snapshots, reset, and waiting until something holds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from threading import Timer
from typing import Any

from fakekube.apiserver.apiserver import ServerState
from fakekube.apiserver.cel.activation import CALL_LIMIT
from fakekube.apiserver.cel.environment import CompilationError, Environment, compiled
from fakekube.apiserver.cel.evaluate import Program
from fakekube.apiserver.cel.values import CelError
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.wire.status import StatusError
from fakekube.control.operation import operation
from fakekube.control.recorddesk import unmet
from fakekube.control.requestfields import DURATION
from fakekube.control.restoring import Restorer
from fakekube.control.steering import Steering
from fakekube.harness.records.objectversions import is_renewal
from fakekube.virtualtime.durations import SECOND, Duration, microseconds

#: Seconds for which `/eventually` and `/quiet` wait by default.
WITHIN = 30.0

#: Seconds without a write after which a cluster is quiet, by default.
QUIET = 3.0


class StateDesk:
    """As the desk `fakekube.state` of a test, and `eventually`."""

    def __init__(self, steering: Steering, resets: Sequence[Callable[[], None]]) -> None:
        """`resets` forget what the other desks know."""
        self._steering, self._resets = steering, resets
        self._restorer = Restorer(steering)
        self._snapshots: dict[str, ServerState] = {}

    # --- snapshots

    @operation("PUT", "/snapshots/{name}", code=201)
    def take(self, name: str) -> Any:
        """Take a snapshot of all objects under a name; one of this name is replaced."""
        self._snapshots[name] = self._steering.runner.apiserver.save()
        return self._shown(name)

    @operation("GET", "/snapshots")
    def snapshots(self) -> Any:
        """The snapshots."""
        return {"items": [self._shown(name) for name in self._snapshots]}

    @operation("GET", "/snapshots/{name}")
    def snapshot(self, name: str) -> Any:
        """One snapshot."""
        self._found(name)
        return self._shown(name)

    @operation("DELETE", "/snapshots/{name}", code=204)
    def forget(self, name: str) -> None:
        """Forget a snapshot."""
        self._found(name)
        del self._snapshots[name]

    @operation("POST", "/snapshots/{name}:restore")
    async def restore(self, name: str) -> Any:
        """Return to a snapshot, as a server that is restarted from a backup: every watch ends, and clients list
        again."""
        await self._restorer.restore(self._found(name))
        self._steering.note(f"restores the snapshot {name}")
        return {"revision": str(self._steering.runner.apiserver.store.revision)}

    @operation("POST", "/reset")
    async def reset(self) -> Any:
        """Return to the state after the start; faults, holds, requests, findings and scripts are gone."""
        for forget in self._resets:
            forget()
        await self._restorer.restore(self._steering.initial)
        self._steering.note("resets the cluster")
        return {"revision": str(self._steering.runner.apiserver.store.revision)}

    def _found(self, name: str) -> ServerState:
        found = self._snapshots.get(name)
        if found is None:
            raise StatusError(404, "NotFound", f"there is no snapshot {name!r}")
        return found

    def _shown(self, name: str) -> Any:
        store = self._snapshots[name].store
        return {"name": name, "revision": str(store.revision), "objects": store.size()}

    # --- waiting

    @operation("POST", "/eventually")
    async def eventually(self, get: str, cel: str, within: Duration = WITHIN) -> Any:
        """Wait until an expression holds for the object at a path, `object`, which is null while it does not exist;
        else 417 after `within`, with the object."""
        place = self._steering.resource_of(get)
        if place is None:
            raise ValueError(f"get={get!r} is not the path of an object, like /api/v1/namespaces/default/configmaps/a")
        program = _program(cel)
        found, problem = self._tried(program, place)
        if problem and not await self._until(lambda: not self._tried(program, place)[1], microseconds(within) / SECOND):
            found, problem = self._tried(program, place)
            raise unmet(f"{get}: {cel}: {problem} after {within}", object=found)
        return {"object": self._steering.read(*place)}

    def _tried(self, program: Program, place: tuple[Resource, str]) -> tuple[Object | None, str]:
        """The object, and why the expression does not hold; empty if it does."""
        found = self._steering.read(*place)
        try:
            value, _ = program({"object": found}, CALL_LIMIT)
        except CelError as problem:
            return found, str(problem)
        return found, "" if value is True else "it is false"

    async def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait for a write after which something holds. A clock that stands still does not delay the time-out."""
        loop, written = asyncio.get_running_loop(), asyncio.Event()
        leave = self._steering.runner.on_write(lambda change: written.set())
        limit = asyncio.timeout(seconds)
        fuse = Timer(seconds, loop.call_soon_threadsafe, (lambda: limit.reschedule(loop.time()),))
        fuse.daemon = True
        try:
            async with limit:
                if self._steering.beside.loop is not None and self._steering.beside.loop.mode == "stepped":
                    fuse.start()
                while not holds():
                    written.clear()
                    await written.wait()
        except TimeoutError:
            return False
        finally:
            fuse.cancel()
            leave()
        return True

    @operation(
        "POST", "/quiet",
        fields={"for": DURATION, "within": DURATION, "ignore": {"type": "array", "items": {"type": "string"}}},
    )  # fmt: skip
    async def quiet(self, body: Mapping[str, Any]) -> Any:
        """Wait until nothing has changed `for` a time, without renewals of leases and what clients with a User-Agent
        among the patterns of `ignore` write; else 417 after `within` names who still writes."""
        calm = microseconds(body.get("for", QUIET)) / SECOND
        within = microseconds(body.get("within", max(WITHIN, calm))) / SECOND
        if within < calm:
            raise ValueError(f"within={body['within']!r} is less than for={body.get('for', QUIET)!r}")
        writes = _Writes(self._steering, body.get("ignore", ()))
        try:
            if not await writes.end(calm, within):
                who = [{"userAgent": agent, "what": what, "times": times} for (agent, what), times in writes.busiest()]
                names = ", ".join(dict.fromkeys(f"{one['userAgent']}: {one['what']}" for one in who))
                raise unmet(f"not quiet for {calm:g} s within {within:g} s: {names}", writers=who)
        finally:
            writes.leave()
        return {"quietFor": calm}


class _Writes:
    """The writes of clients, from now on."""

    def __init__(self, steering: Steering, ignored: Sequence[str]) -> None:
        self._steering, self._ignored = steering, ignored
        self._last = asyncio.get_running_loop().time()
        self._changed = False
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ends = [steering.runner.on_write(self._stored), steering.runner.on_request(self._answered)]

    def _stored(self, change: Change) -> None:
        if is_renewal(change):
            return
        if self._steering.runner.answering is None:
            self._count("server", change.collection)  # its own controllers, like those of definitions
        else:
            self._changed = True

    def _answered(self, record: RequestRecord) -> None:
        changed, self._changed = self._changed, False
        if changed and not any(fnmatchcase(record.user_agent, one) for one in self._ignored):
            self._count(record.user_agent or record.user, f"{record.verb} {record.path}")

    def _count(self, who: str, what: str) -> None:
        self._last = asyncio.get_running_loop().time()
        self._counts[who, what] += 1

    async def end(self, calm: float, within: float) -> bool:
        """Wait until there was none for `calm` seconds; False after `within`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        clock = self._steering.clock
        while (due := self._last + calm) > loop.time():
            if due > deadline:
                await clock.sleep_until(deadline)
                return self._last + calm <= deadline
            self._counts.clear()
            await clock.sleep_until(due)
        return True

    def busiest(self) -> Sequence[tuple[tuple[str, str], int]]:
        return self._counts.most_common(5)

    def leave(self) -> None:
        for end in self._ends:
            end()


def _program(text: str) -> Program:
    try:
        return compiled(text, Environment("bool"))[0]
    except CompilationError as problem:
        raise ValueError(f"cel={text!r}: {problem}") from None
