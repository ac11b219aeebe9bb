"""Event recorders and broadcasters of both APIs: what is written, and when."""

import asyncio
import logging
import queue
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError
from controllerlib.client.names import Object
from controllerlib.clock import Clock
from controllerlib.random import FixedRandom
from controllerlib.record import corev1, eventsv1
from controllerlib.record.broadcaster import Broadcaster, UniqueTimestamps
from controllerlib.record.correlator import Correlator, CorrelatorOptions
from controllerlib.record.eventobject import core_event, event_name, micro_time_text, reference
from controllerlib.record.lru import LRU
from controllerlib.record.series import SeriesCache
from controllerlib.record.sink import ClientSink, RequestConstructionError, UnexpectedObjectError
from fakekube.virtualtime import VirtualTimeLoop
from tests.controllerlib.fakeapi import Answer, Asked, FakeApi, refuse
from tests.controllerlib.handlerlog import advance
from tests.controllerlib.objects import node, pod
from tests.controllerlib.rig import BACKUP, Operator

T0 = 1_767_225_600_000_000_000  # 2026-01-01, in nanoseconds


def now() -> float:
    return asyncio.get_running_loop().time()


def clock() -> Clock:
    found: Clock = asyncio.get_running_loop().clock  # type: ignore[attr-defined]
    return found


# --- core/v1: the correlator


class Teller:
    """Sends the events of one source to a correlator and records the writes."""

    def __init__(self, **options: Any) -> None:
        self.correlator = Correlator(CorrelatorOptions(**options))
        self.written: list[str] = []
        self.events: list[Object] = []
        self.patches: list[Any] = []
        self.skipped = 0

    def send(
        self, at: float, message: str = "m", *, reason: str = "R", name: str = "a", field_path: str = "",
        event_type: str = "Normal",
    ) -> None:  # fmt: skip
        nanos = T0 + int(at * 1e9)
        about = reference(pod(name, uid=f"uid-{name}"), field_path)
        event = core_event(
            about, event_type, reason, message, name=event_name(name, nanos, str), nanos=nanos, component="test"
        )
        found = self.correlator.correlate(event, at, nanos)
        if found is None:
            self.skipped += 1
            return
        self.events.append(found.event)
        self.patches.append(found.patch)
        self.written.append(f"{'patch' if found.patch else 'create'} {found.event['count']} {found.event['message']}")
        self.correlator.update({**found.event, "metadata": {**found.event["metadata"], "resourceVersion": "7"}})


def test_ev_02_equal_events_are_counted() -> None:
    notifier = Teller()
    notifier.send(0)
    notifier.send(10)
    assert notifier.written == ["create 1 m", "patch 2 m"]
    first, second = notifier.events
    assert second["metadata"]["name"] == first["metadata"]["name"]
    assert [second["firstTimestamp"], second["lastTimestamp"]] == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"]
    assert notifier.patches[1] == {"count": 2, "lastTimestamp": "2026-01-01T00:00:10Z", "message": "m"}


def test_ev_03_equal_events_are_never_aggregated() -> None:
    notifier = Teller()
    for number in range(11):
        notifier.send(30.0 * number)
    assert [event["count"] for event in notifier.events] == list(range(1, 12))
    assert {event["message"] for event in notifier.events} == {"m"}


def test_ev_04_the_burst_is_twenty_five() -> None:
    notifier = Teller()
    for number in range(27):
        notifier.send(float(number))
    assert [event["count"] for event in notifier.events] == list(range(1, 26))
    assert notifier.skipped == 2


def test_ev_05_a_token_is_refilled_after_exactly_300_seconds() -> None:
    notifier = Teller()
    for number in range(25):
        notifier.send(0.0, str(number), name="a")
    for number in range(1, 100):
        notifier.send(number * 300.0)
    assert notifier.skipped == 0
    notifier.send(99 * 300.0 + 299)
    assert notifier.skipped == 1


def test_ev_05_one_more_after_five_minutes() -> None:
    notifier = Teller()
    for number in range(27):
        notifier.send(float(number))
    notifier.send(26 + 300.0)
    notifier.send(26 + 301.0)
    assert notifier.written[-1] == "patch 28 m"
    assert [len(notifier.written), notifier.skipped] == [26, 3]


def test_ev_06_the_tenth_similar_event_is_aggregated() -> None:
    notifier = Teller()
    for number in range(11):
        notifier.send(float(number), f"m{number}")
    assert notifier.written == [
        *(f"create 1 m{number}" for number in range(9)),
        "create 1 (combined from similar events): m9",
        "patch 2 (combined from similar events): m10",
    ]
    ninth, tenth, eleventh = notifier.events[-3:]
    assert tenth["metadata"]["name"] == eleventh["metadata"]["name"] != ninth["metadata"]["name"]
    assert tenth["firstTimestamp"] == eleventh["firstTimestamp"] == "2026-01-01T00:00:09Z"


def test_ev_06_the_oldest_message_is_removed() -> None:
    notifier = Teller()
    for number in range(10):
        notifier.send(float(number), f"m{number}")
    notifier.send(10, "m9")
    notifier.send(11, "m0")
    assert notifier.written[-2:] == ["create 1 m9", "patch 2 (combined from similar events): m0"]


