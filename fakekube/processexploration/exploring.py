"""Explores a process: two reference runs, then a run for each plan, each from the same snapshot of one server."""

from __future__ import annotations

import asyncio
import glob
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fakekube.control.recorddesk import UNMET
from fakekube.processexploration import reproduction
from fakekube.processexploration.changesteps import Call, steps_of
from fakekube.processexploration.faultplans import DOWN, PAUSED, FaultPlan, plans, writes_of
from fakekube.processexploration.operatorprocess import POLL, OperatorProcess, command_of
from fakekube.processexploration.reproduction import Failure, Setting
from fakekube.processexploration.runrecord import OWN, RunRecord
from fakekube.server.controldoor import Asked
from fakekube.server.direct import DirectTransport
from fakekube.server.manifests import collection_path
from fakekube.server.process.listening import CannotServe
from fakekube.simulation.anchor import Anchor
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.oracles.finalstate import counts, final_state
from fakekube.simulation.oracles.leaks import leaks
from fakekube.simulation.oracles.progress import settles
from fakekube.simulation.oracles.truth import status_truth
from fakekube.simulation.randomnames import RandomNames
from fakekube.simulation.running.recorder import Kinds
from fakekube.simulation.statemask import Mask
from fakekube.virtualtime.durations import SECOND, microseconds

if TYPE_CHECKING:
    from fakekube.control.steering import Steering

#: The snapshot from which each run begins.
_START = "explore"

#: Real seconds in which a process that was started must make a request, or lead again.
STARTING = 60.0


