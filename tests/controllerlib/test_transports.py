"""One operator over all transports, async and blocking: the reconciles and their causes are the same."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from controllerlib import Client, ControllerOptions, Manager, Request, Result
from controllerlib.client.http import HttpTransport
from controllerlib.client.komega import eventually
from fakekube import FakeKube
from tests.clients.servers import standalone
from tests.controllerlib.gardening import awaiting, blocking, garden
from tests.controllerlib.things import API, CRD, KIND, create_things, expire_watches, resize, thing

pytestmark = pytest.mark.slow

SHAPES: Mapping[str, Callable[..., Any]] = {"async": awaiting, "sync": blocking}
QUEUES = {"priority-queue": True, "plain-queue": False}


def season(kube: FakeKube) -> None:
    """Change the Things during three virtual hours."""
    kube.advance(minutes=7)
    resize(kube, "a", 3)
    kube.advance(seconds=30)
    kube.delete("v1", "ConfigMap", "b-bed-0")
    kube.create(thing("d", size=2))
    kube.advance(minutes=32)
    kube.faults.cut_watches()
    kube.delete(API, KIND, "c")
    kube.advance(minutes=20)
    expire_watches(kube)
    for size in range(2, 6):
        resize(kube, "d", size)
    kube.advance(hours=2)


def chronicle(kube: FakeKube, shape: str, queue: str) -> Mapping[str, Any]:
    """Run the operator; return its reconciles and the remaining objects."""
    create_things(kube, "a", "b", "c", "lost")
    build = garden(SHAPES[shape], use_priority_queue=QUEUES[queue], max_concurrent_reconciles=2)
    gardener = kube.start(build, sync_period=3_000.0)["gardener"]
    season(kube)
    return {
        "runs": {key: _runs(gardener, key) for key in gardener.keys()},  # noqa: SIM118  a view, no mapping
        "due": {key: gardener.next_due(key) for key in gardener.keys()},  # noqa: SIM118
        "order": [(run.key, run.worker) for run in gardener.history()],
        "requests": [(r.at, r.verb, r.path, r.code) for r in kube.requests() if "gardener" in r.user_agent],
        "objects": left(kube.list(API, KIND), kube.list("v1", "ConfigMap")),
    }


def _runs(gardener: Any, key: str) -> list[Any]:
    return [
        (run.started, run.duration, run.cause, run.label, str(run.error or ""), run.after)
        for run in gardener.history(key)
    ]


def left(plots: Any, beds: Any) -> Mapping[str, Any]:
    """Return the relevant part of the objects."""
    return {
        "plots": {p["metadata"]["name"]: (p["spec"]["size"], p.get("status")) for p in plots},
        "beds": sorted(bed["metadata"]["name"] for bed in beds if "-bed-" in bed["metadata"]["name"]),
    }


@pytest.mark.parametrize("queue", QUEUES)
def test_transport_and_kind_of_reconciler_make_no_difference(queue: str) -> None:
    seen: dict[tuple[str, str], Any] = {}
    for transport in ("direct", "memory", "tcp"):
        for shape in SHAPES:
            with FakeKube(seed=1, transport=transport, stepped=True, detect={"all": "off"}) as kube:  # type: ignore[arg-type]
                seen[transport, shape] = chronicle(kube, shape, queue)
    first = seen["direct", "async"]
    causes = {
        cause for runs in first["runs"].values() for _, _, all_causes, *_ in runs for cause in all_causes.split("+")
    }
    assert causes >= {"added", "updated", "deleted", "requeue_after", "retry", "resync", "relist"}
    assert sum(map(len, first["runs"].values())) > 60
    for found in seen.values():
        assert found["runs"] == first["runs"]
        assert found == first


def rivals(make: Callable[[str], Any]) -> Callable[[Manager], None]:
    """Three controllers that write to the same objects from their caches."""

    def build(manager: Manager) -> None:
        for name in ("one", "two", "three"):
            builder = manager.controller(name).for_(API, KIND)
            builder.with_options(ControllerOptions(max_concurrent_reconciles=2)).complete(make(name))

    return build


def marked(name: str, found: Any) -> Any:
    """Return the object with the mark of a controller for its size; None if it has it."""
    marks, size = found["metadata"].get("annotations") or {}, str(found["spec"]["size"])
    if marks.get(name) == size:
        return None
    return {**found, "metadata": {**found["metadata"], "annotations": {**marks, name: size}}}


def awaiting_rival(name: str) -> Any:
    async def reconcile(request: Request, client: Any) -> Result:
        found = await client.get(API, KIND, request.name, request.namespace)
        for number in range(3 if name == "one" else 0):  # controllers with more work are not slower
            await client.patch_status(found, {"status": {f"step-{number}": "done"}})
        if wanted := marked(name, found):
            await client.update(wanted)
        return Result(requeue_after=60)

    return reconcile


def blocking_rival(name: str) -> Any:
    def reconcile(request: Request, client: Any) -> Result:
        found = client.get(API, KIND, request.name, request.namespace)
        for number in range(3 if name == "one" else 0):
            client.patch_status(found, {"status": {f"step-{number}": "done"}})
        if wanted := marked(name, found):
            client.update(wanted)
        return Result(requeue_after=60)

    return reconcile


def test_conflicting_controllers_run_in_the_same_order() -> None:
    seen: list[Any] = []
    for transport in ("direct", "memory", "tcp"):
        for make in (awaiting_rival, blocking_rival):
            with FakeKube(seed=1, transport=transport, detect={"all": "off"}) as kube:  # type: ignore[arg-type]
                create_things(kube, "a", "b", "c")
                kube.start(rivals(make))
                kube.advance(minutes=3)
                resize(kube, "a", 5)
                kube.advance(minutes=3)
                runs = [(r.controller, r.worker, r.key, r.cause, r.started, str(r.error or "")) for r in kube.ledger]
                seen.append((runs, kube.list(API, KIND)))
    assert any("the object has been modified" in error for *_, error in seen[0][0])
    assert all(one == seen[0] for one in seen)


def test_over_https_with_a_token_the_result_is_the_same(tmp_path: Path) -> None:
    """A server in another process in real time: other reconciles, the same final state."""
    with FakeKube(seed=1, detect={"all": "off"}) as kube:
        create_things(kube, "a", "b", "c")
        kube.start(garden(awaiting))
        resize(kube, "a", 3)
        kube.delete(API, KIND, "c")
        kube.advance(minutes=1)
        wanted = left(kube.list(API, KIND), kube.list("v1", "ConfigMap"))
    assert wanted["beds"] == ["a-bed-0", "a-bed-1", "a-bed-2", "b-bed-0"]
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('gardener-token,admin,admin-uid,"system:masters"\n')
    options = ("--tls", "--token-auth-file", str(tokens), "--authorization-mode", "RBAC")
    with standalone(tmp_path, *options) as server:
        assert server.url.startswith("https://")
        assert asyncio.run(_real_season(server.kubeconfig)) == wanted


async def _real_season(kubeconfig: Path) -> Mapping[str, Any]:
    manager = Manager(HttpTransport.from_kubeconfig(str(kubeconfig)))
    client: Client = manager.api_reader
    await client.create(CRD)
    for name in ("a", "b", "c"):
        await client.create(thing(name))
    garden(awaiting)(manager)
    running = asyncio.create_task(manager.start())

    async def state() -> Mapping[str, Any]:
        plots, beds = await client.list(API, KIND), await client.list("v1", "ConfigMap", "default")
        return left(plots, beds)

    def is_settled(found: Mapping[str, Any]) -> bool:
        return all(status == {"beds": size, "size": size} for size, status in found["plots"].values())

    await eventually(state, is_settled, within=30)
    await client.patch(thing("a"), {"spec": {"size": 3}})
    await client.delete(API, KIND, "c", "default")
    found = await eventually(state, lambda s: is_settled(s) and len(s["plots"]) == 2, within=30)
    running.cancel()
    await asyncio.wait([running])
    await client.aclose()
    return found
