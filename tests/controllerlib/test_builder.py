"""The builder: invalid arguments, and the watches that it creates."""

import asyncio
from typing import Any

import pytest

from controllerlib.controller.event import CreateEvent, Event, UpdateEvent
from controllerlib.controller.handler import EnqueueRequestForObject, EnqueueRequestsFromMapFunc
from controllerlib.controller.invocation import Caller
from controllerlib.controller.predicate import generation_changed
from controllerlib.controller.reconcile import Request
from controllerlib.controller.source import ChannelSource
from controllerlib.manager.builder import Builder
from tests.controllerlib.rig import BACKUP, Operator, acting

DEPLOYMENT = ("apps/v1", "Deployment")
REPLICA_SET = ("apps/v1", "ReplicaSet")
OWN = EnqueueRequestForObject()


def builder(name: str = "") -> Builder:
    return Operator().controller(name)


def test_bl_01_the_name() -> None:
    assert builder().for_(*DEPLOYMENT).complete(acting()).name == "deployment"
    assert builder("mine").for_(*DEPLOYMENT).complete(acting()).name == "mine"
    assert builder().for_(*DEPLOYMENT).named("other").complete(acting()).name == "other"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(lambda: builder().for_(*DEPLOYMENT).for_(*BACKUP), "should only be called once", id="BL-02-for"),
        pytest.param(lambda: builder().watches(*BACKUP, OWN), r"one of For\(\) or Named\(\)", id="BL-02-name"),
        pytest.param(lambda: builder("x").owns(*BACKUP), r"Owns\(\) can only be used together with For\(\)",
                     id="BL-02-owns"),
        pytest.param(lambda: builder("x"), "there are no watches configured", id="BL-02-nothing"),
        pytest.param(lambda: Builder(None).for_(*BACKUP), "non-nil Manager", id="BL-02-manager"),
        pytest.param(lambda: builder().for_(*BACKUP).with_request_type(str), "reconcile.Request", id="BL-10-for"),
    ],
)  # fmt: skip
def test_invalid_builds(made: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made().build(acting())


def test_bl_02_without_a_reconciler() -> None:
    with pytest.raises(ValueError, match="non-nil Reconciler"):
        builder().for_(*BACKUP).build(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("controller", "every_owner", "runs"),
    [
        pytest.param(True, False, 2, id="BL-03-controller"),
        pytest.param(False, False, 1, id="BL-03-owner-only"),
        pytest.param(False, True, 2, id="BL-03-every-owner"),
    ],
)
async def test_owned_objects(controller: bool, every_owner: bool, runs: int) -> None:
    operator = Operator()
    operator.controller().for_(*DEPLOYMENT).owns(*REPLICA_SET, match_every_owner=every_owner).complete(acting())
    await operator.run()
    owner = operator.api.put(*DEPLOYMENT, "web")
    await operator.run(1)
    assert len(operator.notes.runs) == 1
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner["metadata"]["uid"],
                 "controller": controller}  # fmt: skip
    operator.api.put(*REPLICA_SET, "web-1", metadata={"ownerReferences": [reference]})
    await operator.run(1)
    assert operator.notes.requests() == ["default/web"] * runs


async def test_bl_04_a_map_function() -> None:
    operator = Operator()
    handler = EnqueueRequestsFromMapFunc(lambda obj: [Request("else", obj["metadata"]["name"] + "-target")])
    operator.controller("x").watches(*BACKUP, handler).complete(acting())
    operator.api.put(*BACKUP, "a")
    await operator.run()
    assert operator.notes.requests() == ["else/a-target"]


def only(kind: str) -> Any:
    return lambda event: (event.new if isinstance(event, UpdateEvent) else event.obj)["kind"] != kind


@pytest.mark.parametrize(
    ("on_for", "on_all", "requests"),
    [
        pytest.param(True, False, ["default/channel", "default/owner"], id="BL-05-for-only"),
        pytest.param(False, True, ["default/channel"], id="BL-05-global"),
    ],
)
async def test_predicates(on_for: bool, on_all: bool, requests: list[str]) -> None:
    def no_create(event: Event) -> bool:
        return not isinstance(event, CreateEvent) and type(event).__name__ != "GenericEvent"

    operator, channel = Operator(), ChannelSource(OWN)
    made = operator.controller().for_(*DEPLOYMENT, predicates=[no_create] if on_for else [])
    made.owns(*REPLICA_SET).watches_raw_source(channel)
    if on_all:
        made.with_event_filter(no_create)
    made.complete(acting())
    operator.api.put(*DEPLOYMENT, "for")
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": "u", "controller": True}
    operator.api.put(*REPLICA_SET, "child", metadata={"ownerReferences": [reference]})
    from controllerlib.controller.event import GenericEvent

    channel.send(GenericEvent({"metadata": {"namespace": "default", "name": "channel"}}))
    await operator.run()
    assert sorted(operator.notes.requests()) == requests


