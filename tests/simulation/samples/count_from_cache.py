"""A pool keeps a number of pods."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, custom, definition, discard, find, pod, report

FAMILY = "counting children from a cache that lacks one's own creates"
NEEDS = "the watch of pods is late from `create pod/a-*` until the next reconcile: more pods are created than wanted"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request, client):
            pool = await find(live, API, "Pool", request.name, request.namespace)
            if pool is None:
                return
            wanted, reader = pool["spec"]["replicas"], client if bug else live
            listed = await reader.list("v1", "Pod", request.namespace, label_selector=f"owner={request.name}")
            pods = sorted(listed, key=lambda one: one["metadata"]["name"])
            if bug:
                missing = [f"{request.name}-"] * (wanted - len(pods))
                surplus = pods[wanted:]
            else:
                names = [f"{request.name}-{number}" for number in range(wanted)]
                missing = [name for name in names if name not in [one["metadata"]["name"] for one in pods]]
                surplus = [one for one in pods if one["metadata"]["name"] not in names]
            for name in missing:
                await live.create(pod(pool, name))
            for one in surplus:
                await discard(live, one)
            await report(live, pool, replicas=wanted)

        manager.controller("pool").for_(API, "Pool").owns("v1", "Pod").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Pool", replicas="integer"))
    fakekube.start(build)

    fakekube.create(custom("Pool", replicas=2))
    fakekube.advance(60)

    fakekube.patch(API, "Pool", "a", {"spec": {"replicas": 4}})
    fakekube.advance(60)

    fakekube.patch(API, "Pool", "a", {"spec": {"replicas": 3}})
    fakekube.advance(60)

    assert len(fakekube.list("v1", "Pod")) == 3
    assert fakekube.get(API, "Pool", "a")["status"]["replicas"] == 3
