"""What the plugin keeps at a test, and at the configuration of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.detectors.finding import Finding
    from fakekube.harness.sharing import SharedCluster

#: The cluster of a test.
CLUSTER: pytest.StashKey[FakeKube] = pytest.StashKey()

#: The findings that the error of a test lists.
RAISED: pytest.StashKey[Sequence[Finding]] = pytest.StashKey()

#: The failures of a test: of its call, then of its teardown.
FAILURES: pytest.StashKey[list[str]] = pytest.StashKey()

#: The clusters of several tests, by the names of their fixtures.
SHARED: pytest.StashKey[dict[str, SharedCluster]] = pytest.StashKey()

SHARED_FIXTURES = ("fakekube_module", "fakekube_session")

#: The fixture that begins and ends the turn of one test at a shared cluster.
TURN_FIXTURE = "_fakekube_of_test"

#: Why a test cannot have its cluster: a wrong marker, or a pytest with which it does not work.
PROBLEM: pytest.StashKey[str] = pytest.StashKey()
