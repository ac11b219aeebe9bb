"""A service runs as a Deployment, whose number of replicas an autoscaler sets once it has been created."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, find, report

FAMILY = "two writers of one field"
NEEDS = "crash at any write after the autoscaler's `update deployment/a{spec.replicas}`: the operator resets the replicas that the autoscaler has set"


def make(bug):
    def build(manager: Manager) -> None:
        live, applied = manager.api_reader, {}

        async def reconcile(request):
            service = await find(live, API, "WebService", request.name, request.namespace)
            if service is None:
                return
            spec = service["spec"]
            have = await find(live, "apps/v1", "Deployment", request.name, request.namespace)
            if have is None:
                await live.create(deployment_of(service))
            else:
                wanted = with_image(have, spec["image"])
                if bug and applied.get(request) != spec["replicas"]:
                    wanted = with_replicas(wanted, spec["replicas"])
                if wanted["spec"] != have["spec"]:
                    await live.update(wanted)
            applied[request] = spec["replicas"]
            await report(live, service, image=spec["image"])

        manager.controller("service").for_(API, "WebService").owns("apps/v1", "Deployment").complete(reconcile)

    return build


def autoscaler(manager: Manager) -> None:
    """At least three replicas of everything."""
    live = manager.api_reader

    async def scale(request):
        have = await find(live, "apps/v1", "Deployment", request.name, request.namespace)
        if have is not None and have["spec"]["replicas"] < 3:
            await live.update(with_replicas(have, 3))

    manager.controller("scale").for_("apps/v1", "Deployment").complete(scale)


def with_replicas(have, number):
    return {**have, "spec": {**have["spec"], "replicas": number}}


def with_image(have, image):
    template = have["spec"]["template"]
    containers = [{**one, "image": image} for one in template["spec"]["containers"]]
    changed = {**template, "spec": {**template["spec"], "containers": containers}}
    return {**have, "spec": {**have["spec"], "template": changed}}


def deployment_of(service):
    labels = {"app": service["metadata"]["name"]}
    containers = [{"name": "main", "image": service["spec"]["image"]}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": service["spec"]["replicas"], "selector": {"matchLabels": labels}, "template": template}
    return child(service, "Deployment", service["metadata"]["name"], api_version="apps/v1", spec=spec)


def scenario(fakekube, build):
    fakekube.apply(definition("WebService", replicas="integer", image="string"))
    fakekube.start(build)
    fakekube.start(autoscaler)

    fakekube.create(custom("WebService", replicas=1, image="web:1"))
    fakekube.advance(60)

    fakekube.patch(API, "WebService", "a", {"spec": {"image": "web:2"}})
    fakekube.advance(60)

    fakekube.patch(API, "WebService", "a", {"spec": {"image": "web:3"}})
    fakekube.advance(60)

    spec = fakekube.get("apps/v1", "Deployment", "a")["spec"]
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["image"] == "web:3"
