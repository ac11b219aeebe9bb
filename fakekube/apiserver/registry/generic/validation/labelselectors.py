"""Labels, annotations and the selectors of labels (apimachinery `apis/meta/v1/validation`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors, check_qualified_name, qualified_name_problems
from fakekube.apiserver.registry.generic.validation.field import MEMORY, Field
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_required

Object = dict[str, Any]

LABELS_MISMATCH = "`selector` does not match template `labels`"

value_problems = content.label_value_problems


def check_label_name(name: str, path: str, errors: Errors) -> None:
    check_qualified_name(name, path, errors)


def check_labels(labels: Mapping[str, str] | None, path: str, errors: Errors) -> None:
    for key, value in (labels or {}).items():
        if qualified_name_problems(key) or value_problems(value):
            check_qualified_name(key, path, errors)
            errors += [field_invalid(path, value, problem) for problem in value_problems(value)]


def check_annotations(annotations: Object | None, path: str, errors: Errors) -> None:
    if annotations:
        errors += objectmeta.annotation_errors(annotations, path)


def check_label_selector(selector: Object | None, path: str, errors: Errors, *, any_values: bool = False) -> None:
    """`any_values`: what is already stored may have values that no label has."""
    if selector is None:
        return
    check_labels(selector.get("matchLabels"), f"{path}.matchLabels", errors)
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        _check_requirement(expression, f"{path}.matchExpressions[{i}]", errors, any_values)


def _check_requirement(expression: Object, path: str, errors: Errors, any_values: bool) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(field_required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(field_forbidden(f"{path}.values", why))
    else:
        errors.append(field_invalid(f"{path}.operator", operator, "not a valid selector operator"))
    check_label_name(expression.get("key") or "", f"{path}.key", errors)
    if not any_values:
        for n, value in enumerate(values):
            errors += [field_invalid(f"{path}.values[{n}]", value, problem) for problem in value_problems(value)]


#: Labels that were valid.
_valid: set[tuple[str, str]] = set()


def validate_labels(labels: Field) -> None:
    if not labels.value or labels.value.items() <= _valid:
        return
    if len(_valid) >= MEMORY:
        _valid.clear()
    for key, value in labels.value.items():
        if qualified_name_problems(key) or value_problems(value):
            labels.with_value(key).qualified_name()
            labels.with_value(value).label_value()
        else:
            _valid.add((key, value))


def validate_annotations(annotations: Field) -> None:
    if annotations.value:
        annotations.errors.extend(objectmeta.annotation_errors(annotations.value, annotations.path))


def validate_label_selector(selector: Field, *, any_values: bool = False) -> None:
    """`any_values` accepts values that no label can have, since a stored object may have them."""
    if selector.value is None:
        return
    validate_labels(selector["matchLabels"])
    for requirement in selector["matchExpressions"]:
        validate_requirement(requirement, any_values=any_values)


def validate_requirement(requirement: Field, *, any_values: bool, comparisons: bool = False) -> None:
    """`comparisons` admits the operators Gt and Lt, which node selectors have."""
    operator, values = requirement["operator"], requirement["values"]
    match operator.value:
        case "In" | "NotIn":
            values.required("must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case "Gt" | "Lt" if comparisons:
            if len(values) != 1:
                values.missing("must be specified single value when `operator` is 'Lt' or 'Gt'")
        case _:
            operator.invalid("not a valid selector operator")
    requirement["key"].qualified_name()
    if not any_values:
        for value in values:
            value.label_value()


def has_invalid_values(selector: Object | None) -> bool:
    expressions = (selector or {}).get("matchExpressions") or ()
    return any(value_problems(value) for one in expressions for value in one.get("values") or ())


def is_usable(selector: Object | None) -> bool:
    """Whether the selector can be read at all (`LabelSelectorAsSelector`)."""
    if selector is None:
        return True
    if not selector.get("matchExpressions"):
        pairs = (selector.get("matchLabels") or {}).items()
        return not any(qualified_name_problems(key) or value_problems(value) for key, value in pairs)
    errors: Errors = []
    check_label_selector(selector, "", errors)
    return not errors


def is_empty(selector: Object | None) -> bool:
    """It selects everything. No selector at all selects nothing, which is not the same."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    if selector is None:
        return False
    labels = labels or {}
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(expression, labels) for expression in selector.get("matchExpressions") or ())


def _meets(expression: Object, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression.get("key") or "")
    values, operator = expression.get("values") or (), expression.get("operator")
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    return (value is not None) == (operator == "Exists")
