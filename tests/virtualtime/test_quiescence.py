"""When a loop is quiescent, what it waits for in real time, and what follows."""

import asyncio
import os
import re
import selectors
import threading
from datetime import timedelta
from time import monotonic

import pytest

from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent, VirtualTimeLoop
from fakekube.virtualtime.idleselector import IdleSelector


@pytest.fixture
def made():
    loops = []

    def make(**options):
        loops.append(VirtualTimeLoop(**options))
        return loops[-1]

    yield make
    for loop in loops:
        loop.close()


def took(function, *args):
    begun = monotonic()
    function(*args)
    return monotonic() - begun


# --- the selector


@pytest.fixture
def selector():
    with IdleSelector() as selector:
        pipes = [os.pipe(), os.pipe()]
        for _reader, writer in pipes:
            os.write(writer, b"x")
        selector.register(pipes[0][0], selectors.EVENT_READ)
        yield selector, pipes[1][0]
        for end in (*pipes[0], *pipes[1]):
            os.close(end)


def test_the_wake_up_pipe_alone_is_polled_now_and_then(selector):
    selector, _ = selector
    found = [len(selector.poll(0)) for _ in range(64)]
    assert found == ([0] * 31 + [1]) * 2
    assert len(selector.poll(0.001)) == 1


@pytest.mark.parametrize("reason", ["signals", "others"])
def test_with_signals_or_other_descriptors_each_poll_counts(selector, reason):
    selector, other = selector
    if reason == "others":
        selector.register(other, selectors.EVENT_READ)
        assert len(selector.select(0)) == len(selector.poll(0)) == 2
        selector.unregister(other)
        assert selector.poll(0) == []
    else:
        selector.awaits_signals = True
        assert len(selector.poll(0)) == 1
    assert selector.select(0) == []


def test_where_a_loop_would_block_the_selector_asks_what_follows(selector):
    selector, _ = selector
    log = []

    def idle(poll):
        log.append(("idle", selector.beat % 2))
        return ["found", *poll(0.001)]

    assert len(selector.select(0.001)) == len(selector.select(None)) == 1
    selector.attach(lambda: log.append(("turn", selector.beat % 2)), idle)
    beats = [selector.beat]
    for timeout, count in ((0, 0), (-1, 0), (None, 2), (5, 2)):
        assert len(selector.select(timeout)) == count
        beats.append(selector.beat)
    assert log == [("turn", 0), ("turn", 0), ("idle", 0), ("idle", 0)]
    assert [beat % 2 for beat in beats] == [1] * 5
    assert len(set(beats)) == 5
    selector.detach()
    selector.select(0)
    assert len(selector.select(0.001)) == 1
    assert len(log) == 4


def test_the_beat_is_zero_while_a_loop_does_not_run(loop):
    async def main():
        return loop.beat()

    assert loop.beat() == 0
    assert loop.run_until_complete(main()) % 2 == 1


# --- what the loop waits for in real time


def test_a_hold_ends_within_a_poll_of_its_release(made):
    loop = made(patience=0.05)
    hold = loop.clock.hold("outside", endless=True)
    hold.__enter__()
    thread = threading.Timer(0.12, lambda: hold.__exit__(None, None, None))
    thread.start()
    assert 0.1 < took(loop.run_until_complete, loop.settle()) < 5  # longer than the patience
    thread.join()


def test_a_hold_that_ends_by_itself_is_waited_for_no_longer(made):
    """The shortest of several attempts counts, as the machine may be busy."""
    loop = made(patience=0.02)

    def attempt():
        hold = loop.clock.hold("limited", seconds=0.06, expired=lambda: hold.__exit__(None, None, None))
        hold.__enter__()
        return took(loop.run_until_complete, loop.settle())

    times = [attempt()]
    while min(times) >= 0.2 and len(times) < 10:
        times.append(attempt())
    assert 0.05 < min(times) < 0.2
    assert loop.clock.expired == ["limited"] * len(times)


