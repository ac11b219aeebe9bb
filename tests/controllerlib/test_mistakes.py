"""Frequent mistakes: each raises where it is made, or fails one reconcile with a clear message."""

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from controllerlib import Client, Request, Result
from controllerlib.client import as_object
from controllerlib.controller import EnqueueRequestForObject, EnqueueRequestsFromMapFunc, RequestQueue, add_finalizer
from controllerlib.controller.event import CreateEvent
from controllerlib.controller.reconcile import ReconcileError
from controllerlib.manager import GraceExpired
from controllerlib.workqueue import priority_queue
from tests.controllerlib.fakeapi import FakeApi
from tests.controllerlib.handlerlog import advance
from tests.controllerlib.objects import pod
from tests.controllerlib.rig import BACKUP, Operator, Rig, acting

TARGET = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a", "namespace": "default"}}


# --- what leaves a reconciler


async def cancelled_future() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def test_a_stray_cancellation_is_a_failed_reconcile() -> None:
    runs: list[Any] = []

    async def reconcile(request: Any) -> None:
        runs.append(request)
        if len(runs) == 1:
            await cancelled_future()

    rig = await Rig(reconcile).add("x")
    await rig.run(1)
    assert rig.at == pytest.approx([0, 0.005])
    assert [outcome.label for _, outcome in rig.notes.outcomes] == ["error", "success"]
    assert isinstance(rig.notes.outcomes[0][1].error.__cause__, asyncio.CancelledError)  # type: ignore[union-attr]
    assert rig.task is not None
    assert not rig.task.done()


async def test_a_stray_cancellation_in_a_thread() -> None:
    def reconcile(request: Any) -> None:
        raise asyncio.CancelledError

    rig = await Rig(reconcile).add("x")
    await rig.run(0.001)
    assert [outcome.label for _, outcome in rig.notes.outcomes] == ["error"]


async def test_a_stop_is_not_a_failed_reconcile() -> None:
    rig = await Rig(acting(seconds=100)).add("x")
    assert rig.task is not None
    for _ in range(2):
        rig.task.cancel()
        await advance()
    assert rig.task.cancelled()
    assert rig.notes.outcomes == []


class Fatal(BaseException):
    pass


async def cancel_itself(request: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("reconcile", "error"), [(acting(Fatal("end")), Fatal), (cancel_itself, RuntimeError)], ids=["fatal", "cancelled"]
)
async def test_a_worker_that_ends_early_ends_the_manager(reconcile: Any, error: type[BaseException]) -> None:
    operator = Operator()
    operator.controller().for_(*BACKUP).with_options(recover_panic=False).complete(reconcile)
    operator.api.put(*BACKUP, "a")
    await operator.run(1)
    assert operator.task is not None
    assert operator.task.done()
    with pytest.raises(error):
        await operator.task


@pytest.mark.parametrize(
    "make", [lambda: Result(math.nan), lambda: Result(priority="x"), lambda: ReconcileError(priority="x")]
)
async def test_an_invalid_result_is_a_failed_reconcile(make: Callable[[], Any]) -> None:
    async def reconcile(request: Any) -> Any:
        made = make()
        raise made

    rig = await Rig(reconcile).add("x")
    await rig.run(0.001)
    assert [outcome.label for _, outcome in rig.notes.outcomes] == ["error"]


def test_invalid_requeue_delays() -> None:
    assert Result(requeue_after=timedelta(minutes=2)) == Result(requeue_after=120)
    assert repr(Result(requeue_after=2)) == "Result(requeue_after=2, priority=None, requeue=False)"


async def test_requeue_after_a_timedelta() -> None:
    rig = await Rig(acting(Result(requeue_after=timedelta(minutes=2)), None)).add("x")
    await rig.run(200)
    assert rig.at == [0, 120]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("soon", TypeError),
        (True, TypeError),
        ([], TypeError),
        (math.nan, ValueError),
        (-math.inf, ValueError),
        (1e300, ValueError),
        (timedelta.max, ValueError),
    ],
    ids=str,
)
def test_invalid_requeue_types(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="requeue_after") as caught:
        Result(requeue_after=value)
    assert repr(value) in str(caught.value)


