"""A share has a Secret and a ConfigMap, which go when the share is gone."""

from controllerlib import ApiError, Manager
from controllerlib.client import is_not_found
from tests.simulation.samples.definitions import (
    API,
    BY_LABEL,
    custom,
    definition,
    ensure,
    labelled,
    remove,
    report,
)

FAMILY = "5xx read as absent"
NEEDS = "error (500, 503, 504 or 429) of `get share/a` after the first reconcile: its Secret is deleted with its data"
EXPLORE = {"owner_labels": ["owner"]}


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            try:
                share = await live.get(API, "Share", request.name, request.namespace)
            except ApiError as error:
                if not (bug or is_not_found(error)):
                    raise
                await remove(live, "Secret", request.name, request.namespace)
                await remove(live, "ConfigMap", request.name, request.namespace)
                if not is_not_found(error):
                    raise
                return
            await ensure(live, secret_of(share))
            await ensure(live, labelled(share, "ConfigMap", request.name, data={"mode": share["spec"]["mode"]}))
            await report(live, share, mode=share["spec"]["mode"])

        builder = manager.controller("share").for_(API, "Share")
        builder.watches("v1", "Secret", BY_LABEL).watches("v1", "ConfigMap", BY_LABEL)
        builder.complete(reconcile)

    return build


def secret_of(share):
    return labelled(share, "Secret", share["metadata"]["name"], data={"key": "c2VjcmV0"})


def scenario(fakekube, build):
    fakekube.apply(definition("Share", mode="string"))
    fakekube.start(build)

    fakekube.create(custom("Share", mode="ro"))
    fakekube.create(custom("Share", "b", mode="ro"))
    fakekube.advance(60)

    fakekube.patch(API, "Share", "a", {"spec": {"mode": "rw"}})
    fakekube.advance(60)

    fakekube.delete(API, "Share", "b")
    fakekube.advance(60)

    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"mode": "rw"}
    assert fakekube.exists("v1", "Secret", "a")
    assert not fakekube.exists("v1", "Secret", "b")
    assert not fakekube.exists("v1", "ConfigMap", "b")