def test_bl_06_workers_for_a_kind() -> None:
    operator = Operator(group_kind_concurrency={"Backup.example.com": 5, "Pod": 3})
    by_kind = operator.controller("a").for_(*BACKUP).complete(acting())
    explicit = operator.controller("b").for_(*BACKUP).with_options(max_concurrent_reconciles=1).complete(acting())
    core = operator.controller("c").for_("v1", "Pod").complete(acting())
    other = operator.controller("d").for_(*DEPLOYMENT).complete(acting())
    found = [controller.options.max_concurrent_reconciles for controller in (by_kind, explicit, core, other)]
    assert found == [5, 1, 3, 1]
    for number, workers in ((0, 5), (-1, 5), (None, 5)):
        made = operator.controller(f"e{number}").for_(*BACKUP).with_options(max_concurrent_reconciles=number)
        controller = made.complete(acting())
        assert controller.options.max_concurrent_reconciles == workers


async def test_bl_07_two_controllers_share_an_informer() -> None:
    operator = Operator()
    for name in ("first", "second"):
        operator.controller(name).for_(*BACKUP).complete(acting())
    operator.api.put(*BACKUP, "a")
    await operator.run()
    assert [operator.notes.requests("first"), operator.notes.requests("second")] == [["default/a"]] * 2
    assert len(operator.api.requests("watch")) == 1


def test_bl_08_the_same_name_twice() -> None:
    operator = Operator()
    operator.controller().for_(*BACKUP).complete(acting())
    with pytest.raises(ValueError, match="backup already exists"):
        operator.controller().for_(*BACKUP).complete(acting())
    operator.controller().for_(*BACKUP).with_options(skip_name_validation=True).complete(acting())


async def test_bl_09_metadata_only() -> None:
    operator = Operator()
    for name in ("first", "second"):
        operator.controller(name).for_(*BACKUP, only_metadata=True).complete(acting())
    operator.controller("full").for_(*BACKUP).complete(acting())
    await operator.run()
    informers = operator.manager.cache.informers.all()
    assert [(informer.resource.kind, informer.form) for informer in informers] == [
        ("Backup", "metadata"),
        ("Backup", "structured"),
    ]


async def test_bl_10_requests_of_another_type() -> None:
    operator = Operator()
    handler = EnqueueRequestsFromMapFunc(lambda obj: [("any", "hashable", obj["metadata"]["name"])])
    operator.controller("x").with_request_type(tuple).watches(*BACKUP, handler).complete(acting())
    operator.api.put(*BACKUP, "a")
    await operator.run()
    assert [run.request for run in operator.notes.runs] == [("any", "hashable", "a")]


async def test_the_client_of_a_reconciler_has_its_own_user_agent() -> None:
    agents: list[str] = []

    async def reconcile(request: Any, client: Any) -> None:
        agents.append(client.user_agent)
        await client.patch_status(
            {"apiVersion": "example.com/v1", "kind": "Backup",
             "metadata": {"namespace": request.namespace, "name": request.name}},
            {"status": {"done": True}},
        )  # fmt: skip

    operator = Operator(user_agent="my-operator")
    made = operator.controller().for_(*BACKUP, predicates=[generation_changed])
    made.complete(reconcile)
    operator.api.put(*BACKUP, "a")
    await operator.run()
    assert agents == ["my-operator/backup"]
    assert operator.api.requests("patch")[0].user_agent == "my-operator/backup"
    assert asyncio.get_running_loop().time() == 0


def test_the_class_of_a_reconciler_is_not_a_reconciler() -> None:
    class Gardener:
        async def reconcile(self, request: Request) -> None: ...

    with pytest.raises(TypeError, match="a reconciler must be an instance of Gardener, not the class"):
        Caller(Gardener, None, 1)
    Caller(Gardener(), None, 1)
