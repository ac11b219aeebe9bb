"""The names of operators and of their controllers in records."""

import pytest

from fakekube.harness.records.identity import Identities, Identity


def test_row1_a_restart_is_the_next_incarnation():
    identities = Identities()
    first = identities.claim("", "db")
    second = identities.next_incarnation("db")
    assert (first, second) == (Identity("db", 1), Identity("db", 2))
    assert (str(first), str(second)) == ("db", "db@2")


def test_row1_incarnations_are_lanes_of_their_own():
    identities = Identities()
    first = identities.claim("db", "backup")
    identities.has_controller(first, "backup")
    assert identities.lane(first, "backup") == "backup"
    second = identities.next_incarnation("db")
    identities.has_controller(second, "backup")
    assert [identities.lane(one, "backup") for one in (first, second)] == ["db/backup", "db@2/backup"]


def test_row1_an_unknown_operator_has_no_next_incarnation():
    identities = Identities()
    with pytest.raises(KeyError, match=r"no operator 'x' \(operators: none\)"):
        identities.next_incarnation("x")
    identities.claim("db", "")
    with pytest.raises(KeyError, match=r"no operator 'x' \(operators: db\)"):
        identities.next_incarnation("x")
