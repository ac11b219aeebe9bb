"""One run of a test under a plan: what the test is told, who has made which change, and what the observation says."""

import asyncio
from concurrent.futures import Executor, Future

import pytest

from controllerlib import ApiError, Client, LeaderElection, LeaderElectionOptions, Result
from fakekube.simulation.explorer import Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.realism import Facts
from fakekube.simulation.scenario import ScenarioRunner, explore
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report
from tests.simulation.storeoperator import build, facts, scenario


def observed(atoms, test, seed=3, **settings):
    return ScenarioRunner(test, **settings).run(parse_plan(f"FK1 seed={seed} {atoms}"))


def prepared(fakekube, *builds, **options):
    fakekube.apply(definition("Store", size="integer"))
    for one in builds or (build,):
        fakekube.start(one, **options)


# --- what the test is told


@pytest.mark.parametrize(
    ("atoms", "calm"),
    [("", True), ("dup", False), ("order", False), ("fresh", False), ("crash@create cm/z#1", False)],
)
def test_a_run_is_calm_without_faults(atoms, calm):
    told = []
    observed(atoms, lambda fakekube: told.append(fakekube.exploration.calm))
    assert told == [calm]


@pytest.mark.parametrize(
    ("skipped", "made"),
    [
        ("", ["one", "two", "after two", "three"]),
        ("skip=one ", ["three"]),  # with the step inside of it
        ("skip=two ", ["one", "after two", "three"]),
        ("skip=one,three ", []),
        ("skip=two,three ", ["one", "after two"]),
        ("skip=other ", ["one", "two", "after two", "three"]),
    ],
)
def test_steps_are_named_in_their_order_and_left_out_by_name(skipped, made):
    def test(fakekube):
        def make(name):
            meta = {"name": name.replace(" ", "-")}
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"step": name}})

        with fakekube.exploration.step("one"):
            make("one")
            with fakekube.exploration.step("two"):
                make("two")
            make("after two")
        with fakekube.exploration.step("three"):
            make("three")
        with fakekube.exploration.step("one"):
            pass

    found = ScenarioRunner(test).run(parse_plan(f"FK1 seed=0 {skipped}dup"))
    assert found.steps == ("one", "two", "three")
    assert [one.after["data"]["step"] for one in found.commits if one.actor == "test"] == made


# --- what the end of a run says


def failing(fakekube):
    prepared(fakekube)
    fakekube.create(custom("Store", size=1))
    fakekube.advance(7)
    raise AssertionError("three is not four\nthe second line")


def test_the_failure_of_a_test_is_its_first_line_and_its_place():
    found = observed("", failing)
    assert found.failure == "AssertionError: three is not four"
    assert found.where.startswith("test_runs.py:")
    assert found.code == 'raise AssertionError("three is not four\\nthe second line")'
    assert (found.ended, found.unsettled, found.unjudged, found.mode, found.released) == (7.0, "", "", "", None)
    assert (found.violations, found.lost, found.streams, found.timeline) == ((), (), (), "")
    assert found.commits[-1].at <= 7.0 + 37.5
    assert {"store/a", "cm/a", "secret/a"} <= found.final.keys()


def test_a_run_without_a_failure_has_none():
    found = observed("", scenario)
    assert (found.failure, found.where, found.code, found.inconclusive, found.skipped) == ("", "", "", False, False)
    assert found.ended == 120.0
    assert found.cost.requests > found.cost.at_once > 0
    made = [one for one in found.reconciles if one.cause != "generic"]  # those at rest do not count
    assert (found.cost.steps, len(made)) == (len(found.deliveries) + len(made), 4)


def test_a_timeline_is_recorded_only_if_it_is_asked_for():
    assert observed("", scenario).timeline == ""
    assert observed("", scenario, with_timeline=True).timeline.startswith("{")


@pytest.mark.parametrize(
    ("atoms", "skipped"),
    [
        ("crash@create cm/a#1", False),
        ("down(until=rest)@create cm/a#1", True),
        ("pause(until=rest)@create cm/a#1", True),
        ("hold(store, create store/a#1..rest)", True),
        ("gap(store, create store/a#1..rest)", True),
        ("late(until=rest)@create cm/a#1", True),
        ("down(until=rest)@create cm/z#1", False),  # it does not take effect
        ("lost(504)@create cm/a#1", False),
    ],
)
def test_whether_operators_may_not_have_seen_each_state(atoms, skipped):
    assert observed(atoms, scenario).skipped is skipped


def test_predicates_that_do_not_hold_are_violations_of_the_run():
    def test(fakekube):
        prepared(fakekube)
        fakekube.never(lambda kube: kube.exists("v1", "Secret", "a"), "a Secret")
        fakekube.create(custom("Store", size=1))
        fakekube.advance(60)

    found = observed("", test)
    assert len(found.violations) == 1
    assert "a Secret" in found.violations[0]
    assert (found.failure, found.unsettled) == ("", "")


