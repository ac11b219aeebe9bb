"""What each atom does to a cluster, and when it ends: scripts of what happens, and what the hands do then.

A script has a line for each event:

- `create cm/a#1`: the operator `a` has stored this change; `test: ...`, `cluster: ...`: another actor has
- `begin`, `end`: a reconcile begins, or has ended
- `rest`: the cluster is quiescent while time moves; `wait`: it is quiescent, and the test goes on
- `+5`: so many virtual seconds pass
"""

import pytest

from fakekube.simulation.anchor import parse_anchor
from fakekube.simulation.atoms import LAG, LONGEST, SLOW
from fakekube.simulation.observation import Commit
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.injection import Injection


class Hands:
    """Notes what is done to a cluster. `timers`: when each was due, and what it does then."""

    def __init__(self):
        self.log, self.timers, self.now, self.stale = [], [], 0.0, {}

    def kill(self, operator):
        self.log.append(f"kill {operator}")

    def start(self, operator):
        views = [f" with {kind} at {at}" for (name, kind), at in self.stale.items() if name == operator]
        self.log.append(f"start {operator}{''.join(views)}")

    def hold(self, operator, kind, revision):
        self.log.append(f"hold {kind} at {revision} of {operator or 'all'}")
        return lambda: self.log.append(f"release {kind}")

    def compact(self):
        self.log.append("compact")

    def surge(self, operator):
        self.log.append(f"surge {operator}")
        return lambda: self.log.append(f"kill the first {operator}")

    def stop(self, operator):
        self.log.append(f"stop {operator}")

    def resume(self, operator):
        self.log.append(f"resume {operator}")

    def race(self, how, commit):
        self.log.append(f"{how} {commit.anchor.target}")

    def jump(self, seconds):
        self.log.append(f"jump {seconds}")

    def time_out_webhooks(self):
        self.log.append("time out webhooks")

    def resync(self):
        self.log.append("resync")

    def switch(self, is_old):
        self.log.append(f"switch to the {'old' if is_old else 'new'} release")

    def after(self, seconds, action):
        timer = (self.now + seconds, action)
        self.timers.append(timer)
        return lambda: self.timers.remove(timer) if timer in self.timers else None

    def pass_time(self, seconds):
        self.now += seconds
        for due, action in list(self.timers):
            if due <= self.now:
                action()


class Play:
    """A plan in a run with the operators `a` and, if asked for, `b`; revisions begin at 10."""

    def __init__(self, atoms, *, operators=("a",)):
        self.hands = Hands()
        self.injection = Injection(parse_plan(f"FK1 seed=0 {atoms}"), self.hands)
        self.hands.stale = self.injection.stale
        self.injection.operators = lambda: [f"operator {name}" for name in operators]
        self.fired, self.released, self._revision = [], 0, 9
        self.injection.on_fired, self.injection.on_released = self.fired.append, self._count

    def _count(self):
        self.released += 1

    def commit(self, text, actor="operator a"):
        anchor = parse_anchor(text)
        self._revision += 1
        return Commit(self._revision, self.hands.now, anchor, anchor.kind, "default", "a", actor)

    def event(self, text):
        who, colon, change = text.rpartition(": ")
        if text.startswith("+"):
            self.hands.pass_time(float(text))
        elif text in ("begin", "end"):
            (self.injection.reconcile_started if text == "begin" else self.injection.reconcile_ended)()
        elif text in ("rest", "wait"):
            self.injection.at_rest(text == "rest")
        else:
            self.injection.committed(self.commit(change, who if colon else "operator a"))

    def log(self, *script):
        """What the hands do at these events, without the names of operators."""
        for one in script:
            self.event(one)
        done, self.hands.log = self.hands.log, []
        return [one.replace("operator ", "") for one in done]


W, E = "create cm/a#1", "update store/a{spec}#1"


