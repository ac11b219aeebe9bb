"""How much of a test was perturbed, counted against what happens without faults."""

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.observation import Delivery, Observation
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.results.figures import figures, line_of
from tests.simulation.observations import commit

REFERENCE = Observation(
    0,
    commits=[
        commit(1, "create", "store/a", "test"),
        commit(2, "create", "cm/a"),
        commit(3, "create", "cm/b"),
        commit(4, "create", "event/x"),
        commit(5, "create", "external/buckets/a"),
        commit(6, "create", "cm/c", rest=True),
    ],
    reads=[Anchor("get", "store/a", (), 1), Anchor("get", "store/a", (), 2)],
    deliveries=[Delivery(1, 1.0, kind, "operator db", 0) for kind in ("store", "cm", "cm", "event")],
)


def shown(*texts):
    return {
        name: str(share) for name, share in figures(REFERENCE, [parse_plan(f"FK1 {text}") for text in texts]).items()
    }


def test_nothing_was_tried():
    assert shown() == {
        "crashes": "0 of 3",
        "losses": "0 of 2",
        "failures": "0 of 2",
        "reads": "0 of 2",
        "watches": "0 of 2",
    }


def test_each_place_counts_once():
    found = shown(
        "crash@create cm/a#1",
        "down(until=rest)@create cm/a#1 + lost(504)@create cm/b#1",
        "upgrade@create external/buckets/a#1",
        "crash@create cm/z#1",  # which the reference does not have
        "error(503, 1)@get store/a#2 + error(500, 1)@create cm/b#1",
        "hold(cm, create cm/a#1..rest) + gap(event, create event/x#1..rest)",
    )
    assert found == {
        "crashes": "2 of 3",
        "losses": "1 of 2",
        "failures": "1 of 2",
        "reads": "1 of 2",
        "watches": "1 of 2",
    }


def test_the_line_of_a_report():
    assert line_of(figures(REFERENCE, [])) == (
        "crashed after 0 of 3 writes, lost the answers of 0 of 2, failed 0 of 2; failed 0 of 2 reads; delayed the watches "
        "of 0 of 2 kinds"
    )