@pytest.mark.parametrize(
    ("silence", "last"),
    [
        pytest.param(600.0, "(combined from similar events): x", id="EV-07-ten-minutes"),
        pytest.param(600.1, "x", id="EV-07-longer"),
    ],
)
def test_similar_events_after_the_interval(silence: float, last: str) -> None:
    notifier = Teller()
    for number in range(9):
        notifier.send(float(number), f"m{number}")
    notifier.send(8 + silence, "x")
    assert notifier.written[-1] == f"create 1 {last}"


@pytest.mark.parametrize(
    ("names", "passed"),
    [
        pytest.param(["a"] * 30, 25, id="EV-08-one-object"),
        pytest.param([f"a{number}" for number in range(30)], 30, id="EV-08-thirty-objects"),
    ],
)
def test_the_spam_key(names: Sequence[str], passed: int) -> None:
    notifier = Teller()
    for number, name in enumerate(names):
        notifier.send(0.01 * number, reason=f"R{number}", name=name)
    assert [len(notifier.written), notifier.skipped] == [passed, 30 - passed]
    assert [event["reason"] for event in notifier.events] == [f"R{number}" for number in range(passed)]


def test_ev_08_warnings_have_their_own_token_bucket() -> None:
    notifier = Teller()
    for number in range(26):
        notifier.send(0.0, reason=f"R{number}")
    notifier.send(0.0, event_type="Warning")
    assert [len(notifier.written), notifier.skipped] == [26, 1]


def test_ev_09_different_fields_are_counted_separately() -> None:
    notifier = Teller()
    for path in ("spec.containers{a}", "spec.containers{b}", "spec.containers{a}"):
        notifier.send(0.0, field_path=path)
    assert [event["count"] for event in notifier.events] == [1, 1, 2]


def test_ev_21_a_token_bucket_for_each_reason() -> None:
    notifier = Teller(burst=1, spam_key=lambda event: event["reason"])
    for reason in ("A", "A", "B"):
        notifier.send(0.0, reason=reason)
    assert [event["reason"] for event in notifier.events] == ["A", "B"]
    together = Teller(burst=1)
    for reason in ("A", "B"):
        together.send(0.0, reason=reason)
    assert [event["reason"] for event in together.events] == ["A"]


def test_another_aggregate_key() -> None:
    notifier = Teller(
        max_events=2, aggregate_key=lambda event: (event["type"], event["reason"]), message=lambda event: "many"
    )
    notifier.send(0.0, reason="A")
    notifier.send(0.0, reason="B")
    assert notifier.written == ["create 1 m", "create 1 many"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.floats(0, 400)), max_size=60))
def test_every_event_is_either_written_or_dropped(notified: list[tuple[str, str, float]]) -> None:
    notifier, at = Teller(), 0.0
    for name, message, later in notified:
        at += later
        notifier.send(at, message, name=name)
    assert len(notifier.written) + notifier.skipped == len(notified)
    for name, message in {entry[:2] for entry in notified}:
        counts = [e["count"] for e in notifier.events if (e["involvedObject"]["name"], e["message"]) == (name, message)]
        assert counts == sorted(set(counts)), "counts of one event only grow"
        assert max(counts, default=0) <= sum(entry[:2] == (name, message) for entry in notified)


# --- core/v1: recorders and sinks


class Sink:
    """A sink with scripted errors that records its calls."""

    def __init__(self, *acts: Any, work: Callable[[], Awaitable[None]] | None = None) -> None:
        self._acts, self._work = list(acts), work
        self.log: list[tuple[float, str]] = []
        self.events: list[Object] = []
        self.patches: list[Object] = []

    async def create(self, event: Object) -> Object:
        return await self._do("create", event)

    async def patch(self, event: Object, patch: Object) -> Object:
        self.patches.append(patch)
        return await self._do("patch", event)

    async def _do(self, verb: str, event: Object) -> Object:
        self.log.append((round(now(), 6), verb))
        self.events.append(event)
        if self._work is not None:
            await self._work()
        act = (self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]) if self._acts else None
        if isinstance(act, BaseException):
            raise act
        return {**event, "metadata": {**event["metadata"], "resourceVersion": str(len(self.log))}}

    @property
    def verbs(self) -> list[str]:
        return [verb for _, verb in self.log]

    @property
    def at(self) -> list[float]:
        return [at for at, _ in self.log]


def core(*sinks: Sink, fraction: float = 0.0, **options: Any) -> corev1.CoreEventBroadcaster:
    broadcaster = corev1.CoreEventBroadcaster(clock=clock(), random=FixedRandom(fraction), **options)
    for sink in sinks:
        broadcaster.start_recording_to_sink(sink)
    return broadcaster