class Quiet(Exception):
    """A cluster does not become quiet, or the process does not work; the message says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `phase`: the number of steps before the fault took effect; None if it did not."""

    observation: Observation
    record: RunRecord
    changes: Mapping[int, Anchor]
    phase: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an exploration has found. `reached`: how many of the plans that were tried took effect."""

    failures: Sequence[tuple[Failure, str]]
    tried: int
    reached: int
    planned: int


class Exploration:
    """Runs a process under plans. `say` prints a line; `environment`: of the process, which `process` makes."""

    def __init__(
        self,
        steering: Steering,
        setting: Setting,
        environment: Mapping[str, str],
        say: Callable[[str], None],
        log: Path,
        process: Callable[[Sequence[str], Mapping[str, str], Path], OperatorProcess] = OperatorProcess,
    ) -> None:
        self._steering, self._runner, self._setting = steering, steering.runner, setting
        self._environment, self._say, self._log, self._process = environment, say, log, process
        self._kinds = Kinds(_Resources(steering))

    async def explore(self, atoms: Sequence[str], budget: int, *, stop_at_first: bool) -> Outcome:
        """Raises CannotServe if a reference run fails."""
        await self._call("POST", "/quiet", self._quiet)
        await self._call("PUT", f"/snapshots/{_START}")
        first, second = await self._reference(), await self._reference()
        self._setting = replace(self._setting, agent=_agent(self._setting.agent, first.record))
        names = RandomNames.of(first.observation, second.observation)
        reference = names.applied(first.observation)
        mask = Mask()
        mask.learn(reference.final, names.applied(second.observation).final)
        writes = list(writes_of(first.record.records, first.changes, self._setting.agent))
        if not writes:
            raise CannotServe("the process has written nothing: change what it reconciles with --setup or --after")
        planned = plans(writes, atoms)
        self._say(f"reference: {len(writes)} committed writes, {len(planned)} plans")
        failures: list[tuple[Failure, str]] = []
        tried = reached = 0
        judge = _Judge(reference, mask, names)
        for plan in planned[:budget]:
            tried += 1
            run, violations = await self._judged(plan, judge)
            if run.phase is None:
                self._say(f"  {plan}: not reached")
                continue
            reached += 1
            if not violations:
                self._say(f"  {plan}: correct")
                continue
            self._say(f"  {plan}: {violations[0]}")
            if any(one.violations[0].same_as(violations[0]) for one, _ in failures):
                continue  # a fault at another write shows the same
            again = (await self._judged(plan, judge))[1]
            if not any(one.same_as(violations[0]) for one in again):
                self._say("    a second run is correct: not reported")
                continue
            failure = Failure(plan, violations, run.phase, first.record.has_lease())
            failures.append((failure, self._script(failure, judge, run)))
            if stop_at_first:
                break
        return Outcome(failures, tried, reached, len(planned))

    # --- one run

    async def _reference(self) -> Run:
        run = await self._run(None)
        if run.observation.unsettled:
            raise CannotServe(f"the run without faults fails: {run.observation.unsettled}")
        return run

    async def _judged(self, plan: FaultPlan, judge: _Judge) -> tuple[Run, Sequence[Violation]]:
        """A run, and what is wrong: also after a while in which the process may try again."""
        found: list[Violation] = []

        def is_correct(run: Run) -> bool:
            found[:] = judge.violations(run.observation)
            return not found

        return await self._run(plan, is_correct), tuple(found)

    async def _run(self, plan: FaultPlan | None, is_correct: Callable[[Run], bool] = lambda run: True) -> Run:
        await self._call("DELETE", "/faults")
        await self._call("POST", f"/snapshots/{_START}:restore")
        await self._call("DELETE", "/requests")
        record = RunRecord(self._runner, self._kinds, self._setting.agent)
        self._log.write_bytes(b"")
        process = self._process(command_of(self._setting.start), self._environment, self._log)
        live = _Live(self, process, record, plan)
        unsettled = ""
        try:
            try:
                await live.all_steps()
            except Quiet as problem:
                unsettled = str(problem)
            run = self._observed(record, plan, live.phase, unsettled)
            if live.phase is not None and not is_correct(run):
                await live.patience()
                run = self._observed(record, plan, live.phase, unsettled)
                is_correct(run)
            return run
        finally:
            record.leave()
            await process.kill()

    def _observed(self, record: RunRecord, plan: FaultPlan | None, phase: int | None, unsettled: str) -> Run:
        skipped = plan is not None and phase is not None and plan.skips
        observation, changes = record.observed(unsettled, skipped=skipped)
        return Run(observation, record, changes, phase)

    @property
    def _quiet(self) -> Mapping[str, str]:
        return {"for": self._setting.quiet, "within": self._setting.within}

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the control API, as curl does. Raises Quiet if an expectation is not met."""
        data = b"" if body is None else orjson.dumps(body)
        tokens = self._steering.running.administrators
        headers = {"host": "localhost", **({"authorization": f"Bearer {tokens[0]}"} if tokens else {})}
        control = self._runner.control
        assert control is not None
        answer = await control.answer(Asked(method, f"/_fakekube/v1{path}", {}, headers, data, "127.0.0.1"))
        found: Any = orjson.loads(answer.body) if answer.body else {}
        if answer.status == UNMET:
            raise Quiet(found["message"])
        if answer.status >= 400:
            raise CannotServe(f"{path}: {found['message']}")
        return found

    # --- the report

    def _script(self, failure: Failure, judge: _Judge, run: Run) -> str:
        violation = failure.violations[0]
        resource = self._kinds.resource(violation.target.partition("/")[0])
        observed = judge.names.applied(run.observation)
        check = ""
        if resource is not None:
            cel = reproduction.condition(violation, judge.reference, observed, judge.mask)
            body = reproduction.verification(violation, judge.reference, resource.plural, self._setting.agent)
            if body is not None:
                check = reproduction.checked("/requests:verify", body)
            elif cel and "*" not in violation.target:
                _, *places, name = violation.target.split("/")
                path = f"{collection_path(resource, places[0] if places else 'default')}/{name}"
                asked = {"get": path, "cel": cel, "within": self._setting.patience}
                check = reproduction.checked("/eventually", asked)
        return reproduction.script(self._setting, failure, check or "quiet")


