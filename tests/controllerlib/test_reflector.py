"""The reflector: its requests and their times, and the calls of its store."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from controllerlib.backoff import Backoff, DelayWithReset
from controllerlib.cache.listwatch import ListWatch, list_pages
from controllerlib.cache.reflector import Reflector, ReflectorOptions
from controllerlib.cache.relist import RetryWithDeadline
from controllerlib.client.errors import ApiError
from controllerlib.client.listoptions import ListOptions
from controllerlib.clock import SystemClock, sleep
from controllerlib.random import FixedRandom
from tests.controllerlib.objects import node, pod
from tests.controllerlib.scripted import (
    CLOSE,
    EXPIRED,
    TOO_MANY,
    Noting,
    NotingVersions,
    Scripted,
    Step,
    Wait,
    added,
    bookmark,
    deleted,
    error,
    modified,
    refusal,
)

FOO = pod("foo", 1)


class Under:
    """A reflector with the log of its store and errors."""

    def __init__(
        self, source: Any, store: Any = None, *, options: ReflectorOptions | None = None, random: float = 0.0,
        delay: DelayWithReset | None = None, **more: Any,
    ) -> None:  # fmt: skip
        self.source, self.errors = source, list[BaseException]()
        self.store = Noting() if store is None else store
        self.reflector = Reflector(
            source, self.store, expected=("v1", "Pod"), options=options or ReflectorOptions(), delay=delay,
            random=FixedRandom(random), on_error=self.errors.append, **more,
        )  # fmt: skip
        self.task: asyncio.Task[None] | None = None

    async def run(self, seconds: float = 0.0) -> "Under":
        """Run for some time."""
        if self.task is None:
            self.task = asyncio.create_task(self.reflector.run())
        await asyncio.get_running_loop().advance(seconds)  # type: ignore[attr-defined]
        return self

    async def once(self) -> "Under":
        """Make one attempt."""
        await self.reflector.list_and_watch()
        return self

    @property
    def version(self) -> str:
        return self.reflector.resource_version


def listing(*watches: Any, lists: Any = (([FOO], "1"),)) -> Scripted:
    return Scripted(lists, watches or ((),))


def streaming(*watches: Any, lists: Any = (([FOO], "1"),)) -> Scripted:
    return Scripted(lists, watches, streaming=True)


async def test_rf_01_list_then_watch() -> None:
    under = await Under(listing([modified(pod("foo", 2)), added(pod("bar", 3))])).run()
    assert under.source.calls == ["list rv=0 limit=500", "watch rv=1"]
    assert under.store.log == ["replace [foo@1] 1", "update foo@2", "add bar@3"]
    assert under.version == "3"


async def test_rf_02_one_stream_for_both() -> None:
    steps = [added(FOO), bookmark(1, "true"), modified(pod("foo", 2)), added(pod("bar", 3))]
    under = await Under(streaming(steps)).run()
    assert under.source.calls == ["stream rv="]
    assert under.store.log == ["replace [foo@1] 1", "update foo@2", "add bar@3"]
    assert under.version == "3"


async def test_rf_03_cancelled_before_the_bookmark() -> None:
    under = await Under(streaming([added(pod("p1"))])).run()
    assert under.task is not None
    under.task.cancel()
    await under.run()
    assert under.store.log == []
    assert under.source.streams[0].closed


async def test_rf_04_events_of_a_stream_before_the_bookmark() -> None:
    steps = [added(pod("p1", 1)), added({"kind": "Pod"}), added(pod("p2", 2)), modified(pod("p1", 3)),
             added(pod("p3", 4)), deleted(pod("p3", 5)), bookmark(5, "true")]  # fmt: skip
    under = await Under(streaming(steps)).run()
    assert under.store.log == ["replace [p1@3 p2@2] 5"]


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(refusal(422, "Invalid", "sendInitialEvents is forbidden"), id="RF-05-invalid"),
        pytest.param(ConnectionResetError("broken"), id="RF-06-any-error"),
    ],
)
async def test_a_rejected_stream_falls_back_to_a_list_for_this_attempt(failure: Exception) -> None:
    under = await Under(streaming(failure, [Wait(5), error(500, "InternalError")], failure, ())).run(7)
    assert under.source.calls == ["stream rv=", "list rv=0 limit=500", "watch rv=1", "stream rv=1", "list rv=1",
                                  "watch rv=1"]  # fmt: skip


async def test_rf_07_a_busy_server_is_retried_later() -> None:
    under = await Under(streaming(TOO_MANY, TOO_MANY, [bookmark(1, "true")])).run(10)
    assert under.source.made("list") == []
    assert under.source.times("stream") == pytest.approx([0, 0.8, 2.4])


async def test_rf_08_a_stream_that_ends_early_is_restarted() -> None:
    under = await Under(streaming([added(pod("gone")), CLOSE], [added(FOO), bookmark(1, "true")])).run()
    assert under.source.at == [0, 0]
    assert under.store.log == ["replace [foo@1] 1"]


async def test_rf_09_only_true_ends_the_initial_events() -> None:
    under = await Under(streaming([added(FOO), bookmark(1, "false")])).run()
    assert under.store.log == []


async def test_rf_10_after_the_stream_a_plain_watch() -> None:
    steps = [added(FOO), bookmark(2, "true"), modified(pod("foo", 3)), CLOSE]
    under = await Under(streaming(steps, ())).run()
    assert under.source.calls == ["stream rv=", "watch rv=3"]


async def test_rf_11_expired_at_the_start_of_a_watch_ends_the_attempt() -> None:
    steps = [added(FOO), bookmark(2, "true"), modified(pod("foo", 3)), CLOSE]
    under = await Under(streaming(steps, EXPIRED, [bookmark(9, "true")])).run(1)
    assert under.errors == [EXPIRED]
    assert under.source.calls == ["stream rv=", "watch rv=3", "stream rv=3"]
    assert under.source.times("stream") == [0, 0.8]


async def test_rf_12_an_expired_stream_is_restarted_without_a_version() -> None:
    steps = [added(FOO), bookmark(3, "true"), Wait(1), error(410, "Expired")]
    under = await Under(streaming(steps, EXPIRED, [bookmark(9, "true")])).run(5)
    assert under.source.calls == ["stream rv=", "stream rv=3", "stream rv="]
    assert under.source.at == [0, 1.8, 1.8]


def end_after(seconds: float) -> Sequence[Step]:
    return [Wait(seconds), error(500, "InternalError")]


async def test_rf_13_an_expired_list_is_requested_again_without_a_version() -> None:
    lists = [([FOO], "10"), EXPIRED, ([FOO], "20"), ([FOO], "30")]
    under = await Under(listing(end_after(1), end_after(1), (), lists=lists)).run(10)
    assert [call.split()[1] for call in under.source.made("list")] == ["rv=0", "rv=10", "rv=", "rv=20"]


def too_large(shape: str) -> ApiError:
    causes = {
        "reason": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "message": [{"message": "Too large resource version"}],
        "text": [],
    }[shape]
    body = {"code": 504, "reason": "Timeout", "message": "Timeout: Too large resource version: 30, current: 20",
            "details": {"causes": causes}}  # fmt: skip
    if shape != "text":
        body["message"] = "Timeout"
    return ApiError(504, "Timeout", str(body["message"]), body)


async def test_rf_14_too_large_a_version_in_three_forms() -> None:
    lists: list[Any] = [([FOO], "20")]
    for shape, version in (("reason", "30"), ("message", "40"), ("text", "50")):
        lists += [too_large(shape), ([FOO], version)]
    under = await Under(listing(end_after(1), lists=lists)).run(9)
    assert [call.split()[1][3:] for call in under.source.made("list")] == ["0", "20", "", "30", "", "40", ""]


async def test_rf_15_an_expired_watch_is_not_an_error() -> None:
    under = await Under(listing([Wait(10), error(410, "Expired")], ())).run(20)
    assert under.errors == []
    assert under.source.times("list") == pytest.approx([0, 10.8])
    assert under.source.made("list")[1] == "list rv=1"


async def test_rf_16_an_unavailable_server_is_retried_with_backoff() -> None:
    under = await Under(listing(lists=[ConnectionRefusedError("refused")])).run(142)
    expected = [0, 0.8, 2.4, 5.6, 12, 24.8, 50.4, 80.4, 110.4, 140.4, 141.2]
    assert under.source.times("list") == pytest.approx(expected)
    assert len(under.errors) == len(expected)


async def test_rf_17_no_relist_while_connections_are_refused() -> None:
    refused = ConnectionRefusedError("refused")
    delay = DelayWithReset(Backoff(0.01, 2.0, 0.0, 100, 0.1), 120.0, 0.0)
    under = await Under(listing(*[refused] * 5, ()), delay=delay).run(1)
    assert under.source.times("watch") == pytest.approx([0, 0.01, 0.03, 0.07, 0.15, 0.25])
    assert len(under.source.made("list")) == 1


async def test_rf_18_no_relist_while_the_server_is_busy() -> None:
    delay = DelayWithReset(Backoff(0.01, 2.0, 0.0, 100, 0.1), 120.0, 0.0)
    under = await Under(listing(*[TOO_MANY] * 4, ()), delay=delay).run(1)
    assert [len(under.source.made("list")), len(under.source.made("watch")), delay.calls] == [1, 5, 4]


async def test_rf_19_busy_at_the_start_and_in_the_stream() -> None:
    delay = DelayWithReset(Backoff(0.01, 2.0, 0.0, 100, 0.1), 120.0, 0.0)
    under = Under(listing(TOO_MANY, [error(429, "TooManyRequests")], [CLOSE]), delay=delay)
    await under.once()
    assert delay.calls == 2
    assert len(under.source.made("watch")) == 3


@pytest.mark.parametrize(
    ("first", "lists", "second_watch"),
    [
        pytest.param([Wait(0.5), CLOSE], 2, None, id="RF-20-too-short"),
        pytest.param([Wait(1.0), CLOSE], 1, 1.0, id="RF-20-a-second"),
        pytest.param([Wait(0.1), modified(pod("foo", 2)), CLOSE], 1, 0.1, id="RF-20-with-an-event"),
        pytest.param([Wait(0.5), added(node("n")), CLOSE], 2, None, id="RF-21"),
    ],
)
async def test_ends_of_a_watch(first: Sequence[Step], lists: int, second_watch: float | None) -> None:
    under = await Under(listing(first, ())).run(5)
    assert len(under.source.made("list")) == lists
    assert under.errors == []
    if second_watch is not None:
        assert under.source.times("watch") == [0, second_watch]


async def test_rf_22_versions_are_opaque() -> None:
    under = await Under(listing([modified(pod("foo", 55)), modified(pod("foo", 32))])).run()
    assert under.version == "32"


async def test_rf_23_a_store_may_take_the_versions() -> None:
    steps = [added(pod("a", 10)), modified(pod("a", 20)), bookmark(30), deleted(pod("a", 40))]
    under = await Under(listing(steps), NotingVersions()).run()
    assert under.store.versions == ["10", "20", "30", "40"]


async def test_rf_24_without_a_version_the_first_events_are_a_list() -> None:
    under = Under(listing([added(pod("a", 5)), added(pod("b", 3))], lists=[([], "")]))
    await under.run()
    assert under.version == ""
    more = Under(listing([added(pod("a", 5)), added(pod("b", 3)), modified(pod("a", 6))], lists=[([], "")]))
    await more.run()
    assert more.version == "6"


@pytest.mark.parametrize(("window", "retries"), [(30.0, 31), (0.0, 0)], ids=["RF-25-30s", "RF-25-never"])
async def test_internal_errors_are_retried_until_the_deadline(window: float, retries: int) -> None:
    source = listing([Wait(1.0), error(500, "InternalError")])
    under = await Under(source, options=ReflectorOptions(internal_error_retry=window)).once()
    assert len(under.source.made("watch")) == retries + 1


def test_rf_26_the_retry_period() -> None:
    retry = RetryWithDeadline(1.0)
    retry.after(True, 0.0)
    assert retry.should_retry(0.0)
    retry.after(True, 1.0)
    assert retry.should_retry(1.0)
    retry.after(True, 2.0)
    assert not retry.should_retry(2.0)
    retry.after(False, 3.0)
    assert not retry.should_retry(3.0), "errors of another kind open no window"
    retry.after(True, 10.0)
    retry.after(False, 10.5)
    assert retry.should_retry(10.9)


RESYNC = ReflectorOptions(resync_period=10.0)


async def test_rf_27_a_new_list_restarts_the_resync() -> None:
    source = listing([Wait(25), error(410, "Expired")], ())
    under = await Under(source, options=RESYNC).run(36)
    assert under.store.times("resync") == pytest.approx([10, 20, 35.8])


async def test_rf_28_a_new_watch_does_not() -> None:
    under = await Under(listing([Wait(15), CLOSE], ()), options=RESYNC).run(21)
    assert under.store.times("resync") == [10, 20]


async def test_rf_29_the_period_counts_from_the_end_of_a_resync() -> None:
    store = Noting(resync=lambda: sleep(SystemClock(), 2.0))
    under = await Under(listing(), store, options=RESYNC).run(35)
    assert under.store.times("resync") == [10, 22, 34]


async def test_rf_30_a_failing_resync_ends_the_watch() -> None:
    calls: list[int] = []

    def resync() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError

    under = await Under(listing(), Noting(resync=resync), options=RESYNC).once()
    assert len(calls) == 2
    assert under.source.streams[0].closed


async def test_rf_31_an_unnecessary_resync_is_skipped() -> None:
    asked: list[float] = []
    loop = asyncio.get_running_loop()
    under = await Under(
        listing(), options=RESYNC, should_resync=lambda: bool(asked.append(loop.time()))
    ).run(31)  # fmt: skip
    assert asked == [10, 20, 30]
    assert under.store.times("resync") == []


@pytest.mark.parametrize(
    ("minimum", "fraction", "seconds"),
    [
        pytest.param(0.0, 0.0, 300, id="RF-32-least"),
        pytest.param(1.0, 0.5, 450, id="RF-32-half"),
        pytest.param(1.0, 0.999, 599, id="RF-32-most"),
        pytest.param(1800.0, 0.0, 1800, id="RF-32-longer"),
        pytest.param(1800.0, 0.9999, 3599, id="RF-32-longest"),
    ],
)
async def test_the_timeout_of_a_watch(minimum: float, fraction: float, seconds: int) -> None:
    under = await Under(listing(), options=ReflectorOptions(min_watch_timeout=minimum), random=fraction).run()
    assert under.source.timeouts == [seconds]


def pages(options: ListOptions) -> dict[str, Any]:
    """Return ten objects in pages; resourceVersion 7."""
    start, size = int(options.continue_token or 0), options.limit or 10
    items = [pod(f"p{number}") for number in range(10)][start : start + size]
    meta = {"resourceVersion": "7"}
    if start + size < 10:
        meta["continue"] = str(start + size)
    return {"kind": "PodList", "metadata": meta, "items": items}


async def test_rf_33_page_sizes() -> None:
    sized = Scripted([pages], [end_after(1), ()])
    await Under(sized, options=ReflectorOptions(page_size=4)).run(5)
    assert [call.split()[2] for call in sized.made("list")] == ["limit=4"] * 6
    unset = Scripted([([FOO], "5")], [end_after(1), ()])
    await Under(unset).run(5)
    assert unset.made("list") == ["list rv=0 limit=500", "list rv=5"]
    first = {"kind": "PodList", "metadata": {"resourceVersion": "5", "continue": "x"}, "items": [FOO]}
    paged = Scripted([lambda o: first, ([FOO], "5"), ([FOO], "6")], [end_after(1), ()])
    await Under(paged).run(5)
    assert paged.made("list")[2] == "list rv=5 limit=500"


async def test_rf_34_a_stream_transforms_once_and_then_the_queue_does() -> None:
    from controllerlib.cache.deltaqueue import DeltaQueue
    from controllerlib.cache.realfifo import RealFIFO

    calls: list[int] = []

    def transform(obj: Any) -> Any:
        calls.append(1)
        return obj

    steps = [added(pod("a", 1)), added(pod("b", 2)), bookmark(2, "true"), modified(pod("a", 3))]
    await Under(streaming(steps), DeltaQueue(RealFIFO(transform=transform)), transform=transform).run()
    assert len(calls) == 5


async def test_rf_35_a_failing_store_does_not_hold_the_version_back() -> None:
    under = await Under(listing([added(pod("bar", 3))]), Noting(fail=["add"])).run()
    assert under.version == "3"


async def test_rf_36_cancelled_before_anything() -> None:
    under = Under(listing())
    task = asyncio.create_task(under.reflector.run())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert under.source.calls == []


async def test_rf_37_cancelled_while_watching() -> None:
    under = await Under(listing()).run(3)
    assert under.task is not None
    under.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await under.task
    assert under.source.streams[0].closed
    assert under.errors == []


async def test_rf_38_a_store_read_error_leads_to_a_new_list() -> None:
    lists = [([pod("a", 1), pod("b", 2)], "2"), ([pod("a", 1)], "9")]
    under = await Under(listing([Wait(2), error(500, "StoreReadError")], (), lists=lists)).run(5)
    assert under.store.log == ["replace [a@1 b@2] 2", "replace [a@1] 9"]


async def test_rf_39_bookmarks_only_move_the_version() -> None:
    steps: list[Step] = []
    for minute in range(1, 7):
        steps += [Wait(60), bookmark(100 + minute)]
    under = await Under(listing(steps), NotingVersions()).run(361)
    assert under.store.log == ["replace [foo@1] 1"]
    assert [under.version, under.store.bookmarks[-1]] == ["106", "106"]


async def test_rf_40_a_bug_in_the_source_is_raised() -> None:
    under = Under(listing(lists=[RuntimeError("a bug")]))
    with pytest.raises(RuntimeError, match="a bug"):
        await under.reflector.run()


# --- lists in pages, and sources made of functions


class Pages:
    """Return ten objects in pages of four; requests in `expired` are answered with 410."""

    def __init__(self, *expired: int) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self._expired = expired

    async def __call__(self, options: ListOptions) -> dict[str, Any]:
        self.asked.append((options.resource_version, options.continue_token, options.limit))
        if len(self.asked) in self._expired:
            raise EXPIRED
        return pages(options)


async def test_li_04_pages_follow_the_token() -> None:
    source = Pages()
    found = await list_pages(source, ListOptions(resource_version="10"), page_size=4)
    assert source.asked == [("10", "", 4), ("", "4", 4), ("", "8", 4)]
    assert [len(found.items), found.resource_version, found.paginated] == [10, "7", True]


async def test_li_05_expired_between_pages() -> None:
    source = Pages(2)
    found = await list_pages(source, ListOptions(resource_version="10"), page_size=4)
    assert source.asked == [("10", "", 4), ("", "4", 4), ("10", "", 0)]
    assert len(found.items) == 10


async def test_li_06_expired_at_once() -> None:
    source = Pages(1)
    with pytest.raises(ApiError):
        await list_pages(source, ListOptions(resource_version="10"), page_size=4)
    assert len(source.asked) == 1


async def test_li_07_plain_functions_are_accepted() -> None:
    script = Scripted([([FOO], "1")], [[modified(pod("foo", 2))]])
    from tests.controllerlib.scripted import Stream

    source = ListWatch(
        lambda options: {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [FOO]},
        lambda options: Stream([modified(pod("foo", 2))]),
        watch_list_unsupported=True,
    )
    assert script.watch_list_unsupported
    under = await Under(source).run()
    assert under.store.log == ["replace [foo@1] 1", "update foo@2"]


async def test_li_08_cancelled_between_pages() -> None:
    source = Pages()

    async def slow(options: ListOptions) -> dict[str, Any]:
        if options.continue_token:
            await sleep(SystemClock(), 10)
        return await source(options)

    task = asyncio.create_task(list_pages(slow, ListOptions(), page_size=4))
    await asyncio.get_running_loop().advance(5)  # type: ignore[attr-defined]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(source.asked) == 1


async def test_f9_the_default_handler_says_what_is_watched_and_why_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    """F9: a line of a log that shows no fields still has the resource and the error."""
    source = Scripted(lists=[refusal(403, "Forbidden", "no")])
    reflector = Reflector(source, Noting(), name="v1/Secret", options=ReflectorOptions(streaming=False))
    task = asyncio.create_task(reflector.run())
    await asyncio.get_running_loop().advance(0)  # type: ignore[attr-defined]
    task.cancel()
    (record,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert record.getMessage() == "failed to watch v1/Secret: failed to list v1/Secret: no"


async def test_a_reflector_waits_while_its_store_is_crowded() -> None:
    class Crowded(Noting):
        def is_crowded(self) -> bool:
            return len(self.log) == 2

        async def room(self) -> None:
            self._note("room", "")
            await sleep(SystemClock(), 5)

    store = Crowded()
    await Under(listing([modified(pod("foo", version)) for version in (2, 3, 4)]), store).run(60)
    assert [line.split()[0] for line in store.log[:5]] == ["replace", "update", "room", "update", "update"]
    assert [at - store.at[0] for at in store.at[:5]] == [0, 0, 0, 5, 5]


async def test_a_streamed_list_without_its_closing_bookmark_is_a_warning_every_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """client-go, Reflector: initialEventsEndBookmarkWarningInterval."""
    under = Under(streaming([added(pod("p1")), Wait(35), bookmark(1, "true")]))
    counts = []
    for seconds in (9.9, 0.1, 9.9, 0.1, 10, 30):
        await under.run(seconds)
        counts.append(sum("no closing bookmark" in one.message for one in caplog.records))
    assert counts == [0, 1, 1, 2, 3, 3]
