"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.admissionregistration.defaults import default_rules, default_selectors
from fakekube.apiserver.registry.admissionregistration.matching import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    Compile,
    check_match_conditions,
    check_optional_choice,
    check_rule,
    not_compiled,
)
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, integer, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, add
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector, has_invalid_values
from fakekube.apiserver.registry.generic.validation.webhookclients import check_client
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]


def default_webhooks(obj: Object) -> None:
    """Of both kinds of webhook configuration."""
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        default_selectors(webhook)
        webhook.setdefault("timeoutSeconds", 10)
        default_rules(webhook.get("rules"))
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


REVIEW_VERSIONS = ("v1", "v1beta1")


SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")


NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")


REINVOCATION_POLICIES = ("IfNeeded", "Never")


SELECTORS = ("namespaceSelector", "objectSelector")


@dataclass(frozen=True, slots=True)
class Tolerated:
    """What a stored configuration has wrong already, and may keep."""

    side_effects: bool = False
    review_versions: bool = False
    names: bool = False
    labels: bool = False
    conditions: bool = False


def tolerated(new: Sequence[Object], old: Sequence[Object]) -> Tolerated:
    kept = [one.get("matchConditions") for one in new] == [one.get("matchConditions") for one in old]
    return Tolerated(
        side_effects=any(one.get("sideEffects") not in NO_SIDE_EFFECTS for one in old),
        review_versions=any(not _is_recognized(one.get("admissionReviewVersions") or ()) for one in old),
        names=len({one.get("name") for one in old}) < len(old),
        labels=any(has_invalid_values(one.get(selector)) for one in old for selector in SELECTORS),
        conditions=kept,
    )


def _is_recognized(versions: Sequence[str]) -> bool:
    return not versions or any(version in REVIEW_VERSIONS for version in versions)


def validate_configuration(configuration: Object, compile: Compile = not_compiled) -> list[FieldError]:
    return _errors(configuration.get("webhooks") or [], Tolerated(), compile)


def validate_configuration_update(new: Object, old: Object, compile: Compile = not_compiled) -> list[FieldError]:
    webhooks = new.get("webhooks") or []
    return _errors(webhooks, tolerated(webhooks, old.get("webhooks") or []), compile)


def _errors(webhooks: Sequence[Object], old: Tolerated, compile: Compile) -> list[FieldError]:
    errors: Errors = []
    seen: set[str] = set()
    for i, webhook in enumerate(webhooks):
        path, name = f"webhooks[{i}]", webhook.get("name") or ""
        _check_webhook(webhook, path, errors, old, compile)
        versions = webhook.get("admissionReviewVersions") or []
        _check_review_versions(versions, f"{path}.admissionReviewVersions", errors, any_version=old.review_versions)
        if name and name in seen and not old.names:
            errors.append(field_duplicate(f"{path}.name", name))
        seen.add(name)
    return errors


def _check_webhook(webhook: Object, path: str, errors: Errors, old: Tolerated, compile: Compile) -> None:
    check_full_name(webhook.get("name") or "", f"{path}.name", errors)
    for i, rule in enumerate(webhook.get("rules") or ()):
        check_rule(rule, f"{path}.rules[{i}]", errors)
    check_optional_choice(webhook.get("failurePolicy"), FAILURE_POLICIES, f"{path}.failurePolicy", errors)
    check_optional_choice(webhook.get("matchPolicy"), MATCH_POLICIES, f"{path}.matchPolicy", errors)
    effects = SIDE_EFFECTS if old.side_effects else NO_SIDE_EFFECTS
    _check_side_effects(webhook.get("sideEffects"), effects, f"{path}.sideEffects", errors)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        errors.append(field_invalid(f"{path}.timeoutSeconds", seconds, why))
    for selector in SELECTORS:
        check_label_selector(webhook.get(selector), f"{path}.{selector}", errors, any_values=old.labels)
    reinvocation = webhook.get("reinvocationPolicy")
    check_optional_choice(reinvocation, REINVOCATION_POLICIES, f"{path}.reinvocationPolicy", errors)
    check_client(webhook.get("clientConfig") or {}, f"{path}.clientConfig", errors)
    if not old.conditions:
        conditions = webhook.get("matchConditions") or ()
        check_match_conditions(conditions, f"{path}.matchConditions", errors, params=False, compile=compile)


def check_full_name(name: str, path: str, errors: Errors) -> None:
    """A domain of three segments at least (`IsFullyQualifiedName`)."""
    problems = names.dns_subdomain_problems(name) if name else []
    if not name:
        errors.append(field_required(path))
    elif problems:
        errors.append(field_invalid(path, name, ",".join(problems)))
    elif name.count(".") < 2:
        errors.append(field_invalid(path, name, "should be a domain with at least three segments separated by dots"))


def _check_side_effects(effects: str | None, allowed: Sequence[str], path: str, errors: Errors) -> None:
    if effects is None:
        errors.append(field_required(path, f"must specify one of {', '.join(allowed)}"))
    elif effects not in allowed:
        errors.append(field_not_supported(path, effects, allowed))


def _check_review_versions(versions: list[str], path: str, errors: Errors, *, any_version: bool) -> None:
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        errors.append(field_required(path, f"must specify one of {known}"))
        return
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(field_invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            add(errors, f"{path}[{i}]", version, names.dns1035_label_problems(version))
    if not any_version and not _is_recognized(versions):
        errors.append(field_invalid(path, versions, f"must include at least one of {known}"))


def _webhooks(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(obj.get("webhooks") or ()), age_of(obj, ages)]


PRINTER = Printer(columns(NAME, integer("Webhooks"), AGE), _webhooks)
