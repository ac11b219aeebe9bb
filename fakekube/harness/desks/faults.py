"""The desk `fakekube.faults`: what happens to watches, to the server, to clocks and to processes.

`fakekube.fault`, the fault of requests, is its shortest member.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.harness import arguments
from fakekube.harness.callbacks import reported
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.known.requesting.faultuse import hit_summary, shown
from fakekube.harness.faultinjection.disruptions import Disruptions
from fakekube.harness.faultinjection.leases import taken
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.harness.keywords import BodyFault, Fault, WatchFault, WebhookFault, check_names
from fakekube.harness.members import Need, changes, steps
from fakekube.harness.objects import TEST_AGENT, Objects
from fakekube.harness.operators.background import Background, Target
from fakekube.harness.operators.operator import Operator
from fakekube.harness.records.entry import Summary
from fakekube.harness.stepping import Stepping
from fakekube.harness.timeline import Timeline
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.durations import Duration
from fakekube.virtualtime.threads.bubblethread import BubbleThread

Object = dict[str, Any]

#: The default of `hold_watches`: all clients. None would be an operator that was forgotten.
_ALL_CLIENTS: Any = object()


class FaultRules:
    """Makes the rules for requests, and records where they take effect."""

    def __init__(
        self,
        runner: ServerRunner,
        timeline: Timeline,
        detection: Detection,
        *,
        now: Callable[[], datetime],
        draw: Callable[[str, str, int], float],
        failed: Callable[[BaseException], None],
    ) -> None:
        """`draw` returns a number below 1 for a purpose, a key and an attempt; `failed` takes what `before` raises."""
        self._runner, self._timeline, self._detection = runner, timeline, detection
        self._now, self._draw, self._failed = now, draw, failed
        self._made = 0

    def make(self, **rule: Any) -> FaultRule:
        """A rule that is active. Delays are seconds, a timedelta or text like "8s". Raises TypeError, ValueError."""
        self._made += 1
        draw = reported(partial(self._draw, f"fault {self._made}"), self._failed)
        made = FaultRule(**arguments.in_seconds({"except_agent": TEST_AGENT, "draw": draw, **rule}))
        arguments.check_fault(made, self._runner.apiserver.catalog.resources())
        if made.before is not None:
            made.before = reported(made.before, self._failed)
        made.on_hit = partial(_note_hit, self._timeline, self._now, shown(made))
        self._runner.apiserver.faults.arm(made)
        self._detection.fault_made(made)
        return made

    def planned(self, hold: Hold) -> Hold:
        """A hold that is reported if it holds nothing; where it begins and ends are rows of the timeline."""
        self.note("test", hold.text)
        hold.on_released = partial(self.note, "test")
        return self._detection.planned(hold)

    def note(self, actor: str, what: str) -> None:
        """Add a row to the timeline."""
        self._timeline.add(self._now(), partial(Summary, actor, what))

    def of_requests(self, options: Fault) -> FaultRule:
        """See `Cluster.fault`."""
        check_names("fault", options, Fault)
        return self.make(**options)

    def of_watches(self, options: WatchFault) -> FaultRule:
        """See `Faults.disturb_watches`."""
        check_names("disturb_watches", options, WatchFault)
        return self.make(verb="watch", **_renamed(options, "event_delay"))

    def of_bodies(self, options: BodyFault) -> FaultRule:
        """See `Faults.damage_bodies`."""
        check_names("damage_bodies", options, BodyFault)
        return self.make(**_renamed(options, "body_delay"))

    def of_webhooks(self, webhook: str, options: WebhookFault) -> FaultRule:
        """See `Faults.fail_webhooks`."""
        check_names("fail_webhooks", options, WebhookFault)
        rule: dict[str, Any] = {**options}
        if rule.pop("refused", False):
            rule["reset"] = "before"
        return self.make(webhook=webhook, **rule)


def _renamed(options: Mapping[str, Any], delay: str) -> dict[str, Any]:
    """The fields of a rule: the option `delay` is the field of another name."""
    return {delay if name == "delay" else name: value for name, value in options.items()}


class Faults:
    """Faults of a real cluster, beside those of `fakekube.fault`.

    Rules (`disturb_watches`, `damage_bodies`, `fail_webhooks`) last until `disarm()`, or until the end of a `with`
    block. `resource`, `name`, `namespace`, `user_agent` are shell patterns; the first `after` requests pass; then
    `times` are affected (None: all), or the fraction `share` of them. An operator is what `start`, `task` or `thread`
    returned.
    """

    def __init__(
        self,
        bubble: Bubble,
        runner: ServerRunner,
        objects: Objects,
        rules: FaultRules,
        disruptions: Disruptions,
        background: Background,
        stepping: Stepping,
    ) -> None:
        self._bubble, self._runner, self._objects = bubble, runner, objects
        self._rules, self._disruptions, self._background = rules, disruptions, background
        self._stepping = stepping

    # --- watches and responses

    @changes(Need.FAULTS)
    def hold_watches(
        self,
        operator: Target = _ALL_CLIENTS,
        *,
        resource: str = "*",
        namespace: str = "*",
        user_agent: str = "*",
        at: int | str | None = None,
    ) -> Hold:
        """Hold watches: they deliver nothing after the resourceVersion `at` (None: the present one) until `release()`.

        Those of an operator (one of its informers, if `resource` names a plural), or of clients whose User-Agent
        matches. All others go on. A context manager releases at the end of the block.
        """
        process = None if operator is _ALL_CLIENTS else self._background.process_of(operator, "hold_watches")
        arguments.check_resource(resource, list(self._runner.apiserver.catalog.resources()))
        return self._rules.planned(self._disruptions.hold(process, resource, namespace, user_agent, at))

    @changes(Need.FAULTS)
    def cut_watches(self) -> None:
        """End every open watch, as a restart of the server does; clients may watch again."""
        self._runner.end_watches()

    @changes(Need.FAULTS)
    def disturb_watches(self, **fault: Unpack[WatchFault]) -> FaultRule:
        """Disturb matching watches: `disturb_watches(resource="pods", cut_after=3)`.

        cut_after, cut_at: it ends after so many events, or before an event (`"MODIFIED web-*"`: type and name); with
        `reset="after"` the connection breaks instead. hold_after: it delivers nothing after so many events until the
        rule is disarmed. gone_after: after so many events the history is compacted before it can read the next one, so
        that it gets 410. delay: of each event, in seconds, a timedelta or text like "8s".
        """
        return self._rules.of_watches(fault)

    @changes(Need.FAULTS)
    def damage_bodies(self, **fault: Unpack[BodyFault]) -> FaultRule:
        """Damage the bodies of responses: `damage_bodies(verb="list", body="cut")`; watches are not affected.

        body: the connection closes in the middle of it ("cut"), the JSON ends there ("truncated"), or a proxy answers
        with a page instead ("malformed"). delay: the time between the two halves of the body.
        """
        return self._rules.of_bodies(fault)

    @changes(Need.FAULTS)
    def fail_webhooks(self, webhook: str, **fault: Unpack[WebhookFault]) -> FaultRule:
        """Let calls of webhooks time out: `fail_webhooks("default/hook", times=1)`.

        `webhook`: the URL or the Service (`namespace/name`), a shell pattern. refused: they are not reached at all.
        delay: they answer after this time.
        """
        return self._rules.of_webhooks(webhook, fault)

    # --- the server

    @changes(Need.FAULTS)
    def compact(self) -> None:
        """Drop the history: watches that resume from an earlier resourceVersion get 410 Gone."""
        self._runner.apiserver.store.compact()

    @steps(Need.FAULTS)
    def restart_server(self, *, down: Duration = 0) -> Awaitable[None]:
        """Restart the API server: connections break and are refused while it is `down`; stored objects stay.

        Watches that resume from a resourceVersion before the restart get 410, as the watch cache is empty. The test's
        own reads and writes work meanwhile.
        """
        self._disruptions.restart_server(down)
        return self._stepping.settle()

    @changes(Need.FAULTS)
    def jump(self, by: Duration, operator: Operator | None = None) -> None:
        """Move the wall clock of the API server's machine, or of an operator's; a number may be negative.

        Other clocks, timers and monotonic time do not move. For an operator it is the clock of its Manager:
        `datetime.now()` and `time.time()` are those of the test's process.
        """
        if operator is not None and not isinstance(operator, Operator):
            raise TypeError(f"jump() takes an operator as start() returns it, not {operator!r}")
        clock = None if operator is None else self._background.present(operator, "jump").clock
        self._disruptions.jump(clock, by)

    @changes(Need.FAULTS)
    def take_lease(
        self, name: str, namespace: str = "default", *, holder: str = "another", unrealistic: bool = False
    ) -> Object:
        """Another candidate takes a Lease over, which must have expired. Raises ValueError, ApiError."""
        lease = self._objects.get("coordination.k8s.io/v1", "Lease", name, namespace)
        return self._objects.update(taken(lease, holder, self._bubble.clock.now(), unrealistic=unrealistic), "")

    # --- processes

    @steps(Need.FAULTS)
    def pause(self, operator: Target) -> None:
        """Stop an operator, as SIGSTOP does: none of its code runs, and its connections stay open."""
        process = self._background.process_of(operator, "pause")
        self._disruptions.stop(process)
        self._rules.note(process.name, "paused")

    @steps(Need.FAULTS)
    def resume(self, operator: Target) -> Awaitable[None]:
        """Let a paused operator run on, as SIGCONT does. Timers that were due meanwhile fire at once."""
        process = self._background.process_of(operator, "resume")
        self._disruptions.resume(process)
        self._rules.note(process.name, "resumed")
        return self._stepping.settle()

    @steps(Need.FAULTS)
    def signal(self, thread: BubbleThread, number: int) -> Awaitable[None]:
        """Send a signal to an operator that `thread` has started: `signal(thread, signal.SIGTERM)`.

        The handler that it has installed runs in its thread, where that waits; without one the operator is killed, with
        all of its threads, but SIGINT raises KeyboardInterrupt in its thread. Then the cluster settles. Raises
        TypeError for a task: `cancel()` ends it as SIGTERM does.
        """
        if not isinstance(thread, BubbleThread):
            raise TypeError(
                f"signal({thread!r}): pass what thread() has returned; cancel a task instead: task.cancel()"
            )
        if thread.is_alive() and thread.process is not None and thread.dies_of(number):
            self._disruptions.kill(thread.process)
        else:
            self._bubble.signal(thread, number)
        return self._stepping.settle()


def _note_hit(timeline: Timeline, now: Callable[[], datetime], fault: str, info: RequestInfo) -> None:
    """Add a row for a fault that affects a request."""
    timeline.add(now(), hit_summary, fault, info)
