"""A public name changes only with a line of the changelog, which names it."""

from functools import cache
from pathlib import Path

import pytest

from tests import publicapi
from tests.publicapi import recorded, short, unnamed

CHANGELOG = (Path(__file__).parent.parent / "CHANGELOG.md").read_text()


public = cache(publicapi.public)


def unreleased(changelog):
    """The first section, which is that of the next release."""
    return changelog.split("\n## ")[1]


def test_each_change_of_the_public_api_since_the_last_release_is_in_the_changelog():
    assert unnamed(recorded(), public(), unreleased(CHANGELOG)) == []


BEFORE = {"fakekube.A": "(x)", "fakekube.A.go": "(self)", "fakekube.f": "(a)", "$ fakekube serve --port": ""}


@pytest.mark.parametrize(
    ("after", "changelog", "missing"),
    [
        pytest.param(BEFORE, "", [], id="nothing-changes"),
        pytest.param({**BEFORE, "fakekube.f": "(a, b)"}, "", ["`f`: (a) -> (a, b)"], id="signature"),
        pytest.param({**BEFORE, "fakekube.f": "(a, b)"}, "- `f` takes b", [], id="named-signature"),
        pytest.param({**BEFORE, "fakekube.A.stop": "(self)"}, "`A`", ["`A.stop`: absent -> (self)"], id="new-member"),
        pytest.param({**BEFORE, "fakekube.A.stop": "(self)"}, "`A.stop`", [], id="named-member"),
        pytest.param(
            {name: BEFORE[name] for name in list(BEFORE)[2:]}, "", ["`A`: (x) -> absent"], id="class-and-members"
        ),
        pytest.param(
            {name: BEFORE[name] for name in list(BEFORE)[:3]},
            "",
            ["`fakekube serve --port`: present -> absent"],
            id="option",
        ),
    ],
)
def test_changes_that_the_changelog_does_not_name(after, changelog, missing):
    assert unnamed(BEFORE, after, changelog) == missing


@pytest.mark.parametrize(
    "name", ["fakekube.FakeKube", "fixture fakekube", "$ fakekube serve --port", "desk faults.jump"]
)
def test_the_public_names_include(name):
    assert name in public()


def test_a_name_of_controllerlib_is_short_in_the_changelog():
    assert short("controllerlib.workqueue.RateLimitingQueue.add") == "RateLimitingQueue.add"
