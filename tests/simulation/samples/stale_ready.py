"""A cluster has a shard, whose endpoint it publishes when the shard is ready in the wanted version."""

from controllerlib import Manager, Result
from controllerlib.controller import PredicateFuncs
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "stale Ready trusted"
NEEDS = "the watch of shards is late from `update shard/a{status...}#2` until the next reconcile: an old endpoint stays"
REMOVED = PredicateFuncs(create=lambda event: False, update=lambda event: False)


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def serve(request):
            shard = await find(live, API, "Shard", request.name, request.namespace)
            if shard is not None:
                version = shard["spec"]["version"]
                await report(live, shard, ready=True, endpoint=f"{request.name}-{version}")

        async def publish(request, client):
            cluster = await find(live, API, "Cluster", request.name, request.namespace)
            if cluster is None:
                return None
            version = cluster["spec"]["version"]
            shard = await find(client if bug else live, API, "Shard", request.name, request.namespace)
            if shard is None or shard["spec"]["version"] != version:
                await ensure(
                    live, child(cluster, "Shard", request.name, api_version=API, spec={"version": version}), "spec"
                )
                return Result(requeue_after=5)
            status = shard.get("status") or {}
            is_current = bug or status.get("observedGeneration") == shard["metadata"]["generation"]
            if not (status.get("ready") and is_current):
                return Result(requeue_after=5)
            if bug and (cluster.get("status") or {}).get("version") == version:
                return None
            await report(live, cluster, version=version, endpoint=status["endpoint"])
            return None

        manager.controller("shard").for_(API, "Shard").complete(serve)
        builder = manager.controller("cluster").for_(API, "Cluster")
        builder.owns(API, "Shard", predicates=[REMOVED]).complete(publish)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Cluster", version="string"), definition("Shard", version="string"))
    fakekube.start(build)

    fakekube.create(custom("Cluster", version="1"))
    fakekube.advance(60)

    fakekube.patch(API, "Cluster", "a", {"spec": {"version": "2"}})
    fakekube.advance(60)

    assert fakekube.get(API, "Shard", "a")["status"]["endpoint"] == "a-2"
    assert fakekube.get(API, "Cluster", "a")["status"] == {"version": "2", "endpoint": "a-2", "observedGeneration": 2}
