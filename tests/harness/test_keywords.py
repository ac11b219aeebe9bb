"""The keyword arguments of the face: each may be left out."""

import inspect

import pytest

from fakekube.harness import keywords

TYPES = [one for name, one in inspect.getmembers(keywords, inspect.isclass) if hasattr(one, "__required_keys__")]


@pytest.mark.parametrize("type", TYPES, ids=lambda one: one.__name__)
def test_no_keyword_is_required(type):
    assert type.__required_keys__ == frozenset()
    assert type.__optional_keys__ == frozenset(type.__annotations__)


def test_faults_have_what_matches_and_what_they_do():
    match = keywords.Match.__annotations__.keys()
    assert match == {"resource", "name", "namespace", "user_agent", "after", "times", "share", "unrealistic"}
    for one in (keywords.Fault, keywords.WatchFault, keywords.BodyFault):
        assert match < one.__optional_keys__
