"""Who is called again in a second round: a script of what happens, and of who is wanted then."""

import pytest

from fakekube.apiserver.admission.reinvocation import Calls


def script(steps):
    """`a` is called, `a+` asks to be called again, `a!` changes the object; `|` ends the first round, `~` too, after which
    others change the object. Returns whom the second round wants of a, b and c, and whether there is one."""
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
        pytest.param("a b |", "", False, id="nobody-asks"),
        pytest.param("a+ b+ |", "", False, id="nothing-changes"),
        pytest.param("a+ b! |", "a", True, id="changed-after"),
        pytest.param("a! b+ |", "", True, id="changed-before"),
        pytest.param("a+! |", "", True, id="ones-own-change"),
        pytest.param("a+! b+! c |", "a", True, id="the-last-change-is-nobodys"),
        pytest.param("a+ b+ ~", "ab", False, id="others-change"),
        pytest.param("a+! b! ~", "a", True, id="both"),
        pytest.param("a+ b+! | a!", "ab", True, id="in-the-second-round-too"),
    ],
)
def test_who_is_called_again(steps, again, changed):
    assert script(steps) == (again, changed)


def test_in_the_first_round_everybody_is():
    assert Calls().is_wanted("a")