@pytest.mark.parametrize(
    ("obj", "namespace", "name"),
    [
        pytest.param(pod("web", namespace="shop", uid="u1"), "shop", "web", id="EV-01-namespaced"),
        pytest.param(node("n1", uid="u2"), "default", "n1", id="EV-01-cluster-scoped"),
    ],
)
async def test_the_first_event(obj: Object, namespace: str, name: str) -> None:
    sink = Sink()
    recorder = core(sink).new_recorder("test", host="here")
    recorder.annotated_eventf(obj, {"a": "b"}, "Normal", "Started", "hello %d", 1)
    await advance()
    assert sink.verbs == ["create"]
    event = sink.events[0]
    assert re.fullmatch(rf"{name}\.[0-9a-f]+", event["metadata"]["name"])
    assert event == {
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": f"{name}.{T0:x}", "namespace": namespace, "annotations": {"a": "b"}},
        "involvedObject": reference(obj), "reason": "Started", "message": "hello 1", "type": "Normal", "count": 1,
        "source": {"component": "test", "host": "here"}, "reportingComponent": "test", "reportingInstance": "here",
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    meta = obj["metadata"]
    assert event["involvedObject"] == {
        "apiVersion": "v1", "kind": obj["kind"], "name": name, "uid": meta["uid"], "resourceVersion": "1",
        **({"namespace": meta["namespace"]} if "namespace" in meta else {}),
    }  # fmt: skip


async def test_ev_02_create_then_patch() -> None:
    sink = Sink()
    recorder = core(sink).new_recorder("test")
    for _ in range(2):
        recorder.event(pod("a"), "Normal", "R", "m")
        await advance(10)
    assert sink.verbs == ["create", "patch"]
    assert sink.patches == [{"count": 2, "lastTimestamp": "2026-01-01T00:00:10Z", "message": "m"}]
    assert sink.events[0]["metadata"]["name"] == sink.events[1]["metadata"]["name"]


REFUSED = ApiError(403, "Forbidden", "no")


@pytest.mark.parametrize(
    ("acts", "attempts"),
    [
        pytest.param([RequestConstructionError("no URL")], 1, id="EV-10-construction"),
        pytest.param([REFUSED], 1, id="EV-10-status"),
        pytest.param([UnexpectedObjectError("html")], 12, id="EV-10-unexpected"),
        pytest.param([ConnectionResetError("gone")], 12, id="EV-10-generic"),
        pytest.param([ConnectionResetError("gone"), None], 2, id="EV-10-generic-once"),
    ],
)
async def test_the_number_of_attempts(acts: list[Any], attempts: int) -> None:
    sink = Sink(*acts)
    core(sink).new_recorder("test").event(pod("a"), "Normal", "R", "m")
    await advance(1000)
    assert sink.verbs == ["create"] * attempts


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (REFUSED, "ERROR"),
        (ApiError(409, "AlreadyExists", "there"), "DEBUG"),
        (ApiError(403, "Forbidden", "no", {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}), "DEBUG"),
    ],
)
async def test_expected_rejections_are_not_logged_as_errors(
    error: ApiError, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "controllerlib.record.sink")
    core(Sink(error)).new_recorder("test").event(pod("a"), "Normal", "R", "m")
    await advance(1)
    assert [entry.levelname for entry in caplog.records if "rejected" in entry.message] == [level]


async def test_ev_11_when_an_event_is_tried() -> None:
    sink = Sink(OSError("down"))
    core(sink, fraction=0.5).new_recorder("test").event(pod("a"), "Normal", "R", "m")
    await advance(1000)
    assert sink.at == [0.0, *(5.0 + 10 * number for number in range(11))]
    assert [len(sink.at), sink.at[-1]] == [12, 105.0]


async def test_ev_12_a_deleted_event_is_created_again() -> None:
    sink = Sink(None, ApiError(404, "NotFound", "gone"), None)
    recorder = core(sink).new_recorder("test")
    for _ in range(2):
        recorder.event(pod("a"), "Normal", "R", "m")
        await advance(1)
    assert sink.verbs == ["create", "patch", "create"]
    assert sink.events[1]["metadata"]["resourceVersion"] == "1"
    again = sink.events[2]
    assert "resourceVersion" not in again["metadata"]
    assert [again["count"], again["metadata"]["name"]] == [2, sink.events[0]["metadata"]["name"]]


BAD = [
    pytest.param(pod("a"), "Foo", "unsupported event type", id="EV-13-type"),
    pytest.param({"metadata": {"name": "a"}}, "Normal", "could not construct reference", id="EV-13-no-kind"),
    pytest.param(None, "Normal", "could not construct reference", id="EV-13-nothing"),
]


