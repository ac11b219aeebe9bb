"""A queue has two ConfigMaps, which it removes before it goes."""

from controllerlib import Manager
from controllerlib.controller import add_finalizer, contains_finalizer, remove_finalizer
from tests.simulation.samples.definitions import (
    API,
    BY_LABEL,
    custom,
    definition,
    ensure,
    find,
    labelled,
    remove,
    report,
)

FAMILY = "work after the finalizer is gone"
NEEDS = "crash or lost reply at the removal of the finalizer of queue/a: its ConfigMaps stay"
EXPLORE = {"owner_labels": ["owner"]}
FINALIZER = "samples.example.com/queue"
PARTS = ("topic", "offsets")


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def release(queue):
            await live.update(remove_finalizer(queue, FINALIZER)[0])

        async def clean_up(request):
            for part in PARTS:
                await remove(live, "ConfigMap", f"{request.name}-{part}", request.namespace)

        async def reconcile(request):
            queue = await find(live, API, "Queue", request.name, request.namespace)
            if queue is None:
                return
            if "deletionTimestamp" in queue["metadata"]:
                if contains_finalizer(queue, FINALIZER):
                    if bug:
                        await release(queue)
                        await clean_up(request)
                    else:
                        await clean_up(request)
                        await release(queue)
                return
            queue, added = add_finalizer(queue, FINALIZER)
            if added:
                queue = await live.update(queue)
            for part in PARTS:
                name = f"{request.name}-{part}"
                await ensure(live, labelled(queue, "ConfigMap", name, data={"depth": str(queue["spec"]["depth"])}))
            await report(live, queue, depth=queue["spec"]["depth"])

        builder = manager.controller("queue").for_(API, "Queue")
        builder.watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Queue", depth="integer"))
    fakekube.start(build)

    fakekube.create(custom("Queue", depth=1))
    fakekube.create(custom("Queue", "b", depth=2))
    fakekube.advance(60)

    fakekube.delete(API, "Queue", "a")
    fakekube.advance(60)

    assert not fakekube.exists(API, "Queue", "a")
    left = [one["metadata"]["name"] for one in fakekube.list("v1", "ConfigMap")]
    assert left == ["b-offsets", "b-topic"]
