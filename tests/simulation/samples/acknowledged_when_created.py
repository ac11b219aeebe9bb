"""A claim gets credentials in a Secret and a ConfigMap, and its status names them."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "acknowledgement only in the create branch"
NEEDS = "crash or lost reply at `create configmap/a-login`: the status is never written"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            claim = await find(live, API, "Claim", request.name, request.namespace)
            if claim is None:
                return
            await ensure(live, child(claim, "Secret", f"{request.name}-login", data={"password": "c2VjcmV0"}))
            login = child(claim, "ConfigMap", f"{request.name}-login", data={"user": claim["spec"]["user"]})
            is_new = await find(live, "v1", "ConfigMap", login["metadata"]["name"], request.namespace) is None
            await ensure(live, login)
            if is_new or not bug:
                await report(live, claim, phase="Bound")

        builder = manager.controller("claim").for_(API, "Claim")
        builder.owns("v1", "Secret").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Claim", user="string"))
    fakekube.start(build)

    fakekube.create(custom("Claim", user="ann"))
    fakekube.advance(60)

    fakekube.create(custom("Claim", "b", user="bob"))
    fakekube.advance(60)

    fakekube.patch(API, "Claim", "a", {"spec": {"user": "eve"}})
    fakekube.advance(60)

    for name, user in (("a", "eve"), ("b", "bob")):
        assert fakekube.get(API, "Claim", name)["status"]["phase"] == "Bound"
        assert fakekube.get("v1", "ConfigMap", f"{name}-login")["data"] == {"user": user}