@pytest.mark.parametrize(("obj", "event_type", "message"), BAD)
async def test_events_that_cannot_be_recorded(
    obj: Any, event_type: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    sink, series = Sink(), Sink()
    core(sink).new_recorder("test").event(obj, event_type, "R", "m")
    broadcaster = started(series)
    broadcaster.new_recorder("test").eventf(obj, None, event_type, "R", "A", "m")
    await advance(100)
    assert sink.log == series.log == []
    assert [corev1.message.partition(",")[0] for corev1 in caplog.records] == [message, message]


async def test_ev_14_the_shutdown_ends_a_pause() -> None:
    sink = Sink(OSError("down"))
    broadcaster = core(sink, fraction=0.5)
    broadcaster.new_recorder("test").event(pod("a"), "Normal", "R", "m")
    await advance(7)
    assert sink.at == [0.0, 5.0]
    await broadcaster.shutdown()
    assert now() == 7.0
    await advance(1000)
    assert sink.at == [0.0, 5.0]


async def test_the_shutdown_tries_queued_events_once() -> None:
    sink = Sink(OSError("down"))
    broadcaster = core(sink)
    recorder = broadcaster.new_recorder("test")
    for name in ("a", "b", "c"):
        recorder.event(pod(name), "Normal", "R", "m")
    await broadcaster.shutdown()
    assert [event["involvedObject"]["name"] for event in sink.events] == ["a", "b", "c"]
    recorder.event(pod("late"), "Normal", "R", "m")
    broadcaster.start_event_watcher(lambda event: None)()
    await advance(100)
    assert len(sink.log) == 3


async def test_ev_15_each_sink_has_its_own_correlator() -> None:
    first, second = Sink(), Sink()
    broadcaster = core(first)
    recorder = broadcaster.new_recorder("test")
    recorder.event(pod("a"), "Normal", "R", "m")
    await advance(1)
    broadcaster.start_recording_to_sink(second)
    recorder.event(pod("a"), "Normal", "R", "m")
    await advance(1)
    assert [first.verbs, second.verbs] == [["create", "patch"], ["create"]]
    assert [second.events[0]["count"], first.events[1]["count"]] == [1, 2]


async def stuck() -> None:
    await asyncio.get_running_loop().create_future()


async def test_ev_16_a_slow_sink_does_not_block(caplog: pytest.LogCaptureFixture) -> None:
    sink, known = Sink(work=stuck), list[Object]()
    broadcaster = core(sink)
    broadcaster.start_event_watcher(known.append)
    recorder = broadcaster.new_recorder("test")
    recorder.event(pod("first"), "Normal", "R", "m")
    await advance()
    for number in range(1001):
        recorder.event(pod(f"p{number}"), "Normal", "R", "m")
    dropped = [entry for entry in caplog.records if entry.message == "too many queued events, dropped event"]
    assert len(dropped) == 2, "one for each listener: neither had a turn"
    await advance()
    assert [len(sink.log), len(known)] == [1, 1001]


async def test_ev_16_the_same_of_series(caplog: pytest.LogCaptureFixture) -> None:
    sink = Sink(work=stuck)
    broadcaster = started(sink)
    recorder = broadcaster.new_recorder("test")
    for number in range(8):
        recorder.eventf(pod(f"w{number}"), None, "Normal", "R", "A", "m")
    await advance()
    for number in range(500):
        recorder.eventf(pod(f"p{number}"), None, "Normal", "R", "A", "m")
    await advance()
    for number in range(500, 1001):
        recorder.eventf(pod(f"p{number}"), None, "Normal", "R", "A", "m")
    await advance()
    assert len(sink.log) == 8, "as many as are written at a time"
    assert [entry.message for entry in caplog.records] == [
        "unable to record event: too many queued events, dropped event"
    ]


# --- events.k8s.io/v1


def started(sink: Sink, fraction: float = 0.0, **options: Any) -> eventsv1.EventBroadcaster:
    broadcaster = eventsv1.EventBroadcaster(
        sink, clock=clock(), random=FixedRandom(fraction), **{"host": "here", **options}
    )
    broadcaster.start_recording_to_sink()
    return broadcaster


def send(recorder: eventsv1.EventRecorder, note: str = "n", *, action: str = "Act", related: Any = None) -> None:
    recorder.eventf(pod("a"), related, "Normal", "R", action, note)


async def test_ev_17_three_equal_events_and_no_more() -> None:
    sink = Sink()
    recorder = started(sink).new_recorder("test")
    await advance(6)
    for _ in range(3):
        send(recorder)
        await advance()
    assert sink.log == [(6.0, "create"), (6.0, "patch")]
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:06.000000Z"}
    assert sink.patches == [{"series": series}]
    await advance(359)
    assert now() == 365.0
    assert len(sink.log) == 2, "at 6 minutes it was not old enough"
    await advance(1000)
    assert sink.log[2:] == [(720.0, "patch")]
    assert sink.patches[1] == {"series": {**series, "count": 3}}


async def test_an_event_is_tried_twelve_times_with_a_pause_between_two(caplog: pytest.LogCaptureFixture) -> None:
    sink = Sink(OSError("down"))
    recorder = started(sink, fraction=0.5).new_recorder("test")
    send(recorder)
    await advance(11 * 11.25 + 0.1)
    assert sink.at[0] == 0.0
    assert [round(after - before, 6) for before, after in pairwise(sink.at)] == [11.25] * 11, (
        "10 s, and up to a quarter more"
    )
    assert caplog.records[-1].message == "unable to write event (retry limit exceeded!)", (
        "without a pause after the last"
    )


async def test_the_event_after_one_that_was_given_up_is_written_at_once() -> None:
    sink = Sink(*[OSError("down")] * 12, None)
    recorder = started(sink).new_recorder("test")
    for number in range(9):  # eight are written at a time
        recorder.eventf(pod(f"p{number}"), None, "Normal", "R", "A", "n")
    await advance(1000)
    assert len(sink.log) == 9 + 12


async def test_ev_17_one_event_every_minute() -> None:
    sink = Sink()
    recorder = started(sink).new_recorder("test")
    await advance(6)
    for _ in range(65):
        send(recorder)
        await advance(60)
    assert sink.log == [(6.0, "create"), (66.0, "patch"), (1800.0, "patch"), (3600.0, "patch")]
    assert [patch["series"]["count"] for patch in sink.patches] == [2, 30, 60]
    assert sink.patches[1]["series"]["lastObservedTime"] == "2026-01-01T00:29:06.000000Z"
    versions = [event["metadata"].get("resourceVersion") for event in sink.events]
    assert versions == [None, None, None, "3"], "the refresh keeps the event as it is stored"


@pytest.mark.parametrize(
    ("changed", "verbs"),
    [
        pytest.param({"action": "Other"}, ["create", "create"], id="EV-18-action"),
        pytest.param({"note": "other"}, ["create", "patch"], id="EV-18-note"),
        pytest.param({"related": node("n")}, ["create", "create"], id="EV-18-related"),
    ],
)
async def test_the_isomorphism_key(changed: dict[str, Any], verbs: list[str]) -> None:
    sink = Sink()
    recorder = started(sink).new_recorder("test")
    send(recorder)
    await advance(1)
    send(recorder, **changed)
    await advance(1)
    assert sink.verbs == verbs


async def test_ev_19_a_series_that_ended() -> None:
    sink = Sink()
    recorder = started(sink).new_recorder("test")
    for _ in range(2):
        send(recorder)
        await advance()
    await advance(719)
    assert sink.verbs == ["create", "patch"]
    await advance(1)
    assert sink.log[2:] == [(720.0, "patch")]
    await advance(3600)
    assert len(sink.log) == 3, "it was forgotten"
    send(recorder)
    await advance()
    assert sink.verbs == ["create", "patch", "patch", "create"]


async def test_ev_19_a_single_event_is_kept_for_six_minutes() -> None:
    sink = Sink()
    broadcaster = started(sink)
    recorder = broadcaster.new_recorder("test")
    await advance(60)
    send(recorder)
    await advance(300)
    assert now() == 360.0
    send(recorder)
    await advance()
    assert sink.verbs == ["create", "patch"], "five minutes old, when the finished ones were looked for"


async def test_ev_19_a_single_event_is_removed_without_a_write() -> None:
    sink = Sink()
    recorder = started(sink).new_recorder("test")
    await advance(1)
    send(recorder)
    await advance(720)
    assert sink.verbs == ["create"]
    send(recorder)
    await advance()
    assert sink.verbs == ["create", "create"]


async def test_ev_20_a_series_whose_event_does_not_exist_yet() -> None:
    sink = Sink(None, ApiError(404, "NotFound", "gone"), ApiError(409, "AlreadyExists", "there"), None)
    recorder = started(sink, fraction=0.5).new_recorder("test")
    for _ in range(2):
        send(recorder)
        await advance()
    await advance(100)
    assert sink.log == [(0.0, "create"), (0.0, "patch"), (0.0, "create"), (11.25, "patch")]


async def test_ev_20_a_single_event_that_exists_is_not_retried() -> None:
    sink = Sink(ApiError(409, "AlreadyExists", "there"))
    send(started(sink).new_recorder("test"))
    await advance(1000)
    assert sink.verbs == ["create"]


async def test_ev_10_the_same_of_series() -> None:
    sink = Sink(OSError("down"))
    send(started(sink, fraction=0.4).new_recorder("test"))
    await advance(1000)
    assert sink.at == [11.0 * number for number in range(12)]


async def test_a_finished_series_that_cannot_be_written_is_kept() -> None:
    sink = Sink(None, None, OSError("down"), None)
    recorder = started(sink).new_recorder("test")
    for _ in range(2):
        send(recorder)
        await advance()
    await advance(2000)
    assert sink.log[2:] == [(720.0, "patch"), (1080.0, "patch")]


async def test_a_series_that_cannot_be_refreshed_is_retried() -> None:
    sink = Sink(None, None, OSError("down"), None)
    recorder = started(sink).new_recorder("test")
    await advance(1)
    for _ in range(65):
        send(recorder)
        await advance(60)
    assert sink.log[2:] == [(1800.0, "patch"), (3600.0, "patch")]


async def test_ev_14_the_same_of_series() -> None:
    sink = Sink(OSError("down"))
    broadcaster = started(sink)
    recorder = broadcaster.new_recorder("test")
    for number in range(10):
        recorder.eventf(pod(f"p{number}"), None, "Normal", "R", "A", "m")
    await advance(5)
    assert len(sink.log) == 8, "as many as are written at a time"
    await broadcaster.shutdown()
    assert now() == 5.0
    assert [event["regarding"]["name"] for event in sink.events[8:]] == ["p8", "p9"], "tried once, not again"
    send(recorder)
    await advance(1000)
    assert len(sink.log) == 10


async def test_a_cancelled_shutdown_drops_queued_events() -> None:
    series, older = Sink(work=stuck), Sink(work=stuck)
    broadcasters = [started(series), core(older)]
    broadcasters[0].new_recorder("test").eventf(pod("a"), None, "Normal", "R", "A", "m")  # type: ignore[attr-defined]
    broadcasters[1].new_recorder("test").event(pod("a"), "Normal", "R", "m")  # type: ignore[attr-defined]
    await advance(1)
    for broadcaster in broadcasters:
        ending = asyncio.create_task(broadcaster.shutdown())
        await advance(1)
        ending.cancel()
        await asyncio.wait([ending])
    await advance(1)
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not {name for name in names if name.startswith("event ")}


def test_a_thread_may_outlive_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    made: list[Any] = []

    async def main() -> None:
        broadcaster = core(Sink())
        made.append(broadcaster.new_recorder("test"))
        manager = Operator().manager
        manager._events.begin()
        made.append(manager.event_recorder_for("test"))
        await broadcaster.shutdown()

    loop = VirtualTimeLoop()
    loop.run_until_complete(main())
    loop.close()
    for recorder in made:
        recorder.event(pod("a"), "Normal", "R", "m")
    assert len(caplog.records) == 2
    assert all("unable to record event" in entry.message for entry in caplog.records)


def test_events_during_a_write_are_not_lost() -> None:
    cache, event = SeriesCache(), core_event({}, "Normal", "R", "m", name="a", nanos=T0, component="test")
    for at in (0.0, 1.0):
        cache.observe(event, at, micro_time_text(T0))
    (entry,) = cache.series()
    cache.observe(event, 2.0, micro_time_text(T0))
    cache.recorded(entry, {**entry.event, "stored": True})
    cache.forget(entry)
    (left,) = cache.series()
    assert left.event["series"]["count"] == 3
    cache.recorded(left, {**left.event, "stored": True})
    assert cache.series()[0].event["stored"]
    cache.forget(cache.series()[0])
    assert len(cache) == 0


async def test_recording_twice_is_an_error() -> None:
    broadcaster = started(Sink())
    with pytest.raises(RuntimeError, match="broadcaster is already recording to a sink"):
        broadcaster.start_recording_to_sink()


async def test_an_event_of_the_new_api() -> None:
    sink = Sink()
    recorder = started(sink).new_recorder("backup")
    recorder.annotated_eventf(pod("a"), node("n"), {"x": "y"}, "Warning", "Failed", "Copying", "%s of %d", "one", 2)
    await advance()
    assert sink.events == [{
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": f"a.{T0:x}", "namespace": "default", "annotations": {"x": "y"}},
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "backup",
        "reportingInstance": "backup-here", "action": "Copying", "reason": "Failed", "note": "one of 2",
        "type": "Warning", "regarding": reference(pod("a")), "related": reference(node("n")),
    }]  # fmt: skip


async def test_a_related_value_that_is_not_an_object_is_omitted() -> None:
    sink = Sink()
    send(started(sink).new_recorder("test"), related={"metadata": {}})
    await advance()
    assert "related" not in sink.events[0]


# --- names, references, logs


@pytest.mark.parametrize(
    ("about", "plain"),
    [
        pytest.param("web-1.example", True, id="EV-22-a-name"),
        pytest.param("system:node", False, id="EV-22-a-colon"),
        pytest.param("Web", False, id="EV-22-capitals"),
        pytest.param("x" * 250, False, id="EV-22-too-long"),
        pytest.param("", False, id="EV-22-empty"),
    ],
)
async def test_names_of_events(about: str, plain: bool) -> None:
    sink, series = Sink(), Sink()
    core(sink).new_recorder("test").event(pod(about), "Normal", "R", "m")
    started(series).new_recorder("test").eventf(pod(about), None, "Normal", "R", "A", "m")
    await advance()
    pattern = re.escape(about) + r"\.[0-9a-f]{16}" if plain else r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    for name in (sink.events[0]["metadata"]["name"], series.events[0]["metadata"]["name"]):
        assert re.fullmatch(pattern, name)


async def test_events_at_the_same_time_have_different_names() -> None:
    sink, timestamps = Sink(), UniqueTimestamps(clock())
    recorder = core(sink, timestamps=timestamps).new_recorder("test")
    other = core(sink, timestamps=timestamps).new_recorder("other")
    for message in ("one", "two"):
        recorder.event(pod("a"), "Normal", "R", message)
        other.event(pod("a"), "Normal", "R", message)
    await advance()
    assert len({event["metadata"]["name"] for event in sink.events}) == 4


def test_references() -> None:
    ready = {"kind": "Pod", "namespace": "a", "name": "b", "fieldPath": "spec"}
    assert reference(ready) == ready
    assert reference(pod("a"), "spec.containers{x}")["fieldPath"] == "spec.containers{x}"
    from kubernetes import client

    meta = client.V1ObjectMeta(name="a", namespace="b", uid="c")
    model = client.V1Pod(api_version="v1", kind="Pod", metadata=meta)
    assert reference(model) == {"apiVersion": "v1", "kind": "Pod", "name": "a", "namespace": "b", "uid": "c"}
    with pytest.raises(ValueError, match="has no apiVersion or kind"):
        reference(client.V1Pod(metadata=meta))
    with pytest.raises(TypeError):
        reference(7)


async def test_logs_and_watchers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "test.events")
    log, known = logging.getLogger("test.events"), list[str]()
    first, second = core(), started(Sink())
    first.start_logging(log.info)
    second.start_logging(log.info)

    async def hear(event: Object) -> None:
        known.append(event["reason"])
        if event["reason"] == "Bad":
            raise ValueError("a listener's bug")

    stop = first.start_event_watcher(hear)
    recorder = first.new_recorder("test")
    for reason in ("Bad", "Good"):
        recorder.event(pod("a"), "Normal", reason, "hello")
    send(second.new_recorder("test"), "there")
    await advance()
    stop()
    stop()
    recorder.event(pod("a"), "Normal", "Unheard", "hello")
    await advance()
    assert known == ["Bad", "Good"]
    said = [entry.getMessage() for entry in caplog.records if entry.name == "test.events"]
    assert [line.partition("}): ")[2] for line in said] == [
        "type: 'Normal' reason: 'Bad' hello", "type: 'Normal' reason: 'Good' hello",
        "type: 'Normal' reason: 'R' action: 'Act' there", "type: 'Normal' reason: 'Unheard' hello",
    ]  # fmt: skip


