"""A user's program, checked by `mypy --strict`: lines marked with `type: ignore` must be rejected, all others accepted.

test_types.py passes it to mypy; it is not imported.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, assert_type

from controllerlib import (
    ApiError,
    BlockingClient,
    Client,
    Controller,
    ControllerOptions,
    EventRecorder,
    LeaderElection,
    LeaderElectionOptions,
    Manager,
    Reconciler,
    Request,
    Result,
    TerminalError,
    run,
)
from controllerlib.client import as_model, as_object, is_conflict
from controllerlib.controller import Predicate, Run, all_of, current_run, generation_changed
from controllerlib.leaderelection import LeaseRecord
from controllerlib.record import FakeRecorder

API = "example.com/v1"


class Widget:
    """A model class of the user."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def from_dict(cls, obj: Mapping[str, Any]) -> "Widget":
        return cls(obj["metadata"]["name"])

    def to_dict(self) -> dict[str, Any]:
        return {"apiVersion": API, "kind": "Widget", "metadata": {"name": self.name}}


async def reconcile(request: Request, client: Client) -> Result | None:
    """Uses the client in an async reconciler."""
    obj = await client.get(API, "Widget", request.name, request.namespace)
    assert_type(obj, dict[str, Any])
    assert_type(await client.list(API, "Widget", label_selector="a=b"), Sequence[dict[str, Any]])
    widget = as_model(Widget, obj)
    assert_type(widget, Widget)
    assert_type(as_object(widget), dict[str, Any])
    await client.create(widget, field_manager="me")
    await client.update({**obj, "spec": {}})
    await client.update_status(obj)
    await client.patch(widget, [{"op": "remove", "path": "/spec"}], type="json")
    await client.apply(obj, field_manager="me", force=True)
    await client.delete(API, "Widget", "name", "namespace", propagation="Foreground")
    await client.delete(obj, uid="x")
    await client.create(7)  # type: ignore[arg-type]
    await client.create("widget")  # type: ignore[arg-type]
    await client.patch(widget, {}, type="yaml")  # type: ignore[arg-type]
    await client.get(API, "Widget")  # type: ignore[call-arg]
    client.get(API, "Widget", "name")  # type: ignore[unused-coroutine]
    return Result(requeue_after=30)


async def wrong_results(request: Request) -> Result | None:
    """Results and requests are typed and immutable."""
    request.name = "other"  # type: ignore[misc]
    result = Result(requeue_after=3, priority=10)
    result.priority = 4  # type: ignore[misc]
    Result(requeue_after="soon")  # type: ignore[arg-type]
    Result(requeue_after=timedelta(seconds=3))
    Result(after=3)  # type: ignore[call-arg]
    Request("only-a-name")  # type: ignore[call-arg]
    running = current_run()
    print(running.id)  # type: ignore[union-attr]
    if running is not None:
        assert_type(running, Run)
    return result


def blocking(request: Request, client: BlockingClient) -> Result:
    """Uses the blocking client in a plain reconciler."""
    obj = client.get(API, "Widget", request.name)
    assert_type(obj, dict[str, Any])
    client.update_status({**obj, "status": {"ready": True}}, field_manager="me")
    client.update_status(obj, manager="me")  # type: ignore[call-arg]
    client.get(API, "Widget", 3)  # type: ignore[arg-type]
    return Result()


async def no_client(request: Request) -> None:
    try:
        raise TerminalError("never again")
    except ApiError as error:
        assert_type(error.reason, str)
        assert_type(error.retry_after, float | None)
        assert_type(is_conflict(error), bool)


class Widgets:
    """A reconciler object."""

    def __init__(self, events: EventRecorder) -> None:
        self.events = events

    async def reconcile(self, request: Request) -> Result | None:
        self.events.eventf({"kind": "Widget"}, None, "Normal", "Reconciled", "Reconcile", "saw %s", request)
        self.events.eventf({"kind": "Widget"}, "Normal", "Reconciled")  # type: ignore[call-arg]
        return None


async def answers_a_number(request: Request) -> int:
    return 3


def answers_a_text(request: Request) -> str:
    return "done"


async def takes_nothing() -> None: ...


def build(manager: Manager) -> None:
    """Uses the builder."""
    changed: Predicate = all_of(generation_changed)
    controller = (
        manager.controller("widget")
        .for_(API, "Widget", predicates=[changed])
        .owns("v1", "ConfigMap")
        .complete(reconcile)
    )
    assert_type(controller, Controller)
    manager.controller().for_(API, "Widget").complete(wrong_results)
    manager.controller().for_(API, "Widget").complete(blocking)
    manager.controller().for_(API, "Widget").complete(no_client)
    manager.controller().for_(API, "Widget").complete(Widgets(manager.event_recorder("widgets")))
    manager.controller().for_(API, "Widget").complete(answers_a_number)  # type: ignore[arg-type]
    manager.controller().for_(API, "Widget").complete(answers_a_text)  # type: ignore[arg-type]
    manager.controller().for_(API, "Widget").complete(takes_nothing)  # type: ignore[arg-type]
    manager.controller().for_(API, "Widget").complete(7)  # type: ignore[arg-type]
    manager.add_healthz_check("ping", lambda: None)
    assert_type(manager.client, Client)
    assert_type(manager.event_recorder("x"), EventRecorder)


class Election:
    """A custom lock of an election."""

    async def get(self) -> LeaseRecord:
        return LeaseRecord()

    async def create(self, record: LeaseRecord) -> None: ...

    async def update(self, record: LeaseRecord) -> None: ...

    def record_event(self, text: str) -> None: ...


def fakes() -> None:
    """Assigns fakes and options."""
    fake: EventRecorder = FakeRecorder(10)
    Widgets(fake)
    Widgets(7)  # type: ignore[arg-type]
    some: Reconciler = reconcile
    del some
    LeaderElection(LeaderElectionOptions("lock", lock=Election()))
    LeaderElection(LeaderElectionOptions("lock", lock=7))  # type: ignore[arg-type]
    LeaderElection(LeaderElectionOptions(namespace="x"))  # type: ignore[call-arg]
    options = ControllerOptions(max_concurrent_reconciles=4)
    options.max_concurrent_reconciles = 5  # type: ignore[misc]


def main() -> None:
    run(build, metrics_bind_address=":8080", election=None)
    run(7)  # type: ignore[arg-type]
