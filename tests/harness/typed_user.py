"""A user's tests, as type checkers see them: what is marked wrong must be rejected, everything else accepted.

Not imported by any test: test_types.py gives it to mypy and pyright.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, assert_type

from controllerlib import Manager, Request, Result
from fakekube import ControllerView, FakeKube, FaultRule, HotLoop, Operator, Reconcile, Records, RequestRecord, User
from fakekube.harness.engine import engine_of


def build(manager: Manager) -> None:
    async def reconcile(request: Request) -> Result | None:
        return Result(requeue_after=60)

    manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)


def test_time(fakekube: FakeKube) -> None:
    fakekube.advance(60)
    fakekube.advance("1h30m")
    fakekube.advance(timedelta(hours=1))
    fakekube.advance(hours=1, minutes=30)
    fakekube.advance(hour=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.advance(hours="1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fakekube.advance_to(datetime(2027, 1, 1, tzinfo=UTC))
    fakekube.advance_until(lambda: True, timeout="1h")
    fakekube.advance_until(True, timeout="1h")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    engine_of(fakekube).bubble.advance(hour=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_an_operator(fakekube: FakeKube) -> None:
    operator = assert_type(fakekube.start(build, sync_period="10h", user="alice"), Operator)
    fakekube.start(build, sync_perod=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.start(build, sync_period=[])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    engine_of(fakekube).operators.make(build, service_acount="a/b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    view = assert_type(operator["minder"], ControllerView)
    assert_type(view.history("default/a"), Records[Reconcile])
    assert_type(view.reconciles(Request("a", "default")), int)
    view.reconciles(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(view.times(), list[timedelta])


def test_faults(fakekube: FakeKube) -> None:
    with fakekube.fault(verb="update", resource="configmaps", error=409, times=1) as fault:
        assert_type(fault, FaultRule)
    fakekube.fault(error=409, tiems=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.fault(error="409")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_records(fakekube: FakeKube) -> None:
    assert_type(fakekube.requests(verb="update", code=409), Sequence[RequestRecord])
    fakekube.requests(nonsense=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.requests(code="409")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fakekube.events(reason="Synced")
    fakekube.events(raeson="Synced")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(fakekube.log(), str)


def test_objects(fakekube: FakeKube) -> None:
    found = fakekube.get("v1", "ConfigMap", "a")
    assert_type(found, dict[str, Any])
    fakekube.delete("v1", "ConfigMap", "a", propagationPolicy="Foreground")
    fakekube.delete("v1", "ConfigMap", "a", propagation="Foreground")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.list("v1", "ConfigMap", None, label_selector={"app": "web"})
    fakekube.list("v1", "ConfigMap", lable_selector="")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_state(fakekube: FakeKube, fakekube_module: FakeKube) -> None:
    saved = fakekube.state.snapshot()
    fakekube_module.state.restore(saved)
    fakekube.state.restore("saved")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(fakekube.state.force({"apiVersion": "v1", "kind": "Pod"}), dict[str, Any])
    assert_type(fakekube.state.load("deploy/", Path("more.yaml")), list[dict[str, Any]])
    fakekube.state.load(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(fakekube.state.export("state.yaml", kinds=["Pod"], namespace="a", clean=True), str)
    fakekube.state.export(kind=["Pod"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.state.assert_golden("golden.yaml", ignore=["status"], unmasked=["times"])
    fakekube.state.assert_golden("golden.yaml", ignored=["status"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(fakekube.state.versions("v1", "Pod", "a")[0][0], datetime)
    assert_type(fakekube.state.diff("v1", "Pod", "a"), str)


def add(first: int, second: int) -> None:
    print(first + second)


def test_processes_and_threads(fakekube: FakeKube) -> None:
    fakekube.run_process(["kubectl", "get", "ns"], env={"A": "b"}, timeout=10)
    fakekube.run_process(["kubectl", "get", "ns"], tiemout=10)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fakekube.thread(add, 1, 2, name="adder")
    fakekube.thread(add, 1, kwargs={"second": 2})
    fakekube.thread(add, 1, "2")  # pyright: ignore[reportCallIssue]


def test_a_cluster() -> None:
    with FakeKube(seed=1, rbac=True, transport="tcp") as fakekube:
        fakekube.access.transport(user=User("alice", groups=("dev",)))
    FakeKube(sed=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    FakeKube(transport="pigeon")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert issubclass(HotLoop, Exception)
