"""What is to be written into must be there, and stay (NamespaceLifecycle, and its like for definitions)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.wire.status import StatusError, forbidden, not_found

Object = dict[str, Any]

#: Namespaces that cannot be deleted (`NamespaceLifecycle`).
IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


def definition_lifecycle_create(call: Call, name: str) -> None:
    """Nothing new of a definition that is going (`forbidCreateAdmission`). Raises 403."""
    definition = call.server.store.get("customresourcedefinitions.apiextensions.k8s.io", call.resource.collection)
    if definition is not None and definition.object["metadata"].get("deletionTimestamp"):
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(call.resource.qualified, name, why)


def namespace_lifecycle_create(call: Call, name: str) -> None:
    """A namespace must be there to be written into, and must not be going. Raises 404, 403."""
    if not call.namespace:
        return
    entry = call.server.store.get("namespaces", call.namespace)
    if entry is None:
        raise not_found("namespaces", call.namespace)
    if entry.object["metadata"].get("deletionTimestamp"):
        raise _terminating(call, name)


def _terminating(call: Call, name: str) -> StatusError:
    namespace = call.namespace
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    details: Object = {"name": name} if name else {}
    if call.resource.group:
        details["group"] = call.resource.group
    details["kind"] = call.resource.plural
    details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    qualified = call.resource.qualified
    subject = f'{qualified} "{name}" is forbidden' if name else f"{qualified} is forbidden"
    return StatusError(403, "Forbidden", f"{subject}: {why}", details)


def namespace_lifecycle_delete(call: Call) -> None:
    if call.resource.collection == "namespaces" and call.info.name in IMMORTAL_NAMESPACES:
        raise forbidden("namespaces", call.info.name, "this namespace may not be deleted")
