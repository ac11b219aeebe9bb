"""Small operators and their objects."""

from controllerlib import ControllerOptions, Result


def config_map(name, namespace="default", labels=None, **data):
    meta = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def build(reconcile, name="minder", workers=1):
    """An operator with one controller of ConfigMaps."""

    def add(manager):
        options = ControllerOptions(max_concurrent_reconciles=workers)
        manager.controller(name).for_("v1", "ConfigMap").with_options(options).complete(reconcile)

    return add


async def nothing(request):
    return None


def every(seconds):
    """Requeues after this many seconds."""

    async def reconcile(request):
        return Result(requeue_after=seconds)

    return reconcile


def failing(times, error=None):
    """Raises this many times, then succeeds."""
    left = iter(range(times))

    async def reconcile(request):
        if next(left, None) is not None:
            raise error or RuntimeError("it failed")

    return reconcile


def stamping(**data):
    """Writes these data into each object, whether it has them or not."""

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        await client.update({**found, "data": {**(found.get("data") or {}), **data}})

    return reconcile


def counting():
    """Changes each object in each reconcile."""

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        number = int((found.get("data") or {}).get("n", "0")) + 1
        await client.update({**found, "data": {"n": str(number)}})

    return reconcile


def definition(kind="Backup", group="example.com"):
    """A CustomResourceDefinition with one version, v1, that keeps all fields and has a status."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }
