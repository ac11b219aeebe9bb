"""The controller of aggregated ClusterRoles (`pkg/controller/clusterroleaggregation`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Request
from controllerlib.client import label_selector_as_selector
from controllerlib.controller import Event, HandlerFuncs, RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.lister import CachedKind

API_VERSION = "rbac.authorization.k8s.io/v1"
WORKERS = 5

#: The fields of a rule, in the order in which they are written.
FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of aggregated ClusterRoles."""
    client = context.client("clusterrole-aggregation-controller")
    roles = context.kind(API_VERSION, "ClusterRole")

    async def reconcile(request: Request) -> None:
        role = roles.get("", request.name)
        if role is None or not role.get("aggregationRule"):
            return
        rules = aggregated_rules(role, roles)
        if rules != [_rule(one) for one in role.get("rules") or ()]:
            applied = {"apiVersion": API_VERSION, "kind": "ClusterRole", "metadata": {"name": request.name}}
            body = {**applied, "rules": rules} if rules else applied
            await client.apply(body, field_manager="clusterrole-aggregation-controller", force=True)

    def enqueue(event: Event, queue: RequestQueue) -> None:
        """Any role may be a part of any aggregated one."""
        for role in roles.list():
            if role.get("aggregationRule"):
                queue.add(Request.of(role))

    builder = context.controller("clusterrole-aggregation-controller").with_options(max_concurrent_reconciles=WORKERS)
    builder.watches(API_VERSION, "ClusterRole", HandlerFuncs(create=enqueue, update=enqueue, delete=enqueue))
    builder.complete(reconcile)


def aggregated_rules(role: Object, roles: CachedKind) -> Sequence[Object]:
    """The rules of the roles that each selector of an aggregated role matches, by their names, each rule once."""
    found: list[Object] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        for part in roles.list(selector=label_selector_as_selector(selector)):
            if part["metadata"]["name"] != role["metadata"]["name"]:
                for rule in map(_rule, part.get("rules") or ()):
                    if rule not in found:
                        found.append(rule)
    return found


def _rule(rule: Object) -> Object:
    """A rule without its empty fields."""
    return {name: rule[name] for name in FIELDS if rule.get(name)}
