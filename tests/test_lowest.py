"""The lock of the lowest versions agrees with the bounds of pyproject.toml."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.lowest import LOCK, PROJECT, bounds, lower_bound, normal

LINES = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
LOCKED = {normal(one.name): lower_bound(one) for one in map(Requirement, LINES)}


@pytest.mark.parametrize(("name", "version"), bounds().items())
def test_the_lock_has_the_lower_bound(name, version):
    assert Version(LOCKED.get(name, "0")) == Version(version), "run python -m tests.lowest"


def test_the_lock_has_versions_only():
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .*)?", line)] == []


def test_a_dependency_is_locked_once():
    assert len(LOCKED) == len(LINES)


def test_an_extra_of_users_has_a_lower_bound():
    assert all(map(lower_bound, map(Requirement, PROJECT["optional-dependencies"]["time-machine"])))


def test_a_requirement_without_a_lower_bound_is_refused():
    with pytest.raises(ValueError, match="a<2 has no lower bound"):
        lower_bound(Requirement("a<2"))
