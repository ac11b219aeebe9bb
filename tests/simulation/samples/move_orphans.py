"""A store keeps its data in a zone; when the zone changes, the data are moved."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, discard, ensure, find, remove, report

FAMILY = "deletion that orphans"
NEEDS = "crash or lost reply at `update store/a{status.zone}`: the Secret of the former zone stays"
EXPLORE = {"owner_labels": ["owner"]}


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            store = await find(live, API, "Store", request.name, request.namespace)
            if store is None:
                return
            zone, former = store["spec"]["zone"], (store.get("status") or {}).get("zone")
            wanted = f"{request.name}-{zone}"
            await ensure(live, secret_of(store, wanted))
            if bug:
                await report(live, store, zone=zone)
                if former not in (None, zone):
                    await remove(live, "Secret", f"{request.name}-{former}", request.namespace)
                return
            selector = f"owner={request.name}"
            for one in await live.list("v1", "Secret", request.namespace, label_selector=selector):
                if one["metadata"]["name"] != wanted:
                    await discard(live, one)
            await report(live, store, zone=zone)

        manager.controller("store").for_(API, "Store").owns("v1", "Secret").complete(reconcile)

    return build


def secret_of(store, name):
    return child(store, "Secret", name, data={"key": "c2VjcmV0"})


def scenario(fakekube, build):
    fakekube.apply(definition("Store", zone="string"))
    fakekube.start(build)

    fakekube.create(custom("Store", zone="north"))
    fakekube.advance(60)

    fakekube.patch(API, "Store", "a", {"spec": {"zone": "south"}})
    fakekube.advance(60)

    fakekube.patch(API, "Store", "a", {"spec": {"zone": "east"}})
    fakekube.advance(60)

    secrets = fakekube.list("v1", "Secret")
    assert "a-east" in [secret["metadata"]["name"] for secret in secrets]
    assert fakekube.get(API, "Store", "a")["status"]["zone"] == "east"
