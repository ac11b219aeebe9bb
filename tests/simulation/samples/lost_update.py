"""Every route is an entry of one ConfigMap that all routes share."""

from controllerlib import Manager
from controllerlib.controller import (
    EnqueueRequestsFromMapFunc,
    PredicateFuncs,
    Request,
    add_finalizer,
    contains_finalizer,
    remove_finalizer,
)
from tests.simulation.samples.definitions import API, custom, definition, find, report

FAMILY = "lost update"
NEEDS = (
    "the watch of ConfigMaps is late from `update configmap/table{data.b}` on until that of data.c: an entry is lost"
)
FINALIZER = "samples.example.com/route"
REMOVED = PredicateFuncs(create=lambda event: False, update=lambda event: False)


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def change_table(client, namespace, change):
            table = await find(client if bug else live, "v1", "ConfigMap", "table", namespace)
            if table is None:
                meta = {"name": "table", "namespace": namespace}
                await live.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": change({})})
                return
            data = change(table.get("data") or {})
            if data != (table.get("data") or {}):
                if bug:
                    del table["metadata"]["resourceVersion"]
                await live.update({**table, "data": data})

        async def reconcile(request, client):
            route = await find(live, API, "Route", request.name, request.namespace)
            if route is None:
                return
            if "deletionTimestamp" in route["metadata"]:
                if contains_finalizer(route, FINALIZER):
                    await change_table(client, request.namespace, lambda data: without(data, request.name))
                    await live.update(remove_finalizer(route, FINALIZER)[0])
                return
            route, added = add_finalizer(route, FINALIZER)
            if added:
                route = await live.update(route)
            host = route["spec"]["host"]
            await change_table(client, request.namespace, lambda data: {**data, request.name: host})
            await report(live, route, host=host)

        async def all_routes(table):
            return [Request.of(one) for one in await manager.client.list(API, "Route", table["metadata"]["namespace"])]

        builder = manager.controller("route").for_(API, "Route")
        builder.watches("v1", "ConfigMap", EnqueueRequestsFromMapFunc(all_routes), predicates=[REMOVED])
        builder.complete(reconcile)

    return build


def without(data, name):
    return {key: value for key, value in data.items() if key != name}


def scenario(fakekube, build):
    fakekube.apply(definition("Route", host="string"))
    fakekube.start(build)

    for name in ("a", "b", "c"):
        fakekube.create(custom("Route", name, host=f"{name}.example.com"))
        fakekube.advance(60)

    fakekube.patch(API, "Route", "a", {"spec": {"host": "www.example.com"}})
    fakekube.delete(API, "Route", "c")
    fakekube.advance(60)

    assert fakekube.get("v1", "ConfigMap", "table")["data"] == {"a": "www.example.com", "b": "b.example.com"}
    assert not fakekube.exists(API, "Route", "c")
