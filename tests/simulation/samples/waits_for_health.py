"""A database has its version in a ConfigMap and in the annotation of a Pod, which is replaced for each version."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, discard, ensure, find, pod, report

FAMILY = "refusing to act until healthy"
NEEDS = "crash or lost reply at `update configmap/a{data.version}`: it stays degraded"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            database = await find(live, API, "Database", request.name, request.namespace)
            if database is None:
                return
            version = database["spec"]["version"]
            config = await find(live, "v1", "ConfigMap", request.name, request.namespace)
            running = await find(live, "v1", "Pod", request.name, request.namespace)
            is_healthy = not (config and running) or config["data"]["version"] == version_of(running)
            if bug and not is_healthy:
                await report(live, database, phase="Degraded")
                return
            await ensure(live, child(database, "ConfigMap", request.name, data={"version": version}))
            if running is not None and version_of(running) != version:
                await discard(live, running)
                running = None
            if running is None:
                await live.create(pod(database, request.name, version=version))
            await report(live, database, phase="Running")

        builder = manager.controller("database").for_(API, "Database")
        builder.owns("v1", "ConfigMap").owns("v1", "Pod").complete(reconcile)

    return build


def version_of(running):
    return running["metadata"]["annotations"]["version"]


def scenario(fakekube, build):
    fakekube.apply(definition("Database", version="string"))
    fakekube.start(build)

    fakekube.create(custom("Database", version="1"))
    fakekube.advance(60)

    fakekube.patch(API, "Database", "a", {"spec": {"version": "2"}})
    fakekube.advance(60)

    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"version": "2"}
    assert version_of(fakekube.get("v1", "Pod", "a")) == "2"
    assert fakekube.get(API, "Database", "a")["status"] == {"phase": "Running", "observedGeneration": 2}
