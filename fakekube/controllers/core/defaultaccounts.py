"""The controller of service accounts: each namespace has one named default (`serviceaccounts_controller.go`)."""

from __future__ import annotations

from controllerlib import ApiError, Request
from controllerlib.client import has_status_cause, is_already_exists
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.core.namespaceevents import NAMESPACE_TERMINATING, enqueue_namespace, enqueue_namespace_of
from fakekube.controllers.objectevents import object_events

#: The account that every namespace has.
NAME = "default"


def add(context: ControllerContext) -> None:
    """Add the controller of service accounts."""
    client = context.client("service-account-controller")
    namespaces = context.kind("v1", "Namespace")
    accounts = context.kind("v1", "ServiceAccount")

    async def reconcile(request: Request) -> None:
        namespace = namespaces.get("", request.name)
        if namespace is None or (namespace.get("status") or {}).get("phase") != "Active":
            return
        if accounts.get(request.name, NAME) is not None:
            return
        meta = {"name": NAME, "namespace": request.name}
        try:
            await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        except ApiError as error:
            if not is_already_exists(error) and not has_status_cause(error, NAMESPACE_TERMINATING):
                raise

    builder = context.controller("serviceaccount-controller")
    builder.watches("v1", "ServiceAccount", object_events(deleted=enqueue_namespace_of()))
    builder.watches("v1", "Namespace", object_events(enqueue_namespace))
    builder.complete(reconcile)
