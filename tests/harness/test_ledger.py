"""Every reconcile with its causes, and what is in the queues."""

import asyncio
import time
from datetime import timedelta

import pytest

from controllerlib import Request, Result, TerminalError
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, every, failing, nothing, stamping


def test_before_anything_happened(fakekube):
    controller = fakekube.start(build(nothing))["minder"]
    assert (controller.reconciles(), controller.keys(), controller.history()) == (0, [], [])
    assert (controller.ready, controller.processing, controller.waiting) == ([], [], {})
    assert controller.next_due("default/a") is None
    with pytest.raises(LookupError, match="'minder' has not reconciled default/a yet"):
        controller.last("default/a")


def test_causes_of_all_sorts(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing), sync_period=3600)["minder"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.settle()
    fakekube.advance(hours=1)
    controller.enqueue("default/a")
    fakekube.settle()
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.settle()
    assert controller.causes("default/a") == ["added", "updated", "resync", "generic", "deleted"]


def test_merged_causes_are_one_reconcile(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    controller.enqueue("default/a")
    fakekube.settle()
    last = controller.last()
    assert last.cause == "generic+updated"
    assert [cause.kind for cause in last.causes] == ["generic", "updated", "updated"]
    versions = [obj["metadata"]["resourceVersion"] for _, obj in fakekube.state.versions("v1", "ConfigMap", "a")]
    assert [cause.resource_version for cause in last.causes if cause.kind == "updated"] == versions[1:]


def test_a_cut_watch_with_nothing_lost_causes_nothing(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.advance(seconds=10)
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.settle()
    fakekube.faults.cut_watches()
    fakekube.advance(minutes=1)
    assert controller.causes() == ["added", "updated"]
    assert len(fakekube.requests(verb="watch")) == 2


def test_a_watch_that_ends_at_once_causes_a_new_list(fakekube):
    """As in client-go: a watch that ends within a second without an event is not resumed."""
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.faults.cut_watches()
    fakekube.advance(minutes=1)
    assert controller.causes() == ["added", "relist"]


def test_a_compacted_history_causes_a_new_list(fakekube):
    fakekube.apply(config_map("a"), config_map("b"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.settle()
    fakekube.faults.cut_watches()
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    fakekube.faults.compact()
    fakekube.advance(minutes=1)
    assert controller.causes("default/a") == ["added", "updated", "updated"]
    assert controller.causes("default/b") == ["added"] or controller.causes("default/b") == ["added", "relist"]
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"x": "2"}
    assert any(entry.actor == "controllerlib" for entry in fakekube.timeline)


def test_failures_retries_and_exceptions(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(failing(2)))["minder"]
    assert controller.results() == ["error"]
    assert controller.failures("default/a") == 1
    assert controller.next_due("default/a") == timedelta(milliseconds=5)
    fakekube.advance(1)
    assert controller.results() == ["error", "error", "success"]
    assert [str(error) for error in controller.errors()] == ["it failed", "it failed"]
    assert [reconcile.retries for reconcile in controller.history()] == [0, 1, 2]
    assert [reconcile.after for reconcile in controller.history()] == [
        timedelta(milliseconds=5),
        timedelta(milliseconds=10),
        None,
    ]
    assert controller.failures("default/a") == 0


def test_a_terminal_error_is_not_retried(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(failing(9, TerminalError("never"))))["minder"]
    fakekube.advance(hours=1)
    assert controller.results() == ["error"]
    assert controller.next_due("default/a") is None


def test_waiting_keys_and_when_they_are_due(fakekube):
    fakekube.apply(config_map("a"), config_map("b"))
    controller = fakekube.start(build(every(60)))["minder"]
    fakekube.advance(20)
    assert controller.waiting == {"default/a": timedelta(seconds=40), "default/b": timedelta(seconds=40)}
    assert controller.next_due("default/a") == timedelta(seconds=40)
    assert controller.ready == []


def test_ready_and_processing_keys(fakekube):
    async def long(request):
        await asyncio.sleep(30)

    fakekube.apply(config_map("a"), config_map("b"))
    controller = fakekube.start(build(long))["minder"]
    assert (controller.processing, controller.ready) == (["default/a"], ["default/b"])
    assert fakekube.ledger.running("minder") == ["default/a"]
    assert controller.next_due("default/b") == timedelta(0)
    assert controller.reconciles() == 0
    fakekube.advance(60)
    assert [reconcile.duration for reconcile in controller.history()] == [timedelta(seconds=30)] * 2
    assert [reconcile.waiting for reconcile in controller.history()] == [timedelta(0), timedelta(seconds=30)]


@pytest.mark.fakekube(detect={"reconcile-error": "off"})
def test_a_line_of_the_timeline_does_not_change(fakekube):
    error = RuntimeError("at first")

    async def fails(request):
        raise error

    fakekube.apply(config_map("a"))
    fakekube.start(build(fails))
    before = fakekube.timeline.render()
    error.args = ("later",)
    assert "failed: at first" in before
    assert fakekube.timeline.render() == before


def test_two_concurrent_replicas_are_distinguished(fakekube):
    def replica(seconds):
        async def slow(request, client):
            await asyncio.sleep(seconds)
            await client.patch(config_map(request.name), {"data": {f"after-{seconds}": "x"}})

        return build(slow)

    fakekube.apply(config_map("a"))
    fakekube.start(replica(30))
    fakekube.start(replica(20))
    assert fakekube.ledger.running("minder") == ["default/a"] * 2
    fakekube.advance(35)
    first, second = list(fakekube.ledger)[:2]
    assert (first.duration, second.duration) == (timedelta(seconds=20), timedelta(seconds=30))
    assert all(len(reconcile.writes) == 1 for reconcile in (first, second))


def test_a_reconcile_knows_its_writes(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(stamping(seen="yes")))["minder"]
    (write,) = controller.history()[0].writes
    assert (write.verb, write.path, write.code) == ("update", "/api/v1/namespaces/default/configmaps/a", 200)
    assert int(write.after) == int(write.before) + 1


def test_the_result_and_the_number_of_each_run(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(every(60)))["minder"]
    fakekube.advance(60)
    first, second = controller.history()
    assert (first.number, second.number) == (1, 2)
    assert first.result == Result(requeue_after=60)
    assert second.started - first.started == timedelta(minutes=1)
    assert str(second) == "minder default/a #2 [requeue_after] requeue_after"


def test_several_controllers_and_operators_are_distinguished(fakekube):
    fakekube.apply(config_map("a"))
    one = fakekube.start(build(nothing, "one"))
    two = fakekube.start(build(every(60), "two"))
    fakekube.advance(60)
    assert (one["one"].reconciles(), two["two"].reconciles()) == (1, 2)
    assert list(one) == ["one"]
    assert len(fakekube.ledger) == 3
    with pytest.raises(KeyError, match=r"no controller 'two'.*controllers: 'one'"):
        one["two"]


def test_an_operator_that_is_not_started_can_be_inspected(fakekube):
    operator = engine_of(fakekube).operators.make(build(nothing))
    assert not operator.is_running
    assert "not started" in repr(operator)
    assert operator["minder"].ready == []
    assert operator["minder"].failures("default/a") == 0
    with pytest.raises(RuntimeError, match="no queue before it is started"):
        operator["minder"].enqueue("default/a")


def test_a_stopped_operator_does_nothing_more(fakekube):
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(every(60)))
    fakekube.advance(60)
    fakekube.stop(operator)
    fakekube.advance(hours=1)
    assert operator["minder"].reconciles() == 2
    assert not operator.is_running
    assert "stopped" in repr(operator)


async def test_stopping_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    operator = await fakekube.start(build(every(60)))
    await fakekube.stop(operator)
    await fakekube.advance(hours=1)
    assert operator["minder"].reconciles() == 1


def test_an_operator_may_be_started_again(fakekube):
    fakekube.apply(config_map("a"))
    first = fakekube.start(build(nothing))
    fakekube.stop(first)
    second = fakekube.start(build(nothing))
    assert second["minder"].causes()[-1] == "added"


def test_a_sync_reconciler_runs_in_a_thread_under_the_clock(fakekube):
    def reconcile(request: Request):
        time.sleep(5)
        return Result(requeue_after=60)

    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(reconcile))["minder"]
    fakekube.advance(seconds=70)
    assert controller.times() == [timedelta(0), timedelta(seconds=65)]
    assert controller.last().duration == timedelta(seconds=5)


def test_row1_two_replicas_have_histories_of_their_own(fakekube):
    fakekube.apply(config_map("a"))
    one = fakekube.start(build(every(60)))
    two = fakekube.start(build(every(60)))
    idle = engine_of(fakekube).operators.make(build(every(60)))
    fakekube.advance(60)
    fakekube.stop(one)
    fakekube.advance(60)
    assert [operator.name for operator in (one, two, idle)] == ["minder", "minder-2", "minder-3"]
    assert [operator["minder"].reconciles() for operator in (one, two, idle)] == [2, 3, 0]
    assert two["minder"].times("default/a") == [timedelta(0), timedelta(minutes=1), timedelta(minutes=2)]
    assert [(r.operator, r.incarnation) for r in one["minder"].history()] == [("minder", 1)] * 2
    with pytest.raises(LookupError, match="has not reconciled"):
        idle["minder"].last()


def test_row1_an_operator_started_again_does_not_have_the_history_of_the_first(fakekube):
    fakekube.apply(config_map("a"))
    first = fakekube.start(build(every(60)))
    fakekube.advance(minutes=5)
    fakekube.stop(first)
    second = fakekube.start(build(every(60)))
    assert (first["minder"].reconciles(), second["minder"].reconciles()) == (6, 1)
    assert second["minder"].last().number == 1


def test_row1_the_ledger_is_filtered_by_operator_and_incarnation(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(every(60)), name="db")
    fakekube.start(build(every(30)), name="other")
    fakekube.advance(60)
    ledger = fakekube.ledger
    assert [len(ledger.reconciles("minder", operator=name)) for name in ("db", "other", "")] == [2, 3, 5]
    assert len(ledger.reconciles(operator="db", incarnation=1)) == 2
    assert ledger.reconciles("minder", operator="db", incarnation=2) == []


def test_row1_reconciles_that_run_are_those_of_one_operator(fakekube):
    async def long(request):
        await asyncio.sleep(30)

    fakekube.apply(config_map("a"))
    fakekube.start(build(long), name="db")
    fakekube.start(build(nothing), name="other")
    assert fakekube.ledger.running("minder", operator="db") == ["default/a"]
    assert fakekube.ledger.running("minder", operator="other") == []
    fakekube.advance(30)
    assert fakekube.ledger.running("minder", operator="db") == []


def test_row1_the_log_and_the_timeline_name_the_operator_where_names_are_ambiguous(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(nothing), name="db")
    assert " minder/0 default/a #1" in fakekube.log()
    fakekube.start(build(nothing), name="db-2")
    log, actors = fakekube.log(), [entry.actor for entry in fakekube.timeline]
    assert [f" {lane}/0 default/a #1" in log for lane in ("db/minder", "db-2/minder")] == [True, True]
    assert [lane for lane in actors if "minder" in lane] == ["db/minder", "db-2/minder"]


def test_row1_an_operator_has_a_unique_name(fakekube):
    assert engine_of(fakekube).operators.make(build(nothing), name="db").name == "db"
    with pytest.raises(ValueError, match=r"name='db' is in use by another operator \(in use: db\)"):
        engine_of(fakekube).operators.make(build(nothing), name="db")
    unnamed = engine_of(fakekube).operators.make(build(nothing, "db"))
    assert (unnamed.name, unnamed.incarnation) == ("db-2", 1)
    assert repr(unnamed) == "<Operator db-2: db not started>"


@pytest.mark.fakekube(controllers=["deployment", "replicaset"])
def test_row1_the_controllers_of_the_cluster_are_one_operator(fakekube):
    fakekube.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
    )
    fakekube.settle()
    assert {(r.operator, r.incarnation) for r in fakekube.ledger} == {("cluster", 1)}
    controller = fakekube.controllers["deployment"]
    assert controller.reconciles() == len(fakekube.ledger.reconciles(controller.name)) > 1
