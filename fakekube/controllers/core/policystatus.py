"""The controller of the status of ValidatingAdmissionPolicies (`pkg/controller/validatingadmissionpolicystatus`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client, Request
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.registry.admissionregistration.typechecking import (
    GroupVersionKind,
    declared_type,
    expression_warnings,
    param_type,
    types_to_check,
)
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.servedresources import served_resources

API_VERSION, KIND = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
NAME = "validatingadmissionpolicy-status-controller"
WORKERS = 5

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of the status of ValidatingAdmissionPolicies."""
    client = context.client(NAME)
    policies = context.kind(API_VERSION, KIND)
    documents = Documents(client)

    async def reconcile(request: Request) -> None:
        policy = policies.get("", request.name)
        if policy is None:
            return
        generation = policy["metadata"].get("generation") or 0
        if generation <= ((policy.get("status") or {}).get("observedGeneration") or 0):
            return
        suffix = str(context.now().microsecond * 1000)
        resources = await served_resources(client)
        types = {kind: await documents.type(kind, suffix) for kind in types_to_check(policy, resources.kinds)}
        params = param_type(policy)
        warnings = expression_warnings(
            policy,
            {kind: one for kind, one in types.items() if one is not None},
            None if params is None else await documents.type(params, suffix),
        )
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "typeChecking": {"expressionWarnings": warnings} if warnings else {},
        }
        applied = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": request.name}, "status": status}
        await client.apply(applied, field_manager=NAME, force=True, subresource="status")

    builder = context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
    builder.for_(API_VERSION, KIND).complete(reconcile)


class Documents:
    """The OpenAPI 3 documents of the server; one is read again when its hash has changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[str, Object]] = {}

    async def type(self, kind: GroupVersionKind, suffix: str) -> Type | None:
        """The type of a kind, with a suffix of its name; None if the server does not have it. Raises ApiError."""
        group, version, _ = kind
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        paths = (await self._client.raw_get("/openapi/v3"))["paths"]
        if path not in paths:
            return None
        url = paths[path]["serverRelativeURL"]
        if self._known.get(path, ("",))[0] != url:
            where, _, query = url.partition("?")
            pairs = [pair.partition("=")[::2] for pair in query.split("&") if pair]
            self._known[path] = url, await self._client.raw_get(where, pairs)
        return declared_type(self._known[path][1], kind, suffix)
