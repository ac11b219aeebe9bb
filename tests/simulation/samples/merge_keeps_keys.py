"""A profile has settings, which are copied to a ConfigMap."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "merge that never removes"
NEEDS = "no fault: with the last spec alone, a new cluster does not have the settings that were removed"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            profile = await find(live, API, "Profile", request.name, request.namespace)
            if profile is None:
                return
            settings = profile["spec"]["settings"]
            wanted = child(profile, "ConfigMap", request.name, data=settings)
            have = await find(live, "v1", "ConfigMap", request.name, request.namespace)
            if bug and have is not None:
                wanted = {**wanted, "data": {**have["data"], **settings}}
            await ensure(live, wanted)
            await report(live, profile, phase="Copied")

        manager.controller("profile").for_(API, "Profile").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Profile", settings="map"))
    fakekube.start(build)

    fakekube.create(custom("Profile", settings={"color": "red", "size": "10"}))
    fakekube.advance(60)

    fakekube.patch(API, "Profile", "a", {"spec": {"settings": {"color": "blue"}}})
    fakekube.advance(60)

    fakekube.patch(API, "Profile", "a", {"spec": {"settings": {"size": None, "shape": "round"}}})
    fakekube.advance(60)

    data = fakekube.get("v1", "ConfigMap", "a")["data"]
    assert (data["color"], data["shape"]) == ("blue", "round")
    assert fakekube.get(API, "Profile", "a")["status"]["phase"] == "Copied"
