"""An exploration that takes long shows at which run it is."""

import pytest

from fakekube.simulation.plan import parse_plan
from fakekube.simulation.results.runnumber import UNLIMITED
from fakekube.simulation.results.statusline import StatusLine

CRASH = parse_plan("FK1 seed=0 crash@create secret/a#1")


@pytest.mark.parametrize(
    ("verbosity", "shown"), [(0, [6, 12]), (1, [2, 4, 6, 8, 10, 12]), (2, [0, 2, 4, 6, 8, 10, 12])]
)
def test_how_often_there_is_a_line(verbosity, shown):
    lines, now = [], [0.0]
    progress = StatusLine(lines.append, lambda: now[0], "test_a", 200, verbosity)
    for second in range(0, 14, 2):
        now[0] = float(second)
        progress.begins(second, CRASH)
    assert lines == [f"test_a run {second} of 200: crash@create secret/a#1" for second in shown]


@pytest.mark.parametrize(("verbosity", "interval"), [(0, 5.0), (1, 1.0)])
def test_between_two_lines_is_at_least_the_interval(verbosity, interval):
    lines, now = [], [100.0]
    progress = StatusLine(lines.append, lambda: now[0], "test_a", 200, verbosity)
    shown = []
    for seconds in (
        interval - 0.25,
        interval,
        2 * interval - 0.25,
        2 * interval + 0.25,
        3 * interval,
        3 * interval + 0.25,
    ):
        now[0] = 100.0 + seconds
        progress.begins(1, CRASH)
        shown.append(len(lines))
    assert shown == [0, 1, 1, 2, 2, 3], "counted from the line before, not from the beginning"


def test_an_interruption_names_the_run():
    lines = []
    progress = StatusLine(lines.append, lambda: 0.0, "test_a", UNLIMITED)
    progress.interrupted()
    assert lines == []
    progress.begins(4, parse_plan("FK1"))
    progress.interrupted()
    assert lines == ["test_a interrupted in run 4: without faults"]
