"""The rule for what follows quiescence."""

import pytest

from fakekube.virtualtime.nextstep import DEADLOCKED, OPEN_GATE, WAKE, Jump, next_step


@pytest.mark.parametrize(
    ("timer", "goal", "round_due", "step"),
    [
        pytest.param(None, None, False, DEADLOCKED, id="blocked-and-no-timer"),
        pytest.param(20, None, False, Jump(20), id="blocked-with-a-timer"),
        pytest.param(20, None, True, OPEN_GATE, id="blocked-the-gate-comes-first"),
        pytest.param(None, None, True, OPEN_GATE, id="blocked-the-gate-may-yet-help"),
        pytest.param(None, 10, False, WAKE, id="settling"),
        pytest.param(20, 10, False, WAKE, id="settling-comes-before-any-jump"),
        pytest.param(20, 10, True, OPEN_GATE, id="settling-includes-a-round"),
        pytest.param(None, 30, False, Jump(30), id="advancing-over-nothing"),
        pytest.param(20, 30, False, Jump(20), id="advancing-stops-at-the-timer"),
        pytest.param(30, 30, False, Jump(30), id="advancing-to-the-timer"),
        pytest.param(40, 30, False, Jump(30), id="advancing-lands-on-the-goal"),
        pytest.param(20, 30, True, OPEN_GATE, id="advancing-includes-a-round-at-each-stop"),
    ],
)
def test_what_follows_quiescence_at_10(timer, goal, round_due, step):
    assert next_step(10, timer=timer, goal=goal, round_due=round_due) == step
