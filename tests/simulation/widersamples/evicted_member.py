"""A ring has a pod for each member. One that is gone is made again, whatever the status says."""

from tests.simulation.samples.definitions import API, child, custom, definition, find, report

FAMILY = "a pod is made once, and is believed to be there for ever"
ATOM, ORACLE = "evict", "O2"
CLUSTER = {"nodes": 2, "controllers": ["*"]}
EXPLORE = {"faults": ["evict", "preempt"]}


def make(bug):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            ring = await find(live, API, "Ring", request.name, request.namespace)
            if ring is None:
                return
            made = 0 if not bug else (ring.get("status") or {}).get("members", 0)
            for number in range(made, ring["spec"]["members"]):
                name = f"{request.name}-{number}"
                if await find(live, "v1", "Pod", name, request.namespace) is None:
                    await live.create(
                        child(ring, "Pod", name, spec={"containers": [{"name": "main", "image": "ring:1"}]})
                    )
            await report(live, ring, members=ring["spec"]["members"])

        manager.controller("ring").for_(API, "Ring").owns("v1", "Pod").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Ring", members="integer"))
    fakekube.start(build)
    fakekube.create(custom("Ring", members=1))
    fakekube.advance(30)
    fakekube.patch(API, "Ring", "a", {"spec": {"members": 2}})
    fakekube.advance(30)
    assert fakekube.get(API, "Ring", "a")["status"]["members"] == 2
