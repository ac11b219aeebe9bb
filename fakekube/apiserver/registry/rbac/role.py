"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic import names, objectmeta
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]


def is_namespaced(obj: Object) -> bool:
    return bool(obj["metadata"].get("namespace"))


def validate_role(role: Object) -> list[FieldError]:
    """Of a Role, and of a ClusterRole, which has no namespace."""
    errors: Errors = []
    for i, rule in enumerate(role.get("rules") or ()):
        _check_rule(rule, f"rules[{i}]", errors, is_namespaced(role))
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(field_required(path, why))
        for i, selector in enumerate(selectors):
            check_label_selector(selector, f"{path}[{i}]", errors)
    return errors


def validate_role_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    errors += validate_role(new)
    return errors + objectmeta.validate_update(new["metadata"], old["metadata"])


def _check_rule(rule: Object, path: str, errors: Errors, namespaced: bool) -> None:
    if not rule.get("verbs"):
        errors.append(field_required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or []
    if urls:
        here = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(field_invalid(here, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(field_invalid(here, urls, why))
        return
    if not rule.get("apiGroups"):
        errors.append(field_required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(field_required(f"{path}.resources", "resource rules must supply at least one resource"))
    if rule.get("resourceNames") and len(rule.get("resources") or ()) > 1:
        errors.append(field_required(f"{path}.resourceNames", "resource names cannot apply to multiple resources"))


STRATEGY = Strategy(
    name_check=names.path_segment_problems,
    create_on_update=True,
    repeats_metadata=False,
    validate=validate_role,
    validate_update=validate_role_update,
)

KIND = Kind(
    "roles.rbac.authorization.k8s.io",
    STRATEGY,
)
