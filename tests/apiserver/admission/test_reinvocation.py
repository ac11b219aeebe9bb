"""Reinvocation: a script of the first round, and the plugins that are invoked in the second."""

import pytest

from fakekube.apiserver.admission.reinvocation import Calls


def script(steps):
    """Run a script: `a` is invoked, `a+` is reinvocable, `a!` changes the object; `|` ends the first round, and `~` does
    so with a change by another plugin. Returns which of a, b and c the second round invokes, and whether there is one."""
    calls, obj = Calls(), {"changes": 0}
    for step in steps.split():
        if step in "|~":
            calls.end(obj)
            calls.begin_again({"others": 1} if step == "~" else obj)
            continue
        changed = "!" in step
        if changed:
            obj = {"changes": obj["changes"] + 1}
        calls.called(step[0], changed=changed, reinvocable="+" in step)
    return "".join(key for key in "abc" if calls.is_wanted(key)), calls.changed


@pytest.mark.parametrize(
    ("steps", "again", "changed"),
    [
        pytest.param("a b |", "", False, id="none-reinvocable"),
        pytest.param("a+ b+ |", "", False, id="nothing-changes"),
        pytest.param("a+ b! |", "a", True, id="changed-after"),
        pytest.param("a! b+ |", "", True, id="changed-before"),
        pytest.param("a+! |", "", True, id="only-own-change"),
        pytest.param("a+! b+! c |", "a", True, id="change-by-the-last"),
        pytest.param("a+ b+ ~", "ab", False, id="others-change"),
        pytest.param("a+! b! ~", "a", True, id="both"),
        pytest.param("a+ b+! | a!", "ab", True, id="in-the-second-round-too"),
    ],
)
def test_second_round(steps, again, changed):
    assert script(steps) == (again, changed)


def test_first_round():
    assert Calls().is_wanted("a")
