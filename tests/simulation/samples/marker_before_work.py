"""A fleet has three shards, and every shard is moved to the version that the fleet has."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "a progress marker before the work"
NEEDS = "crash, or an error of the next request, at `update fleet/a{status...}`: the shards are never moved"


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

    fakekube.patch(API, "Fleet", "a", {"spec": {"version": "2"}})
    fakekube.advance(60)

    fakekube.patch(API, "Fleet", "a", {"spec": {"version": "3"}})
    fakekube.advance(60)

    shards = fakekube.list("v1", "ConfigMap", label_selector="owner=a")
    assert [one["data"]["version"] for one in shards] == ["3", "3", "3"]
    assert fakekube.get(API, "Fleet", "a")["status"]["version"] == "3"