@pytest.mark.slow
def test_the_patience_counts_from_the_last_progress(made):
    loop = made(patience=0.15)
    holds = [loop.clock.hold(name) for name in ("first", "second")]
    holds[0].__enter__()

    def swap():
        loop.call_soon_threadsafe(int)
        holds[1].__enter__()
        holds[0].__exit__(None, None, None)

    thread = threading.Timer(0.1, swap)
    thread.start()
    begun = monotonic()
    with pytest.raises(NotQuiescent, match=r"\Abusy for 0.15 s: time is held: second\nvirtual time: .*"):
        loop.run_until_complete(loop.settle())
    assert 0.2 < monotonic() - begun < 5
    thread.join()
    holds[1].__exit__(None, None, None)


@pytest.mark.parametrize(("names", "short"), [(["process 7"], True), (["process 7", "thread"], False), ([], False)])
def test_stacks_are_shown_unless_all_that_is_busy_are_processes(made, names, short):
    loop = made(patience=0.01)
    loop.awaited = lambda: ["process 7"]
    holds = [loop.clock.hold(f"waiting for {name}") for name in names or ["thread"]]
    for hold in holds:
        hold.__enter__()
    with pytest.raises(NotQuiescent) as caught:
        loop.run_until_complete(loop.settle())
    for hold in holds:
        hold.__exit__(None, None, None)
    text = str(caught.value)
    assert ("What still runs when the test ends is killed" in text) is short
    assert ("hread 0x" in text) is not short
    assert ("virtual time: " in text) is not short
    assert text.startswith(
        "busy for 0.01 s: " + "; ".join(f"time is held: waiting for {one}" for one in names or ["thread"])
    )


def test_all_that_wait_for_quiescence_get_the_error(made):
    loop = made(patience=0.01)

    async def main():
        with loop.clock.hold("for ever"):
            return await asyncio.gather(loop.settle(), loop.advance(5), return_exceptions=True)

    errors = loop.run_until_complete(main())
    assert [type(error) for error in errors] == [NotQuiescent] * 2
    assert errors[0] is not errors[1]
    assert errors[0].args == errors[1].args


def test_without_a_waiter_the_loop_raises_the_error(made):
    loop = made(patience=0.01)
    with loop.clock.hold("for ever"), pytest.raises(NotQuiescent, match="for ever"):
        loop.run_until_complete(asyncio.Event().wait())


def test_a_waiter_that_is_cancelled_does_not_wait(made):
    loop = made()

    async def main():
        waits = loop.create_task(loop.advance(10))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait([waits])
        await loop.advance(20)
        assert waits.cancelled()

    loop.run_until_complete(main())
    assert loop.clock.us == 20_000_000


# --- what follows quiescence


def test_those_that_wait_for_one_instant_are_woken_together(loop):
    woken = []

    async def wait(seconds):
        await loop.advance(seconds)
        woken.append((seconds, loop.clock.us))

    async def main():
        await asyncio.gather(wait(5), wait(5), wait(7), wait(0), wait(0))

    loop.run_until_complete(main())
    assert woken == [(0, 0), (0, 0), (5, 5_000_000), (5, 5_000_000), (7, 7_000_000)]


def test_what_is_at_rest_may_go_on_before_time_moves_or_the_test_is_woken(loop):
    log = []

    def at_rest(moves):
        log.append((moves, loop.clock.us))
        if len(log) == 1:
            loop.call_soon(log.append, "went on")
        return len(log) == 1

    async def main():
        await loop.settle()
        await loop.advance(1)
        await asyncio.sleep(1)

    loop.at_rest(at_rest)
    loop.run_until_complete(main())
    loop.at_rest(None)
    assert log == [
        (False, 0), "went on", (False, 0), (True, 0), (False, 1_000_000), (True, 1_000_000),
    ]  # fmt: skip


@pytest.mark.parametrize(("seconds", "dead"), [(10, False), (10.000001, True)])
def test_a_blocked_test_waits_up_to_the_horizon(made, seconds, dead):
    loop = made(horizon=timedelta(seconds=10))
    loop.run_until_complete(asyncio.sleep(8))
    if dead:
        said = f"waiting for {timedelta(seconds=seconds)} of virtual time, longer than the horizon of 0:00:10\n"
        with pytest.raises(Deadlock, match=re.escape(said)):
            loop.run_until_complete(asyncio.sleep(seconds))
    else:
        loop.run_until_complete(asyncio.sleep(seconds))


