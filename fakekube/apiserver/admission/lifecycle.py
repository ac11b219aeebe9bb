"""Rejects new objects in missing or terminating namespaces, and of terminating definitions (plugin
NamespaceLifecycle)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.features import since
from fakekube.apiserver.wire.status import StatusError, forbidden, not_found

Object = dict[str, Any]

#: Namespaces that cannot be deleted.
IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


#: Access reviews are allowed in namespaces that do not exist, as a rejection would reveal that.
REVIEWS = frozenset({"localsubjectaccessreviews.authorization.k8s.io"})

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def admit_create(call: Call, name: str, obj: Object) -> None:
    """Rejects new objects in a namespace that is missing or terminating. Raises 403, 404."""
    if not call.namespace or call.resource.collection in REVIEWS:
        return
    entry = call.server.store.get("namespaces", call.namespace)
    if entry is None:
        raise not_found("namespaces", call.namespace)
    if entry.object["metadata"].get("deletionTimestamp"):
        raise _terminating(call, name or obj["metadata"].get("generateName") or "")


def check_definition(call: Call, name: str) -> None:
    """Rejects new objects of a terminating definition. Raises 403 (`forbidCreateAdmission`)."""
    if call.registration.version is None:
        return
    definition = call.server.store.get(DEFINITIONS, call.resource.collection)
    if definition is not None and definition.object["metadata"].get("deletionTimestamp"):
        why = "create not allowed while custom resource definition is terminating"
        if not since(34):
            details = {"group": call.resource.group, "kind": call.resource.plural}
            raise StatusError(405, "MethodNotAllowed", why, details)
        raise forbidden(call.resource.qualified, name, why)


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


def admit_delete(call: Call) -> None:
    """Rejects the deletion of an immortal namespace. Raises 403."""
    if call.resource.collection == "namespaces" and call.info.name in IMMORTAL_NAMESPACES:
        raise forbidden("namespaces", call.info.name, "this namespace may not be deleted")
