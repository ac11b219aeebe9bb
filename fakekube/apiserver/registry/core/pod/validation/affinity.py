"""Where a pod may run: node selectors, affinity, spreading, tolerations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NO_OPERATOR = "not a valid selector operator"
NO_SELECTOR = "must not be specified when labelSelector is not set"
IN_BOTH = "exists in both matchLabelKeys and labelSelector"


# --- nodes ---------------------------------------------------------------------------------------------------------


def check_node_selector(selector: Object, path: str, errors: Errors, *, any_values: bool) -> None:
    """`any_values`: values that no label has are let through."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        errors.append(field_required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
    for i, term in enumerate(terms):
        check_node_term(term, f"{path}.nodeSelectorTerms[{i}]", errors, any_values=any_values)


def validate_node_selector(selector: Field, *, any_values: bool) -> None:
    """`any_values` accepts values that no label can have (`ValidateNodeSelector`)."""
    check_node_selector(selector.value, selector.path, selector.errors, any_values=any_values)


def validate_node_selector_term(term: Field, *, any_values: bool) -> None:
    check_node_term(term.value, term.path, term.errors, any_values=any_values)


def check_node_term(term: Object, path: str, errors: Errors, *, any_values: bool) -> None:
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        _check_node_labels(requirement, f"{path}.matchExpressions[{i}]", errors, any_values)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        _check_node_field(requirement, f"{path}.matchFields[{i}]", errors)