async def test_the_adapter_loses_the_action() -> None:
    sink = Sink()
    recorder = eventsv1.EventRecorderAdapter(core(sink).new_recorder("test"))
    recorder.eventf(pod("a"), node("n"), "Normal", "R", "A", "hello %s", "you")
    recorder.annotated_eventf(pod("b"), None, {"x": "y"}, "Normal", "R", "A", "hello")
    await advance()
    assert [event["message"] for event in sink.events] == ["hello you", "hello"]
    assert sink.events[1]["metadata"]["annotations"] == {"x": "y"}


# --- fakes


def test_ev_23_the_lines_of_a_fake_recorder() -> None:
    fake = corev1.CoreFakeRecorder(10)
    fake.eventf(pod("a"), "Normal", "Started", "hello %d", 1)
    fake.event(pod("a"), "Warning", "Failed", "100%")
    fake.annotated_eventf(pod("a"), {"b": "2", "a": "1"}, "Normal", "Started", "hello")
    assert fake.events.drain() == ["Normal Started hello 1", "Warning Failed 100%", "Normal Started hello map[a:1 b:2]"]
    telling = corev1.CoreFakeRecorder(include_object=True)
    telling.event(pod("a"), "Normal", "Started", "hello")
    assert telling.events.get() == "Normal Started hello involvedObject{kind=Pod,apiVersion=v1}"


