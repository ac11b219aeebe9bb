"""Replays the scenarios recorded with a real kube-controller-manager against the cluster's own controllers.

Those of the second pack were recorded with a real kube-scheduler, too.
"""

import asyncio

import pytest

from tests.conformance import replay
from tests.conformance.test_replay import KNOWN_FAILURES, PACKS, check
from tests.controllers.storedobjects import none_changes

SCENARIOS = PACKS["workloads"]
WITH_SCHEDULER = PACKS["workloads2"]


@pytest.mark.fakekube(controllers=["*"], rbac=True)
async def test_workloads_are_exact_under_virtual_time(fakekube):
    with none_changes(fakekube):
        check(await replay.replay(fakekube.access.url, SCENARIOS, jobs=1))


@pytest.mark.fakekube(controllers=["*", "kube-scheduler"], rbac=True)
async def test_workloads_with_a_scheduler_are_exact_under_virtual_time(fakekube):
    with none_changes(fakekube):
        check(await replay.replay(fakekube.access.url, WITH_SCHEDULER, jobs=1))


@pytest.mark.slow
def test_workloads_are_exact_in_real_time(server_with_controllers_url):
    expected = [one for one in SCENARIOS if one["id"] not in KNOWN_FAILURES]
    found = asyncio.run(replay.replay(server_with_controllers_url, expected, jobs=8))
    missed = {one["id"] for one in found if not one["exact"]}
    again = [one for one in expected if one["id"] in missed]
    check(
        [
            *(one for one in found if one["id"] not in missed),
            *asyncio.run(replay.replay(server_with_controllers_url, again, jobs=1)),
        ]
    )