def _check_node_labels(requirement: Object, path: str, errors: Errors, any_values: bool) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    here = f"{path}.values"
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(field_required(here, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(field_forbidden(here, why))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(field_required(here, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(field_invalid(f"{path}.operator", operator, NO_OPERATOR))
    labelselectors.check_label_name(requirement.get("key") or "", f"{path}.key", errors)
    if not any_values:
        for i, value in enumerate(values):
            content.add(errors, f"{here}[{i}]", value, labelselectors.value_problems(value))


def _check_node_field(requirement: Object, path: str, errors: Errors) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(field_invalid(f"{path}.operator", operator, NO_OPERATOR))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(field_required(f"{path}.values", why))
    key = requirement.get("key") or ""
    if key != "metadata.name":
        errors.append(field_invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for i, value in enumerate(values):
        content.check_dns_subdomain(value, f"{path}.values[{i}]", errors)


# --- affinity ------------------------------------------------------------------------------------------------------


def check_affinity(affinity: Object | None, path: str, errors: Errors, options: PodOptions) -> None:
    if not affinity:
        return
    node = affinity.get("nodeAffinity") or {}
    if node.get(REQUIRED) is not None:
        here = f"{path}.nodeAffinity.{REQUIRED}"
        check_node_selector(node[REQUIRED], here, errors, any_values=options.any_node_values)
    for i, preferred in enumerate(node.get(PREFERRED) or ()):
        here = f"{path}.nodeAffinity.{PREFERRED}[{i}]"
        _check_weight(preferred, here, errors)
        check_node_term(preferred.get("preference") or {}, f"{here}.preference", errors, any_values=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        for i, term in enumerate(found.get(REQUIRED) or ()):
            _check_pod_term(term, f"{path}.{kind}.{REQUIRED}[{i}]", errors, options)
        for i, weighted in enumerate(found.get(PREFERRED) or ()):
            here = f"{path}.{kind}.{PREFERRED}[{i}]"
            _check_weight(weighted, here, errors)
            _check_pod_term(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm", errors, options)


def _check_weight(holder: Object, path: str, errors: Errors) -> None:
    weight = holder.get("weight") or 0
    if not 0 < weight <= 100:
        errors.append(field_invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def _check_pod_term(term: Object, path: str, errors: Errors, options: PodOptions) -> None:
    for field in ("labelSelector", "namespaceSelector"):
        any_values = options.any_selector_values
        labelselectors.check_label_selector(term.get(field), f"{path}.{field}", errors, any_values=any_values)
    for namespace in term.get("namespaces") or ():
        content.add(errors, f"{path}.namespace", namespace, names.dns_label_problems(namespace))
    check_label_keys(term, path, errors)
    key = term.get("topologyKey") or ""
    if not key:
        errors.append(field_required(f"{path}.topologyKey", "can not be empty"))
    labelselectors.check_label_name(key, f"{path}.topologyKey", errors)


def check_label_keys(term: Object, path: str, errors: Errors) -> None:
    """Keys whose values are the pod's own (`ValidateMatchLabelKeysAndMismatchLabelKeys`).

    Before, the server has put them into the selector; a key that the selector had already stands there twice.
    """
    matching, other = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    selector = term.get("labelSelector")
    for field, keys in (("matchLabelKeys", matching), ("mismatchLabelKeys", other)):
        if keys and selector is None:
            errors.append(field_forbidden(f"{path}.{field}", NO_SELECTOR))
        elif keys:
            for i, key in enumerate(keys):
                labelselectors.check_label_name(key, f"{path}.{field}[{i}]", errors)
    if selector is not None and matching:
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in seen and key in matching:
                index = len(matching) - 1 - list(reversed(matching)).index(key)
                errors.append(field_invalid(f"{path}[{index}]", key, IN_BOTH))
            seen.add(key)
    for i, key in enumerate(matching):
        if key in other:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(field_invalid(f"{path}.matchLabelKeys[{i}]", key, why))


# --- spreading -----------------------------------------------------------------------------------------------------


def check_spreading(constraints: Sequence[Object], path: str, errors: Errors, options: PodOptions) -> None:
    """`validateTopologySpreadConstraints`."""
    for i, constraint in enumerate(constraints):
        here = f"{path}[{i}]"
        skew, key = constraint.get("maxSkew") or 0, constraint.get("topologyKey") or ""
        action = constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            errors.append(field_invalid(f"{here}.maxSkew", skew, content.NOT_POSITIVE))
        if not key:
            errors.append(field_required(f"{here}.topologyKey", "can not be empty"))
        content.check_supported(action, ("DoNotSchedule", "ScheduleAnyway"), f"{here}.whenUnsatisfiable", errors)
        others = ((c.get("topologyKey") or "", c.get("whenUnsatisfiable") or "") for c in constraints[i + 1 :])
        if (key, action) in others:
            errors.append(field_duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        _check_domains(constraint.get("minDomains"), action, f"{here}.minDomains", errors)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(field) is not None:
                content.check_supported(constraint[field], ("Honor", "Ignore"), f"{here}.{field}", errors)
        if options.old_spread_keys:
            _check_old_label_keys(constraint, f"{here}.matchLabelKeys", errors)
        else:
            check_label_keys(constraint, here, errors)
        if not options.any_spread_selectors:
            labelselectors.check_label_selector(constraint.get("labelSelector"), f"{here}.labelSelector", errors)


def _check_domains(domains: int | None, action: str, path: str, errors: Errors) -> None:
    if domains is None:
        return
    if domains <= 0:
        errors.append(field_invalid(path, domains, content.NOT_POSITIVE))
    if action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(field_invalid(path, domains, why))


def _check_old_label_keys(constraint: Object, path: str, errors: Errors) -> None:
    """As before 1.34, for what was stored then (`ValidateMatchLabelKeysInTopologySpread`)."""
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if not keys:
        return
    if selector is None:
        errors.append(field_forbidden(path, NO_SELECTOR))
    found = {*((selector or {}).get("matchLabels") or ())}
    found |= {one.get("key") or "" for one in (selector or {}).get("matchExpressions") or ()}
    for i, key in enumerate(keys):
        labelselectors.check_label_name(key, f"{path}[{i}]", errors)
        if key in found:
            errors.append(field_invalid(f"{path}[{i}]", key, IN_BOTH))


# --- tolerations ---------------------------------------------------------------------------------------------------

_MATCH_ALL = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def check_tolerations(tolerations: Sequence[Object], path: str, errors: Errors) -> None:
    for i, toleration in enumerate(tolerations):
        _check_toleration(toleration, f"{path}[{i}]", errors)


def validate_tolerations(tolerations: Field) -> None:
    check_tolerations(tolerations.value or (), tolerations.path, tolerations.errors)


def _check_toleration(toleration: Object, path: str, errors: Errors) -> None:
    key, operator, effect = (toleration.get(name) or "" for name in ("key", "operator", "effect"))
    if key:
        labelselectors.check_label_name(key, f"{path}.key", errors)
    elif operator != "Exists":
        errors.append(field_invalid(f"{path}.operator", operator, _MATCH_ALL))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(field_invalid(f"{path}.effect", effect, why))
    check = OPERATORS.get(operator)
    if check is None:
        errors.append(field_not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    else:
        check(operator, toleration.get("value") or "", f"{path}.operator", errors)
    if effect:
        content.check_supported(effect, EFFECTS, f"{path}.effect", errors)


def _check_equal(operator: str, value: str, path: str, errors: Errors) -> None:
    problems = labelselectors.value_problems(value)
    if problems:
        errors.append(field_invalid(path, value, ";".join(problems)))


def _check_exists(operator: str, value: str, path: str, errors: Errors) -> None:
    if value:
        errors.append(field_invalid(path, value, "value must be empty when `operator` is 'Exists'"))


def _refuse_comparison(operator: str, value: str, path: str, errors: Errors) -> None:
    """Numbers are compared only where an alpha feature is on."""
    errors.append(field_not_supported(path, operator, ("Equal", "Exists", "Lt", "Gt")))


OPERATORS: dict[str, Callable[[str, str, str, Errors], None]] = {
    "": _check_equal,
    "Equal": _check_equal,
    "Exists": _check_exists,
    "Lt": _refuse_comparison,
    "Gt": _refuse_comparison,
}
