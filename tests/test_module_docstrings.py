"""`help(fakekube)` and `help(controllerlib)` begin with what a user needs."""

import pydoc

import pytest

import controllerlib
import fakekube


@pytest.mark.parametrize("package", [fakekube, controllerlib])
def test_a_package_is_described_to_its_user_first(package):
    headline, description = pydoc.splitdoc(pydoc.getdoc(package))
    first, *_, last = description.split("\n\n")
    assert headline.endswith(".")
    assert first.count(".") > 1
    assert "PYTEST_DONT_REWRITE" not in headline + first
    assert "PYTEST_DONT_REWRITE" in last, "else pytest rewrites its assertions"
