"""What changes in a declared external API is recorded with its author, and faults are anchored there."""

import re

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.externalitems import ExternalItems
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples import SAMPLES
from tests.simulation.samples.definitions import API, custom, definition, find, report
from tests.simulation.storeoperator import ran

SAMPLE = SAMPLES["call_before_record"]


def correct(fakekube):
    SAMPLE.scenario(fakekube, SAMPLE.make(False))


def forgetful(fakekube):
    SAMPLE.scenario(fakekube, SAMPLE.make(True))


def outside(observed):
    """The changes of external APIs: who, which incarnation, what."""
    return [(one.actor, one.incarnation, str(one.anchor)) for one in observed.commits if one.kind == "external"]


A, B = "create external/accounts/a#1", "create external/accounts/b#1"
CLOSED = "delete external/accounts/b#1"


def test_changes_of_an_external_api_are_those_of_the_operator():
    operator = "operator tenant"
    assert outside(ran("", correct)[0]) == [(operator, 1, A), (operator, 1, B), (operator, 1, CLOSED)]


def test_an_operator_that_crashes_after_an_external_call_has_written_nothing_after_it():
    observed = ran(f"crash@{A}", correct)[0]
    assert observed.fired == (0,)
    after = [one for one in observed.commits if one.by_operator][1:]
    assert str(after[0].anchor) == A
    assert after[0].incarnation == 1
    assert {one.incarnation for one in after[1:]} == {2}


@pytest.mark.slow
@pytest.mark.parametrize("atoms", [f"crash@{A}", f"down(until=create tenant/b#1)@{A}"])
def test_an_account_is_opened_twice_by_an_operator_that_does_not_look_for_it(atoms):
    for scenario, oracles in ((correct, []), (forgetful, ["O3", "O6"])):
        runner = ScenarioRunner(scenario)
        explorer = Explorer(runner.run, Settings(), lambda runner=runner: runner.facts)
        judge = explorer.reference()[1]
        found = judge.violations(explorer.observe(parse_plan(f"FK1 seed=0 {atoms}")))
        assert [one.oracle for one in found] == oracles


def test_a_paused_operator_makes_no_request_after_an_external_call():
    observed = ran(f"pause(until=create tenant/b#1)@{A}", forgetful)[0]
    assert observed.fired == (0,)
    changes = [str(one.anchor) for one in observed.commits if not one.rest]
    at = changes.index(A)
    assert changes[at + 1] == "create tenant/b#1"
    assert changes.count(A) == 1
    assert not observed.failure


def buckets(fakekube):
    """The test and the operator make buckets; the last request of a reconcile is before that."""
    made = fakekube.exploration.external("buckets", ["old"])
    fakekube.apply(definition("Vault", size="integer"))

    def build(manager):
        async def reconcile(request):
            vault = await find(manager.api_reader, API, "Vault", request.name, request.namespace)
            if vault is not None and f"of {request.name}" not in made:
                await report(manager.api_reader, vault, size=1)
                made.append(f"of {request.name}")

        manager.controller("vault").for_(API, "Vault").complete(reconcile)

    fakekube.start(build)
    fakekube.create(custom("Vault", size=1))
    fakekube.settle()
    made.append("by the test")
    fakekube.advance(60)


def test_changes_are_distinguished_and_what_there_was_is_no_change():
    made = [
        ("operator vault", 1, "create external/buckets/of_a#1"),
        ("test", 0, "create external/buckets/by_the_test#1"),
    ]
    assert outside(ran("", buckets)[0]) == made
    assert ran("", buckets)[0].external == (
        "external/buckets/old", "external/buckets/of_a", "external/buckets/by_the_test"
    )  # fmt: skip


def test_an_operator_crashes_after_the_last_call_of_its_reconcile():
    observed = ran("crash@create external/buckets/of_a#1", buckets)[0]
    assert observed.fired == (0,)
    assert {one.incarnation for one in observed.reconciles} == {1, 2}


def test_the_replay_of_a_crash_after_an_external_call_is_the_same_to_the_byte():
    assert ran(f"crash@{A}", forgetful) == ran(f"crash@{A}", forgetful)


class Bucket:
    """Its text has its address."""


def test_what_differs_between_correct_runs_is_left_out_of_an_item():
    items = ["2e6ab0a6-5c2d-4b6e-9f0e-0d7a3c1b2f4d-data", "backup-2026-01-01T00:00:37Z", "b 20260101-000037", Bucket()]
    made = ExternalItems()
    made.declare("a b", items)
    assert list(made.targets())[:3] == ["external/a_b/*-data", "external/a_b/backup-*", "external/a_b/b_*"]
    assert re.fullmatch(r"external/a_b/<.*Bucket_object\*>", made.targets()[3])


def test_equal_items_are_counted():
    items = ["a", "a"]
    made = ExternalItems()
    made.declare("b", items)
    items.append("a")
    assert list(made.changes()) == [("create", "external/b/a")]
    del items[:2]
    assert list(made.changes()) == [("delete", "external/b/a")] * 2
    assert list(made.changes()) == []