class _Live:
    """A run that goes on: the process, and the fault until it has taken effect."""

    def __init__(
        self, exploration: Exploration, process: OperatorProcess, record: RunRecord, plan: FaultPlan | None
    ) -> None:
        self._exploration, self._process, self._record, self._plan = exploration, process, record, plan
        self._fault = ""
        self.phase: int | None = None

    async def all_steps(self) -> None:
        """Raises Quiet."""
        exploration = self._exploration
        if self._plan is not None:
            self._fault = (await exploration._call("POST", "/faults", self._plan.fault))["id"]
        await self._started()
        await self._at_rest(0)
        for number, step in enumerate(exploration._setting.steps, 1):
            for call in step.calls:
                await self._applied(call)
            await self._at_rest(number)

    async def patience(self) -> None:
        """Wait for what the process tries again."""
        await asyncio.sleep(microseconds(self._exploration._setting.patience) / SECOND)  # noqa: TID251 - real time

    async def _applied(self, call: Call) -> None:
        path, _, query = call.path.partition("?")
        transport = DirectTransport(self._exploration._runner, headers={"User-Agent": OWN}, always=True)
        pairs = [(name, value) for name, _, value in (one.partition("=") for one in query.split("&")) if name]
        headers = {"Content-Type": call.content_type}
        code, _, body = await transport.request(call.method, path, query=pairs, headers=headers, body=call.body)
        if code >= 400:
            raise Quiet(f"{call.method} {path}: {body.get('message', body)}")

    async def _started(self) -> None:
        """Start the process, and wait for its first request; if it leads by a lease, until it leads again."""
        record, seen = self._record, len(self._record.records)
        leads = record.has_lease()
        await self._process.start()
        deadline = asyncio.get_running_loop().time() + STARTING
        while len(record.records) == seen or (leads and not record.has_lease(seen)):
            if asyncio.get_running_loop().time() > deadline:
                agent = self._exploration._setting.agent
                raise Quiet(f"the process makes no request with the User-Agent {agent}{self._output()}")
            await self._looked()

    async def _looked(self) -> None:
        """Look after the process once in a while."""
        if not await self._process.kept():
            raise Quiet(f"the process ends with status {self._process.ended}{self._output()}")
        await asyncio.sleep(POLL)  # noqa: TID251 - the process runs in real time

    def _output(self) -> str:
        tail = self._process.tail()
        return f": its output ends with\n{tail}" if tail else ", without output"

    async def _at_rest(self, phase: int) -> None:
        """Wait until nothing changes; if the fault takes effect meanwhile, do what belongs to it. Raises Quiet."""
        while True:
            quiet = asyncio.ensure_future(self._exploration._call("POST", "/quiet", self._exploration._quiet))
            try:
                while not quiet.done() and not await self._has_hit():
                    await self._looked()
                if not await self._has_hit():
                    await quiet
                    return
            finally:
                quiet.cancel()
            self.phase = phase
            await self._acted()

    async def _has_hit(self) -> bool:
        if not self._fault or self.phase is not None:
            return False
        found = await self._exploration._call("GET", f"/faults/{self._fault}")
        return bool(found["hits"])

    async def _acted(self) -> None:
        plan = self._plan
        assert plan is not None
        exploration = self._exploration
        if plan.kills:
            await self._process.kill()
        if plan.atom == "pause":
            self._process.signal(signal.SIGSTOP)
            await asyncio.sleep(PAUSED)  # noqa: TID251 - the process runs in real time
            self._process.signal(signal.SIGCONT)
        for path, body in plan.calls(exploration._setting.agent):
            await exploration._call("POST", path, body)
        if plan.atom == "down":
            await asyncio.sleep(DOWN)  # noqa: TID251 - the process runs in real time
        if plan.atom != "503":
            await exploration._call("DELETE", f"/faults/{self._fault}")
        if plan.kills:
            await self._started()


def _agent(pattern: str, record: RunRecord) -> str:
    """The pattern of the process alone, which faults match: no controller, and no change of the exploration itself.
    Raises CannotServe."""
    if pattern != "*":
        return pattern
    found = sorted({one.user_agent for one in record.records})
    if len(found) != 1:
        raise CannotServe(f"several clients make requests; choose one with --agent: {', '.join(map(repr, found))}")
    return glob.escape(found[0])


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges a run by the oracles that need nothing of its process: O1, O2, O3, O6 and O10."""

    reference: Observation
    mask: Mask
    names: RandomNames

    def violations(self, run: Observation) -> Sequence[Violation]:
        return list(self._all(self.names.applied(run)))

    def _all(self, run: Observation) -> Iterator[Violation]:
        reference = self.reference
        yield from settles(run)
        if run.unsettled:
            return
        yield from final_state(reference, run, self.mask)
        yield from counts(reference, run, self.mask)
        yield from leaks(reference, run, self.mask)
        yield from status_truth(reference, run)


class _Resources:
    """The kinds that the server has now."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering

    def __iter__(self) -> Iterator[Any]:
        return iter(self._steering.runner.apiserver.catalog.resources())


async def explored(
    steering: Steering, setting: Setting, sources: Sequence[Path], atoms: Sequence[str], budget: int, *,
    stop_at_first: bool, say: Callable[[str], None], folder: Path,
) -> Outcome:  # fmt: skip
    """Explore the process of a setting, whose steps are in `sources`. Raises CannotServe."""
    environment = steering.running.environment(folder)
    made = replace(setting, steps=steps_of(steering.runner.apiserver, sources) if sources else ())
    exploration = Exploration(steering, made, environment, say, folder / "process.log")
    return await exploration.explore(atoms, budget, stop_at_first=stop_at_first)
