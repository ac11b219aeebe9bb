"""Role, and ClusterRole, which has the same rules (`ValidateRole`, `ValidateClusterRole`)."""

from __future__ import annotations

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import is_usable, validate_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator


def is_namespaced(obj: Field) -> bool:
    return bool(obj["metadata"]["namespace"])


def validate(role: Field) -> None:
    for rule in role["rules"]:
        _validate_rule(rule, is_namespaced(role))
    selectors = role.get("aggregationRule")["clusterRoleSelectors"]
    for selector in selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil"):
        validate_label_selector(selector)
        if not is_usable(selector.value):
            selector.invalid("invalid label selector.", None)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, names.path_segment_problems)
    validate(new)
    validate_metadata_update(new, old)


def _validate_rule(rule: Field, namespaced: bool) -> None:
    rule["verbs"].required("verbs must contain at least one value")
    urls = rule["nonResourceURLs"]
    if urls:
        if namespaced:
            urls.invalid("namespaced rules cannot apply to non-resource URLs")
        if rule["apiGroups"] or rule["resources"] or rule["resourceNames"]:
            urls.invalid("rules cannot apply to both regular resources and non-resource URLs")
        return
    rule["apiGroups"].required("resource rules must supply at least one api group")
    rule["resources"].required("resource rules must supply at least one resource")


STRATEGY = Strategy(
    name_check=names.path_segment_problems,
    create_on_update=True,
    repeats_metadata=False,
    validate=validator(validate),
    as_new_before=35,
    validate_update=update_validator(validate_update),
)


KIND = Kind(
    "roles.rbac.authorization.k8s.io",
    STRATEGY,
)
