"""A domain is registered at an outside API, and removed there before its finalizer is."""

from tests.simulation.samples.definitions import API, custom, definition, find

FAMILY = "a failed call to an outside API is taken for one that found nothing"
ATOM, ORACLE = "error", "O6"
CLUSTER = {}
EXPLORE = {"faults": ["lost", "error", "late"]}

FINALIZER = "samples.example.com/domain"


class RegistrarDown(Exception):
    """The registrar does not answer."""


class Registrar(set):
    """An outside API without coroutines: a set of domains."""


def make(bug):
    def build(manager, registrar):
        live = manager.api_reader

        async def reconcile(request, client):
            domain = await find(live, API, "Domain", request.name, request.namespace)
            if domain is None:
                return
            meta = domain["metadata"]
            finalizers = meta.get("finalizers") or []
            if meta.get("deletionTimestamp"):
                if FINALIZER not in finalizers:
                    return
                try:
                    registrar.discard(request.name)
                except RegistrarDown:
                    if not bug:
                        raise
                await live.update({**domain, "metadata": {**meta, "finalizers": []}})
                return
            if FINALIZER not in finalizers:
                await live.update({**domain, "metadata": {**meta, "finalizers": [FINALIZER]}})
            registrar.add(request.name)

        manager.controller("domain").for_(API, "Domain").complete(reconcile)

    return build


def scenario(fakekube, build):
    registrar = fakekube.exploration.external("registrar", Registrar(), error=RegistrarDown)
    fakekube.apply(definition("Domain", size="integer"))
    fakekube.start(lambda manager: build(manager, registrar))
    fakekube.create(custom("Domain", size=1))
    fakekube.create(custom("Domain", "b", size=1))
    fakekube.advance(60)
    assert "a" in registrar
    fakekube.delete(API, "Domain", "a")
    fakekube.advance(60)
    assert not fakekube.exists(API, "Domain", "a")
