"""A tenant has a ConfigMap of its own, which is removed before the tenant goes; another tenant may get the name."""

from controllerlib import Manager
from controllerlib.cache import CacheOptions, Selection
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

FAMILY = "the old incarnation's deletion applied to the new one"
NEEDS = (
    "a restart after `create configmap/a#2` whose first list of tenants is the one right after "
    "`update tenant/a{metadata.deletionTimestamp}`, with a watch that is late until the next reconcile: "
    "the ConfigMap of the new tenant is deleted"
)
EXPLORE = {"owner_labels": ["owner"]}
#: Informers that list with resourceVersion=0, which an API server may answer from a cache that is behind.
CACHE = CacheOptions(sync_period_jitter=0.0, default=Selection(bookmarks=False))
FINALIZER = "samples.example.com/tenant"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request, client):
            reader = client if bug else live
            tenant = await find(reader, API, "Tenant", request.name, request.namespace)
            if tenant is None:
                return
            if "deletionTimestamp" in tenant["metadata"]:
                if contains_finalizer(tenant, FINALIZER):
                    await remove(live, "ConfigMap", request.name, request.namespace)
                    await live.update(remove_finalizer(tenant, FINALIZER)[0])
                return
            tenant, added = add_finalizer(tenant, FINALIZER)
            if added:
                tenant = await live.update(tenant)
            await ensure(live, labelled(tenant, "ConfigMap", request.name, data={"plan": tenant["spec"]["plan"]}))
            await report(live, tenant, plan=tenant["spec"]["plan"])

        builder = manager.controller("tenant").for_(API, "Tenant")
        builder.watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Tenant", plan="string"))
    fakekube.start(build, cache=CACHE)

    fakekube.create(custom("Tenant", plan="small"))
    fakekube.advance(60)

    fakekube.delete(API, "Tenant", "a")
    fakekube.advance_until(lambda: not fakekube.exists(API, "Tenant", "a"), timeout=600)

    fakekube.create(custom("Tenant", plan="small"))
    fakekube.advance(60)

    fakekube.patch(API, "Tenant", "a", {"spec": {"plan": "large"}})
    fakekube.advance(60)

    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"plan": "large"}
    assert fakekube.get(API, "Tenant", "a")["status"]["plan"] == "large"
