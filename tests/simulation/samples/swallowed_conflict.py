"""A certificate is kept in a Secret, which others annotate."""

from controllerlib import ApiError, Manager
from controllerlib.client import is_conflict
from controllerlib.controller import PredicateFuncs
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "swallowed conflict"
NEEDS = "another client annotates the Secret right before `update secret/a{data.key}`: it keeps the old data"

#: A Secret that is removed is made again; what others write to it does not matter.
REMOVED = PredicateFuncs(create=lambda event: False, update=lambda event: False)


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            certificate = await find(live, API, "Certificate", request.name, request.namespace)
            if certificate is None:
                return
            key = certificate["spec"]["key"]
            try:
                await ensure(live, child(certificate, "Secret", request.name, data={"key": key}))
            except ApiError as error:
                if not (bug and is_conflict(error)):
                    raise
                return  # another reconcile will follow
            await report(live, certificate, key=key)

        builder = manager.controller("certificate").for_(API, "Certificate")
        builder.owns("v1", "Secret", predicates=[REMOVED]).complete(reconcile)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Certificate", key="string"))
    fakekube.start(build)

    fakekube.create(custom("Certificate", key="b25l"))
    fakekube.create(custom("Certificate", "b", key="b25l"))
    fakekube.advance(60)

    fakekube.patch(API, "Certificate", "a", {"spec": {"key": "dHdv"}})
    fakekube.advance(60)

    assert fakekube.get("v1", "Secret", "a")["data"] == {"key": "dHdv"}
    assert fakekube.get("v1", "Secret", "b")["data"] == {"key": "b25l"}
    assert fakekube.get(API, "Certificate", "a")["status"]["key"] == "dHdv"