@pytest.mark.parametrize("moves", [False, True])
def test_the_horizon_counts_from_where_the_test_moved_time_last(made, moves):
    loop = made(horizon=timedelta(seconds=10))

    async def main():
        await asyncio.sleep(8)
        if moves:
            await loop.advance(20)
        await asyncio.sleep(8)

    if moves:
        loop.run_until_complete(main())
    else:
        with pytest.raises(Deadlock):
            loop.run_until_complete(main())


def test_nothing_to_wait_for_is_a_deadlock_that_says_what_waits(loop):
    with pytest.raises(Deadlock, match=r"\Adeadlock: the test is blocked and no timer is set\nvirtual time: "):
        loop.run_until_complete(asyncio.Event().wait())


@pytest.mark.parametrize(
    ("timeout", "us", "said"),
    [(2.5, 2_500_000, "2.5 s"), (timedelta(minutes=1), 60_000_000, "0:01:00"), ("1m", 60_000_000, "1m")],
)
def test_until_a_time_out_the_loop_moves_from_timer_to_timer(loop, timeout, us, said):
    stops = []
    loop.call_later(1, int)
    loop.call_later(70, int)

    async def is_true():
        stops.append(loop.clock.us)

    with pytest.raises(TimeoutError, match=rf"still false after {said} of virtual time\nvirtual time"):
        loop.run_until_complete(loop.advance_until(is_true, timeout))
    assert stops == [0, 1_000_000, us]


def test_a_predicate_that_is_true_ends_the_wait(loop):
    loop.call_later(3, int)
    loop.run_until_complete(loop.advance_until(lambda: loop.clock.us, 10))
    assert loop.clock.us == 3_000_000


def test_a_moment_in_the_past_or_without_a_zone_is_refused(loop):
    loop.run_until_complete(loop.advance(10))
    now = loop.clock.now()
    loop.run_until_complete(loop.advance_to(now))
    for moment, said in ((now.replace(tzinfo=None), "is naive"), (now - timedelta(microseconds=1), "has passed")):
        with pytest.raises(ValueError, match=said):
            loop.run_until_complete(loop.advance_to(moment))
    loop.run_until_complete(loop.advance_to(now + timedelta(seconds=5)))
    assert loop.clock.us == 15_000_000


# --- rounds


def test_a_settled_test_has_one_round_at_each_stop():
    with Bubble(wall_clock=False, stepped=True) as bubble:
        rounds = []
        bubble.gate.add_listener(lambda: rounds.append((bubble.clock.us, bubble.gate.in_round)))
        bubble.settle()
        bubble.loop.call_later(3, int)
        bubble.advance(5)
        assert rounds == [(0, True), (0, True), (3_000_000, True), (5_000_000, True)]
        assert not bubble.gate.in_round


def test_a_new_second_begins_a_new_count_of_turns(made):
    loop = made(max_turns=1000)

    async def works(pause):
        for _ in range(30):
            for _ in range(100):
                await asyncio.sleep(0)
            await asyncio.sleep(pause)

    loop.run_until_complete(loop.advance(0.95))
    loop.create_task(works(0.12))
    loop.run_until_complete(loop.advance(10))


def test_small_pauses_within_a_second_do_not_begin_a_new_count(made):
    loop = made(max_turns=600)

    async def spins():
        while True:
            await asyncio.sleep(0.001)

    loop.create_task(spins(), name="spinner")
    with pytest.raises(HotLoop, match=r"turned 601 times .*task spinner \(.*spins\) \(\d+x\)"):
        loop.run_until_complete(loop.advance(10))


def test_turns_are_sampled_above_the_limit_less_500(made):
    loop = made(max_turns=700)

    async def spins():
        while True:
            await asyncio.sleep(0)

    loop.create_task(spins(), name="spinner")
    with pytest.raises(HotLoop, match=r"task spinner \(.*spins\) \(501x\)"):
        loop.run_until_complete(loop.settle())
