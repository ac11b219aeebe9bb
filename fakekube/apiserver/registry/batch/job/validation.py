"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.batch.job import indexes as completionindexes
from fakekube.apiserver.registry.batch.job.status import SUSPENDED, has_condition
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import check_template
from fakekube.apiserver.registry.core.podtemplate.validation import options_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors, check_immutable, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_selector, invalid_struct, without_value
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
    field_too_many,
)

Object = dict[str, Any]

COMPLETION_MODES = ("NonIndexed", "Indexed")


ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


OPERATORS = ("In", "NotIn")


CONDITIONS = ("False", "True", "Unknown")


REPLACEMENTS = ("Failed", "TerminatingOrFailed")


MANY = 100_000
"""Indexes of which an Indexed Job may have many, as long as it goes easy on other numbers."""


FEW = 10_000


RULES, EXIT_CODES, PATTERNS = 20, 255, 20


UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")


NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")


def validate(job: Object) -> Errors:
    errors: Errors = []
    check_job(job, errors, TEMPLATE)
    return errors


def check_job(job: Object, errors: Errors, options: PodOptions, *, prefixed: bool = True) -> None:
    """`prefixed`: its pods must carry the labels of Kubernetes' own domain, too."""
    spec = job.get("spec") or {}
    _check_generated(job, spec, errors, prefixed)
    _check_selected(spec, errors, options)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        name = job["metadata"].get("name") or ""
        host = f"{name}-{completions - 1}"
        if content.dns_label_problems(host):
            why = f"will not able to create pod with invalid DNS label: {host}"
            errors.append(field_invalid("metadata.name", name, why))


