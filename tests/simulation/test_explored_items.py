"""What the exploration of one test reports, keeps and annotates, and the lines that it writes while it runs."""

from dataclasses import replace

import pytest

from fakekube.simulation.explorer import Settings, Trial
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.report import failure, properties, success
from fakekube.simulation.results.planstore import PlanStore
from tests.simulation.test_protocol import Item, explorer_of
from tests.simulation.test_report import ABSENT, ONE, bug, exploration, plan

NODEID = "a.py::test_it"
OTHER = replace(ABSENT, target="cm/c")
TRIED = [Trial(plan(ONE), []), Trial(plan("dup"), [ABSENT]), Trial(plan("order"), [], unjudged="busy")]


class Explorer:
    """An explorer whose result is given."""

    def __init__(self, result):
        self.observed, self._result = [], result

    def explore(self):
        return self._result

    def observe(self, plan):
        self.observed.append(plan)


class Explored(Item):
    def reportinfo(self):
        return "/src/project/tests/a.py", 11, "test_it"


@pytest.fixture
def store(tmp_path):
    return PlanStore(tmp_path / "plans")


def explored(result, store, always=()):
    """The outcome, the message, the exploration of the item, and the plans that ran once more."""
    explorer, one = Explorer(result), explorer_of(Explored())
    one._always = always
    outcome = one._explored(explorer, Settings(), store)
    return *outcome, one, explorer.observed


def test_an_exploration_that_finds_nothing_passes(store):
    result = exploration(trials=TRIED[:1])
    outcome, message, one, observed = explored(result, store)
    assert (outcome, message) == ("passed", success(result))
    assert one._properties == properties(result)
    assert (one._annotations, observed, store.plans()) == ((), [], [])


def test_a_bug_fails_the_test_and_its_smallest_plan_runs_once_more(store):
    result = exploration(bug(), bug(violation=OTHER), trials=TRIED)
    outcome, message, one, observed = explored(result, store)
    assert (outcome, message) == ("failed", failure(result, result.bugs[0], NODEID, Settings().runs))
    assert observed == [plan(ONE)], "the output of the test is that of this run"
    assert one._properties == properties(result)


def test_each_bug_has_an_annotation_at_the_line_of_the_test(store, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", "/src/project")
    *_, one, _ = explored(exploration(bug(), bug(violation=OTHER)), store)
    place = "::error file=tests/a.py,line=12,title=exploration of test_it::"
    assert [line.startswith(place) for line in one._annotations] == [True, True]
    assert ["cm/a is absent" in line for line in one._annotations] == [True, False]
    assert f"pytest {NODEID} --fakekube-plan" in one._annotations[1].replace("%3A", ":")


def test_elsewhere_there_is_no_annotation(store, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    *_, one, _ = explored(exploration(bug()), store)
    assert one._annotations == [""]


def test_the_smallest_plans_of_bugs_are_kept_until_they_have_passed(store):
    explored(exploration(bug(smallest="dup"), bug(smallest=ONE), trials=TRIED[1:]), store)
    assert set(store.plans()) == {plan("dup"), plan(ONE)}
    for _ in range(20):  # a plan is dropped when it has passed several times in a row
        explored(exploration(trials=TRIED), store)
    assert store.plans() == [plan("dup")], "that fails in each, and that of which nothing can be said"


def test_a_bug_that_needs_no_fault_is_not_kept(store):
    explored(exploration(bug(smallest="")), store)
    assert store.plans() == []


def test_a_plan_of_the_marker_with_a_step_that_the_test_does_not_have_is_refused(store):
    always = [parse_plan("FK1"), parse_plan("FK1 skip=nonesuch")]
    with pytest.raises(pytest.UsageError) as refused:
        explored(exploration(), store, always)
    assert str(refused.value) == f"plans: {str(always[1])!r}: {always[1].unknown_steps(())}"


class Terminal:
    def __init__(self):
        self.lines = []

    def ensure_newline(self):
        self.lines.append("newline")

    def write_line(self, line):
        self.lines.append(line)


@pytest.mark.parametrize(
    ("is_worker", "shown"), [(False, ["newline", "test_it run 3 of 50: without faults"]), (True, [])]
)
def test_the_status_is_written_to_the_terminal_of_the_only_process(is_worker, shown):
    item, terminal = Item(), Terminal()
    item.config.getoption = lambda name, default: 2 if name == "verbose" else default
    item.config.pluginmanager.get_plugin = {"terminalreporter": terminal}.get
    if is_worker:
        item.config.workerinput = {}
    explorer_of(item)._progress_of(Settings(runs=50)).begins(3, Plan())
    assert terminal.lines == shown


def test_without_a_terminal_nothing_is_written():
    explorer_of(Item())._progress_of(Settings()).begins(3, Plan())


def test_an_interrupted_exploration_names_its_run():
    item, terminal = Item(), Terminal()
    item.config.pluginmanager.get_plugin = lambda name: terminal

    def run_once(item, following):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explorer_of(item, run_once=run_once).run()
    assert terminal.lines == ["newline", "test_it interrupted in run 1 of 200: without faults"]
