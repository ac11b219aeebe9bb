"""Feeds detectors with what happens in a cluster, and turns their findings into warnings and errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from controllerlib import Manager
from controllerlib.controller import Outcome, Run
from controllerlib.observer import Call, current_run
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.harness.detectors.detector import (
    COMPONENTS,
    PERIODIC,
    SHORT,
    UPDATES,
    Detector,
    Doing,
    Exchange,
    Observed,
    Planned,
    Scene,
    Sent,
    Surroundings,
    note_kinds,
)
from fakekube.harness.detectors.finding import Finding, FindingError, FindingWarning, shortened
from fakekube.harness.detectors.hooktables import each, hooks_by, hooks_of, with_hook
from fakekube.harness.detectors.knowndetectors import check_name, detectors_for
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.logrecords import LogRecords
from fakekube.harness.operators.reconcileobserver import ReconcileObserver
from fakekube.harness.records.reconciles import Running
from fakekube.server.runner import ServerRunner
from fakekube.struct import Struct
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

P = TypeVar("P", bound=Planned)
T = TypeVar("T")


class Allowed(Struct, frozen=True):
    """Findings that a test intends. `match`: a regular expression that their text contains."""

    detector: str
    match: re.Pattern[str]

    def covers(self, finding: Finding) -> bool:
        return self.detector == finding.detector and self.match.search(str(finding)) is not None


class Detection:
    """The detectors of one cluster, at these levels; `own` is the User-Agent of the test."""

    def __init__(
        self, runner: ServerRunner, now: Callable[[], datetime], own: str, levels: Mapping[str, Level]
    ) -> None:
        self.levels: Mapping[str, Level] = levels
        self._bubble: Bubble | None = None
        self._logs: LogRecords | None = None
        self.scene: Scene = Scene(runner, now, self.report)
        self._own = own
        self._findings: dict[tuple[str, object], Finding] = {}
        self._allowed: list[Allowed] = []
        #: the findings that were known when the test has passed; None before that, and if it has failed
        self._raised: frozenset[tuple[str, object]] | None = None
        self._warn: Callable[[FindingWarning], None] = warnings.warn
        self._observers: list[ReconcileObserver] = []
        #: by the identity of the run, because replicas of an operator have runs of equal names and ids
        self._doing: dict[int, Doing] = {}
        self._revision = runner.apiserver.store.revision
        #: how many steps of the test (`settle`, `advance`) are in progress
        self.steps: int = 0
        self.is_over: bool = False
        self._leave: list[Callable[[], None]] = []
        self._only: Sequence[str] = ()
        active = [name for name, level in self.levels.items() if level != "off"]
        self.detectors: Sequence[Detector] = detectors_for(active, self.scene)
        self._set_hooks()
        #: the last change of finalizers, until its request is answered
        self._pending: Change | None = None
        self.scene.listen, self.scene.follow = self._listen, self._follow
        if self.detectors:
            self._leave.append(runner.on_answer(self._answer))
            self._leave.append(runner.on_write(self._commit))

    def _set_hooks(self) -> None:
        """Look up the hooks of the detectors; none are left after the end of the cluster, when it has none."""
        of, by = partial(hooks_of, self.detectors), partial(hooks_by, self.detectors)
        # of reconciles
        self._started, self._finished = of("started"), of("finished")
        self._resynced, self._requeued, self._failed = of("resynced"), of("requeued"), of("failed")
        # of their writes: by the verb, those of one outcome for all verbs
        self._called, self._made, self._rejected = by("called", "calls"), of("made"), of("rejected")
        # of requests: by the verb; by the resource, or for all; those of one outcome for all verbs
        self._answered, self._alone = by("answered", "verbs"), by("answered_alone", "verbs")
        self._created_of = by("created", "creates")
        self._created = hooks_of([one for one in self.detectors if not hasattr(one, "creates")], "created")
        self._denied, self._refused, self._unchanged = of("denied"), of("refused"), of("unchanged")
        self._finalized = of("finalized")
        # of changes of the store: by the collection, or of all
        self._committed_in = by("committed", "collections")
        self._committed = hooks_of([one for one in self.detectors if not hasattr(one, "collections")], "committed")
        self._finalizers_changed = of("finalizers_changed")

    def _listen(self, verbs: Iterable[str], hook: Callable[[Exchange], None]) -> None:
        for verb in verbs:
            self._answered[verb] = with_hook(self.detectors, self._answered.get(verb, ()), hook)

    def _follow(
        self,
        *,
        started: Callable[[Doing], None] | None = None,
        finished: Callable[[Doing, Outcome], None] | None = None,
        called: Callable[[Doing, Sent], None] | None = None,
        verbs: Iterable[str] = (),
        committed: Callable[[Change, Doing | None], None] | None = None,
    ) -> None:
        if started is not None:
            self._started = with_hook(self.detectors, self._started, started)
        if finished is not None:
            self._finished = with_hook(self.detectors, self._finished, finished)
        if committed is not None:
            self._committed = with_hook(self.detectors, self._committed, committed)
        if called is not None:
            for verb in verbs:
                self._called[verb] = with_hook(self.detectors, self._called.get(verb, ()), called)

    def open(self, bubble: Bubble, has_threads: Callable[[], bool]) -> None:
        """Observe the tasks, threads and blocking calls of a bubble, too."""
        self._bubble, self.scene.fail = bubble, self._fail
        surroundings = Surroundings(bubble, self.doing, self._in_step, has_threads, lambda: tuple(self._doing.values()))
        for hook in hooks_of(self.detectors, "open"):
            hook(surroundings)
        if created := hooks_of(self.detectors, "task_created"):
            bubble.loop.on_task = each([*([bubble.loop.on_task] if bubble.loop.on_task is not None else ()), *created])
        if logged := hooks_of(self.detectors, "logged"):
            self._logs = LogRecords(logged)
            self._logs.install()

    def _in_step(self) -> bool:
        return self.steps > 0

    @contextmanager
    def step(self) -> Iterator[None]:
        """A step of the test: the requests meanwhile are not its own."""
        self.steps += 1
        try:
            yield
        finally:
            self.steps -= 1

    # --- what happens ------------------------------------------------------------------------------------------------

    def observe(self, process: SimulatedProcess, observer: ReconcileObserver) -> Observed:
        """Look at the reconciles of an operator, which is not built yet."""
        observed = Observed(process.name, process)
        self.scene.operators.append(observed)
        if self.detectors:
            observer.set_listener(self, observed)
            self._observers.append(observer)
        return observed

    def built(self, observed: Observed, manager: Manager, name: str) -> None:
        """The manager of an operator has its controllers."""
        observed.manager, observed.name = manager, name
        note_kinds(observed)
        for hook in hooks_of(self.detectors, "built"):
            hook(observed, manager)

    def planned(self, plan: P) -> P:
        """The test has asked for something that may never happen. Returns it."""
        self.scene.plans.append(plan)
        return plan

    def fault_made(self, rule: FaultRule) -> None:
        self.scene.faults.append(rule)
        if not _only_delays_events(rule):
            rule.on_hit = partial(self._hit, rule.on_hit)

    def _hit(self, noted: Callable[[RequestInfo], object] | None, info: RequestInfo) -> None:
        """A fault affects the present request."""
        client = self.scene.runner.client
        self.scene.hits[client.name if client is not None else ""] += 1
        if noted is not None:
            noted(info)

    def started(self, operator: Observed, running: Running) -> None:
        hits = self.scene.fault_hits() if self.scene.faults else 0
        run, key = running.run, running.key
        doing = self._doing[id(run)] = Doing(run, operator, key, hits, (id(operator), run.controller, key))
        causes = run.causes
        if causes and causes[0].kind in PERIODIC:
            for hook in self._resynced:
                hook(doing)
        for hook in self._started:
            hook(doing)

    def asked(self, run: Run) -> None:
        """A request of a reconcile that writes nothing is answered."""
        doing = self._doing.get(id(run))
        if doing is not None:
            doing.has_asked = True

    def called(self, call: Call, code: int, answer: Any, before: str, after: str) -> None:
        """A write of a reconcile is answered."""
        doing = self._doing.get(id(call.run))
        if doing is not None and not doing.operator.process.fenced:
            sent = Sent(call.verb, call.path, code, call.body, answer, before, after)
            doing.sent.append(sent)
            doing.has_asked = True
            hooks = self._called.get(sent.verb, ())
            if code == 201:
                hooks = (*hooks, *self._made)
            elif code >= 400:
                hooks = (*hooks, *self._rejected)
            for hook in hooks:
                hook(doing, sent)

    def finished(self, run: Run, outcome: Outcome) -> None:
        doing = self._doing.pop(id(run), None)
        if doing is not None:
            doing.is_over = True
            if not doing.operator.process.fenced:
                after = outcome.requeue_after
                if after is not None and after < SHORT:
                    for hook in self._requeued:
                        hook(doing, outcome)
                for hook in self._finished:
                    hook(doing, outcome)
                if outcome.error is not None:
                    for hook in self._failed:
                        hook(doing, outcome.error)
            doing.sent.clear()

    def doing(self) -> Doing | None:
        """The reconcile in progress that the calling code belongs to."""
        if not self._doing:
            return None
        run = current_run()
        return None if run is None else self._doing.get(id(run))

    def waiting_for(self, run: Run) -> str:
        """Where a reconcile in progress waits without a timeout; empty if it does not, or if that is not observed."""
        doing = self._doing.get(id(run))
        places = [] if doing is None else [hook(doing) for hook in hooks_of(self.detectors, "waiting_for")]
        return "".join(place or "" for place in places)

    def first(self, kind: type[T]) -> T | None:
        """The detector of a class, if it is on."""
        return next((one for one in self.detectors if isinstance(one, kind)), None)

    def _answer(self, request: Request, info: RequestInfo, response: Response, record: RequestRecord) -> None:
        changed, self._revision = record.revision != self._revision, record.revision
        code = record.code
        hooks = self._denied if code == 403 else self._answered.get(record.verb, ())
        if code != 200:
            if code == 201:
                hooks = (*hooks, *self._created, *self._created_of.get(record.resource, ()))
            elif code >= 400:
                hooks = (*hooks, *self._refused)
        elif not changed and record.verb in UPDATES:
            hooks = (*hooks, *self._unchanged)
        pending, self._pending = self._pending, None
        if pending is not None and pending.revision == record.revision:
            hooks = (*hooks, *(partial(hook, pending) for hook in self._finalized))
        alone = self._alone.get(record.verb, ())
        if not (hooks or alone) or record.user_agent == self._own or record.user.startswith(COMPONENTS):
            return
        doing = self.doing()
        if doing is None:
            if not self.steps:
                return  # the test itself, with a client of its own
            hooks = (*hooks, *alone)
        client = self.scene.runner.client
        name = client.name if client is not None else ""
        exchange = Exchange(request, info, response, record, doing, changed, name, client)
        for hook in hooks:
            hook(exchange)

    def _commit(self, change: Change) -> None:
        doing = self.doing()
        if doing is not None:
            doing.has_changed = True
        before, after = change.before, change.after
        if (before.object["metadata"].get("finalizers") if before is not None else None) != (
            after.object["metadata"].get("finalizers") if after is not None else None
        ):
            self._pending = change
            for hook in self._finalizers_changed:
                hook(change, doing)
        for hook in self._committed:
            hook(change, doing)
        for hook in self._committed_in.get(change.collection, ()):
            hook(change, doing)

    @contextmanager
    def reporting_only(self, *detectors: str) -> Iterator[None]:
        """A step after the test has ended, in which only these detectors report."""
        self._only = detectors
        try:
            with self.step():
                yield
        finally:
            self._only = ()

    # --- findings ----------------------------------------------------------------------------------------------------

    def report(self, detector: str, text: str, *, who: str = "", key: object = None) -> None:
        """Add a finding, or count another occurrence of one."""
        if self.levels[detector] == "off" or (self._only and detector not in self._only):
            return
        place = (detector, (who, text) if key is None else key)
        known = self._findings.get(place)
        self._findings[place] = (
            Finding(detector, text, self.scene.now(), who) if known is None else replace(known, times=known.times + 1)
        )

    def _fail(self, detector: str, error: BaseException) -> None:
        if self.levels[detector] != "off" and self._bubble is not None:
            self._bubble.loop.fail_with(error)

    def allow(self, detector: str, reason: str, match: str = "") -> None:
        """Ignore findings of a detector, whose text contains `match`. Raises TypeError, ValueError."""
        check_name("allow()", detector)
        if not isinstance(reason, str) or not reason.strip():
            raise TypeError(f"allow({detector!r}, reason={reason!r}): the reason is text, for whoever reads the test")
        self._allowed.append(Allowed(detector, re.compile(match)))

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings that are not allowed, oldest first."""
        return [one for one in self._findings.values() if self._is_reported(one)]

    def _is_reported(self, finding: Finding) -> bool:
        return not any(rule.covers(finding) for rule in self._allowed)

    @property
    def has_errors(self) -> bool:
        """Whether there is a finding at level `error`."""
        return any(self.levels[one.detector] == "error" for one in self.findings)

    def finish(self) -> None:
        """Let the detectors report what is known only at the end."""
        if not self.is_over:
            self.is_over = True
            for detector in self.detectors:
                detector.finish()

    def so_far(self) -> Sequence[Finding]:
        """The findings as they were if the test ended now."""
        known = dict(self._findings)
        for detector in self.detectors:
            detector.finish()
        found = self.findings
        self._findings = known
        return found

    def raise_findings(self, warn: Callable[[FindingWarning], None] | None = None) -> None:
        """Issue warnings, and raise FindingError if there are findings at level `error`."""
        if self.has_errors:
            raise FindingError([one for one in self.findings if self.levels[one.detector] == "error"])
        self._raised, self._warn = frozenset(self._findings), warn or warnings.warn
        for text in shortened(self.findings):
            self._warn(FindingWarning(text))

    def closed(self) -> None:
        """Called when operators, tasks and threads have been ended after a test that has passed."""
        if self._raised is not None:
            for hook in hooks_of(self.detectors, "closed"):
                hook()

    def raise_late(self) -> None:
        """Issue warnings, and raise FindingError, for what was found since `raise_findings` has raised nothing."""
        if self._raised is None:
            return
        late = [one for key, one in self._findings.items() if key not in self._raised and self._is_reported(one)]
        self._raised = None
        if any(self.levels[one.detector] == "error" for one in late):
            raise FindingError([one for one in late if self.levels[one.detector] == "error"])
        for text in shortened(late):
            self._warn(FindingWarning(text))

    def retire(self) -> None:
        """Drop what refers to operators and the server, so that controllers that remain do not keep it alive."""
        while self._leave:  # each refers to this object
            self._leave.pop()()
        if self._bubble is not None:
            self._bubble.loop.on_task = None
            self._bubble.on_blocking_call(_nothing, _nothing)
            self._bubble.on_thread(_nothing)
        for observer in self._observers:
            observer.set_listener(None)
        self._observers.clear()
        self._doing.clear()
        for rule in self.scene.faults:
            rule.on_hit = None
        if self._logs is not None:
            self._logs.remove()
        for retire in hooks_of(self.detectors, "retire"):
            retire()
        self.detectors = ()
        self._set_hooks()
        self.scene.operators.clear()
        self.scene.report, self.scene.listen, self.scene.follow = _unreported, _unlistened, _unfollowed
        self.scene.fail, self.scene.inspected, self.scene.note = _unfailed, frozenset, _nothing


def _only_delays_events(rule: FaultRule) -> bool:
    """Whether no request fails because of a fault: the events of watches are late, and that is all."""
    breaks = (rule.error, rule.reset, rule.cut_after, rule.cut_at, rule.hold_after, rule.gone_after)
    return bool(rule.event_delay) and all(one in (None, "", 0, 0.0) for one in breaks)


def _unreported(detector: str, text: str, *, who: str = "", key: object = None) -> None:
    """Ignores what is reported after the end of the cluster."""


def _unlistened(verbs: Iterable[str], hook: Callable[[Exchange], None]) -> None:
    """Ignores who would listen after the end of the cluster."""


def _unfollowed(**hooks: object) -> None:
    """Ignores who would ask for hooks after the end of the cluster."""


def _unfailed(detector: str, error: BaseException) -> None:
    """Ignores what would end a step after the end of the cluster."""


def _nothing(*_: object) -> None:
    """What a closed cluster does with a blocking call, or a thread."""
