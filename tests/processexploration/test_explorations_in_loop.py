"""Explorations of an operator in the loop: what is found at which writes, reported once, and what cannot be explored."""

import asyncio
import signal
from pathlib import Path

import pytest

from fakekube.processexploration.operatorprocess import RESTARTS, OperatorProcess, command_of
from fakekube.server.process.listening import CannotServe
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from tests.processexploration.inloop import AGENT, SITE, Operator, explored

ABSENT = "O2: cm/shop-b is absent at the end (the reference has it)"
WRITES = ("create cm/shop-a#1", "create cm/shop-b#1", "update cm/shop{data.done}#1")


@explored
async def test_a_crash_between_two_writes_is_found_at_both_of_its_moments_and_reported_once(explore):
    outcome, said, operator, processes = await explore()
    assert said == [
        "reference: 3 committed writes, 6 plans",
        f"  crash@{WRITES[0]}: {ABSENT}",
        f"  crash@{WRITES[1]}: correct",
        f"  crash@{WRITES[2]}: correct",
        f"  before@{WRITES[0]}: correct",
        f"  before@{WRITES[1]}: {ABSENT}",
        f"  before@{WRITES[2]}: correct",
    ]
    assert (outcome.tried, outcome.reached, outcome.planned) == (6, 6, 6)
    ((failure, script),) = outcome.failures
    assert (str(failure.plan), failure.phase, failure.lease) == (f"crash@{WRITES[0]}", 1, False)
    assert [str(one) for one in failure.violations] == [ABSENT]
    assert '"cel": "object != null", "within": "2s"' in script
    assert script.index(f"# crash@{WRITES[0]}\n") > script.index("# 0.yaml\n")
    # two references, six plans, and the failure again; each plan kills the process once more than the end of the run
    assert [one.kills for one in processes] == [1, 1, 2, 2, 2, 2, 2, 2, 2]
    assert operator.starts == 2 + 2 * 7


@explored
async def test_the_first_failure_ends_the_exploration_if_that_is_wanted(explore):
    outcome, said, _, _ = await explore(first=True)
    assert (outcome.tried, len(outcome.failures), len(said)) == (1, 1, 2)


@explored
async def test_as_many_plans_are_tried_as_the_budget_allows(explore):
    outcome, said, _, _ = await explore(budget=2)
    assert (outcome.tried, outcome.reached, outcome.planned, len(said)) == (2, 2, 6, 3)


@pytest.mark.parametrize(
    ("atom", "kills", "signals"),
    [
        ("503", 1, []),
        ("pause", 1, [signal.SIGSTOP, signal.SIGCONT]),
        ("crash", 2, []),
    ],
)
@explored
async def test_the_correct_operator_stands_each_fault(explore, atom, kills, signals):
    outcome, said, _, processes = await explore(correct=True, atoms=(atom,))
    number = 6 if atom == "crash" else 3
    assert said == [f"reference: 3 committed writes, {number} plans", *said[1:]]
    assert [one.rpartition(": ")[2] for one in said[1:]] == ["correct"] * number
    assert (outcome.failures, outcome.tried, outcome.reached) == ([], number, number)
    assert [(one.kills, one.signals) for one in processes[2:]] == [(kills, signals)] * number


@explored
async def test_a_fault_before_the_first_change_is_of_phase_0(explore):
    settled = SITE.replace("site", "other")
    outcome, said, _, _ = await explore(lease=True, after=[settled, SITE], budget=3, atoms=("crash",))
    assert said[0] == "reference: 3 committed writes, 6 plans"  # the lease is none
    ((failure, script),) = outcome.failures
    assert (failure.phase, failure.lease) == (2, True)
    assert "# 1.yaml" in script


@explored
async def test_a_failure_that_a_second_run_does_not_repeat_is_not_reported(explore):
    wrong = type("Once", (Operator,), {})
    wrong.correct = property(lambda operator: operator.starts not in (3, 4), lambda operator, value: None)
    outcome, said, _, _ = await explore(budget=1, kind=wrong)
    assert said[1:] == [f"  crash@{WRITES[0]}: {ABSENT}", "    a second run is correct: not reported"]
    assert (outcome.failures, outcome.tried, outcome.reached) == ([], 1, 1)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"ends": 7, "output": "no"},
            "the run without faults fails: the process ends with status 7: its output ends with\nno",
        ),
        ({"ends": 0}, "the run without faults fails: the process ends with status 0, without output"),
        (
            {"agent": "other/*"},
            "the run without faults fails: the process makes no request with the User-Agent other/*, without output",
        ),
        (
            {"after": [SITE.replace("site", "other")]},
            "the process has written nothing: change what it reconciles with --setup or --after",
        ),
        (
            {"after": [SITE.replace("shop", "Shop")]},
            'the run without faults fails: PATCH /api/v1/namespaces/default/configmaps/Shop: ConfigMap "Shop" is invalid',
        ),
        ({"quiet": "soon"}, "/quiet: not a duration: 'soon'"),
        (
            {"after": [SITE, SITE.replace("ConfigMap", "Sight")]},
            "the cluster has no kind 'Sight' in 'v1'",
        ),
        (
            {"agents": (AGENT, "b/1")},
            f"several clients make requests; choose one with --agent: 'b/1', '{AGENT}'",
        ),
    ],
)
@explored
async def test_what_cannot_be_explored(explore, how, message):
    with pytest.raises(CannotServe) as raised:
        await explore(**how)
    assert message in str(raised.value)


# --- the process itself


def on_fast_loop(test):
    """Run `test(until)` on a loop whose second takes a millisecond; `until` waits until a condition holds."""

    async def until(holds):
        clock = PacedClock(asyncio.get_running_loop())
        while not holds():
            await clock.sleep_until(clock.monotonic() + 1)

    with asyncio.Runner(loop_factory=lambda: PacedLoop(1000)) as runner:
        return runner.run(test(until))


def test_a_process_that_ends_is_started_again_a_few_times(tmp_path):
    process = OperatorProcess(command_of("echo one; echo two; exit 7"), {}, tmp_path / "log")

    async def main(until):
        assert (process.ended, process.tail()) == (None, "")
        await process.start()
        kept = []
        while not kept or kept[-1]:
            await until(lambda: process.ended is not None)
            kept.append(await process.kept())
        return kept

    assert on_fast_loop(main) == [True] * RESTARTS + [False]
    assert (process.ended, process.restarts) == (7, RESTARTS)
    assert (tmp_path / "log").read_text() == "one\ntwo\n" * (RESTARTS + 1)
    assert process.tail(3) == "two\none\ntwo"


def has_ended(process):
    """Whether a process of the system is gone, or waits only for its parent."""
    state = Path("/proc", process, "stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_process_is_killed_with_what_it_has_started(tmp_path):
    process = OperatorProcess(command_of("sleep 60 & echo $!; wait"), {}, tmp_path / "log")

    async def main(until):
        await process.kill()  # nothing to kill yet
        await process.start()
        await until(process.tail)
        assert (await process.kept(), process.restarts) == (True, 0)
        await process.kill()
        await until(lambda: has_ended(process.tail()))

    on_fast_loop(main)
    assert process.ended == -signal.SIGKILL
