"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.podtemplate.status import status_validator
from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    check_selected_template,
    check_selector,
    validator,
    with_fixed_selector,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_named, of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.table.labels import InvalidSelector, selector_text
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import unsupported_struct
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_required

Object = dict[str, Any]


def default_deployment(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for key, value in (("replicas", 1), ("revisionHistoryLimit", 10), ("progressDeadlineSeconds", 600)):
        spec.setdefault(key, value)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    default_template(spec.get("template"))


DEPLOYMENT_STRATEGIES = ("Recreate", "RollingUpdate")


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


validate_deployment_update = with_fixed_selector(_check_deployment)


def _deployment(obj: Object, ages: Ages) -> list[Any]:
    try:
        selector = selector_text(get(obj, "spec.selector"))
    except InvalidSelector:
        selector = "<invalid>"
    return [
        name_of(obj),
        f"{count_at(obj, 'status.readyReplicas')}/{count_at(obj, 'spec.replicas')}",
        count_at(obj, "status.updatedReplicas"),
        count_at(obj, "status.availableReplicas"),
        age_of(obj, ages),
        *container_cells(obj, "spec.template"),
        selector,
    ]


KIND = Kind(
    "deployments.apps",
    Strategy(
        generation=("spec",),
        default=default_deployment,
        annotations_count=True,
        status_keeps=("generation", "labels"),
        validate=validate_deployment,
        warnings=of_named,
        update_warnings=where_changed(of_template),
        validate_update=validate_deployment_update,
        validate_status_update=status_validator("Deployment"),
    ),
    printer=Printer(columns(NAME, "Ready", "Up-to-date", "Available", AGE, *SELECTED_COLUMNS), _deployment),
)
