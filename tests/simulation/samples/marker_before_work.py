"""A fleet has three shards, and every shard is moved to the version that the fleet has."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "a progress marker before the work"
NEEDS = "crash, or an error of the next request, after `update fleet/a{status.version}` or that of fleet/b: shards are never moved"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            fleet = await find(live, API, "Fleet", request.name, request.namespace)
            if fleet is None:
                return
            version = fleet["spec"]["version"]
            is_marked = (fleet.get("status") or {}).get("version") == version
            if bug:
                if is_marked:
                    return
                await report(live, fleet, version=version)
            for number in range(3):
                name = f"{request.name}-shard-{number}"
                await ensure(live, child(fleet, "ConfigMap", name, data={"version": version}))
            if not bug:
                await report(live, fleet, version=version)

        manager.controller("fleet").for_(API, "Fleet").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Fleet", version="string"))
    fakekube.start(build)

    fakekube.create(custom("Fleet", version="1"))
    fakekube.advance(60)

    fakekube.create(custom("Fleet", "b", version="1"))
    fakekube.advance(60)

    fakekube.patch(API, "Fleet", "a", {"spec": {"version": "2"}})
    fakekube.advance(60)

    for name, version in (("a", "2"), ("b", "1")):
        shards = fakekube.list("v1", "ConfigMap", label_selector=f"owner={name}")
        assert [one["data"]["version"] for one in shards] == [version] * 3
        assert fakekube.get(API, "Fleet", name)["status"]["version"] == version