def test_ev_23_the_same_of_the_new_api() -> None:
    fake = eventsv1.FakeRecorder(10)
    fake.eventf(pod("a"), None, "Normal", "Started", "Starting", "hello %d", 1)
    assert fake.events.drain() == ["Normal Started hello 1"]
    telling = eventsv1.FakeRecorder(verbose=True)
    telling.eventf(pod("a"), node("n"), "Normal", "Started", "Starting", "hello %d", 1)
    assert telling.events.get() == (
        "Normal Started Starting hello 1 {kind=Pod,apiVersion=v1} {kind=Node,apiVersion=v1}"
    )
    telling.annotated_eventf(pod("a"), node("n"), {"a": "1"}, "Normal", "Started", "Starting", "hello %d", 1)
    assert telling.events.get() == (
        "Normal Started Starting hello 1 {kind=Pod,apiVersion=v1} {kind=Node,apiVersion=v1} map[a:1]"
    )


async def test_a_full_fake_recorder_does_not_stop_the_loop() -> None:
    fake = corev1.CoreFakeRecorder(1)
    fake.event(pod("a"), "Normal", "R", "one")
    with pytest.raises(queue.Full):
        fake.event(pod("a"), "Normal", "R", "two")


def test_a_full_fake_recorder_blocks_a_thread() -> None:
    fake = corev1.CoreFakeRecorder(1)
    fake.event(pod("a"), "Normal", "R", "one")
    thread = threading.Thread(target=fake.event, args=(pod("a"), "Normal", "R", "two"))
    thread.start()
    assert fake.events.get() == "Normal R one"
    thread.join(10)
    assert fake.events.get() == "Normal R two"


