"""Webhook configurations, mutating and validating (`validateWebhook`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.cel.environment import Environment, problem_of
from fakekube.apiserver.names import dns_subdomain_problems
from fakekube.apiserver.registry.admissionregistration.matching import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    Compiler,
    default_rules,
    default_selectors,
    validate_match_conditions,
    validate_rule,
)
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, integer, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import has_invalid_values, validate_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.webhookclients import validate_client
from fakekube.struct import Struct

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


class Tolerated(Struct, frozen=True):
    """What a stored configuration has wrong already, and can keep."""

    side_effects: bool = False
    review_versions: bool = False
    names: bool = False
    labels: bool = False
    conditions: bool = False


def _tolerated(new: Sequence[Object], old: Sequence[Object]) -> Tolerated:
    return Tolerated(
        side_effects=any(one.get("sideEffects") not in NO_SIDE_EFFECTS for one in old),
        review_versions=any(not _is_recognized(one.get("admissionReviewVersions") or ()) for one in old),
        names=len({one.get("name") for one in old}) < len(old),
        labels=any(has_invalid_values(one.get(selector)) for one in old for selector in SELECTORS),
        conditions=[one.get("matchConditions") for one in new] == [one.get("matchConditions") for one in old],
    )


def _is_recognized(versions: Sequence[str]) -> bool:
    return not versions or any(version in REVIEW_VERSIONS for version in versions)


def validate_webhooks(configuration: Field) -> None:
    _validate_each(configuration["webhooks"], Tolerated())


def validate_webhooks_update(new: Field, old: Field) -> None:
    validate_metadata(new, qualified=False)
    webhooks = new["webhooks"]
    _validate_each(webhooks, _tolerated(webhooks.value or (), old["webhooks"].value or ()))


def _validate_each(webhooks: Field, old: Tolerated) -> None:
    seen: set[str] = set()
    for webhook in webhooks:
        _validate_webhook(webhook, old)
        _validate_review_versions(webhook["admissionReviewVersions"], any_version=old.review_versions)
        name = webhook["name"].optional()
        if not old.names:
            name.unique(seen)


def _validate_webhook(webhook: Field, old: Tolerated) -> None:
    _validate_full_name(webhook["name"])
    for rule in webhook["rules"]:
        validate_rule(rule)
    webhook.get("failurePolicy").one_of(FAILURE_POLICIES)
    webhook.get("matchPolicy").one_of(MATCH_POLICIES)
    effects = SIDE_EFFECTS if old.side_effects else NO_SIDE_EFFECTS
    webhook["sideEffects"].specified(f"must specify one of {', '.join(effects)}").one_of(effects)
    webhook.get("timeoutSeconds").between(1, 30, "the timeout value must be between 1 and 30 seconds")
    for selector in SELECTORS:
        validate_label_selector(webhook[selector], any_values=old.labels)
    webhook.get("reinvocationPolicy").one_of(REINVOCATION_POLICIES)
    validate_client(webhook["clientConfig"])
    if not old.conditions:
        validate_match_conditions(webhook["matchConditions"], Compiler(problem_of, Environment()))


def _validate_full_name(field: Field) -> None:
    """A domain of three segments at least (`IsFullyQualifiedName`)."""
    name = field.required()
    problems = dns_subdomain_problems(name.text)
    if problems:
        name.invalid(",".join(problems))
    elif name.text.count(".") < 2:
        name.invalid("should be a domain with at least three segments separated by dots")


def _validate_review_versions(versions: Field, *, any_version: bool) -> None:
    known = ", ".join(REVIEW_VERSIONS)
    seen: set[str] = set()
    for version in versions.required(f"must specify one of {known}"):
        if version.value in seen:
            version.invalid("duplicate version")
        else:
            version.check(names.dns1035_label_problems)
        seen.add(version.value)
    if not any_version and not _is_recognized(versions.value or ()):
        versions.invalid(f"must include at least one of {known}")


def _webhooks(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(obj.get("webhooks") or ()), age_of(obj, ages)]


PRINTER = Printer(columns(NAME, integer("Webhooks"), AGE), _webhooks)
