"""A vault has a Secret and a ConfigMap, which it removes before it goes."""

from controllerlib import Manager
from controllerlib.controller import add_finalizer, contains_finalizer, remove_finalizer
from tests.simulation.samples.definitions import (
    API,
    BY_LABEL,
    custom,
    definition,
    ensure,
    find,
    labelled,
    remove,
    report,
)

FAMILY = '"already done" taken for an error'
NEEDS = "crash or lost reply at `delete secret/a` or `delete configmap/a`: the vault is never released"
EXPLORE = {"owner_labels": ["owner"]}
FINALIZER = "samples.example.com/vault"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            vault = await find(live, API, "Vault", request.name, request.namespace)
            if vault is None:
                return
            if "deletionTimestamp" in vault["metadata"]:
                if contains_finalizer(vault, FINALIZER):
                    for kind in ("Secret", "ConfigMap"):
                        if bug:
                            await live.delete("v1", kind, request.name, request.namespace)
                        else:
                            await remove(live, kind, request.name, request.namespace)
                    await live.update(remove_finalizer(vault, FINALIZER)[0])
                return
            vault, added = add_finalizer(vault, FINALIZER)
            if added:
                vault = await live.update(vault)
            await ensure(live, labelled(vault, "Secret", request.name, data={"key": "c2VjcmV0"}))
            await ensure(live, labelled(vault, "ConfigMap", request.name, data={"mode": vault["spec"]["mode"]}))
            await report(live, vault, mode=vault["spec"]["mode"])

        builder = manager.controller("vault").for_(API, "Vault")
        builder.watches("v1", "Secret", BY_LABEL).watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Vault", mode="string"))
    fakekube.start(build)

    fakekube.create(custom("Vault", mode="open"))
    fakekube.create(custom("Vault", "b", mode="open"))
    fakekube.advance(60)

    fakekube.delete(API, "Vault", "a")
    fakekube.advance(60)

    assert not fakekube.exists(API, "Vault", "a")
    assert not fakekube.exists("v1", "Secret", "a")
    assert not fakekube.exists("v1", "ConfigMap", "a")
    assert fakekube.exists("v1", "Secret", "b")
