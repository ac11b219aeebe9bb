"""What a test forgets or cannot do is an error that says so, and what to do instead."""

import asyncio
import re

import pytest

from fakekube import FakeKube
from fakekube.harness.driving.steps import NotAwaited
from tests.harness.operators import build, config_map, every
from tests.innerruns import LEAN, without_garbage_of_others

#: Steps of an async test, as they are written in it.
STEPS = (
    "fakekube.settle()",
    "fakekube.advance(60)",
    'fakekube.advance_to("2026-01-02T00:00:00Z")',
    "fakekube.advance_until(lambda: True, 60)",
    "fakekube.start(build)",
    "fakekube.stop(operator)",
    "fakekube.restart(operator)",
    'fakekube.eventually(lambda cluster: False, "never so", within="1m")',
    "fakekube.findings.assert_no_writes_at_rest()",
    'fakekube.run_process(["true"])',
    'fakekube.controllers["deployment"].reconcile_next()',
    'fakekube.controllers["deployment"].resume()',
    'fakekube.nodes.add("b").lose()',
    'fakekube.pods("app=web").always().crash()',
)

TEST = """
import pytest
from controllerlib import Result

def build(manager):
    async def reconcile(request):
        return Result(requeue_after=60)
    manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

@pytest.mark.fakekube(nodes=1, controllers=["deployment"])
async def test_it(fakekube):
    operator = await fakekube.start(build)
    STEP
    REST
"""


@pytest.fixture
def run(pytester):
    def run(source, *options):
        pytester.makepyfile(source)
        without_garbage_of_others()
        return pytester.runpytest_inprocess(*LEAN, "-Werror", *options)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_row5_a_step_that_is_not_awaited_fails_the_test(run, step):
    result = run(TEST.replace("STEP", step).replace("REST", ""))
    result.assert_outcomes(failed=1)
    line = f"NotAwaited: {re.escape(step)} was not awaited \\(.*test_row5.*\\.py:12\\): in an async test, write"
    result.stdout.re_match_lines([line])
    assert "_checked" not in result.stdout.str()


@pytest.mark.slow
def test_row5_the_next_step_raises_it(run):
    result = run(TEST.replace("STEP", "fakekube.advance(60)").replace("REST", "await fakekube.settle()"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*await fakekube.settle()", "E*NotAwaited: fakekube.advance(60) was not awaited*"])


@pytest.mark.slow
def test_row5_a_failed_assertion_says_what_was_not_awaited(run):
    result = run(
        TEST.replace("STEP", "fakekube.advance(60)").replace("REST", "assert fakekube.clock.monotonic() == 60")
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*assert 0* == 60", "E*NotAwaited: fakekube.advance(60) was not awaited*"])


@pytest.mark.slow
def test_row5_a_step_in_a_variable(run):
    result = run(TEST.replace("STEP", "step = fakekube.advance(60)").replace("REST", "assert step is not None"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["NotAwaited: fakekube.advance(60) was not awaited*"])


async def test_row5_steps_may_be_awaited_later_together_or_in_a_task(fakekube):
    step = fakekube.advance(60)
    assert fakekube.clock.monotonic() == 0
    await step
    await asyncio.gather(fakekube.advance(60), asyncio.sleep(30))
    await asyncio.create_task(fakekube.advance(60))
    await asyncio.wait_for(fakekube.advance(60), 3600)
    assert fakekube.clock.monotonic() == 240
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(every(60)))
    assert (await operator)["minder"].reconciles() == 1


async def test_row5_a_step_that_is_not_awaited_raises_once(fakekube):
    fakekube.advance(60)
    with pytest.raises(NotAwaited, match=r"fakekube\.advance\(60\) was not awaited \(.*test_refusals\.py:\d+\)"):
        fakekube.settle()
    await fakekube.settle()


def test_row18_a_cluster_in_a_running_loop():
    async def main():
        with FakeKube():
            pass

    with pytest.raises(RuntimeError, match=r"cannot be opened while an event loop runs .*async def.*fakekube\.run"):
        asyncio.run(main())
    with FakeKube() as kube:  # nothing was left
        kube.advance(1)


def test_row18_a_coroutine_on_the_loop_of_a_cluster():
    async def main(fakekube):
        await asyncio.sleep(3600)
        return fakekube.clock.monotonic()

    with FakeKube() as fakekube:
        assert fakekube.run(main(fakekube)) == 3600
