"""Kinds that extend the server, or steer how it treats requests: webhooks, policies, API services, flow control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.cel.environment import problem_of
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.validation import apiservices, flowcontrol, policies, webhooks
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]


def _compiling(validate: Callable[..., list[FieldError]]) -> Callable[..., list[FieldError]]:
    """A validation that compiles the expressions it meets."""
    return partial(validate, compile=problem_of)


# --- webhooks and policies (`pkg/apis/admissionregistration/v1/defaults.go`) -----------------------------------------


def _default_rules(rules: Sequence[Object] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def _default_selectors(obj: Object) -> None:
    """All objects of all namespaces, in every version of them."""
    obj.setdefault("matchPolicy", "Equivalent")
    obj.setdefault("namespaceSelector", {})
    obj.setdefault("objectSelector", {})


def default_webhooks(obj: Object) -> None:
    """Of both kinds of webhook configuration."""
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        _default_selectors(webhook)
        webhook.setdefault("timeoutSeconds", 10)
        _default_rules(webhook.get("rules"))
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


def default_mutating_webhooks(obj: Object) -> None:
    default_webhooks(obj)
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("reinvocationPolicy", "Never")


def _default_match_resources(match: Object | None) -> None:
    if match is not None:
        _default_selectors(match)
        _default_rules(match.get("resourceRules"))
        _default_rules(match.get("excludeResourceRules"))


def default_policy(obj: Object) -> None:
    """Of both kinds of policy."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _default_match_resources(spec.get("matchConstraints"))


def default_policy_binding(obj: Object) -> None:
    _default_match_resources((obj.get("spec") or {}).get("matchResources"))


def _admission(**rules: Any) -> Strategy:
    """Their updates are checked as creates are."""
    return Strategy(unconditional_update=False, repeats_metadata=False, **rules)


# --- API services ----------------------------------------------------------------------------------------------------


def default_api_service(obj: Object) -> None:
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def prepare_api_service(obj: Object) -> Object:
    """What this server serves itself is there at once."""
    if (obj.get("spec") or {}).get("service") is not None:
        return {**obj, "status": {}}
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": obj["metadata"]["creationTimestamp"],
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {**obj, "status": {"conditions": [available]}}


# --- flow control (`pkg/apis/flowcontrol/v1/defaults.go`) ------------------------------------------------------------

QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def default_flow_schema(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def default_priority_level(obj: Object) -> None:
    spec = obj.get("spec") or {}
    for kind, shares in (("exempt", 0), ("limited", 30)):
        config = spec.get(kind)
        if config is None:
            continue
        if config.get("nominalConcurrencyShares") is None:
            config["nominalConcurrencyShares"] = shares
        config.setdefault("lendablePercent", 0)
    queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        queuing.update({field: value for field, value in QUEUING.items() if not queuing.get(field)})


STRATEGIES = {
    "apiservices.apiregistration.k8s.io": Strategy(
        name_check=names.path_segment_problems,
        unconditional_update=False,
        default=default_api_service,
        prepare_create=prepare_api_service,
        validate=apiservices.validate_api_service,
        validate_update=apiservices.validate_api_service_update,
        validate_status_update=apiservices.validate_api_service_status,
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _admission(
        generation=("webhooks",),
        default=default_webhooks,
        validate=_compiling(webhooks.validate_configuration),
        validate_update=_compiling(webhooks.validate_configuration_update),
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _admission(
        generation=("webhooks",),
        default=default_mutating_webhooks,
        validate=_compiling(webhooks.validate_configuration),
        validate_update=_compiling(webhooks.validate_configuration_update),
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _admission(
        generation=("spec",),
        default=default_policy,
        validate=_compiling(policies.validate_policy),
        validate_update=_compiling(policies.validate_policy_update),
        validate_status_update=policies.validate_policy_status,
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _admission(
        generation=("spec",),
        default=default_policy_binding,
        validate=policies.validate_binding,
        validate_update=policies.validate_binding_update,
    ),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _admission(
        generation=("spec",),
        default=default_policy,
        validate=_compiling(policies.validate_mutating_policy),
        validate_update=_compiling(policies.validate_mutating_policy_update),
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _admission(
        generation=("spec",),
        default=default_policy_binding,
        validate=policies.validate_mutating_binding,
        validate_update=policies.validate_mutating_binding_update,
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": Strategy(
        generation=("spec",),
        repeats_metadata=False,
        default=default_flow_schema,
        validate=flowcontrol.validate_flow_schema,
        validate_update=flowcontrol.validate_flow_schema_update,
        validate_status_update=flowcontrol.validate_status_update,
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": Strategy(
        generation=("spec",),
        repeats_metadata=False,
        default=default_priority_level,
        validate=flowcontrol.validate_priority_level,
        validate_update=flowcontrol.validate_priority_level_update,
        validate_status_update=flowcontrol.validate_status_update,
    ),
}
