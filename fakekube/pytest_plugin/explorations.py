"""Explorations of tests as pytest runs them: which tests are explored, and how they are divided among workers."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from fakekube.pytest_plugin import clusterport, internals
from fakekube.pytest_plugin.itemkeys import CLUSTER, PROBLEM
from fakekube.simulation.stash import PLAN, SHARD


def _is_explored(item: pytest.Item) -> bool:
    """Whether a test runs again and again under faults, or under those of one plan."""
    options = item.config.option
    chosen = options.fakekube_explore or options.fakekube_plan
    return bool(chosen) or item.get_closest_marker("fakekube_explore") is not None


def divide(metafunc: pytest.Metafunc) -> None:
    """Parametrize an explored test with the shards of its plans, one for each worker of pytest-xdist."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    marked = metafunc.definition.get_closest_marker("fakekube_explore") is not None
    if workers > 1 and (marked or metafunc.config.option.fakekube_explore):
        metafunc.fixturenames.append(SHARD)
        shards = [(number, workers) for number in range(workers)]
        ids = [f"shard {number + 1} of {workers}" for number in range(workers)]
        metafunc.parametrize(SHARD, shards, ids=ids, indirect=True)


def explore(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test as an exploration if it is one; None: pytest runs it."""
    if not _is_explored(item):
        return None
    from fakekube.pytest_plugin.reports import page_name, page_of
    from fakekube.simulation.protocol import Files, Runner, plans_for, runs_protocol, settings_for

    if problem := internals.problem_of_explorations(item):
        item.stash[PROBLEM] = problem
        return None

    def plan_file(directory: str, nodeid: str) -> Path:
        parent = item.path.parent / directory if directory else item.config.rootpath / ".fakekube" / "plans"
        return parent / page_name(nodeid).replace(".html", ".txt")

    try:
        settings_for(item)
        plans_for(item, plan_file)
    except pytest.UsageError as error:
        item.stash[PROBLEM] = str(error)  # an error of this test, not of the run
        return None
    runner = Runner(run_once=internals.run_once, tear_down=internals.tear_down)

    return runs_protocol(item, nextitem, Files(partial(page_of, item), plan_file), runner)


def seed(item: pytest.Function) -> None:
    """Seed `random` for a run of an explored test."""
    if item.stash.get(PLAN, None) is not None and CLUSTER in item.stash:
        from fakekube.virtualtime.patches.randomness import seed_functions

        seed_functions(clusterport.bubble_of(item.stash[CLUSTER]).seed)


def end_run(item: pytest.Item, error: BaseException | None) -> None:
    """End the run of a plan: its oracles observe the cluster. Does nothing for a test that is not explored."""
    if item.stash.get(PLAN, None) is not None and isinstance(error, Exception | None):
        from fakekube.simulation.protocol import observe

        observe(item, error)
