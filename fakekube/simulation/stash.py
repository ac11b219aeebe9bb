"""What the plugin and explorations keep at a test of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fakekube.simulation.plan import Plan

#: The plan under which the next cluster of an explored test runs.
PLAN: pytest.StashKey[Plan | None] = pytest.StashKey()

#: Whether the next run of an explored test records its timeline, and whether it writes a page of its own.
RECORDED: pytest.StashKey[bool] = pytest.StashKey()
PAGED: pytest.StashKey[bool] = pytest.StashKey()

#: The parameter of an explored test whose plans are divided among workers.
SHARD = "_fakekube_shard"

MARKER = (
    "fakekube_explore(runs=200, faults=(...), budget=None, mask=(), expect_delta=(), owner_labels=(), off=(), bugs=10, "
    "known=(), plans='', upgrade=None, upgrade_mask=(), workload=0, unrealistic=False): run this test again and again "
    "under faults, and judge each run"
)