@pytest.mark.parametrize(
    ("atoms", "script", "log"),
    [
        (f"crash@{W}", [W], ["kill a", "start a"]),
        (f"crash@{W}", [f"test: {W}"], ["kill a", "start a", "kill b", "start b"]),
        (f"crash@{W}", [f"cluster: {W}"], []),
        (f"crash@{W}", ["create cm/a#2", "create cm/b#1", "update cm/a{x}#1"], []),
        (f"down(until={E})@{W}", [W], ["kill a"]),
        (f"down(until={E})@{W}", [f"test: {W}"], ["kill a", "kill b"]),
        (f"pause(until={E})@{W}", [W], ["stop a"]),
        (f"pause(until={E})@{W}", [f"test: {W}"], []),
        (f"surge(until={E})@{W}", [W], ["surge a", "surge b"]),
        (f"surge(until={E})@{W}", [f"test: {W}"], ["surge a", "surge b"]),
        (f"surge(until={E})@{W}", [f"cluster: {W}"], []),
        (f"hold(cm, {W}..{E})", [W], ["hold cm at 9 of all"]),
        (f"hold(cm, {W}..{E})", ["test: create pod/a#1", f"cluster: {W}"], ["hold cm at 10 of all"]),
        (f"gap(cm, {W}..{E})", [W], ["hold cm at 9 of all"]),
        (f"jump(7)@{W}", [W], ["jump 7"]),
        (f"hook(timeout)@{W}", [f"test: {W}"], ["time out webhooks"]),
        (f"upgrade@{W}", [W], ["switch to the new release", "kill a", "start a", "kill b", "start b"]),
        (f"downgrade@{W}", [f"test: {W}"], ["switch to the old release", "kill a", "start a", "kill b", "start b"]),
        (f"upgrade@{W}", [f"cluster: {W}"], []),
        # of several atoms each begins at its own place
        (f"crash@{W} + jump(7)@{E}", [E, W], ["jump 7", "kill a", "start a"]),
    ],
)
def test_what_an_atom_does_at_its_anchor(atoms, script, log):
    play = Play(atoms, operators="ab")
    assert play.log(*script) == log
    assert bool(play.fired) is bool(log)
    assert play.injection.fired == play.fired


@pytest.mark.parametrize(
    ("atom", "ends"),
    [
        ("down(until={})@create cm/a#1", ["start a"]),
        ("pause(until={})@create cm/a#1", ["resume a"]),
        ("surge(until={})@create cm/a#1", ["kill the first a"]),
        ("hold(cm, create cm/a#1..{})", ["release cm"]),
        ("gap(cm, create cm/a#1..{})", ["compact", "release cm"]),
    ],
)
@pytest.mark.parametrize(
    ("until", "before", "at"),
    [
        pytest.param(E, ["update store/a{spec}#2", "begin", "end", "rest", "wait"], f"test: {E}", id="a change"),
        pytest.param(E, ["delete cm/a#1", "update store/a{status}#1"], "delete store/a#1", id="its object is gone"),
        pytest.param("create store/a#2", ["delete store/a#1"], "create store/a#2", id="it is there again"),
        pytest.param("delete store/a#1", ["update store/a{spec}#1"], "delete store/a#1", id="a deletion"),
        pytest.param(E, [f"+{LONGEST - 1}"], "+1", id="the longest time"),
        pytest.param("reconcile", ["end", "rest", "begin", W], "end", id="a reconcile that has begun since"),
        pytest.param("reconcile", ["begin", "rest"], "wait", id="no reconcile before the test goes on"),
        pytest.param("reconcile", [f"+{LONGEST - 1}"], "+1", id="no reconcile"),
        pytest.param("rest", ["begin", "end"], "rest", id="rest while time moves"),
        pytest.param("rest", [], "wait", id="rest as the test goes on"),
        pytest.param("rest", [f"+{LAG - 1}"], "+1", id="no rest"),
        pytest.param("rest", ["begin", *["end"] * 9], "end", id="a busy cluster"),
        pytest.param("rest", ["end", "begin", *["end"] * 9], "end", id="reconciles that have begun since"),
    ],
)
def test_when_an_atom_ends(atom, ends, until, before, at):
    play = Play(atom.format(until))
    play.log(W)
    assert play.log(*before) == []
    assert play.log(at) == ends
    assert play.hands.timers == []
    assert play.log(at, "begin", "end", "rest", "wait", f"+{LONGEST}") == [], "it ends once"
    assert play.released == (until != "rest")


def test_what_lasts_ends_with_the_run():
    play = Play(f"down(until={E})@{W} + hold(cm, {W}..rest)")
    assert play.injection.end_all() is False
    play.log(W)
    assert play.injection.end_all() is True
    assert play.log() == ["start a", "release cm"]
    assert play.injection.end_all() is False


@pytest.mark.parametrize(
    ("atom", "is_down", "is_doubled", "is_late"),
    [
        (f"down(until={E})@{W}", True, False, False),
        (f"pause(until={E})@{W}", True, False, False),
        (f"pause(until=rest)@{W}", True, False, False),
        (f"surge(until={E})@{W}", False, True, False),
        (f"hold(cm, {W}..{E})", False, False, True),
        (f"gap(cm, {W}..{E})", False, False, True),
        (f"hold(cm, {W}..reconcile)", False, False, False),  # which comes by itself
        (f"crash@{W}", False, False, False),
    ],
)
def test_what_a_test_may_not_count_on_meanwhile(atom, is_down, is_doubled, is_late):
    play = Play(atom)
    injection = play.injection
    assert (injection.is_down, injection.is_doubled, injection.is_late) == (False, False, False)
    play.log(W)
    assert (injection.is_down, injection.is_doubled, injection.is_late) == (is_down, is_doubled, is_late)
    play.log(f"test: {E}", "wait")
    assert (injection.is_down, injection.is_doubled, injection.is_late) == (False, False, False)


