"""Seeded draws have names, are independent, and are the same in every process."""

import subprocess
import sys
import uuid
from collections import Counter
from itertools import pairwise

import pytest

from fakekube.virtualtime import Seed


def test_draws_do_not_depend_on_earlier_draws():
    lonely = Seed(1).float("jitter", "default/a", 3)
    seed = Seed(1)
    seed.float("jitter", "default/a", 2)
    seed.random("name").random()
    assert seed.float("jitter", "default/a", 3) == lonely


def test_each_part_of_the_name_counts():
    names = [("a", "bc", 0), ("ab", "c", 0), ("a", "bc", 1), ("a", "", 0), ("a", "0", 0), ("", "abc", 0)]
    draws = {Seed(value).float(*name) for value in (1, 2) for name in names}
    assert len(draws) == 2 * len(names)


def test_floats_are_spread_over_the_unit_interval():
    draws = [Seed(7).float("spread", number) for number in range(2_000)]
    assert 0 <= min(draws) < 0.01
    assert 0.99 < max(draws) < 1
    assert 0.48 < sum(draws) / len(draws) < 0.52


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda number: Seed(7).float("spread", number), id="keys"),
        pytest.param(lambda number: Seed(7).float("spread", "key", number), id="attempts"),
        pytest.param(lambda number: Seed(7).float(f"spread {number}"), id="purposes"),
        pytest.param(lambda number: Seed(number).float("spread"), id="seeds"),
    ],
)
def test_consecutive_draws_are_uncorrelated(draw):
    draws = [draw(number) for number in range(4_000)]
    tenths = Counter(int(10 * drawn) for drawn in draws)
    pairs = Counter((int(3 * one), int(3 * other)) for one, other in pairwise(draws))
    assert all(320 < tenths[tenth] < 480 for tenth in range(10))
    assert all(360 < pairs[one, other] < 530 for one in range(3) for other in range(3))


def test_a_uuid_looks_like_a_random_one():
    text = Seed(1).uuid("uid", "default/a")
    drawn = uuid.UUID(text)
    assert str(drawn) == text
    assert (drawn.version, drawn.variant) == (4, uuid.RFC_4122)


def test_a_name_has_a_seed():
    assert Seed.of_name("tests/test_x.py::test_y") == Seed.of_name("tests/test_x.py::test_y")
    assert Seed.of_name("a") != Seed.of_name("b")


@pytest.mark.slow
def test_draws_are_the_same_in_every_process():
    code = (
        "from fakekube.virtualtime import Seed; s = Seed(5);"
        "print(s.float('a', 'b', 1), s.uuid('c'), s.random('d').sample(range(99), 5))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hashing}, capture_output=True, check=True
        ).stdout
        for hashing in ("0", "1")
    }
    seed = Seed(5)
    here = f"{seed.float('a', 'b', 1)} {seed.uuid('c')} {seed.random('d').sample(range(99), 5)}\n"
    assert seen == {here.encode()}
