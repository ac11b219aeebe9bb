"""TODO"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import check_template
from fakekube.apiserver.registry.core.pod.validation.ratcheting import options_after
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_selector
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

CheckSpec = Callable[[Object, Errors, PodOptions], None]


def revalidate(new: Object, old: Object, check: CheckSpec, errors: Errors) -> None:
    """Checks the spec of an update: strictly, and where that finds something, with what the stored template has."""
    spec, found = new.get("spec") or {}, Errors()
    check(spec, found, TEMPLATE)
    if found:
        found = []
        check(spec, found, options_of(old.get("spec") or {}))
    errors += found


def options_of(spec: Object) -> PodOptions:
    template: Object = spec.get("template") or {}
    return options_after(template.get("spec") or {}, template.get("metadata") or {}, is_pod=False)


def validator(check: CheckSpec) -> Callable[[Object], Errors]:
    """Of a new object."""

    def validate(obj: Object) -> Errors:
        errors: Errors = []
        check(obj.get("spec") or {}, errors, TEMPLATE)
        return errors

    return validate


def check_selector(spec: Object, kind: str, errors: Errors) -> None:
    """It is there, can be read, and does not select everything."""
    selector: Object | None = spec.get("selector")
    if selector is None:
        errors.append(field_required("spec.selector"))
        return
    labelselectors.check_label_selector(selector, "spec.selector", errors)
    if labelselectors.is_empty(selector):
        errors.append(invalid_selector("spec.selector", selector, f"empty selector is invalid for {kind}"))


def check_selected_template(spec: Object, problem: str, errors: Errors, options: PodOptions, kind: str) -> None:
    """The selector must select the pods that the template makes. `problem`: what is said of one that cannot be read."""
    selector: Object | None = spec.get("selector")
    template: Object = spec.get("template") or {}
    if not labelselectors.is_usable(selector):
        errors.append(invalid_selector("spec.selector", selector, problem))
        return
    if not labelselectors.is_empty(selector):
        check_match(selector, template, errors)
    check_template(template, "spec.template", errors, options)
    check_lasting(template.get("spec") or {}, kind, errors)


def check_match(selector: Object | None, template: Object, errors: Errors) -> None:
    own = (template.get("metadata") or {}).get("labels")
    if not labelselectors.matches(selector, own):
        errors.append(field_invalid("spec.template.metadata.labels", own or None, labelselectors.LABELS_MISMATCH))


def check_lasting(spec: Object, kind: str, errors: Errors) -> None:
    """Pods that are kept running are restarted always, and have no deadline."""
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        errors.append(field_not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(field_forbidden("spec.template.spec.activeDeadlineSeconds", why))


def _selector_is_fixed(new: Object, old: Object, errors: Errors) -> None:
    selector = (new.get("spec") or {}).get("selector")
    if selector != (old.get("spec") or {}).get("selector"):
        errors.append(invalid_selector("spec.selector", selector, content.IMMUTABLE))


def with_fixed_selector(check: CheckSpec) -> Callable[[Object, Object], Errors]:
    def validate_update(new: Object, old: Object) -> Errors:
        errors: Errors = []
        revalidate(new, old, check, errors)
        _selector_is_fixed(new, old, errors)
        return errors

    return validate_update


def validate_pod_template(obj: Object) -> Errors:
    errors: Errors = []
    check_template(obj.get("template") or {}, "template", errors)
    return errors


def validate_pod_template_update(new: Object, old: Object) -> Errors:
    errors = validate_pod_template(new)
    if errors:
        errors = []
        check_template(new.get("template") or {}, "template", errors, options_of(old))
    return errors
