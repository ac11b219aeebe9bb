"""Kinds that keep pods running: Deployment, ReplicaSet, DaemonSet, ReplicationController; PodTemplate and
ControllerRevision (kubernetes `pkg/apis/apps/validation`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import check_template
from fakekube.apiserver.registry.core.pod.validation.ratcheting import options_after
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_selector, unsupported_struct
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

CheckSpec = Callable[[Object, Errors, PodOptions], None]

DEPLOYMENT_STRATEGIES = ("Recreate", "RollingUpdate")
DAEMON_SET_STRATEGIES = ("RollingUpdate", "OnDelete")


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
        content.check_int_or_percent(unavailable, f"{path}.maxUnavailable", errors)
        content.check_int_or_percent(surge, f"{path}.maxSurge", errors)
        if not content.share(unavailable) and not content.share(surge):
            why = "may not be 0 when `maxSurge` is 0"
            errors.append(field_invalid(f"{path}.maxUnavailable", unavailable, why))
        content.check_at_most_all(unavailable, f"{path}.maxUnavailable", errors)


validate_deployment = validator(_check_deployment)


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
    labelselectors.check_label_selector(selector, "spec.selector", errors, any_values=options.any_selector_values)
    if labelselectors.is_usable(selector):
        check_match(selector, template, errors)
    if labelselectors.is_empty(selector):
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
    for check in (content.check_int_or_percent, content.check_at_most_all):
        check(unavailable, f"{path}.maxUnavailable", errors)
        check(surge, f"{path}.maxSurge", errors)
    if content.share(unavailable) and content.share(surge):
        why = "may not be set when maxUnavailable is non-zero"
        errors.append(field_invalid(f"{path}.maxSurge", surge, why))
    elif not content.share(unavailable) and not content.share(surge):
        errors.append(field_required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


validate_daemon_set = validator(_check_daemon_set)
validate_daemon_set_update = with_fixed_selector(_check_daemon_set)


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
    errors: Errors = []
    check_again(new, errors)
    errors += validate_revision(new)
    content.check_immutable(new.get("data"), old.get("data"), "data", errors)
    return errors
