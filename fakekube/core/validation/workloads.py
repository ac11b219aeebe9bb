"""Kinds that keep pods running: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController; PodTemplate and
ControllerRevision (kubernetes `pkg/apis/apps/validation`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.core.status import (
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)
from fakekube.core.validation import formats, labels
from fakekube.core.validation.claims import check_claim_spec
from fakekube.core.validation.formats import Errors, check_nonnegative
from fakekube.core.validation.gostructs import invalid_selector, invalid_struct, unsupported_struct
from fakekube.core.validation.podoptions import TEMPLATE, PodOptions
from fakekube.core.validation.podratchets import options_after
from fakekube.core.validation.podspec import check_template

Object = dict[str, Any]

CheckSpec = Callable[[Object, Errors, PodOptions], None]

DEPLOYMENT_STRATEGIES = ("Recreate", "RollingUpdate")
DAEMON_SET_STRATEGIES = ("RollingUpdate", "OnDelete")
RETENTIONS = ("Retain", "Delete")


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


def update_validator(check: CheckSpec) -> Callable[[Object, Object], Errors]:
    """Of a changed one, of whose spec nothing is fixed."""

    def validate_update(new: Object, old: Object) -> Errors:
        errors: Errors = []
        revalidate(new, old, check, errors)
        return errors

    return validate_update


# --- selectors and templates ---------------------------------------------------------------------------------------


def check_selector(spec: Object, kind: str, errors: Errors) -> None:
    """It is there, can be read, and does not select everything."""
    selector: Object | None = spec.get("selector")
    if selector is None:
        errors.append(field_required("spec.selector"))
        return
    labels.check_label_selector(selector, "spec.selector", errors)
    if labels.is_empty(selector):
        errors.append(invalid_selector("spec.selector", selector, f"empty selector is invalid for {kind}"))


def check_selected_template(spec: Object, problem: str, errors: Errors, options: PodOptions, kind: str) -> None:
    """The selector must select the pods that the template makes. `problem`: what is said of one that cannot be read."""
    selector: Object | None = spec.get("selector")
    template: Object = spec.get("template") or {}
    if not labels.is_usable(selector):
        errors.append(invalid_selector("spec.selector", selector, problem))
        return
    if not labels.is_empty(selector):
        check_match(selector, template, errors)
    check_template(template, "spec.template", errors, options)
    check_lasting(template.get("spec") or {}, kind, errors)


def check_match(selector: Object | None, template: Object, errors: Errors) -> None:
    own = (template.get("metadata") or {}).get("labels")
    if not labels.matches(selector, own):
        errors.append(field_invalid("spec.template.metadata.labels", own or None, labels.LABELS_MISMATCH))


def check_lasting(spec: Object, kind: str, errors: Errors) -> None:
    """Pods that are kept running are restarted always, and have no deadline."""
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        errors.append(field_not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(field_forbidden("spec.template.spec.activeDeadlineSeconds", why))


# --- Deployment ----------------------------------------------------------------------------------------------------


def _check_deployment(spec: Object, errors: Errors, options: PodOptions) -> None:
    check_nonnegative(spec.get("replicas"), "spec.replicas", errors)
    check_selector(spec, "deployment", errors)
    check_selected_template(spec, "invalid label selector", errors, options, "ReplicaSet")
    _check_deployment_strategy(spec.get("strategy") or {}, "spec.strategy", errors)
    ready = spec.get("minReadySeconds") or 0
    check_nonnegative(ready, "spec.minReadySeconds", errors)
    check_nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", errors)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        check_nonnegative(deadline, "spec.progressDeadlineSeconds", errors)
        if deadline <= ready:
            why = "must be greater than minReadySeconds"
            errors.append(field_invalid("spec.progressDeadlineSeconds", deadline, why))


def _check_deployment_strategy(strategy: Object, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            why = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(field_forbidden(f"{path}.rollingUpdate", why))
    elif kind != "RollingUpdate":
        errors.append(unsupported_struct(path, "DeploymentStrategy", strategy, DEPLOYMENT_STRATEGIES))
    elif rolling is None:
        errors.append(field_required(f"{path}.rollingUpdate", "this should be defaulted and never be nil"))
    else:
        path = f"{path}.rollingUpdate"
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        formats.check_int_or_percent(unavailable, f"{path}.maxUnavailable", errors)
        formats.check_int_or_percent(surge, f"{path}.maxSurge", errors)
        if not formats.share(unavailable) and not formats.share(surge):
            why = "may not be 0 when `maxSurge` is 0"
            errors.append(field_invalid(f"{path}.maxUnavailable", unavailable, why))
        formats.check_at_most_all(unavailable, f"{path}.maxUnavailable", errors)


validate_deployment = validator(_check_deployment)


def _selector_is_fixed(new: Object, old: Object, errors: Errors) -> None:
    selector = (new.get("spec") or {}).get("selector")
    if selector != (old.get("spec") or {}).get("selector"):
        errors.append(invalid_selector("spec.selector", selector, formats.IMMUTABLE))


def with_fixed_selector(check: CheckSpec) -> Callable[[Object, Object], Errors]:
    def validate_update(new: Object, old: Object) -> Errors:
        errors: Errors = []
        revalidate(new, old, check, errors)
        _selector_is_fixed(new, old, errors)
        return errors

    return validate_update


validate_deployment_update = with_fixed_selector(_check_deployment)


# --- ReplicaSet ----------------------------------------------------------------------------------------------------


def _check_replica_set(spec: Object, errors: Errors, options: PodOptions) -> None:
    check_nonnegative(spec.get("replicas"), "spec.replicas", errors)
    check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", errors)
    check_selector(spec, "deployment", errors)
    check_selected_template(spec, "invalid label selector", errors, options, "ReplicaSet")


validate_replica_set = validator(_check_replica_set)
validate_replica_set_update = with_fixed_selector(_check_replica_set)


# --- DaemonSet -----------------------------------------------------------------------------------------------------


def _check_daemon_set(spec: Object, errors: Errors, options: PodOptions) -> None:
    selector: Object | None = spec.get("selector")
    template: Object = spec.get("template") or {}
    labels.check_label_selector(selector, "spec.selector", errors, any_values=options.any_selector_values)
    if labels.is_usable(selector):
        check_match(selector, template, errors)
    if labels.is_empty(selector):
        errors.append(invalid_selector("spec.selector", selector, "empty selector is invalid for daemonset"))
    check_template(template, "spec.template", errors, options)
    check_lasting(template.get("spec") or {}, "DaemonSet", errors)
    check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", errors)
    _check_daemon_set_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errors)
    check_nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", errors)


def _check_daemon_set_strategy(strategy: Object, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        errors.append(unsupported_struct(path, "DaemonSetUpdateStrategy", strategy, DAEMON_SET_STRATEGIES))
        return
    path = f"{path}.rollingUpdate"
    if rolling is None:
        errors.append(field_required(path))
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (formats.check_int_or_percent, formats.check_at_most_all):
        check(unavailable, f"{path}.maxUnavailable", errors)
        check(surge, f"{path}.maxSurge", errors)
    if formats.share(unavailable) and formats.share(surge):
        why = "may not be set when maxUnavailable is non-zero"
        errors.append(field_invalid(f"{path}.maxSurge", surge, why))
    elif not formats.share(unavailable) and not formats.share(surge):
        errors.append(field_required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


validate_daemon_set = validator(_check_daemon_set)
validate_daemon_set_update = with_fixed_selector(_check_daemon_set)


# --- StatefulSet ---------------------------------------------------------------------------------------------------

STATEFUL_SET_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _check_stateful_set(
    spec: Object, errors: Errors, options: PodOptions, lenient: frozenset[str] = frozenset()
) -> None:
    """`lenient`: parts that are not looked at, because they were let in unchecked once."""
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        errors.append(field_required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        errors.append(field_invalid("spec.podManagementPolicy", policy, why))
    _check_stateful_set_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errors)
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for field in ("whenDeleted", "whenScaled"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            formats.check_supported(retention.get(field), RETENTIONS, path, errors)
    if "claims" not in lenient:
        _check_claims(spec, errors, options)
    for field in ("replicas", "minReadySeconds"):
        check_nonnegative(spec.get(field), f"spec.{field}", errors)
    check_nonnegative((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start", errors)
    if "service" not in lenient:
        _check_service(spec, errors, options)
    check_selector(spec, "statefulset", errors)
    selector: Object | None = spec.get("selector")
    template: Object = spec.get("template") or {}
    if not labels.is_usable(selector):
        errors.append(invalid_selector("spec.selector", selector, ""))
    else:
        if not labels.is_empty(selector):
            check_match(selector, template, errors)
        if "template" not in lenient:
            _check_stateful_set_template(spec, errors, options)
    check_lasting(template.get("spec") or {}, "StatefulSet", errors)


def _check_claims(spec: Object, errors: Errors, options: PodOptions) -> None:
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        check_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}].spec", errors)


def _check_service(spec: Object, errors: Errors, options: PodOptions) -> None:
    if spec.get("serviceName"):
        formats.check_dns_label(spec["serviceName"], "spec.serviceName", errors)


def _check_stateful_set_template(spec: Object, errors: Errors, options: PodOptions) -> None:
    """The claims are volumes of the pods, too."""
    template: Object = spec.get("template") or {}
    claims = spec.get("volumeClaimTemplates")
    if claims and template.get("spec"):
        template = {**template, "spec": _with_claims(template["spec"], claims)}
    check_template(template, "spec.template", errors, options)


#: What a server once took unchecked: where it is wrong in the stored object, it may stay so.
LENIENT: Mapping[str, CheckSpec] = {
    "claims": _check_claims,
    "service": _check_service,
    "template": _check_stateful_set_template,
}


def _with_claims(pod: Object, claims: list[Object]) -> Object:
    """A claim goes before a volume of the same name."""
    names = {(claim.get("metadata") or {}).get("name") or "": claim for claim in claims}
    volumes = [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    volumes += [{"name": name, "persistentVolumeClaim": {"claimName": name or "-"}} for name in names]
    return {**pod, "volumes": volumes}


def _check_stateful_set_strategy(strategy: Object, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if not kind:
        errors.append(field_required(path))
    elif kind == "OnDelete":
        if rolling is not None:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            errors.append(invalid_struct(f"{path}.rollingUpdate", "RollingUpdateStatefulSetStrategy", rolling, why))
    elif kind != "RollingUpdate":
        why = "must be 'RollingUpdate' or 'OnDelete'"
        errors.append(invalid_struct(path, "StatefulSetUpdateStrategy", strategy, why))
    elif rolling is not None:
        path = f"{path}.rollingUpdate"
        check_nonnegative(rolling.get("partition"), f"{path}.partition", errors)
        unavailable = rolling.get("maxUnavailable")
        if unavailable is not None:
            formats.check_int_or_percent(unavailable, f"{path}.maxUnavailable", errors)
            if not formats.share(unavailable):
                errors.append(field_invalid(f"{path}.maxUnavailable", unavailable, "cannot be 0"))
            formats.check_at_most_all(unavailable, f"{path}.maxUnavailable", errors)


validate_stateful_set = validator(_check_stateful_set)


def _wrong(spec: Object, options: PodOptions) -> frozenset[str]:
    found = set()
    for part, check in LENIENT.items():
        errors: Errors = []
        check(spec, errors, options)
        if errors:
            found.add(part)
    return frozenset(found)


def validate_stateful_set_update(new: Object, old: Object) -> Errors:
    errors = validate_stateful_set(new)
    if errors:
        errors, before = [], old.get("spec") or {}
        options = options_of(before)
        _check_stateful_set(new.get("spec") or {}, errors, options, _wrong(before, options))
    after, before = new.get("spec") or {}, old.get("spec") or {}
    fixed = (after.keys() | before.keys()) - set(STATEFUL_SET_CHANGEABLE)
    if any(after.get(field) != before.get(field) for field in fixed):
        listed = ", ".join(f"'{field}'" for field in STATEFUL_SET_CHANGEABLE[:-1])
        why = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        errors.append(field_forbidden("spec", why))
    return errors


# --- ReplicationController -----------------------------------------------------------------------------------------


def _check_replication_controller(spec: Object, errors: Errors, options: PodOptions) -> None:
    """Its selector is a map of labels, not a label selector."""
    check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", errors)
    selector: Mapping[str, str] = spec.get("selector") or {}
    if not selector:
        errors.append(field_required("spec.selector"))
    check_nonnegative(spec.get("replicas"), "spec.replicas", errors)
    template: Object | None = spec.get("template")
    if template is None:
        errors.append(field_required("spec.template"))
        return
    if selector:
        check_match({"matchLabels": selector}, template, errors)
    check_template(template, "spec.template", errors, options)
    check_lasting(template.get("spec") or {}, "ReplicationController", errors)


validate_replication_controller = validator(_check_replication_controller)
validate_replication_controller_update = update_validator(_check_replication_controller)


# --- PodTemplate and ControllerRevision ----------------------------------------------------------------------------


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


def validate_revision(obj: Object) -> Errors:
    errors: Errors = []
    if obj.get("data") is None:
        errors.append(field_required("data", "data is mandatory"))
    check_nonnegative(obj.get("revision"), "revision", errors)
    return errors


def validate_revision_update(new: Object, old: Object) -> Errors:
    from fakekube.core.validation.metadata import check_again

    errors: Errors = []
    check_again(new, errors)
    errors += validate_revision(new)
    formats.check_immutable(new.get("data"), old.get("data"), "data", errors)
    return errors


# --- status --------------------------------------------------------------------------------------------------------

MORE_THAN_ALL = "cannot be greater than status.replicas"
MORE_THAN_READY = "cannot be greater than readyReplicas"

#: Kind -> the numbers that are not negative, in order; those that are at most `replicas`; and what is said of more
#: available ones than ready.
COUNTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "Deployment": (
        ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
         "unavailableReplicas", "collisionCount"),
        ("updatedReplicas", "readyReplicas", "availableReplicas"),
        MORE_THAN_READY,
    ),
    "ReplicaSet": (
        ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
        ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        MORE_THAN_READY,
    ),
    "StatefulSet": (
        ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
         "collisionCount"),
        ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        "cannot be greater than status.readyReplicas",
    ),
    "DaemonSet": (
        ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
         "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
        (),
        "",
    ),
}  # fmt: skip


def status_validator(kind: str) -> Callable[[Object, Object], Errors]:
    """Of the counts in a status; of collisions there are never fewer than before."""
    counts, at_most_all, more_than_ready = COUNTS[kind]
    counts_collisions = "collisionCount" in counts

    def validate_status_update(new: Object, old: Object) -> Errors:
        errors: Errors = []
        status: Object = new.get("status") or {}
        for field in counts:
            check_nonnegative(status.get(field), f"status.{field}", errors)
        total = status.get("replicas") or 0
        for field in at_most_all:
            if (status.get(field) or 0) > total:
                errors.append(field_invalid(f"status.{field}", status.get(field) or 0, MORE_THAN_ALL))
        available = status.get("availableReplicas") or 0
        if more_than_ready and available > (status.get("readyReplicas") or 0):
            errors.append(field_invalid("status.availableReplicas", available, more_than_ready))
        if counts_collisions:
            _check_collisions(status, old.get("status") or {}, errors)
        return errors

    return validate_status_update


def _check_collisions(after: Object, before: Object, errors: Errors) -> None:
    new, old = after.get("collisionCount"), before.get("collisionCount")
    if old is not None and (new is None or new < old):
        errors.append(field_invalid("status.collisionCount", new or 0, "cannot be decremented"))
