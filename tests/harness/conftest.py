"""The operators of these tests have defects on purpose: what detectors only warn of does not fail the tests."""

import pytest

IGNORED = "ignore::fakekube.harness.detectors.finding.FindingWarning"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(__file__.removesuffix("conftest.py")):
            item.add_marker(pytest.mark.filterwarnings(IGNORED))
