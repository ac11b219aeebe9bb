"""A site has a Deployment. Its status says whether the site is down, and which pod answers."""

from tests.simulation.samples.definitions import API, BY_LABEL, child, custom, definition, find, report

FAMILY = "a failure that is over is never taken back"
ATOM, ORACLE = "lose", "O2"
CLUSTER = {"nodes": 2, "controllers": ["*"]}
EXPLORE = {"faults": ["lose", "drain"]}


def make(bug):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            site = await find(live, API, "Site", request.name, request.namespace)
            if site is None:
                return
            if await find(live, "apps/v1", "Deployment", request.name, request.namespace) is None:
                await live.create(deployment(site))
            pods = await live.list("v1", "Pod", request.namespace, label_selector=f"owner={request.name}")
            was = site.get("status") or {}
            ready = [one for one in pods if is_ready(one)]
            failed = (bug and was.get("failed", False)) or (not ready and was.get("served", False))
            await report(live, site, failed=failed, served=bool(ready) or was.get("served", False))

        builder = manager.controller("site").for_(API, "Site").owns("apps/v1", "Deployment")
        builder.watches("v1", "Pod", BY_LABEL).complete(reconcile)

    return build


def is_ready(pod):
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def deployment(site):
    labels = {"owner": site["metadata"]["name"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "site:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return child(site, "Deployment", site["metadata"]["name"], api_version="apps/v1", spec=spec)


def scenario(fakekube, build):
    fakekube.apply(definition("Site", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Site", size=1))
    fakekube.advance(60)
    assert fakekube.get(API, "Site", "a")["status"]["served"]
