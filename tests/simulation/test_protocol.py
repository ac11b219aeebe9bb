"""How the runs of an exploration become the reports of one test."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakekube.simulation import protocol
from fakekube.simulation.explorer import NothingToExplore, ReferenceFails, Settings
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.protocol import (
    FACTS,
    OBSERVED,
    RUN,
    ItemExplorer,
    Runner,
    nodeid_of,
    plans_for,
    runs_protocol,
    settings_for,
)
from fakekube.simulation.realism import Facts, IllegalPlan
from fakekube.simulation.stash import PAGED, PLAN, RECORDED, SHARD

TEXT = "FK1 seed=5 crash@create cm/a#1"
PLAN_OF_TEXT = parse_plan(TEXT)
VIOLATION = Violation("O1", "cm/a", "is absent at the end")
REFERENCE = Observation(0)
OBSERVED_RUN = Observation(5, fired=(0,))


class Item:
    nodeid, location, session = "a.py::test_it[shard 1 of 2]", ("a.py", 3, "test_it"), "the session"

    def __init__(self, *, marker=None, explore="", plan="", workload=None, shard=None):
        self.stash = pytest.Stash()
        self.config = SimpleNamespace(
            option=SimpleNamespace(fakekube_explore=explore, fakekube_plan=plan, fakekube_workload=workload),
            getoption=lambda name, default: default,
            pluginmanager=SimpleNamespace(get_plugin=lambda name: None),
        )
        self.name = "test_it"
        self._marker = marker
        if shard is not None:
            self.callspec = SimpleNamespace(params={SHARD: shard})
        self.log = []
        self.ihook = SimpleNamespace(
            pytest_runtest_logstart=lambda **_: self.log.append("start"),
            pytest_runtest_logreport=lambda report: self.log.append(report),
            pytest_runtest_logfinish=lambda **_: self.log.append("finish"),
        )

    def get_closest_marker(self, name):
        return self._marker


def report(when="call", outcome="passed", text=""):
    return SimpleNamespace(
        when=when,
        outcome=outcome,
        passed=outcome == "passed",
        failed=outcome == "failed",
        longreprtext=text,
        longrepr=text,
        sections=[],
        user_properties=[],
    )


def explorer_of(item, *, page=None, run_once=None):
    """The exploration of an item. `page`: the path of the page for a failure."""
    made = object.__new__(ItemExplorer)  # its next run is an item of pytest, which needs a session
    made._item, made._nextitem, made._next_run = item, "the next test", "the next run"
    made._page_of = lambda failed: page if failed else None
    made._runner = Runner(run_once=run_once, tear_down=lambda session, nextitem: item.log.append((session, nextitem)))
    made._reports, made._last_reports, made._properties, made._annotations = (), (), (), ()
    made._facts = Facts()
    made._plan_file = lambda directory, nodeid: Path("/nowhere") / nodeid
    return made


# --- the replay of a plan


class Explorer:
    """An explorer whose run under the plan is given."""

    def __init__(self, observed=OBSERVED_RUN, violations=(), broken=None):
        self.log, self._observed, self._violations, self._broken = [], observed, violations, broken

    def seeded(self, seed):
        self.log.append(("seeded", seed))

    def reference(self, skipped, *, is_old=False):
        if self._broken is not None:
            raise self._broken
        return REFERENCE, None

    def violations(self, plan, observed, references):
        return list(self._violations)

    def observe(self, plan):
        return self._observed

    def shrink(self, plan, violation, references):
        self.log.append(("shrunk", violation, list(references)))
        return SimpleNamespace(clean=Plan(9))


@pytest.mark.parametrize(
    ("observed", "violations", "outcome", "lines"),
    [
        (OBSERVED_RUN, [], "passed", ["no oracle fails"]),
        (
            replace(OBSERVED_RUN, fired=()),
            [],
            "failed",
            [
                "not exercised: crash@create cm/a#1: 'create cm/a#1' did not occur; there is nothing of cm/a",
                "no oracle fails, but the plan was not exercised",
            ],
        ),
        (
            replace(OBSERVED_RUN, inconclusive=True),
            [],
            "failed",
            ["no oracle fails, but the plan was not exercised"],
        ),
        (
            replace(OBSERVED_RUN, unjudged="busy"),
            [VIOLATION],
            "failed",
            ["not judged, because real time has decided: busy"],
        ),
        (OBSERVED_RUN, [VIOLATION], "failed", ["O1: cm/a is absent at the end", "", "side by side"]),
    ],
)
@pytest.mark.parametrize("page", [None, "page.html"])
def test_the_replay_of_a_plan(monkeypatch, observed, violations, outcome, lines, page):
    monkeypatch.setattr(protocol, "check_legal", lambda plan, facts: None)
    monkeypatch.setattr(protocol, "side_by_side", lambda reference, observed: ["side by side"])
    written = []
    monkeypatch.setattr(protocol, "write_page", lambda path, found, title: written.append((found, title)) or path)
    item = Item()
    explorer = Explorer(observed, violations)
    found, message = explorer_of(item, page=page)._replayed(explorer, TEXT, Settings())
    shows_page = page is not None and bool(violations) and not observed.unjudged
    shown = [f"plan: {TEXT}", *lines, *(["", "both timelines: page.html"] if shows_page else [])]
    assert (found, message.splitlines()) == (outcome, shown)
    assert explorer.log[0] == ("seeded", 5)
    assert explorer.log[1:] == ([("shrunk", VIOLATION, [(False, ())])] if shows_page else [])
    assert item.stash[RECORDED] is (page is not None and not shows_page)
    assert [(one.violations, one.clean, title) for one, title in written] == (
        [([VIOLATION], Plan(9), "a.py::test_it")] if shows_page else []
    )


@pytest.mark.parametrize("unrealistic", [False, True])
def test_a_plan_that_no_server_could_cause_is_refused_unless_it_may_be_unrealistic(monkeypatch, unrealistic):
    def illegal(plan, facts):
        raise IllegalPlan("a rule", "no server does so")

    monkeypatch.setattr(protocol, "check_legal", illegal)
    replay = explorer_of(Item())._replayed
    if unrealistic:
        assert replay(Explorer(), TEXT, Settings(unrealistic=True))[0] == "passed"
    else:
        with pytest.raises(pytest.UsageError, match=r"--fakekube-plan: .*no server does so"):
            replay(Explorer(), TEXT, Settings())


# --- what a failure records


@pytest.mark.parametrize("page", [None, "page.html"])
@pytest.mark.parametrize(("violations", "found"), [([], [VIOLATION]), ([replace(VIOLATION, oracle="O7")], None)])
def test_the_smallest_plan_is_recorded_if_a_page_is_wanted(page, violations, found):
    item = Item()
    failed = SimpleNamespace(violation=VIOLATION, reduced=SimpleNamespace(plan=PLAN_OF_TEXT, clean=Plan(9)))
    result = explorer_of(item, page=page)._recorded(Explorer(violations=violations), failed)
    if page is None:
        assert result is None
        assert RECORDED not in item.stash
        return
    assert (result.plan, result.reference, result.observed, result.clean) == (
        PLAN_OF_TEXT, REFERENCE, OBSERVED_RUN, Plan(9),
    )  # fmt: skip
    assert result.violations == (found or violations)
    assert item.stash[RECORDED]


def test_a_test_whose_runs_differ_has_no_page():
    failed = SimpleNamespace(violation=VIOLATION, reduced=SimpleNamespace(plan=PLAN_OF_TEXT, clean=None))
    explorer = Explorer(broken=ReferenceFails("it fails"))
    assert explorer_of(Item(), page="page.html")._recorded(explorer, failed) is None


# --- one run


@pytest.mark.parametrize(
    ("observed", "reports", "failure"),
    [
        (Observation(0), [report()], ""),
        (Observation(0), [report("setup"), report("teardown", "failed", "E  first\nE  last\n")], "E  last"),
        (Observation(0, failure="before"), [report("call", "failed", "E  last")], "before"),
        (Observation(0, unsettled="busy"), [report("call", "failed", "E  last")], ""),
        (Observation(0, inconclusive=True), [report("call", "failed", "E  last")], ""),
    ],
)
@pytest.mark.parametrize("plan", [Plan(), PLAN_OF_TEXT])
def test_a_run_fails_as_its_reports_if_nothing_else_explains_it(observed, reports, failure, plan):
    item = Item()
    facts = Facts()

    def run_once(item, following):
        assert following == "the next run"
        item.log.append((item.stash[PLAN], item.stash[PAGED]))
        item.stash[RUN], item.stash[OBSERVED], item.stash[FACTS] = "run", observed, facts
        return reports

    explorer = explorer_of(item, run_once=run_once)
    assert explorer._observed(plan).failure == failure
    assert item.log == [(plan, True)]
    assert item.stash[PLAN] is None
    assert RUN not in item.stash
    assert (list(explorer._reports), explorer._facts is facts) == (([], False) if plan.atoms else (reports, True))


def test_the_reports_are_those_of_the_first_run_unless_a_later_one_without_faults_fails():
    item, passed, again, failed = Item(), [report()], [report()], [report(outcome="failed")]
    runs = iter([passed, again, failed])

    def run_once(item, following):
        item.log.append(item.stash[PAGED])
        item.stash[RUN], item.stash[OBSERVED], item.stash[FACTS] = "run", Observation(0), Facts()
        return next(runs)

    explorer = explorer_of(item, run_once=run_once)
    for expected in (passed, passed, failed):
        explorer._observed(Plan())
        assert explorer._reports is expected
    assert item.log == [True, False, False]


def test_a_test_that_does_not_reach_its_cluster_cannot_be_explored():
    item, reports = Item(), [report("setup", "failed")]
    item.stash[OBSERVED] = Observation(0)  # of a run before
    explorer = explorer_of(item, run_once=lambda *_: reports)
    with pytest.raises(ReferenceFails, match="the test did not reach its cluster"):
        explorer._observed(PLAN_OF_TEXT)
    assert explorer._reports is reports


# --- reports


@pytest.mark.parametrize(
    ("raised", "marked", "outcome", "message"),
    [
        (None, False, "passed", "all is well"),
        (NothingToExplore("no operator"), False, "passed", "no operator"),
        (NothingToExplore("no operator"), True, "failed", "no operator"),
        (pytest.UsageError("a wrong plan"), False, "failed", "a wrong plan"),
    ],
)
def test_an_exploration_is_reported_as_one_test(monkeypatch, raised, marked, outcome, message):
    def explored(self, explorer, settings, store):
        self._reports = [report("setup"), report(), report("teardown")]
        if raised is not None:
            raise raised
        return "passed", message

    monkeypatch.setattr(ItemExplorer, "_explored", explored)
    item = Item(marker=pytest.mark.fakekube_explore.mark if marked else None)
    setup, call, teardown = explorer_of(item).run()
    assert call.outcome == outcome
    if outcome == "failed":
        assert str(call.longrepr) == message
    assert call.sections == ([] if outcome == "failed" else [("fakekube exploration", message)])
    assert (setup.outcome, setup.sections, teardown.outcome, teardown.sections) == ("passed", [], "passed", [])
    assert item.log == [("the session", "the next test")]
    assert item.stash[RECORDED] is False


def test_a_test_that_fails_without_faults_shows_its_own_failure(monkeypatch):
    def explored(self, explorer, settings, store):
        self._reports = [report("setup"), report(outcome="failed", text="it broke"), report("teardown")]
        raise ReferenceFails("it fails")

    monkeypatch.setattr(ItemExplorer, "_explored", explored)
    _, call, teardown = explorer_of(Item()).run()
    assert (call.outcome, call.longrepr) == ("failed", "it broke")
    assert call.sections == [("fakekube exploration", "the test fails without any fault: nothing was explored")]
    assert teardown.sections == []


def test_a_plan_is_replayed_instead_of_an_exploration(monkeypatch):
    monkeypatch.setattr(ItemExplorer, "_replayed", lambda self, explorer, text, settings: ("passed", text))
    explorer = explorer_of(Item(plan=TEXT))
    explorer._reports = [report()]
    [call] = explorer.run()
    assert call.sections == [("fakekube exploration", TEXT)]


def test_the_reports_are_logged_between_the_start_and_the_end_of_a_test(monkeypatch):
    item = Item()
    monkeypatch.setattr(protocol, "ItemExplorer", lambda *given: SimpleNamespace(run=lambda: [*given, "report"]))
    assert runs_protocol(item, "next", "page of", "runner") is True
    assert item.log == ["start", item, "next", "page of", "runner", "report", "finish"]


# --- settings


@pytest.mark.parametrize(
    ("marker", "explore", "shard", "runs"),
    [
        (None, "", None, Settings().runs),
        ({"runs": 30}, "", None, 30),
        ({"runs": 30}, "12", None, 12),
        (None, "12", (0, 1), 12),
    ],
)
def test_the_option_comes_before_the_marker(marker, explore, shard, runs):
    mark = None if marker is None else pytest.mark.fakekube_explore(**marker).mark
    assert settings_for(Item(marker=mark, explore=explore, shard=shard)).runs == runs


def test_the_length_of_workloads_is_that_of_the_option_too():
    mark = pytest.mark.fakekube_explore(workload=3).mark
    assert [settings_for(Item(marker=mark, workload=one)).workload for one in (None, 5)] == [3, 5]
    with pytest.raises(pytest.UsageError, match="workload=-1 must be an integer of at least 0"):
        settings_for(Item(workload=-1))


def test_the_shard_of_a_parametrized_test_has_its_part_of_the_plans():
    found = settings_for(Item(explore="12", shard=(1, 3)))
    assert found == settings_for(Item(explore="12")).for_shard(1, 3)
    assert found != settings_for(Item(explore="12"))


@pytest.mark.parametrize(("plans", "directory"), [("kept", "kept"), (None, ""), (["FK1 dup"], "")])
def test_failed_plans_are_kept_by_the_directory_of_the_marker_and_the_test(plans, directory):
    """The shards of a test have one file."""
    mark = pytest.mark.fakekube_explore(**({} if plans is None else {"plans": plans})).mark
    asked = []
    _, always, _ = plans_for(Item(marker=mark), lambda *where: asked.append(where) or Path("/nowhere"))
    assert asked == [(directory, "a.py::test_it")]
    assert [str(one) for one in always] == (["FK1 seed=0 dup"] if isinstance(plans, list) else [])


def test_a_test_that_is_not_divided_has_all_plans():
    parametrized = Item(shard=(0, 1))
    parametrized.callspec.params = {"other": 7}
    assert [settings_for(one).shard for one in (Item(), parametrized, Item(shard=(1, 3)))] == [(0, 1), (0, 1), (1, 3)]


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (pytest.mark.fakekube_explore(3), "takes keyword arguments only"),
        (pytest.mark.fakekube_explore(unknown=3), "unknown"),
    ],
)
def test_a_wrong_marker_is_an_error_that_names_the_test(mark, said):
    with pytest.raises(pytest.UsageError, match=said) as caught:
        settings_for(Item(marker=mark.mark))
    assert str(caught.value).startswith("a.py::test_it")


@pytest.mark.parametrize(
    ("nodeid", "shown"),
    [
        ("a.py::test_it", "a.py::test_it"),
        ("a.py::test_it[shard 1 of 2]", "a.py::test_it"),
        ("a.py::test_it[x-shard 12 of 20]", "a.py::test_it[x]"),
    ],
)
def test_the_name_of_a_test_is_without_its_shard(nodeid, shown):
    item = Item()
    item.nodeid = nodeid
    assert nodeid_of(item) == shown
