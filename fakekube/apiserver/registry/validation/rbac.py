"""Roles and their bindings (kubernetes `pkg/apis/rbac/validation`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import Errors, add, check_dns_subdomain
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def _is_namespaced(obj: Object) -> bool:
    return bool(obj["metadata"].get("namespace"))


def validate_role(role: Object) -> list[FieldError]:
    """Of a Role, and of a ClusterRole, which has no namespace."""
    errors: Errors = []
    for i, rule in enumerate(role.get("rules") or ()):
        _check_rule(rule, f"rules[{i}]", errors, _is_namespaced(role))
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


def validate_binding(binding: Object) -> list[FieldError]:
    """Of a RoleBinding, and of a ClusterRoleBinding, which has no namespace."""
    errors: Errors = []
    namespaced, role = _is_namespaced(binding), binding.get("roleRef") or {}
    group, kind, name = (role.get(field) or "" for field in ("apiGroup", "kind", "name"))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if group != GROUP:
        errors.append(field_not_supported("roleRef.apiGroup", group, (GROUP,)))
    if kind not in kinds:
        errors.append(field_not_supported("roleRef.kind", kind, kinds))
    if name:
        add(errors, "roleRef.name", name, names.path_segment_problems(name))
    else:
        errors.append(field_required("roleRef.name"))
    for i, subject in enumerate(binding.get("subjects") or ()):
        _check_subject(subject, f"subjects[{i}]", errors, namespaced)
    return errors


def validate_binding_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    errors += validate_binding(new)
    errors += objectmeta.validate_update(new["metadata"], old["metadata"])
    role = new.get("roleRef") or {}
    if role != (old.get("roleRef") or {}):
        shown = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
        why = f"Invalid value: {gostructs.marshal(shown)}: cannot change roleRef"
        errors.append(FieldError("roleRef", "FieldValueInvalid", why))
    return errors


def _check_subject(subject: Object, path: str, errors: Errors, namespaced: bool) -> None:
    kind, name, group = (subject.get(field) or "" for field in ("kind", "name", "apiGroup"))
    if not name:
        errors.append(field_required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            check_dns_subdomain(name, f"{path}.name", errors)
        if group:
            errors.append(field_not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(field_required(f"{path}.namespace"))
    elif kind in SUBJECT_KINDS:
        if not name:
            errors.append(field_invalid(f"{path}.name", name, f"{kind.lower()} name cannot be empty"))
        if group != GROUP:
            errors.append(field_not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        errors.append(field_not_supported(f"{path}.kind", kind, SUBJECT_KINDS))
