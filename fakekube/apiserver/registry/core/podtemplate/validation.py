"""Kinds with a pod template: their selectors and templates (kubernetes `pkg/apis/apps/validation`); and PodTemplate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import validate_template
from fakekube.apiserver.registry.core.pod.validation.ratcheting import options_after
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import (
    is_empty,
    is_usable,
    matches,
    validate_label_selector,
)
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.resultsbytext import Remembered
from fakekube.apiserver.wire.goprint import labels_literal
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]

SpecRule = Callable[[Field, PodOptions], object]
"""Validates an object with a pod template, or its spec."""


def options_of(spec: Mapping[str, Any]) -> PodOptions:
    """The options that accept what the stored template has."""
    template = spec.get("template") or {}
    return options_after(template.get("spec") or {}, template.get("metadata") or {}, is_pod=False)


def ratcheted(new: Field, rules: SpecRule, stored: Mapping[str, Any]) -> bool:
    """Applies the rules strictly, and if they find errors, with the options that accept the template of the stored
    spec; returns whether there are still errors."""
    alone = Field(new.value)
    rules(alone, TEMPLATE)
    return bool(alone.errors) and _tolerated(new, rules, stored)


def _tolerated(new: Field, rules: SpecRule, stored: Mapping[str, Any]) -> bool:
    """Applies the rules with the options that accept what the template of the stored spec has; returns whether there
    are errors."""
    alone = Field(new.value)
    rules(alone, options_of(stored))
    new.errors.extend(alone.errors)
    return bool(alone.errors)


@Remembered
def _is_valid(spec: Object | None, rules: SpecRule) -> bool:
    """Whether the rules find no errors in a spec."""
    alone = Field(spec)
    rules(alone, TEMPLATE)
    return not alone.errors


def spec_validator(rules: SpecRule) -> Callable[[Object], list[FieldError]]:
    validate = validator(lambda obj: rules(obj["spec"], TEMPLATE))
    return lambda obj: [] if _is_valid(obj.get("spec"), rules) else validate(obj)


def spec_update_validator(
    rules: SpecRule, *, fixed_selector: bool = True, selector_first_since: int | None = None
) -> Callable[[Object, Object], list[FieldError]]:
    def validate_update(new: Field, old: Field) -> None:
        before, selector = old["spec"], new["spec"]["selector"]
        selector_first = selector_first_since is not None and since(selector_first_since)
        if selector_first:
            selector.immutable_struct(before["selector"], "LabelSelector")
        if not _is_valid(new["spec"].value, rules):
            _tolerated(new, lambda obj, options: rules(obj["spec"], options), before.struct)
        if fixed_selector and not selector_first:
            selector.immutable_struct(before["selector"], "LabelSelector")

    return update_validator(validate_update)


def validate_template_selector(selector: Field, kind: str) -> None:
    """It is set, valid, and does not select everything."""
    validate_label_selector(selector.specified())
    if is_empty(selector.value):
        selector.invalid_struct("LabelSelector", f"empty selector is invalid for {kind}")


def validate_match(selector: Object | None, template: Field) -> None:
    labels = template["metadata"]["labels"]
    if not matches(selector, labels.value):
        labels.invalid("`selector` does not match template `labels`", labels_literal(labels.value))


def validate_selected_template(spec: Field, options: PodOptions, kind: str) -> None:
    """The selector selects the pods of the template."""
    selector, template = spec["selector"], spec["template"]
    if not is_usable(selector.value):
        selector.invalid_struct("LabelSelector", "invalid label selector")
        return
    if not is_empty(selector.value):
        validate_match(selector.value, template)
    validate_template(template, options)
    validate_lasting(template["spec"], kind)


def validate_lasting(spec: Field, kind: str) -> None:
    """Pods that are kept running always restart, and have no deadline."""
    spec["restartPolicy"].one_of(("Always",))
    spec.get("activeDeadlineSeconds").forbidden(f"activeDeadlineSeconds in {kind} is not Supported")


def rolling_counts(rolling: Field) -> tuple[Field, Field]:
    """maxUnavailable and maxSurge; 0 if they are not set."""
    unavailable, surge = (rolling.at(name, rolling.struct.get(name, 0)) for name in ("maxUnavailable", "maxSurge"))
    return unavailable, surge


def validate_pod_template(obj: Field, options: PodOptions = TEMPLATE) -> None:
    validate_template(obj["template"], options)


def validate_pod_template_update(new: Field, old: Field) -> None:
    ratcheted(new, validate_pod_template, old.struct)
