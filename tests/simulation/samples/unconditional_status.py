"""A listener gets a port from one controller; another one reports whether it is served."""

from controllerlib import Manager
from controllerlib.controller import PredicateFuncs, generation_changed
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find

FAMILY = "unconditional status write"
NEEDS = "the watch of listeners is late from `update listener/b{status.conditions}` until the next reconcile: a condition is lost"
REMOVED = PredicateFuncs(create=lambda event: False, update=lambda event: False)


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def set_condition(request, client, name, value):
            listener = await find(client if bug else live, API, "Listener", request.name, request.namespace)
            if listener is None:
                return
            have = (listener.get("status") or {}).get("conditions") or []
            others = [one for one in have if one["type"] != name]
            wanted = sorted([*others, {"type": name, "status": value}], key=lambda one: one["type"])
            if wanted == have:
                return
            if bug:  # a merge replaces the whole list, whatever it is by now
                await live.patch_status(listener, {"status": {"conditions": wanted}})
            else:
                await live.update_status({**listener, "status": {"conditions": wanted}})

        async def assign(request, client):
            listener = await find(live, API, "Listener", request.name, request.namespace)
            if listener is not None:
                port = str(8000 + listener["spec"]["offset"])
                await set_condition(request, client, "Assigned", port)
                await ensure(live, child(listener, "ConfigMap", request.name, data={"port": port}))

        async def probe(request, client):
            served = await find(live, "v1", "ConfigMap", request.name, request.namespace)
            if served is not None:
                await set_condition(request, client, "Served", served["data"]["port"])

        assigned = manager.controller("assign").for_(API, "Listener", predicates=[generation_changed])
        assigned.owns("v1", "ConfigMap", predicates=[REMOVED]).complete(assign)
        manager.controller("probe").for_("v1", "ConfigMap").complete(probe)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Listener", offset="integer"))
    fakekube.start(build)

    fakekube.create(custom("Listener", offset=1))
    fakekube.advance(60)

    fakekube.create(custom("Listener", "b", offset=2))
    fakekube.advance(60)

    fakekube.patch(API, "Listener", "a", {"spec": {"offset": 3}})
    fakekube.advance(60)

    for name, port in (("a", "8003"), ("b", "8002")):
        conditions = fakekube.get(API, "Listener", name)["status"]["conditions"]
        assert conditions == [{"type": "Assigned", "status": port}, {"type": "Served", "status": port}]