def _check_generated(job: Object, spec: Object, errors: Errors, prefixed: bool) -> None:
    """Unless it selects by hand, a Job selects by its uid, and its pods carry uid and name."""
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    meta = job["metadata"]
    uid, name = meta.get("uid") or "", meta.get("name") or ""
    if not uid:
        errors.append(field_required("metadata.uid"))
    expected = {UID_LABELS[0]: uid, NAME_LABELS[0]: name}
    if prefixed:
        expected |= {UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    template = (spec.get("template") or {}).get("metadata") or {}
    own = template.get("labels") or {}
    for key, value in expected.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in own:
            errors.append(field_required(path, f"must be '{value}'"))
        elif own[key] != value:
            errors.append(field_invalid(path, own, f"must be '{value}'"))
    if labelselectors.is_usable(selector) and not labelselectors.matches(selector, expected):
        errors.append(invalid_selector("spec.selector", selector, "`selector` not auto-generated"))


def _check_selected(spec: Object, errors: Errors, options: PodOptions) -> None:
    check_spec(spec, "spec", errors, options)
    selector = spec.get("selector")
    if selector is None:
        errors.append(field_required("spec.selector"))
    else:
        labelselectors.check_label_selector(selector, "spec.selector", errors, any_values=options.any_selector_values)
    if labelselectors.is_usable(selector):
        own = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if not labelselectors.matches(selector, own):
            errors.append(field_invalid("spec.template.metadata.labels", own or None, labelselectors.LABELS_MISMATCH))


COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def check_spec(spec: Object, path: str, errors: Errors, options: PodOptions) -> None:
    for field in COUNTS:
        check_nonnegative(spec.get(field), f"{path}.{field}", errors)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(field_required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        content.check_domain_prefixed_path(spec["managedBy"], f"{path}.managedBy", errors)
        if len(spec["managedBy"].encode()) > 63:
            errors.append(field_too_long(f"{path}.managedBy", 63))
    _check_mode(spec, path, errors)
    if spec.get("podFailurePolicy") is not None:
        _check_failure_policy(spec, f"{path}.podFailurePolicy", errors)
    if spec.get("successPolicy") is not None:
        _check_success_policy(spec, f"{path}.successPolicy", errors)
    _check_replacement(spec, f"{path}.podReplacementPolicy", errors)
    check_template(spec.get("template") or {}, f"{path}.template", errors, options)
    _check_restarts(spec, f"{path}.template.spec.restartPolicy", errors)


def _check_mode(spec: Object, path: str, errors: Errors) -> None:
    mode = spec.get("completionMode")
    if mode is not None and mode not in COMPLETION_MODES:
        errors.append(field_not_supported(f"{path}.completionMode", mode, COMPLETION_MODES))
    if mode == "Indexed":
        _check_indexed(spec, path, errors)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                errors.append(field_invalid(f"{path}.{field}", spec[field], "requires indexed completion mode"))


def _check_indexed(spec: Object, path: str, errors: Errors) -> None:
    completions, parallelism, most = (spec.get(f) for f in ("completions", "parallelism", "maxFailedIndexes"))
    if completions is None:
        errors.append(field_required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > MANY:
        why = f"must be less than or equal to {MANY} when completion mode is Indexed"
        errors.append(field_invalid(f"{path}.parallelism", parallelism, why))
    if completions is not None and most is not None and most > completions:
        why = "must be less than or equal to completions"
        errors.append(field_invalid(f"{path}.maxFailedIndexes", most, why))
    if most is not None and most > MANY:
        errors.append(field_invalid(f"{path}.maxFailedIndexes", most, f"must be less than or equal to {MANY}"))
    if completions is None or completions <= MANY or spec.get("backoffLimitPerIndex") is None:
        return
    if most is None:
        why = f"must be specified when completions is above {MANY}"
        errors.append(field_required(f"{path}.maxFailedIndexes", why))
    for field in ("parallelism", "maxFailedIndexes"):
        if spec.get(field) is not None and spec[field] > FEW:
            why = f"must be less than or equal to {FEW} when completions are above {MANY}"
            why += " and used with backoff limit per index"
            errors.append(field_invalid(f"{path}.{field}", spec[field], why))


def _check_replacement(spec: Object, path: str, errors: Errors) -> None:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    supported = REPLACEMENTS[:1] if spec.get("podFailurePolicy") is not None else REPLACEMENTS
    content.check_supported(policy, supported, path, errors)


def _check_restarts(spec: Object, path: str, errors: Errors) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        errors.append(field_required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(field_not_supported(path, policy, ("OnFailure", "Never")))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        errors.append(field_invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified'))


def _check_failure_policy(spec: Object, path: str, errors: Errors) -> None:
    rules: Sequence[Object] = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > RULES:
        errors.append(field_too_many(f"{path}.rules", len(rules), RULES))
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {one.get("name") for kind in ("containers", "initContainers") for one in pod.get(kind) or ()}
    for i, rule in enumerate(rules):
        here = f"{path}.rules[{i}]"
        _check_action(rule.get("action") or "", spec, f"{here}.action", errors)
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            _check_exit_codes(codes, containers, f"{here}.onExitCodes", errors)
        _check_patterns(patterns, f"{here}.onPodConditions", errors)
        if codes is not None and patterns:
            errors.append(without_value(here, "specifying both OnExitCodes and OnPodConditions is not supported"))
        if codes is None and not patterns:
            errors.append(without_value(here, "specifying one of OnExitCodes and OnPodConditions is required"))


def _valid(values: Sequence[str]) -> str:
    return f"valid values: [{' '.join(map(go_quote, values))}]"


def _check_listed(value: str, supported: Sequence[str], path: str, errors: Errors) -> None:
    if not value:
        errors.append(field_required(path, _valid(supported)))
    elif value not in supported:
        errors.append(field_not_supported(path, value, supported))


def _check_action(action: str, spec: Object, path: str, errors: Errors) -> None:
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            errors.append(field_invalid(path, action, "requires the backoffLimitPerIndex to be set"))
    else:
        _check_listed(action, ACTIONS, path, errors)


def _check_exit_codes(codes: Object, containers: set[Any], path: str, errors: Errors) -> None:
    operator = codes.get("operator") or ""
    _check_listed(operator, OPERATORS, f"{path}.operator", errors)
    name = codes.get("containerName")
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(field_invalid(f"{path}.containerName", name, why))
    values: list[int] = codes.get("values") or []
    if not values:
        errors.append(field_invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > EXIT_CODES:
        errors.append(field_too_many(f"{path}.values", len(values), EXIT_CODES))
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and not value:
            errors.append(field_invalid(f"{path}.values[{i}]", value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(field_duplicate(f"{path}.values[{i}]", value))
        seen.add(value)
    if values != sorted(values):
        errors.append(field_invalid(f"{path}.values", values, "must be ordered"))


def _check_patterns(patterns: Sequence[Object], path: str, errors: Errors) -> None:
    if len(patterns) > PATTERNS:
        errors.append(field_too_many(path, len(patterns), PATTERNS))
    for i, pattern in enumerate(patterns):
        content.check_qualified_name(pattern.get("type") or "", f"{path}[{i}].type", errors)
        _check_listed(pattern.get("status") or "", CONDITIONS, f"{path}[{i}].status", errors)


def _check_success_policy(spec: Object, path: str, errors: Errors) -> None:
    policy: Object = spec["successPolicy"]
    if spec.get("completionMode") != "Indexed":
        errors.append(invalid_struct(path, "SuccessPolicy", policy, "requires indexed completion mode"))
        return
    rules: Sequence[Object] = policy.get("rules") or ()
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(field_required(f"{path}.rules", why))
    if len(rules) > RULES:
        errors.append(field_too_many(f"{path}.rules", len(rules), RULES))
    for i, rule in enumerate(rules):
        _check_success_rule(rule, spec.get("completions") or 0, f"{path}.rules[{i}]", errors)


def _check_success_rule(rule: Object, completions: int, path: str, errors: Errors) -> None:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    total = 0
    if indexes is None and count is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(field_required(path, why))
    if indexes is not None:
        here = f"{path}.succeededIndexes"
        if len(indexes.encode()) > 64 * 1024:
            errors.append(field_too_long(here, 64 * 1024))
        try:
            total = completionindexes.count_of(indexes, completions)
        except completionindexes.BadIndexes as problem:
            errors.append(field_invalid(here, indexes, f"error parsing succeededIndexes: {problem}"))
    if count is None:
        return
    here = f"{path}.succeededCount"
    check_nonnegative(count, here, errors)
    if count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(field_invalid(here, count, why))
    if indexes is not None and count > total:
        why = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        errors.append(field_invalid(here, count, why))


def validate_update(new: Object, old: Object) -> Errors:
    """The server looks at the whole Job as if it were new, and then once more at its spec."""
    errors: Errors = []
    check_again(new, errors)
    before = old.get("spec") or {}
    own = ((before.get("template") or {}).get("metadata") or {}).get("labels") or {}
    prefixed = UID_LABELS[1] in own and NAME_LABELS[1] in own
    found: Errors = []
    check_job(new, found, TEMPLATE, prefixed=prefixed)
    options = TEMPLATE
    if found:
        options = options_of(before)
        found = []
        check_job(new, found, options, prefixed=prefixed)
    errors += found
    after = new.get("spec") or {}
    if found:
        _check_selected(after, errors, options)
    _check_completions(after, before, errors)
    if after.get("selector") != before.get("selector"):
        errors.append(invalid_selector("spec.selector", after.get("selector"), content.IMMUTABLE))
    _check_template_kept(after, old, errors)
    check_immutable(after.get("completionMode"), before.get("completionMode"), "spec.completionMode", errors)
    _is_kept("podFailurePolicy", "PodFailurePolicy", after, before, errors)
    for field in ("backoffLimitPerIndex", "managedBy"):
        check_immutable(after.get(field), before.get(field), f"spec.{field}", errors)
    _is_kept("successPolicy", "SuccessPolicy", after, before, errors)
    return errors


def _is_kept(field: str, struct: str, after: Object, before: Object, errors: Errors) -> None:
    if after.get(field) != before.get(field):
        errors.append(invalid_struct(f"spec.{field}", struct, after.get(field), content.IMMUTABLE))


def _check_completions(after: Object, before: Object, errors: Errors) -> None:
    """Those of an Indexed Job may change together with its parallelism."""
    completions = after.get("completions")
    if after.get("completionMode") != "Indexed":
        check_immutable(completions, before.get("completions"), "spec.completions", errors)
    elif completions not in (None, before.get("completions")) and completions != after.get("parallelism"):
        why = "can only be modified in tandem with spec.parallelism"
        errors.append(field_invalid("spec.completions", completions, why))


def _check_template_kept(after: Object, old: Object, errors: Errors) -> None:
    before = old.get("spec") or {}
    template, kept = after.get("template") or {}, before.get("template") or {}
    if template == kept:
        return
    status = old.get("status") or {}
    waiting = not status.get("startTime") or has_condition(status, SUSPENDED)
    if not (before.get("suspend") and waiting) or template != _rescheduled(kept, template):
        errors.append(field_invalid("spec.template", template, content.IMMUTABLE))


#: What says where the pods of a Job go: it may change as long as none is there.
DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


def _rescheduled(kept: Object, template: Object) -> Object:
    """The stored template with all of the new one that may differ while the Job waits."""
    meta = _with(kept.get("metadata") or {}, template.get("metadata") or {}, ("annotations", "labels"))
    before, after = kept.get("spec") or {}, template.get("spec") or {}
    spec = _with(before, after, DIRECTIVES)
    affinity = _with(before.get("affinity") or {}, after.get("affinity") or {}, ("nodeAffinity",))
    if affinity or (after.get("affinity") is not None):
        spec["affinity"] = affinity
    else:
        spec.pop("affinity", None)
    for kind in ("containers", "initContainers"):
        ours, theirs = before.get(kind) or (), after.get(kind) or ()
        if len(ours) == len(theirs) and ours:
            spec[kind] = [_with(one, other, ("resources",)) for one, other in zip(ours, theirs, strict=True)]
    made = {**kept, "spec": spec}
    if meta or "metadata" in kept:
        made["metadata"] = meta
    return made


def _with(obj: Object, other: Object, fields: tuple[str, ...]) -> Object:
    made = {key: value for key, value in obj.items() if key not in fields}
    made.update((key, other[key]) for key in fields if key in other)
    return made
