"""Randomness of the code under test follows from the seed of the bubble, and is the system's again afterwards."""

import random
import secrets
import sys
import threading
import uuid

from fakekube import FakeKube
from fakekube.virtualtime.patches.randomness import _caller


def drawn():
    """A draw from each source of the standard library."""
    return (
        uuid.uuid4(),
        random.random(),
        random.choice("abcdefghij"),
        random.Random().random(),
        random.Random().random(),
        random.SystemRandom().random(),
        secrets.token_hex(8),
    )


def drawn_in(seed):
    found = []
    with FakeKube(seed=seed) as kube:
        found.append(drawn())
        kube.thread(lambda: found.append(drawn()))
        kube.settle()
    return found


def test_the_same_seed_gives_the_same_draws():
    assert drawn_in(7) == drawn_in(7)


def test_draws_differ_from_each_other_and_between_seeds():
    first, second = drawn_in(7)
    assert len(set(first) | set(second)) == len(first) + len(second) - (first[2] == second[2])
    assert not {first[0], second[0]} & {draws[0] for draws in drawn_in(8)}


def test_a_uuid_is_of_version_4():
    with FakeKube(seed=7):
        assert uuid.uuid4().version == 4


def test_a_given_seed_is_used():
    with FakeKube(seed=7):
        assert random.Random(3).random() == 0.23796462709189137


def test_the_state_of_random_is_restored():
    random.seed(5)
    expected = random.Random(5).random()
    drawn_in(7)
    assert random.random() == expected


def test_draws_after_the_cluster_has_closed_are_not_repeatable():
    drawn_in(7)
    first = uuid.uuid4(), random.Random().random()
    drawn_in(7)
    assert (uuid.uuid4(), random.Random().random()) != first


def test_threads_outside_the_bubble_keep_the_randomness_of_the_system():
    found = []

    def once():
        with FakeKube(seed=7):
            thread = threading.Thread(target=lambda: found.append(uuid.uuid4()))
            thread.start()
            thread.join()

    once()
    once()
    assert found[0] != found[1]


def mine():
    return uuid.uuid4(), random.Random().random(), secrets.token_hex(4)


def test_a_draw_elsewhere_changes_no_other_draw():
    def draws(*before):
        with FakeKube(seed=7):
            for each in before:
                each()
            return [mine() for _ in range(2)]

    first = draws()
    assert draws(uuid.uuid4, random.Random, drawn) == first
    assert first[0] != first[1]
    assert draws(mine)[0] == first[1]


def test_the_place_of_a_draw_is_the_first_outside_of_the_sources_of_randomness():
    namespace = {"__name__": "secrets", "inner": _caller}
    exec("def draw(): return inner()", namespace)
    line = sys._getframe().f_lineno + 1
    assert namespace["draw"]() == f"{__name__}:{line}"
