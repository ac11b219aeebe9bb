"""Writes that only a run with a fault shows, as those of an error path, become places of faults, too."""

import pytest

from controllerlib import ApiError
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find


def recovering(bug):
    """Notes a failed creation in the status, and takes the note back when it has succeeded.

    The bug: what is noted is not tried again, which only matters if it dies between the note and the next attempt.
    """

    def build(manager):
        live, failing = manager.api_reader, set()

        async def reconcile(request, client):
            box = await find(live, API, "Box", request.name, request.namespace)
            if box is None:
                return
            failed = (box.get("status") or {}).get("failed", False)
            if bug and failed and request.name not in failing:
                return
            try:
                await ensure(live, child(box, "ConfigMap", request.name, data={"x": "y"}))
            except ApiError:
                failing.add(request.name)
                await live.patch_status(box, {"status": {"failed": True}})
                raise
            if failed:
                await live.patch_status(box, {"status": {"failed": None}})

        manager.controller("box").for_(API, "Box").complete(reconcile)

    return build


@pytest.mark.slow
@pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])
def test_a_crash_in_an_error_path(bug):
    def scenario(fakekube):
        fakekube.apply(definition("Box"))
        fakekube.start(recovering(bug))
        fakekube.create(custom("Box"))
        fakekube.advance(60)

    runner = ScenarioRunner(scenario)
    settings = Settings(runs=30, faults=["crash", "error", "lost"])
    found = Explorer(runner.run, settings, lambda: runner.facts).explore()
    assert (found.failed is not None) is bug
    if bug:
        first, second = map(str, found.failed.reduced.plan.atoms)
        assert first.endswith("@create cm/a#1")
        assert second == "crash@update box/a{status.failed}#1"
        assert found.failed.violation.oracle == "O2"


def test_no_fault_begins_where_everything_is_reconciled_once_more():
    def scenario(fakekube):
        fakekube.apply(definition("Box"))
        fakekube.start(recovering(bug=False))
        fakekube.create(custom("Box"))
        fakekube.advance(60)

    runner = ScenarioRunner(scenario)
    reads = [str(one) for one in runner.run(Plan()).reads]
    assert reads == ["get box/a#1", "get cm/a#1"]
    observed = runner.run(parse_plan("FK1 seed=0 error(503, 1)@get box/a#2"))
    assert (list(observed.fired), [one for one in observed.commits if one.rest]) == ([], [])