def test_the_least_recently_used_entry_is_removed() -> None:
    cache: LRU[str, int] = LRU(2)
    for name in ("a", "b"):
        cache.add(name, 1)
    cache.get("a")
    cache.add("c", 1)
    assert [cache.get(name) for name in "abc"] == [1, None, 1]
    assert len(cache) == 2


# --- over a client, and in a manager


async def test_events_at_a_server() -> None:
    api = FakeApi()
    sink = ClientSink(Client(api))
    broadcaster = corev1.CoreEventBroadcaster(clock=clock())
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")
    for _ in range(2):
        recorder.event(pod("a"), "Normal", "R", "m")
        await advance(1)
    (stored,) = (obj for path, obj in api.objects.items() if "/events/" in path)
    assert [stored["count"], stored["lastTimestamp"]] == [2, "2026-01-01T00:00:01Z"]
    assert [asked.verb for asked in api.asked if asked.path.endswith("events") or "/events/" in asked.path] == [
        "post", "patch",
    ]  # fmt: skip


async def test_the_errors_of_a_sink() -> None:
    api = FakeApi()
    api.faults.append(lambda asked: (200, {}, {"kind": "Page"}) if asked.verb == "post" else None)
    sink = ClientSink(Client(api))
    with pytest.raises(UnexpectedObjectError):
        await sink.create(core_event({}, "Normal", "R", "m", name="a", nanos=T0, component="test"))
    with pytest.raises(RequestConstructionError):
        await sink.create(7)  # type: ignore[arg-type]


def recorded(api: FakeApi) -> list[Object]:
    return [obj for path, obj in api.objects.items() if "/events/" in path]


