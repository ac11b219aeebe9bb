"""Which writes of two programs count as a fight over a field, write by write."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.detectors import detector
from fakekube.harness.detectors.detector import Doing
from fakekube.harness.detectors.known.looping.slowfights import ROUNDS, SlowFights


class Scene:
    """Notes what is reported. `client`: who makes the present request besides operators."""

    writer = detector.Scene.writer

    def __init__(self):
        self.found, self.runner = [], SimpleNamespace(client=None)

    def report(self, detector, text, *, who="", key=None):
        self.found.append((detector, text, who, key))


OPERATORS = {name: SimpleNamespace(name=name) for name in "xyz"}
CLIENTS = {name: SimpleNamespace(name="kubectl") for name in ("one", "two")}


class Play:
    """Writes of one field of an object."""

    def __init__(self):
        self.scene = Scene()
        self._detector, self._values, self._revision = SlowFights(self.scene), {}, 10

    def write(self, writer, value, *, target="a", part="spec", field="size"):
        """A writer is `x` or `x/controller`, `one` and `two` are clients of one name, and `test` is the test."""
        before = self._values.get(target)
        after = None if value is None else {"spec": {}, "data": {}, "status": {}, **(before or {})}
        if after is not None:
            after = {**after, part: {**after[part], field: value}}
        self._values[target] = after
        entries = [None if one is None else Entry(self._revision + n, one) for n, one in enumerate((before, after))]
        self._revision += 1
        operator, _, controller = writer.partition("/")
        run = SimpleNamespace(controller=controller or "main")
        doing = Doing(run, OPERATORS[operator], "", 0, (0, "", "")) if operator in OPERATORS else None
        self.scene.runner.client = CLIENTS.get(writer)
        self._detector.committed(Change(self._revision, "things.example.com", f"d/{target}", *entries), doing)
        return self

    def rounds(self, *writes, times=ROUNDS + 2, **more):
        for _ in range(times):
            for writer, value in writes:
                self.write(writer, value, **more)
        return self

    @property
    def found(self):
        return [text for _, text, *_ in self.scene.found]


FIGHT = [("x", 1), ("y", 2)]

TEXT = (
    "x (main) and y (main) overwrite each other's value of .spec.size in things d/a: x (main) sets 1, y (main) 2, again "
    "and again: let one of them own the field"
)


def test_a_fight_is_reported_once_after_three_rounds():
    play = Play().write("x", 1)  # a creation; the next writer is the first one
    for number in range(2 * ROUNDS + 2):
        assert play.found == []
        play.write(*FIGHT[(number + 1) % 2])
    assert play.found == [TEXT]
    play.rounds(*FIGHT)
    assert len(play.found) == 1
    assert play.scene.found[0][0] == "slow-fight"
    assert play.scene.found[0][3] == (("things.example.com", "d/a"), ("spec", "size"))


@pytest.mark.parametrize(
    ("writes", "is_found"),
    [
        (FIGHT, True),
        ([("x/one", 1), ("x/two", 2)], True),  # two controllers of one operator
        ([("x", 1), ("one", 2)], True),
        ([("one", 1), ("two", 2)], True),  # two programs of one name
        ([("x", 1), ("x", 2)], False),
        ([("x", 1), ("y", 2), ("z", 3)], False),
        ([("x", 1), ("x", 3), ("y", 2)], False),
        ([("x", 1), ("test", 2)], False),
        ([("x", 1), ("y", 2), ("test", 3)], False),
    ],
)
def test_who_fights(writes, is_found):
    assert bool(Play().rounds(*writes).found) is is_found


def test_programs_of_one_name_are_told_apart_in_the_text():
    (text,) = Play().rounds(("one", 1), ("two", 2)).found
    assert text.startswith("kubectl and another program and kubectl overwrite each other's value")


@pytest.mark.parametrize(("part", "is_found"), [("spec", True), ("data", True), ("status", False)])
def test_which_parts_are_fought_over(part, is_found):
    assert bool(Play().rounds(*FIGHT, part=part).found) is is_found


def test_values_that_are_new_are_no_fight():
    play = Play()
    for number in range(20):
        play.write("x", number).write("y", -number - 1)
    assert play.found == []


def test_each_field_and_object_has_fights_of_its_own():
    play = Play()
    for _ in range(ROUNDS):
        play.write("x", 1).write("x", 1, target="b").write("y", 2, field="other").write("y", 2, target="c")
    assert play.found == []
    play = Play().rounds(*FIGHT).rounds(*FIGHT, target="b").rounds(*FIGHT, field="other")
    assert len(play.found) == 3


def test_an_object_that_is_deleted_or_what_the_test_writes_begins_it_anew():
    play = Play().rounds(*FIGHT, times=ROUNDS).write("x", None).rounds(*FIGHT, times=ROUNDS)
    assert play.found == []
    play = Play().rounds(*FIGHT, times=ROUNDS).write("test", 1, target="b").rounds(*FIGHT, times=ROUNDS)
    assert play.found == []


def test_a_second_writer_may_come_late():
    play = Play()
    for number in range(30):
        play.write("x", number % 2)
    assert play.found == []
    assert len(play.rounds(*FIGHT).found) == 1
