"""A cache has a Secret while it is enabled. When it is not, its Secret goes as soon as it is drained."""

from controllerlib import Manager
from tests.simulation.samples.definitions import (
    API,
    BY_LABEL,
    child,
    custom,
    definition,
    ensure,
    find,
    remove,
    report,
)

FAMILY = 'stale "feature off" acted upon'
NEEDS = "the watch of caches is late from `update cache/a{spec.enabled}#2` (on again) until the next reconcile"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request, client):
            reader = client if bug else live
            cache = await find(reader, API, "Cache", request.name, request.namespace)
            if cache is None:
                return
            if cache["spec"]["enabled"]:
                await ensure(live, secret_of(cache))
                await report(live, cache, phase="On")
                return
            drained = await find(live, "v1", "ConfigMap", f"{request.name}-drained", request.namespace)
            if drained is not None:
                await remove(live, "Secret", request.name, request.namespace)
            await report(live, cache, phase="Off" if drained else "Draining")

        builder = manager.controller("cache").for_(API, "Cache").owns("v1", "Secret")
        builder.watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)

    return build


def secret_of(cache):
    return child(cache, "Secret", cache["metadata"]["name"], data={"key": "c2VjcmV0"})


def drained(name):
    meta = {"name": f"{name}-drained", "labels": {"owner": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def scenario(fakekube, build):
    fakekube.apply(definition("Cache", enabled="boolean"))
    fakekube.start(build)

    fakekube.create(custom("Cache", enabled=True))
    fakekube.create(custom("Cache", "b", enabled=True))
    fakekube.advance(60)

    fakekube.patch(API, "Cache", "a", {"spec": {"enabled": False}})
    fakekube.patch(API, "Cache", "b", {"spec": {"enabled": False}})
    fakekube.advance(60)

    fakekube.patch(API, "Cache", "a", {"spec": {"enabled": True}})
    fakekube.settle()

    fakekube.create(drained("a"))
    fakekube.create(drained("b"))
    fakekube.advance(60)

    assert fakekube.get(API, "Cache", "a")["status"]["phase"] == "On"
    assert fakekube.exists("v1", "Secret", "a")
    assert fakekube.get(API, "Cache", "b")["status"]["phase"] == "Off"
    assert not fakekube.exists("v1", "Secret", "b")