def test_what_happens_at_rest_goes_on():
    play = Play(f"hold(cm, {W}..reconcile)")
    play.log(W)
    assert play.injection.at_rest(True) is False
    assert play.injection.at_rest(False) is True
    done = []
    play.injection.later(lambda: done.append("later"))
    assert (play.injection.at_rest(True), done) == (True, ["later"])


# --- restarts on an old view


STALE = "stale(store, at=create store/a#1, when=delete store/a#1)"


def test_operators_restart_on_the_view_after_the_first_change():
    play = Play(STALE, operators="ab")
    assert play.log("test: create store/a#1", E) == []
    assert play.log("delete store/a#1") == [
        *("kill a", "start a with store at 10", "hold store at 10 of a"),
        *("kill b", "start b with store at 10", "hold store at 10 of b"),
    ]
    assert play.fired == [0]
    assert play.log("end", "begin", "end") == ["release store"] * 2
    assert play.log("delete store/a#1") == [], "they restart once"


@pytest.mark.parametrize(
    ("script", "restarts"),
    [
        (["create store/a#1", f"+{LONGEST}", "delete store/a#1"], True),
        (["create store/a#1", f"+{LONGEST + 1}", "delete store/a#1"], False),  # a watch cache is not that old
        (["delete store/a#1", "create store/a#1"], False),
        (["create store/a#1", "delete store/b#1"], False),
        (["delete store/a#1"], False),
    ],
)
def test_a_view_is_minutes_old_at_most(script, restarts):
    play = Play(STALE)
    assert bool(play.log(f"+{LONGEST}", *script)) is restarts
    assert bool(play.fired) is restarts


# --- answers


@pytest.mark.parametrize("how", ["504", "reset"])
@pytest.mark.parametrize(
    ("text", "actor", "is_lost"),
    [(W, "operator a", True), (W, "test", False), ("create cm/a#2", "operator a", False), (E, "operator a", False)],
)
def test_the_answer_of_a_write_of_an_operator_is_lost(how, text, actor, is_lost):
    play = Play(f"lost({how})@{W}")
    assert play.injection.committed(play.commit(text, actor)) == (how if is_lost else "")
    assert play.fired == [0] * is_lost
    assert play.injection.committed(play.commit(text, actor)) == "", "once"
    assert play.log() == []


@pytest.mark.parametrize(
    ("until", "script", "ends"),
    [
        (E, [f"+{SLOW - 1}", "rest", "wait"], f"test: {E}"),
        (E, [f"+{SLOW - 1}"], "+1"),
        ("rest", [f"+{LAG - 1}"], "+1"),
        ("rest", [], "rest"),
    ],
)
@pytest.mark.parametrize("at", [W, "get cm/a#2"])
def test_an_answer_is_late(at, until, script, ends):
    play, arrived = Play(f"late(until={until})@{at}"), []
    assert not play.injection.holds_answer(parse_anchor("create cm/b#1"), lambda: arrived.append("another"))
    assert play.injection.holds_answer(parse_anchor(at), lambda: arrived.append("answer"))
    assert play.fired == [0]
    assert not play.injection.holds_answer(parse_anchor(at), lambda: arrived.append("again")), "once"
    play.log(*script)
    assert arrived == []
    play.log(ends)
    assert arrived == ["answer"]


@pytest.mark.parametrize(("times", "codes"), [(1, [503, 0, 0]), (2, [503, 503, 0]), (3, [503, 503, 503])])
def test_a_write_fails_until_it_has_failed_often_enough(times, codes):
    """A write that fails is not stored, so that the next attempt has the same anchor."""
    play = Play(f"error(503, {times})@{W}")
    assert [play.injection.before_commit(play.commit(W)) for _ in codes] == codes
    assert play.injection.before_commit(play.commit("create cm/a#2")) == 0
    assert play.injection.before_commit(play.commit("create cm/b#1")) == 0
    assert play.fired == [0]
    assert play.injection.hits == 1 + times


