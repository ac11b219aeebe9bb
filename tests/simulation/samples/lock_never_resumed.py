"""A volume is resized in steps; its phase is `Resizing` meanwhile."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "an in-progress lock never resumed"
NEEDS = "crash, or an error of the next requests, after `update volume/a{status.phase}`: it stays `Resizing`"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            volume = await find(live, API, "Volume", request.name, request.namespace)
            if volume is None:
                return
            status, size = volume.get("status") or {}, volume["spec"]["size"]
            if bug and status.get("phase") == "Resizing":  # it is being done
                return
            if status.get("size") != size:
                await report(live, volume, phase="Resizing", size=status.get("size", 0))
            for name in ("blocks", "filesystem"):
                await ensure(live, child(volume, "ConfigMap", f"{request.name}-{name}", data={"size": str(size)}))
            volume = await live.get(API, "Volume", request.name, request.namespace)
            if volume["spec"]["size"] == size:
                await report(live, volume, phase="Idle", size=size)

        manager.controller("volume").for_(API, "Volume").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Volume", size="integer"))
    fakekube.start(build)

    fakekube.create(custom("Volume", size=10))
    fakekube.advance(60)

    fakekube.patch(API, "Volume", "a", {"spec": {"size": 20}})
    fakekube.advance(60)

    volume = fakekube.get(API, "Volume", "a")
    assert volume["status"] == {"phase": "Idle", "size": 20, "observedGeneration": 2}
    for name in ("a-blocks", "a-filesystem"):
        assert fakekube.get("v1", "ConfigMap", name)["data"] == {"size": "20"}
