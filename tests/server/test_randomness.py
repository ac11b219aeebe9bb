"""Random values of a server, and the time and randomness that its requests get."""

import asyncio
import time
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta

from fakekube.server.random import ALPHABET, SeededRandom, SystemRandom
from fakekube.server.servercontext import ServerContext
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.seeds import Seed

MOMENT = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


class Clock:
    def now(self):
        return MOMENT

    def monotonic(self):
        return 0.0

    async def sleep_until(self, deadline):
        raise AssertionError


def draws(source):
    return [source.uid("a"), source.suffix("a"), source.fraction("jitter", "a")]


def test_seeded_values_depend_on_the_seed_the_purpose_the_key_and_the_attempt():
    source = SeededRandom(Seed(7))
    first, second = draws(source), draws(source)
    assert draws(SeededRandom(Seed(7))) == first
    assert not set(first) & set(second)
    assert not set(first) & set(draws(SeededRandom(Seed(8))))
    other = SeededRandom(Seed(7))
    assert other.uid("b") != first[0]
    assert other.suffix("b") != first[1]
    assert other.fraction("delay", "a") != first[2]
    assert draws(other) == first, "other keys and purposes change nothing"


def test_attempts_are_counted_and_resumed():
    source = SeededRandom(Seed(7))
    source.uid("a")
    saved = source.attempts
    assert saved == Counter({("uid", "a"): 1})
    later = [source.uid("a"), source.uid("a")]
    assert (saved["uid", "a"], source.attempts["uid", "a"]) == (1, 3)
    source.resume(saved)
    assert source.uid("a") == later[0]
    assert saved["uid", "a"] == 1, "the saved state is copied"
    source.resume(Counter({("uid", "a"): 1, ("uid", "b"): 5}), keep=True)
    assert source.attempts == Counter({("uid", "a"): 2, ("uid", "b"): 5})
    assert source.uid("a") == later[1]


def test_the_form_of_random_values():
    for source in (SeededRandom(Seed(7)), SystemRandom()):
        for key in map(str, range(30)):
            assert uuid.UUID(source.uid(key)).version == 4
            assert len(suffix := source.suffix(key)) == 5
            assert set(suffix) <= set(ALPHABET)
            assert 0 <= source.fraction("x", key) < 1
    system = SystemRandom()
    assert len({system.uid("a") for _ in range(20)}) == 20
    assert len({system.suffix("a") for _ in range(20)}) > 15
    assert len({system.fraction("x", "a") for _ in range(20)}) > 15


def test_the_context_of_a_request():
    context, source = ServerContext(Clock(), SeededRandom(Seed(7))), SeededRandom(Seed(7))
    assert context.now == "2026-03-04T05:06:07Z"
    assert context.micro == "2026-03-04T05:06:07.000089Z"
    assert [context.after(seconds) for seconds in (0, 1.5, -8)] == [
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:08Z",
        "2026-03-04T05:05:59Z",
    ]
    assert context.after(1e12) == "9999-12-31T23:59:59Z"
    assert [context.uid("a"), context.suffix("a"), context.fraction("jitter", "a")] == draws(source)


def test_the_clock_of_the_machine():
    clock = SystemClock()
    assert clock.now().utcoffset() == timedelta(0)
    assert abs((clock.now() - datetime.now(UTC)).total_seconds()) < 60  # noqa: TID251 - compared with the machine's
    before = time.monotonic()  # noqa: TID251 - compared with the machine's
    asyncio.run(clock.sleep_until(before + 0.02))
    middle = clock.monotonic()
    assert 0.02 <= middle - before < 10
    clock.pause(0.02)
    assert 0.02 <= clock.monotonic() - middle < 10
    asyncio.run(clock.sleep_until(before - 50))
    assert clock.monotonic() - before < 10
