"""Jobs, and the Jobs that CronJobs make (`ValidateJob`, `ValidateJobSpec`, `ValidateJobUpdate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fakekube.apiserver.registry.batch.job import indexes
from fakekube.apiserver.registry.batch.job.status import SUSPENDED, has_condition
from fakekube.apiserver.registry.core.pod.validation.pod import with_fields
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import validate_template
from fakekube.apiserver.registry.core.podtemplate.validation import options_of, ratcheted, validate_match
from fakekube.apiserver.registry.generic.validation.conditions import STATUSES
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, dns_label_problems
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import is_usable, matches, validate_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import domain_prefixed_path
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]

COMPLETION_MODES = ("NonIndexed", "Indexed")

ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")

OPERATORS = ("In", "NotIn")

REPLACEMENTS = ("Failed", "TerminatingOrFailed")

MANY = 100_000
"""Indexes of which an Indexed Job may have many, as long as it goes easy on other numbers."""


FEW = 10_000

RULES, EXIT_CODES, PATTERNS = 20, 255, 20

UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")

NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")


COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip

#: Scheduling directives of the pods: they can change as long as the Job has no pods.
DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")

RESTARTS = ("OnFailure", "Never")


def validate(job: Field, options: PodOptions = TEMPLATE, *, prefixed: bool = True) -> None:
    """`prefixed`: the pods have the labels of Kubernetes' own domain, too."""
    spec, name = job["spec"], job["metadata"]["name"]
    _validate_generated(job, prefixed)
    _validate_selected(spec, options)
    completions = spec["completions"].number
    if spec["completionMode"].value == "Indexed" and completions > 0:
        host = f"{name.text}-{completions - 1}"
        if dns_label_problems(host):
            name.invalid(f"will not able to create pod with invalid DNS label: {host}")