def test_what_an_operator_has_not_handled_in_the_background_is_lost_work():
    def test(fakekube):
        async def background():
            raise ValueError("nobody sees it")

        async def main():
            tasks.append(asyncio.create_task(background()))
            await asyncio.sleep(1)  # noqa: TID251 - the operator's own
            raise RuntimeError("the operator ends")

        tasks = []
        fakekube.task(main())
        fakekube.advance(10)

    found = observed("", test)
    assert "the operator ends" in found.failure + "".join(found.lost)


# --- who has made a change


def test_changes_are_those_of_the_test_operators_controllers_and_clients():
    def test(fakekube):
        prepared(fakekube)
        fakekube.create(custom("Store", size=1))
        fakekube.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 1}]}}
        )  # fmt: skip
        fakekube.task(client(fakekube), name="helper")
        fakekube.advance(60)

    async def client(fakekube):
        await Client(fakekube.access.transport()).create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-client", "namespace": "default"}}
        )

    found = ScenarioRunner(test, {"controllers": ["endpointslice"]}).run(parse_plan("FK1 seed=0"))
    by = {one.anchor.target: (one.actor, one.incarnation) for one in found.commits if one.anchor.verb == "create"}
    assert by["store/a"] == ("test", 0)
    assert by["cm/a"] == ("operator store", 1)
    assert by["cm/by-client"] == ("client helper", 0)
    assert {who for target, who in by.items() if target.startswith("endpointslice/")} == {("cluster", 0)}
    assert {one.operator for one in found.reconciles} == {"operator store"}, "the cluster's own are not judged"
    assert {one.operator for one in found.deliveries} == {"operator store"}


def test_reads_of_reconciles_are_places_of_faults_and_those_of_clients_are_not():
    def test(fakekube):
        prepared(fakekube, reading)
        fakekube.create(custom("Store", size=1))
        fakekube.settle()

    def reading(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            await client.get(API, "Store", request.name, request.namespace)  # from the cache
            await live.list("v1", "ConfigMap", request.namespace)
            await find(live, "v1", "Secret", "none", "prod")

        manager.controller("store").for_(API, "Store").complete(reconcile)

    assert [str(one) for one in observed("", test).reads] == ["list cm/#1", "get secret/prod/none#1"]


# --- what a test has


def election(identity):
    return LeaderElection(LeaderElectionOptions("lock", "default", identity=identity, lease_duration=16.0))


def electing(fakekube):
    prepared(fakekube, election=election("one"))
    fakekube.create(custom("Store", size=1))
    fakekube.advance(60)


def test_what_the_rules_of_legality_know_of_a_test():
    assert facts(scenario) == Facts()
    assert facts(electing).lease == 16.0


# --- operators that end by themselves


def fragile(fakekube):
    """The operator ends with an error whenever a request of it fails."""

    async def main():
        starts.append(fakekube.clock.monotonic())
        client = Client(fakekube.access.transport())
        for name in "ab":
            try:
                await client.create(
                    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}
                )
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise RuntimeError("give up") from None
        await asyncio.sleep(1e6)  # noqa: TID251 - the operator's own

    starts = []
    fakekube.task(main)
    fakekube.advance(30)
    fakekube.log_of_starts = starts


@pytest.mark.parametrize(
    ("atoms", "failure"),
    [("error(503, 1)@create secret/a#1", ""), ("error(503, 5)@create secret/a#1", ""), ("error(503, 6)@create secret/a#1", "give up")],
)  # fmt: skip
def test_an_operator_that_ends_because_of_a_fault_is_started_again_five_times(atoms, failure):
    found = observed(atoms, fragile)
    assert failure in found.failure + "".join(found.lost)
    assert bool(found.failure or found.lost) is bool(failure)
    assert ("secret/b" in found.final) is not bool(failure)


def test_an_operator_that_ends_without_a_fault_is_not_started_again():
    def test(fakekube):
        async def main():
            starts.append(1)
            raise RuntimeError("give up")

        fakekube.task(main)
        fakekube.advance(30)

    starts = []
    found = observed("crash@create cm/z#1", test)
    assert "give up" in found.failure
    assert starts == [1]


# --- a competing writer


LABELLED = "race(label)@update store/a{status.observedGeneration,status.size}#1"


