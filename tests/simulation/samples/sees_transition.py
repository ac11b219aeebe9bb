"""An app is rolled out to a ConfigMap when its image changes."""

from controllerlib import Manager
from controllerlib.controller import PredicateFuncs
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "having to see a transition"
NEEDS = (
    "the operator is down, from its last write on, while the test does `update app/a{spec.image}`: it is not rolled out"
)


def is_new(event):
    return not event.obj.get("status")


def has_another_image(event):
    return event.old["spec"] != event.new["spec"]


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            app = await find(live, API, "App", request.name, request.namespace)
            if app is None:
                return
            image = app["spec"]["image"]
            for part in ("web", "worker"):
                await ensure(live, child(app, "ConfigMap", f"{request.name}-{part}", data={"image": image}))
            await report(live, app, image=image)

        wanted = [PredicateFuncs(create=is_new, update=has_another_image)] if bug else []
        removed = PredicateFuncs(create=lambda event: not bug, update=lambda event: not bug)
        builder = manager.controller("app").for_(API, "App", predicates=wanted)
        builder.owns("v1", "ConfigMap", predicates=[removed]).complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("App", image="string"))
    fakekube.start(build)

    fakekube.create(custom("App", image="web:1"))
    fakekube.advance(60)

    fakekube.patch(API, "App", "a", {"spec": {"image": "web:2"}})
    fakekube.advance(60)

    for part in ("web", "worker"):
        assert fakekube.get("v1", "ConfigMap", f"a-{part}")["data"] == {"image": "web:2"}
    assert fakekube.get(API, "App", "a")["status"]["image"] == "web:2"
