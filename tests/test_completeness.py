"""How much of what the packages export has a known type."""

import pytest

from tests.completeness import report

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: The least share of exported symbols whose type is known. It only rises.
LEAST = {"controllerlib": 0.98, "fakekube": 0.98}


@pytest.mark.parametrize("package", LEAST)
def test_exported_symbols_have_known_types(package):
    found = report(package)
    assert found.score >= LEAST[package], "\n".join(found.incomplete)