@pytest.mark.parametrize(("how", "field"), [("label", "labels"), ("annotate", "annotations")])
def test_a_competing_writer_sets_a_label_or_an_annotation(how, field):
    found = observed(f"race({how})@update cm/a{{data.size}}#1", scenario)
    assert found.fired == (0,)
    (race,) = [one for one in found.commits if one.actor == "race"]
    assert race.anchor.fields == (f"metadata.{field}.fakekube.dev/race",)
    assert race.after["metadata"][field]["fakekube.dev/race"] == "1"
    later = [one.revision for one in found.commits if one.kind == "cm" and one.revision > race.revision]
    assert found.raced == (), "the operator has read the object again"
    assert later


def test_an_object_that_is_about_to_be_created_has_no_competing_writer():
    found = observed("race(label)@create cm/a#1", scenario)
    assert not [one for one in found.commits if one.actor == "race"]


def patching(live):
    """Writes without having read, so that it overwrites what others write; the test has made the object."""

    async def write(name, size):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        await live.patch(obj, {"data": {"size": str(size)}})

    return write


def with_patches(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"size": "0"}})
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"size": "0"}})

    def build(manager):
        async def reconcile(request, client):
            store = await client.get(API, "Store", request.name, request.namespace)
            for name in "ab":
                await patching(manager.api_reader)(name, store["spec"]["size"])

        manager.controller("store").for_(API, "Store").complete(reconcile)

    prepared(fakekube, build)
    fakekube.create(custom("Store", size=1))
    fakekube.advance(60)


@pytest.mark.parametrize(
    ("atoms", "raced"),
    [
        ("race(annotate)@update cm/a{data.size}#1", ["update cm/a{data.size}#1"]),
        ("race(annotate)@update cm/b{data.size}#1", ["update cm/b{data.size}#1"]),
        ("race(annotate)@update cm/z{data.size}#1", []),
        ("error(503, 1)@update cm/a{data.size}#1", []),
        ("", []),
    ],
)
def test_writes_that_were_handled_while_another_client_wrote_are_noted(atoms, raced):
    found = observed(atoms, with_patches)
    by_revision = {one.revision: str(one.anchor) for one in found.commits}
    assert [by_revision[one] for one in found.raced] == raced
    assert found.failure == ""


@pytest.mark.parametrize("how", ["504", "reset"])
def test_only_the_answer_of_the_write_is_lost(how):
    found = observed(f"lost({how})@update cm/a{{data.size}}#1", with_patches)
    errors = [one.error for one in found.reconciles if one.error]
    assert len(errors) == 1
    assert [str(one.anchor) for one in found.by_operators()] == ["update cm/a{data.size}#1", "update cm/b{data.size}#1"]


# --- what tasks read


def test_of_a_task_what_it_gets_is_a_place_of_faults_and_leases_are_none():
    def test(fakekube):
        async def main():
            client = Client(fakekube.access.transport())
            for api_version, kind in (("v1", "ConfigMap"), ("coordination.k8s.io/v1", "Lease")):
                await client.list(api_version, kind, namespace="default")
                await find(client, api_version, kind, "none", "default")
            await fakekube.clock.sleep_until(1e6)

        fakekube.task(main)
        fakekube.advance(10)

    assert [str(one) for one in observed("", test).reads] == ["get cm/none#1"]
    failing = observed("error(500, 1)@get cm/none#1", test)
    assert failing.fired == (0,)


# --- the order


def test_with_another_order_some_events_and_requests_are_late_and_each_seed_has_its_own():
    found = [observed("order", scenario, seed) for seed in range(6)]
    assert {one.failure for one in found} == {""}
    times = [tuple(one.at for one in each.by_operators()) for each in found]
    assert len(set(times)) > 1
    assert all(at % 60 < 1 for each in times for at in each)
    late = {delivery.at for each in found for delivery in each.deliveries}
    assert len(late) > 2


# --- late leaders


def test_an_old_leader_writes_when_its_lease_has_been_over_for_half_its_length():
    def test(fakekube):
        prepared(fakekube, election=election("one"))
        fakekube.start(build, name="second", election=election("two"))
        fakekube.create(custom("Store", size=1))
        fakekube.advance(120)

    found = observed("zombie@update store/a{status.observedGeneration,status.size}#1", test)
    assert found.fired == (0,)
    leaders = [one.after["spec"]["holderIdentity"] for one in found.commits if one.kind == "lease" and one.after]
    assert set(leaders) == {"one", "two"}
    assert {one.actor for one in found.by_operators() if one.kind == "store"} == {"operator second"}
    (late,) = [one for one in found.reconciles if "the object has been modified" in one.error]
    assert late.operator == "operator store"


def test_a_step_of_the_test_waits_for_a_late_leader():
    def test(fakekube):
        prepared(fakekube, election=election("one"))
        fakekube.start(build, name="second", election=election("two"))
        fakekube.advance(5)
        fakekube.create(custom("Store", size=1))
        fakekube.settle()
        told.append(fakekube.clock.monotonic())

    told = []
    observed("", test)
    observed("zombie@update store/a{status.observedGeneration,status.size}#1", test)
    assert told[0] == 5.0
    assert 5.0 + 1.5 * 16 <= told[1] < 60.0


