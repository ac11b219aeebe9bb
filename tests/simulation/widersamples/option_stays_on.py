"""A proxy has a ConfigMap with its settings. A setting that the spec no longer has is not in it any more."""

from tests.simulation.samples.definitions import API, child, custom, definition, find, report

FAMILY = "an option that is removed from a spec stays in force"
ATOM, ORACLE = "change", "O8"
CLUSTER = {}
EXPLORE = {"workload": 2}


def make(bug):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            proxy = await find(live, API, "Proxy", request.name, request.namespace)
            if proxy is None:
                return
            spec = proxy["spec"]
            wanted = {name: str(spec[name]) for name in ("timeout", "mode") if name in spec}
            have = await find(live, "v1", "ConfigMap", request.name, request.namespace)
            if have is None:
                await live.create(child(proxy, "ConfigMap", request.name, data=wanted))
            else:
                data = {**have.get("data", {}), **wanted} if bug else wanted
                if data != have.get("data", {}):
                    await live.update({**have, "data": data})
            await report(live, proxy, done=True)

        manager.controller("proxy").for_(API, "Proxy").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Proxy", timeout="integer", mode="string"))
    fakekube.start(build)
    fakekube.create(custom("Proxy", timeout=30, mode="tcp"))
    fakekube.create(custom("Proxy", "b", timeout=10))
    fakekube.advance(60)
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"timeout": "30", "mode": "tcp"}