async def test_a_managers_recorders(caplog: pytest.LogCaptureFixture) -> None:
    operator = Operator()
    recorder, older = operator.manager.event_recorder("backup"), operator.manager.event_recorder_for("backup")
    recorder.eventf(pod("early"), None, "Normal", "R", "A", "before the start")

    async def reconcile(request: Any) -> None:
        recorder.eventf(pod("a"), None, "Normal", "Reconciled", "Look", "saw %s", request)
        older.eventf(pod("a"), "Normal", "Reconciled", "saw %s", request)

    operator.api.put(*BACKUP, "nightly")
    operator.controller().for_(*BACKUP).complete(reconcile)
    await operator.run(1)
    found = sorted((event["apiVersion"], event.get("note") or event["message"]) for event in recorded(operator.api))
    assert found == [
        ("events.k8s.io/v1", "before the start"), ("events.k8s.io/v1", "saw default/nightly"),
        ("v1", "saw default/nightly"),
    ]  # fmt: skip
    with pytest.raises(TypeError):
        recorder.eventf(pod("a"), None, "Normal", "R", "A", "%d", "x")
    await operator.stop()
    recorder.eventf(pod("late"), None, "Normal", "R", "A", "after the end")
    older.event(pod("late"), "Normal", "R", "after the end")
    await advance(100)
    assert caplog.records == [], "after the end they are dropped without a word"
    assert len(recorded(operator.api)) == 3


async def test_a_reconciler_in_a_thread_may_record() -> None:
    operator = Operator()
    recorder, older = operator.manager.event_recorder("backup"), operator.manager.event_recorder_for("backup")

    def reconcile(request: Any) -> None:
        recorder.eventf(pod("a"), None, "Normal", "Reconciled", "Look", "from a thread")
        older.event(pod("a"), "Normal", "Reconciled", "from a thread")

    operator.api.put(*BACKUP, "nightly")
    operator.controller().for_(*BACKUP).complete(reconcile)
    await operator.run(1)
    assert len(recorded(operator.api)) == 2


async def test_a_stopping_manager_waits_for_events_for_its_grace_only() -> None:
    operator = Operator(graceful_shutdown_timeout=5.0)
    recorder = operator.manager.event_recorder("backup")
    hanging = asyncio.get_running_loop().create_future()
    original = operator.api.request

    async def hang(method: str, path: str, **options: Any) -> Answer:
        if "/events" in path:
            await hanging
        return await original(method, path, **options)

    operator.api.request = hang  # type: ignore[method-assign]
    await operator.run(1)
    recorder.eventf(pod("a"), None, "Normal", "R", "A", "m")
    await advance(1)
    await operator.stop()
    assert now() == pytest.approx(7.0)


async def test_a_rejected_event_does_not_fail_the_reconcile() -> None:
    operator = Operator()

    def fault(asked: Asked) -> Answer | None:
        return refuse(403, "Forbidden") if "events" in asked.path and asked.verb == "post" else None

    operator.api.faults.append(fault)
    await operator.run(1)
    operator.manager.event_recorder("backup").eventf(pod("a"), None, "Normal", "R", "A", "m")
    await advance(1)
    await operator.stop()
    assert recorded(operator.api) == []


async def test_the_repr_of_broadcasters() -> None:
    assert repr(Broadcaster(clock())) == "<Broadcaster watchers=0>"
    closed = started(Sink())
    await closed.shutdown()
    assert repr(closed) == "<EventBroadcaster events.k8s.io/v1 cached=0 <Broadcaster watchers=0 closed>>"
    assert repr(core()) == "<EventBroadcaster core/v1 <Broadcaster watchers=0>>"


# --- at a server that checks what it is given


def test_both_apis_at_a_strict_server(fakekube: Any) -> None:
    def build(manager: Any) -> None:
        series, older = manager.event_recorder("test"), manager.event_recorder_for("test")

        async def reconcile(request: Any) -> Any:
            obj = await manager.client.get("v1", "ConfigMap", request.name, request.namespace)
            series.eventf(obj, None, "Normal", "Seen", "Look", "at %s", request)
            older.event(obj, "Normal", "Seen", "m")
            from controllerlib import Result

            return Result(requeue_after=60)

        manager.controller("test").for_("v1", "ConfigMap").complete(reconcile)

    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
    fakekube.start(build)
    counts = []
    for seconds in (29 * 60 + 30, 60):
        fakekube.advance(seconds=seconds)
        found = fakekube.list("events.k8s.io/v1", "Event")
        (series,) = (event for event in found if event.get("note") == "at default/a")
        (older,) = (event for event in found if event.get("note") == "m")
        counts.append((series["series"]["count"], older["deprecatedCount"]))
    assert counts == [(2, 30), (30, 31)], "a series is written every half hour; the other one still has an allowance"
    assert [older["deprecatedSource"], series["regarding"]["name"]] == [{"component": "test"}, "a"]
    refused = [asked for asked in fakekube.requests(resource="events") if asked.code >= 400]
    assert refused == []


def test_leader_election_at_a_strict_server(fakekube: Any) -> None:
    from controllerlib import LeaderElection, LeaderElectionOptions

    options = LeaderElectionOptions("lock", "default", identity="me", release_on_cancel=True, labels={"a": "b"})
    operator = fakekube.start(lambda manager: None, election=LeaderElection(options))
    fakekube.advance(minutes=1)
    lease = fakekube.get("coordination.k8s.io/v1", "Lease", "lock")
    assert [lease["spec"]["holderIdentity"], lease["metadata"]["labels"]] == ["me", {"a": "b"}]
    assert lease["spec"]["acquireTime"] != lease["spec"]["renewTime"]
    fakekube.stop(operator)
    assert fakekube.get("coordination.k8s.io/v1", "Lease", "lock")["spec"]["holderIdentity"] == ""
    said = [event["message"] for event in fakekube.events(reason="LeaderElection")]
    assert said == ["me became leader", "me stopped leading"]