# --- what is given to the builder


def asked(answer: Any, request_type: type | None = None) -> list[Any]:
    queue = priority_queue()
    EnqueueRequestsFromMapFunc(lambda obj: answer, request_type).handle(CreateEvent(pod("a")), RequestQueue(queue))
    return list(queue.ready())


@pytest.mark.parametrize("answer", ["default/a", {"a": 1}, Request("default", "a"), [{"name": "a"}], 3])
async def test_invalid_map_results(answer: Any) -> None:
    with pytest.raises(TypeError, match=r"map function .*<lambda> must return"):
        asked(answer)


async def test_requests_of_the_wrong_type() -> None:
    assert asked(["any"]) == ["any"]
    assert asked((Request("", "a") for _ in "ab"), Request) == [Request("", "a")]
    with pytest.raises(TypeError, match="must return Request objects, not 'default/a'"):
        asked(["default/a"], Request)


async def test_the_builder_knows_the_type_of_requests() -> None:
    operator = Operator()
    handler = EnqueueRequestsFromMapFunc(lambda obj: ["default/a"])
    operator.controller("x").watches(*BACKUP, handler).complete(acting())
    operator.api.put(*BACKUP, "a")
    await operator.run(1)
    assert operator.notes.runs == []


def test_an_invalid_map_function() -> None:
    with pytest.raises(TypeError, match="EnqueueRequestsFromMapFunc needs a function, not 'x'"):
        EnqueueRequestsFromMapFunc("x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (lambda obj: [], "EnqueueRequestsFromMapFunc"),
        ("x", "no method handle"),
        (EnqueueRequestForObject, "not <class"),
    ],
)
def test_an_invalid_handler(handler: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Operator().controller("x").watches(*BACKUP, handler)


class Reconciling:
    async def reconcile(self, request: Any) -> None: ...


def three(request: Any, client: Any, more: Any) -> None: ...


def needs(request: Any, *, more: Any) -> None: ...


@pytest.mark.parametrize(
    ("reconcile", "message"),
    [
        pytest.param(lambda: None, r"<lambda>\(\) cannot be called with", id="none"),
        pytest.param(three, r"three\(request", id="three"),
        pytest.param(needs, "more", id="keyword"),
        pytest.param("x", "'x' is not callable", id="text"),
        pytest.param(Reconciling, "an instance of Reconciling", id="class"),
    ],
)
def test_an_invalid_reconciler(reconcile: Any, message: str) -> None:
    operator = Operator()
    with pytest.raises(TypeError, match=message):
        operator.controller().for_(*BACKUP).complete(reconcile)
    assert operator.controller().for_(*BACKUP).complete(acting()).name == "backup"


def variants(seen: list[Any]) -> dict[str, Any]:
    async def required(request: Any, api: Any) -> None:
        seen.append(api)

    async def named(request: Any, client: Any = None) -> None:
        seen.append(client)

    async def keyword(request: Any, *, client: Any) -> None:
        seen.append(client)

    async def defaulted(request: Any, retries: Any = 3) -> None:
        seen.append(retries)

    async def third(request: Any, retries: Any = 3, client: Any = None) -> None:
        seen.append((retries, client))

    async def some(*args: Any) -> None:
        seen.append(args[1])

    def in_a_thread(request: Any, *, client: Any) -> None:
        seen.append(client)

    found = (required, named, keyword, defaulted, third, some, in_a_thread)
    return {function.__name__: function for function in found}


@pytest.mark.parametrize("name", variants([]))
async def test_signatures_with_a_client(name: str) -> None:
    seen: list[Any] = []
    client = Client(FakeApi())
    rig = await Rig(variants(seen)[name], client=client).add("x")
    await rig.run(0.001)
    if name == "in_a_thread":
        assert [type(found).__name__ for found in seen] == ["BlockingClient"]
    else:
        assert seen == [{"defaulted": 3, "third": (3, client)}.get(name, client)]


# --- what is given to the client


def test_add_finalizer_returns_whether_it_was_added() -> None:
    with pytest.raises(TypeError, match=r"a tuple .*add_finalizer"):
        as_object(add_finalizer(pod("a"), "example.com/mine"))


async def test_a_status_patch_without_a_status() -> None:
    api = FakeApi()
    api.put(*BACKUP, "a")
    client = Client(api)
    with pytest.raises(ValueError, match=r'must be \{"status": \{\.\.\.\}\}, but its keys are phase'):
        await client.patch_status(TARGET, {"phase": "Done"})
    assert (await client.patch_status(TARGET, {"status": {"phase": "Done"}}))["status"] == {"phase": "Done"}


async def test_types_of_patches() -> None:
    api = FakeApi()
    api.put(*BACKUP, "a")
    client = Client(api)
    found = await client.patch(TARGET, {"spec": {"size": 1}}, type="application/merge-patch+json")
    assert found["spec"] == {"size": 1}
    with pytest.raises(
        ValueError, match=r"'yaml': it is one of merge, json, strategic, apply, application/merge-patch"
    ):
        await client.patch(TARGET, {}, type="yaml")  # type: ignore[arg-type]


# --- error messages


async def test_a_kind_that_is_not_served(caplog: pytest.LogCaptureFixture) -> None:
    operator = Operator()
    operator.controller("gadgets").for_("example.com/v1", "Gadget").complete(acting())
    await operator.run(1)
    assert "example.com/v1 Gadget, watched by controller gadgets: " in caplog.text


async def test_grace_expired_names_the_running_runnables() -> None:
    operator = Operator(graceful_shutdown_timeout=1.0)
    operator.controller().for_(*BACKUP).complete(acting(seconds=100))
    operator.api.put(*BACKUP, "a")
    await operator.run(1)
    with pytest.raises(GraceExpired, match=r"deadline exceeded; still running: backup \(default/a\)"):
        await operator.stop()


def test_a_request_in_percent_formats() -> None:
    request = Request("ns", "n")
    assert "reconcile %s" % request == "reconcile ns/n"  # noqa: UP031 - as many an operator's log has it


# --- objects without a namespace

WITHOUT_NAMESPACE = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
PROVIDED = "an empty namespace may not be set when a resource name is provided: Pod is a namespaced kind"
CREATION = "an empty namespace may not be set during creation: Pod is a namespaced kind"


#: A call for one object, by the verb of the API.
CALLS: dict[str, Callable[[Client, Any, str | None], Any]] = {
    "create": lambda client, obj, _: client.create(obj),
    "create of a subresource": lambda client, obj, _: client.create_subresource(obj, "eviction", {"kind": "Eviction"}),
    "get": lambda client, _, namespace: client.get("v1", "Pod", "a", namespace),
    "update": lambda client, obj, _: client.update(obj),
    "update of the status": lambda client, obj, _: client.update_status(obj),
    "update of a subresource": lambda client, obj, _: client.update_subresource(obj, "resize", obj),
    "patch": lambda client, obj, _: client.patch(obj, {}),
    "apply": lambda client, obj, _: client.apply(obj, field_manager="me"),
    "delete": lambda client, obj, _: client.delete(obj),
    "delete by name": lambda client, _, namespace: client.delete("v1", "Pod", "a", namespace),
}


@pytest.mark.parametrize("namespace", ["", None])
@pytest.mark.parametrize("call", CALLS)
async def test_one_object_of_a_namespaced_kind_needs_its_namespace(call: str, namespace: str | None) -> None:
    """client-go: requestPreflightCheck; the server would answer 405 or 404."""
    api, obj = FakeApi(), {**WITHOUT_NAMESPACE, "metadata": {"name": "a", "namespace": namespace}}
    with pytest.raises(ValueError, match=CREATION if call.startswith("create") else PROVIDED):
        await CALLS[call](Client(api), obj, namespace)
    assert [one.path for one in api.asked] == ["/api/v1"]


@pytest.mark.parametrize("namespace", ["", None])
async def test_an_object_of_a_cluster_scoped_kind_needs_none(namespace: str | None) -> None:
    client = Client(FakeApi())
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "namespace": namespace}})
    assert (await client.get("v1", "Node", "a", namespace))["metadata"]["name"] == "a"
    assert await client.list("v1", "Pod", namespace) == []
