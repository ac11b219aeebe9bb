"""The controller that approves client certificates of kubelets (`certificates/approver`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client
from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import parsed_request
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.signingrequests.requests import (
    ACCOUNT,
    KUBELET_CLIENT,
    add_request_controller,
    common_name,
    decisions,
    kubelet_client_problem,
)

WORKERS = 5

_MESSAGES = {
    "selfnodeclient": "Auto approving self kubelet client certificate after SubjectAccessReview.",
    "nodeclient": "Auto approving kubelet client certificate after SubjectAccessReview.",
}

Object = Mapping[str, Any]


class NotAllowed(Exception):
    """The user may not have the certificate approved. It is tried again, as roles change."""


def add(context: ControllerContext) -> None:
    """Add the controller that approves requests."""
    client = context.client(ACCOUNT)

    async def handle(request: Object) -> None:
        if any(decisions(request)):
            return
        tried = recognized(request)
        for permission in tried:
            if await _is_allowed(client, request, permission):
                status = request.get("status") or {}
                condition = {
                    "type": "Approved",
                    "status": "True",
                    "reason": "AutoApproved",
                    "message": _MESSAGES[permission],
                }
                conditions = [*(status.get("conditions") or ()), condition]
                await client.update_subresource({**request, "status": {**status, "conditions": conditions}}, "approval")
                return
        if tried:
            name = request["metadata"]["name"]
            raise NotAllowed(
                f'recognized csr "{name}" as [{" ".join(tried)}] but subject access review was not approved'
            )

    add_request_controller(context, "certificatesigningrequest-approving-controller", WORKERS, handle)


def recognized(request: Object) -> list[str]:
    """The permissions, each of which lets a request be approved: a kubelet's for itself, or one for a node."""
    spec = request["spec"]
    if spec.get("signerName") != KUBELET_CLIENT:
        return []
    parsed = parsed_request(spec["request"])
    if kubelet_client_problem(parsed, spec.get("usages") or ()):
        return []
    own = spec.get("username") == common_name(parsed)
    return ["selfnodeclient", "nodeclient"] if own else ["nodeclient"]


async def _is_allowed(client: Client, request: Object, permission: str) -> bool:
    """Whether the user of a request has a permission on requests (SubjectAccessReview)."""
    spec = request["spec"]
    attributes = {
        "group": "certificates.k8s.io",
        "resource": "certificatesigningrequests",
        "verb": "create",
        "subresource": permission,
        "version": "*",
    }
    names = (("user", "username"), ("uid", "uid"), ("groups", "groups"), ("extra", "extra"))
    who = {name: spec[field] for name, field in names if spec.get(field)}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}}
    answer = await client.create({**review, "spec": {**who, "resourceAttributes": attributes}})
    return bool((answer.get("status") or {}).get("allowed"))