# --- what is late, and how long


@pytest.mark.parametrize("name", ["error(503, 1)", "error(429, 1)"])
def test_after_a_failure_a_step_of_the_test_waits_for_the_retry(name):
    def test(fakekube):
        prepared(fakekube)
        fakekube.create(custom("Store", size=1))
        fakekube.settle()
        told.append((fakekube.exists("v1", "Secret", "a"), fakekube.clock.monotonic()))

    told = []
    observed("", test)
    observed(f"{name}@create cm/a#1", test)
    assert told[0] == (True, 0.0)
    assert told[1][0]
    assert 0 < told[1][1] < 2.0


def test_a_step_of_the_test_waits_two_minutes_at_most_for_what_fails_for_ever():
    def test(fakekube):
        prepared(fakekube, broken)
        fakekube.create(custom("Store", size=1))
        fakekube.settle()
        told.append(fakekube.clock.monotonic())

    def broken(manager):
        live, failed = manager.api_reader, []

        async def reconcile(request, client):
            store = await find(live, API, "Store", request.name, request.namespace)
            try:
                await ensure(live, child(store, "Secret", "a"))
            except ApiError:
                failed.append(1)
            if failed:
                raise RuntimeError("it does not recover")

        manager.controller("store").for_(API, "Store").complete(reconcile)

    told = []
    observed("", test)
    observed("error(503, 1)@create secret/a#1", test)
    assert told[0] == 0.0
    assert 120.0 <= told[1] <= 165.0


# --- two replicas at once


def test_requests_of_replicas_take_time_so_that_each_goes_on_while_the_other_waits():
    found = observed("surge(until=reconcile)@create cm/a#1", scenario)
    assert found.fired == (0,)
    assert {one.incarnation for one in found.reconciles} == {1, 2}
    first = [one.at for one in found.by_operators() if one.at < 60]
    assert max(first) > 0.0
    assert max(first) < 1.0
    assert {one.at for one in observed("", scenario).by_operators() if one.at < 60} == {0.0}


# --- the end


@pytest.mark.parametrize(
    "atom",
    [
        "hold(store, create store/a#1..create cm/never#1)",
        "down(until=create cm/never#1)@create cm/a#1",
        "pause(until=create cm/never#1)@create cm/a#1",
    ],
)
def test_what_lasts_ends_before_the_final_state_is_looked_at(atom):
    def test(fakekube):
        prepared(fakekube)
        fakekube.create(custom("Store", size=1))
        fakekube.advance(60)

    found = observed(atom, test)
    assert found.fired == (0,)
    assert {"cm/a", "secret/a"} <= found.final.keys()
    assert next(one.at for one in found.by_operators() if one.kind == "secret") == 60.0


# --- polls, and what is requeued


def test_a_reconcile_is_recorded_with_what_it_asks_for():
    def test(fakekube):
        prepared(fakekube, polling)
        fakekube.create(custom("Store", size=1))
        fakekube.advance(100)

    def polling(manager):
        async def reconcile(request, client):
            store = await client.get(API, "Store", request.name, request.namespace)
            await report(manager.api_reader, store, size=1)
            return Result(requeue_after=30.0)

        manager.controller("store").for_(API, "Store").complete(reconcile)

    found = observed("", test)
    polled = [one for one in found.reconciles if one.cause == "requeue_after"]
    assert len(polled) >= 3
    assert {one.requeue_after for one in found.reconciles} == {30.0}
    assert {(one.controller, one.key, one.operator, one.incarnation) for one in found.reconciles} == {
        ("store", "default/a", "operator store", 1)
    }


# --- without pytest


class Inline(Executor):
    """Does each job at once."""

    def submit(self, function, /, *arguments, **more):
        future = Future()
        future.set_result(function(*arguments, **more))
        return future


@pytest.mark.parametrize("executor", [None, Inline()])
def test_a_function_is_explored_on_clusters_of_ones_own(executor):
    """`explore` makes the clusters of its runs with the arguments that it is given."""
    addresses, own = [], {"service_cluster_ip_range": "10.9.0.0/24"}

    def test(fakekube):
        addresses.append(fakekube.get("v1", "Service", "kubernetes")["spec"]["clusterIP"])
        scenario(fakekube)

    found = explore(test, Settings(runs=3, faults=["crash"]), cluster=own, executor=executor)
    assert (found.runs, found.failed, len(found.trials)) == (3, None, 1)
    assert addresses == ["10.9.0.1"] * 3