@pytest.mark.parametrize("verb", ["get", "list"])
@pytest.mark.parametrize(
    ("first", "times", "codes"),
    [(1, 1, [500, 0, 0, 0]), (2, 1, [0, 500, 0, 0]), (2, 2, [0, 500, 500, 0]), (1, 3, [500, 500, 500, 0])],
)
def test_a_read_fails_so_often_from_one_on(verb, first, times, codes):
    play = Play(f"error(500, {times})@{verb} cm/a#{first}")
    assert [play.injection.before_read(parse_anchor(f"{verb} cm/a#{number}")) for number in (1, 2, 3, 4)] == codes
    assert play.injection.before_read(parse_anchor(f"{verb} cm/b#{first}")) == 0


def test_of_several_failures_each_has_its_own_code():
    play = Play(f"error(500, 1)@{W} + error(503, 1)@get cm/a#1 + error(504, 1)@{E}")
    assert play.injection.before_commit(play.commit(E)) == 504
    assert play.injection.before_read(parse_anchor("get cm/a#1")) == 503
    assert play.injection.before_commit(play.commit(W)) == 500
    assert play.fired == [2, 1, 0]


@pytest.mark.parametrize("how", ["annotate", "label"])
def test_another_client_writes_right_before_once(how):
    play = Play(f"race({how})@{E}")
    for text, log in (("update store/a{spec}#2", []), (E, [f"{how} store/a"]), (E, [])):
        assert play.injection.before_commit(play.commit(text)) == 0
        assert play.log() == log
    assert play.fired == [0]


@pytest.mark.parametrize(
    ("verb", "target", "expected", "is_frozen"),
    [
        ("create", "cm/a", W, True),
        ("update", "cm/a", W, False),
        ("create", "cm/b", W, False),
        ("create", "cm/a", "create cm/a#2", False),  # this write comes later
    ],
)
def test_a_leader_is_frozen_before_its_write(verb, target, expected, is_frozen):
    play = Play(f"zombie@{W}")
    play.injection.expected = lambda anchor: parse_anchor(expected)
    assert play.injection.before_write(verb, target) is is_frozen
    assert play.fired == [0] * is_frozen
    assert not play.injection.before_write(verb, target), "once"


def test_a_leader_whose_changes_are_not_counted_is_frozen_before_the_first_write():
    assert Play(f"zombie@{W}").injection.before_write("create", "cm/a")


# --- the check for writes at rest


@pytest.mark.parametrize(
    "atoms",
    [f"crash@{W}", f"lost(504)@{W}", f"hold(cm, {W}..rest)", f"error(503, 1)@{W}", f"race(label)@{W}"],
)
def test_nothing_begins_where_everything_is_reconciled_once_more(atoms):
    play = Play(atoms)
    play.injection.is_over = True
    assert play.injection.before_commit(play.commit(W)) == 0
    assert play.injection.before_read(parse_anchor("get cm/a#1")) == 0
    assert not play.injection.holds_answer(parse_anchor(W), lambda: None)
    assert play.injection.committed(play.commit(W)) == ""
    assert (play.log(), play.fired) == ([], [])


def test_what_has_begun_ends_also_then():
    play = Play(f"down(until={E})@{W}")
    play.log(W)
    play.injection.is_over = True
    assert play.log(f"test: {E}") == ["start a"]


# --- dup


@pytest.mark.parametrize(
    ("atoms", "script", "resyncs"),
    [
        ("dup", [], 0),
        ("dup", ["wait"], 0),  # nothing was written
        ("dup", [W, "wait"], 1),
        ("dup", [W, "rest"], 0),  # the test goes on waiting
        ("dup", [W, "wait", "wait", "wait"], 1),
        ("dup", [W, "wait", "wait", E, "wait"], 2),
        ("dup", [W, "wait", E, "wait", "wait"], 1),  # the resync itself has written
        ("dup", [W, "wait", E, "wait", "create cm/b#1", "wait"], 2),
        ("order", [W, "wait"], 0),
    ],
)
def test_everything_is_reconciled_once_more_where_the_test_waits(atoms, script, resyncs):
    play = Play(atoms)
    assert play.log(*script) == ["resync"] * resyncs
    assert play.fired == [0] * bool(resyncs)


def test_where_it_is_the_cluster_is_not_at_rest():
    play = Play(f"dup + hold(cm, {W}..rest)")
    play.log(W)
    assert play.injection.at_rest(False) is True
    assert play.log() == ["resync"], "what waits for rest waits until that is done"
    assert play.injection.at_rest(False) is True
    assert play.log() == ["release cm"]
    assert play.injection.at_rest(False) is False


def test_a_run_without_atoms_does_nothing():
    play = Play("")
    assert play.log(W, E, "begin", "end", "rest", "wait", "+1000") == []
    assert (play.fired, play.injection.hits) == ([], 0)
