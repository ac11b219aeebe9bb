"""The publisher of the root CA: each namespace has it in a ConfigMap (`certificates/rootcacertpublisher`)."""

from __future__ import annotations

from controllerlib import ApiError, Request
from controllerlib.client import has_status_cause, is_not_found
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.core.namespaceevents import NAMESPACE_TERMINATING, enqueue_namespace, enqueue_namespace_of
from fakekube.controllers.objectevents import Object, object_events, of_new

NAME = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def add(context: ControllerContext) -> None:
    """Add the publisher of the root CA."""
    client = context.client("root-ca-cert-publisher")
    config_maps = context.kind("v1", "ConfigMap")
    data = {"ca.crt": context.settings.root_ca}

    async def reconcile(request: Request) -> None:
        known = config_maps.get(request.name, NAME)
        if known is None:
            meta = {"name": NAME, "namespace": request.name, "annotations": {DESCRIPTION: _DESCRIPTION}}
            try:
                await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
            except ApiError as error:
                if not is_not_found(error) and not has_status_cause(error, NAMESPACE_TERMINATING):
                    raise
            return
        annotations = known["metadata"].get("annotations") or {}
        if known.get("data") == data and annotations.get(DESCRIPTION):
            return
        described = {**known["metadata"], "annotations": {**annotations, DESCRIPTION: _DESCRIPTION}}
        await client.update({**known, "metadata": described, "data": data})

    builder = context.controller("root-ca-certificate-publisher-controller")
    changed = enqueue_namespace_of(NAME)
    builder.watches("v1", "ConfigMap", object_events(updated=of_new(changed), deleted=changed))
    builder.watches("v1", "Namespace", object_events(created=enqueue_namespace, updated=_namespace_updated))
    builder.complete(reconcile)


def _namespace_updated(old: Object, new: Object, queue: RequestQueue) -> None:
    if (new.get("status") or {}).get("phase") == "Active":
        enqueue_namespace(new, queue)