def _validate_generated(job: Field, prefixed: bool) -> None:
    """Unless `manualSelector` is set, a Job selects by its uid, and its pods have uid and name as labels."""
    spec, meta = job["spec"], job["metadata"]
    selector, labels = spec["selector"], spec["template"]["metadata"]["labels"]
    if spec["manualSelector"] or selector.value is None:
        return
    meta["uid"].required()
    uid, name = meta["uid"].text, meta["name"].text
    expected = {UID_LABELS[0]: uid, NAME_LABELS[0]: name}
    if prefixed:
        expected |= {UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    for key, value in expected.items():
        label = labels.entry(key).specified(f"must be '{value}'")
        if label.value != value:
            label.invalid(f"must be '{value}'", labels.value)
    if is_usable(selector.value) and not matches(selector.value, expected):
        selector.invalid_struct("LabelSelector", "`selector` not auto-generated")


def _validate_selected(spec: Field, options: PodOptions) -> None:
    validate_job_spec(spec, options)
    selector = spec["selector"]
    validate_label_selector(selector.specified(), any_values=options.any_selector_values)
    if is_usable(selector.value):
        validate_match(selector.value, spec["template"])


# --- the spec --------------------------------------------------------------------------------------------------------


def validate_job_spec(spec: Field, options: PodOptions) -> None:
    spec.non_negative_members(*COUNTS)
    if spec["maxFailedIndexes"].value is not None:
        spec["backoffLimitPerIndex"].specified("when maxFailedIndexes is specified")
    domain_prefixed_path(spec.get("managedBy")).max_bytes(63)
    _validate_mode(spec)
    if spec["podFailurePolicy"].value is not None:
        _validate_failure_policy(spec)
    if spec["successPolicy"].value is not None:
        _validate_success_policy(spec["successPolicy"], spec)
    fails = spec["podFailurePolicy"].value is not None
    spec.get("podReplacementPolicy").one_of(REPLACEMENTS[:1] if fails else REPLACEMENTS)
    validate_template(spec["template"], options)
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy.text in ("", "Always"):
        policy.missing('valid values: "OnFailure", "Never"')
    elif policy.value not in RESTARTS:
        policy.not_supported(RESTARTS)
    elif fails and policy.value != "Never":
        policy.invalid('only "Never" is supported when podFailurePolicy is specified')


def _validate_mode(spec: Field) -> None:
    mode = spec.get("completionMode").one_of(COMPLETION_MODES).value
    if mode == "Indexed":
        _validate_indexed(spec)
    elif mode in (None, "NonIndexed"):
        for field in spec.members(("backoffLimitPerIndex", "maxFailedIndexes")):
            field.invalid("requires indexed completion mode")


def _validate_indexed(spec: Field) -> None:
    completions = spec["completions"].specified("when completion mode is Indexed")
    parallelism, most = spec["parallelism"], spec["maxFailedIndexes"]
    parallelism.at_most(MANY, f"must be less than or equal to {MANY} when completion mode is Indexed")
    if completions.value is not None and most.value is not None:
        most.at_most(completions.value, "must be less than or equal to completions")
    most.at_most(MANY, f"must be less than or equal to {MANY}")
    if completions.number <= MANY or spec["backoffLimitPerIndex"].value is None:
        return
    most.specified(f"must be specified when completions is above {MANY}")
    for field in (parallelism, most):
        why = f"must be less than or equal to {FEW} when completions are above {MANY}"
        field.at_most(FEW, f"{why} and used with backoff limit per index")


# --- failures --------------------------------------------------------------------------------------------------------


def _validate_failure_policy(spec: Field) -> None:
    pod = spec["template"]["spec"]
    containers = {one["name"].value for kind in ("containers", "initContainers") for one in pod[kind]}
    for rule in spec["podFailurePolicy"]["rules"].max_items(RULES):
        action, codes, patterns = rule["action"], rule["onExitCodes"], rule["onPodConditions"]
        if action.value == "FailIndex":
            if spec["backoffLimitPerIndex"].value is None:
                action.invalid("requires the backoffLimitPerIndex to be set")
        else:
            _validate_listed(action, ACTIONS)
        if codes.value is not None:
            _validate_exit_codes(codes, containers)
        for pattern in patterns.max_items(PATTERNS):
            pattern["type"].qualified_name()
            _validate_listed(pattern["status"], STATUSES)
        if codes.value is not None and patterns:
            rule.invalid_omitted("specifying both OnExitCodes and OnPodConditions is not supported")
        if codes.value is None and not patterns:
            rule.invalid_omitted("specifying one of OnExitCodes and OnPodConditions is required")


def _validate_listed(field: Field, choices: Sequence[str]) -> None:
    field.required(f"valid values: [{' '.join(map(go_quote, choices))}]").one_of(choices)


def _validate_exit_codes(codes: Field, containers: set[Any]) -> None:
    operator, values = codes["operator"], codes["values"]
    _validate_listed(operator, OPERATORS)
    name = codes.get("containerName")
    if name.value not in containers:
        name.invalid("must be one of the container or initContainer names in the pod template")
    if not values:
        values.invalid("at least one value is required", values.value)
    values.max_items(EXIT_CODES)
    seen: set[int] = set()
    for value in values:
        if operator.value == "In" and not value:
            value.invalid("must not be 0 for the In operator")
        value.unique(seen, value.value)
    if values and values.value != sorted(values.value):
        values.invalid("must be ordered")


# --- success ---------------------------------------------------------------------------------------------------------


def _validate_success_policy(policy: Field, spec: Field) -> None:
    if spec["completionMode"].value != "Indexed":
        policy.invalid_struct("SuccessPolicy", "requires indexed completion mode")
        return
    rules = policy["rules"].required("at least one rules must be specified when the successPolicy is specified")
    for rule in rules.max_items(RULES):
        _validate_success_rule(rule, spec["completions"].number)


def _validate_success_rule(rule: Field, completions: int) -> None:
    succeeded, count = rule["succeededIndexes"], rule.get("succeededCount")
    total = 0
    if succeeded.value is None and count.value is None:
        rule.missing("at least one of succeededCount or succeededIndexes must be specified")
    if succeeded.value is not None:
        succeeded.max_bytes(64 * 1024)
        try:
            total = indexes.count_of(succeeded.value, completions)
        except indexes.BadIndexes as problem:
            succeeded.invalid(f"error parsing succeededIndexes: {problem}")
    what = "the number of specified completions"
    count.non_negative().at_most(completions, f"must be less than or equal to {completions} ({what})")
    if succeeded.value is not None:
        what = "the number of indexes in the specified succeededIndexes field"
        count.at_most(total, f"must be less than or equal to {total} ({what})")


# --- updates ---------------------------------------------------------------------------------------------------------


def validate_update(new: Field, old: Field) -> None:
    """The whole Job is validated like a new one, and its spec once more."""
    after, before = new["spec"], old["spec"]
    validate_metadata(new)
    labels = before["template"]["metadata"]["labels"].struct
    prefixed = UID_LABELS[1] in labels and NAME_LABELS[1] in labels
    if ratcheted(new, partial(validate, prefixed=prefixed), before.struct):
        _validate_selected(after, options_of(before.struct))
    _validate_completions(after, before)
    after["selector"].immutable_struct(before["selector"], "LabelSelector")
    _validate_template_kept(after, old)
    after["completionMode"].immutable(before["completionMode"])
    after["podFailurePolicy"].immutable_struct(before["podFailurePolicy"], "PodFailurePolicy")
    after["backoffLimitPerIndex"].immutable(before["backoffLimitPerIndex"])
    after["managedBy"].immutable(before["managedBy"])
    after["successPolicy"].immutable_struct(before["successPolicy"], "SuccessPolicy")


def _validate_completions(after: Field, before: Field) -> None:
    """Those of an Indexed Job can change together with its parallelism."""
    completions = after["completions"]
    if after["completionMode"].value != "Indexed":
        completions.immutable(before["completions"])
    elif completions.value not in (None, before["completions"].value, after["parallelism"].value):
        completions.invalid("can only be modified in tandem with spec.parallelism")


def _validate_template_kept(after: Field, old: Field) -> None:
    template, kept, status = after["template"].struct, old["spec"]["template"].struct, old["status"]
    if template == kept:
        return
    waiting = not status["startTime"] or has_condition(status, SUSPENDED)
    if old["spec"]["suspend"] and waiting and not status["active"]:
        spec = template.get("spec") or {}
        if spec != _rescheduled(kept, template).get("spec"):
            after["template"]["spec"].with_value(spec).invalid_struct("PodSpec", IMMUTABLE)
    else:
        after["template"].with_value(template).invalid_struct("PodTemplateSpec", IMMUTABLE)


def _rescheduled(kept: Mapping[str, Any], template: Mapping[str, Any]) -> Object:
    """The stored template with those parts of the new one that can change while the Job waits."""
    meta = with_fields(kept.get("metadata") or {}, template.get("metadata") or {}, ("annotations", "labels"))
    before, after = kept.get("spec") or {}, template.get("spec") or {}
    spec = with_fields(before, after, DIRECTIVES)
    affinity = with_fields(before.get("affinity") or {}, after.get("affinity") or {}, ("nodeAffinity",))
    if affinity or (after.get("affinity") is not None):
        spec["affinity"] = affinity
    else:
        spec.pop("affinity", None)
    for kind in ("containers", "initContainers"):
        ours, theirs = before.get(kind) or (), after.get(kind) or ()
        if len(ours) == len(theirs) and ours:
            spec[kind] = [with_fields(one, other, ("resources",)) for one, other in zip(ours, theirs, strict=True)]
    made = {**kept, "spec": spec}
    if meta or "metadata" in kept:
        made["metadata"] = meta
    return made
