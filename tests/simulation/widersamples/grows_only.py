"""A queue has a ConfigMap for each of its workers. A smaller number of workers leaves none of them behind."""

from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, remove, report

FAMILY = "what was made for a former, greater spec is not removed"
ATOM, ORACLE = "change", "O8"
CLUSTER = {}
EXPLORE = {"workload": 3}


def make(bug):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            queue = await find(live, API, "Queue", request.name, request.namespace)
            if queue is None:
                return
            workers = queue["spec"]["workers"]
            for number in range(workers):
                await ensure(live, child(queue, "ConfigMap", f"{request.name}-{number}", data={"number": str(number)}))
            number = workers
            while not bug and await find(live, "v1", "ConfigMap", f"{request.name}-{number}", request.namespace):
                await remove(live, "ConfigMap", f"{request.name}-{number}", request.namespace)
                number += 1
            await report(live, queue, workers=workers)

        manager.controller("queue").for_(API, "Queue").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Queue", workers="integer"))
    fakekube.start(build)
    fakekube.create(custom("Queue", workers=1))
    fakekube.advance(60)
    fakekube.patch(API, "Queue", "a", {"spec": {"workers": 2}})
    fakekube.advance(60)
    assert fakekube.exists("v1", "ConfigMap", "a-1")
