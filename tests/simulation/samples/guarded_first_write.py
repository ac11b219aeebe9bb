"""A site has a key, its routes and a page; a change of the title changes the page."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "a guard on the first of several writes"
NEEDS = "crash or lost reply at `create secret/a-key`: the routes are never created"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            site = await find(live, API, "Site", request.name, request.namespace)
            if site is None:
                return
            key = child(site, "Secret", f"{request.name}-key", data={"key": "c2VjcmV0"})
            routes = child(site, "ConfigMap", f"{request.name}-routes", data={"index": "page"})
            page = child(site, "ConfigMap", f"{request.name}-page", data={"title": site["spec"]["title"]})
            installed = await find(live, "v1", "Secret", key["metadata"]["name"], request.namespace)
            wanted = [page] if bug and installed else [key, routes, page]
            for one in wanted:
                await ensure(live, one)
            await report(live, site, title=site["spec"]["title"])

        builder = manager.controller("site").for_(API, "Site")
        builder.owns("v1", "Secret").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Site", title="string"))
    fakekube.start(build)

    fakekube.create(custom("Site", title="one"))
    fakekube.advance(60)

    fakekube.create(custom("Site", "b", title="other"))
    fakekube.advance(60)

    fakekube.patch(API, "Site", "a", {"spec": {"title": "two"}})
    fakekube.advance(60)

    for name, title in (("a", "two"), ("b", "other")):
        assert fakekube.get("v1", "ConfigMap", f"{name}-page")["data"] == {"title": title}
        assert fakekube.get(API, "Site", name)["status"]["title"] == title
        assert fakekube.exists("v1", "Secret", f"{name}-key")
        assert fakekube.exists("v1", "ConfigMap", f"{name}-routes")
