"""Validates labels, annotations and label selectors (apimachinery `apis/meta/v1/validation`)."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field, Object
from fakekube.apiserver.registry.generic.validation.rules import MEMORY
from fakekube.apiserver.schema import objectmeta

#: Labels that were valid.
_valid: set[tuple[str, str]] = set()


def validate_labels(labels: Field) -> None:
    if not labels.value or labels.value.items() <= _valid:
        return
    if len(_valid) >= MEMORY:
        _valid.clear()
    for key, value in labels.value.items():
        if content.qualified_name_problems(key) or content.label_value_problems(value):
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
    for requirement in selector.each("matchExpressions"):
        validate_requirement(requirement, any_values=any_values)


def validate_requirement(
    requirement: Field, *, any_values: bool, comparisons: bool = False, any_operator: bool = False
) -> None:
    """`comparisons` admits the operators Gt and Lt, which node selectors have, `any_operator` unknown ones."""
    operator, values = requirement["operator"], requirement["values"]
    match operator.value:
        case "In" | "NotIn":
            values.required("must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            values.optional().forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case "Gt" | "Lt" if comparisons:
            if len(values) != 1:
                values.missing("must be specified single value when `operator` is 'Lt' or 'Gt'")
        case _ if not any_operator:
            operator.invalid("not a valid selector operator")
    requirement["key"].qualified_name()
    if not any_values:
        for value in values:
            value.label_value()


def has_invalid_values(selector: Object | None) -> bool:
    expressions = (selector or {}).get("matchExpressions") or ()
    return any(content.label_value_problems(value) for one in expressions for value in one.get("values") or ())


def is_usable(selector: Object | None) -> bool:
    """Whether the selector is valid (`LabelSelectorAsSelector`)."""
    if selector is not None and not selector.get("matchExpressions"):
        labels = selector.get("matchLabels") or {}
        if labels.items() <= _valid:
            return True
    field = Field(selector)
    validate_label_selector(field)
    return not field.errors


def is_empty(selector: Object | None) -> bool:
    """Whether it selects everything. A selector that is absent selects nothing."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    if selector is None:
        return False
    labels = labels or {}
    return all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()) and all(
        _meets(requirement, labels) for requirement in selector.get("matchExpressions") or ()
    )


def _meets(requirement: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.get("key") or ""), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case operator:
            return (value is not None) == (operator == "Exists")
