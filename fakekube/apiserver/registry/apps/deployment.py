"""Deployment (`ValidateDeployment`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.podtemplate.status import MORE_THAN_READY, status_validator
from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    rolling_counts,
    spec_update_validator,
    spec_validator,
    validate_selected_template,
    validate_template_selector,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_named, of_template, where_changed
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.table.labels import InvalidSelector, selector_text
from fakekube.apiserver.registry.generic.validation.content import share
from fakekube.apiserver.registry.generic.validation.field import Field

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


STRATEGIES = ("Recreate", "RollingUpdate")

COUNTS = (
    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
    "terminatingReplicas", "collisionCount",
)  # fmt: skip


def _validate_spec(spec: Field, options: PodOptions) -> None:
    spec.non_negative_members("replicas")
    validate_template_selector(spec["selector"], "deployment")
    validate_selected_template(spec, options, "ReplicaSet")
    _validate_strategy(spec["strategy"])
    spec.non_negative_members("minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds").non_negative()
    if deadline.number <= spec["minReadySeconds"].number:
        deadline.invalid("must be greater than minReadySeconds")


def _validate_strategy(strategy: Field) -> None:
    kind = strategy["type"].value
    if kind == "Recreate":
        strategy.get("rollingUpdate").forbidden("may not be specified when strategy `type` is 'Recreate'")
    elif kind != "RollingUpdate":
        strategy.with_value(strategy.struct).unsupported_struct("DeploymentStrategy", STRATEGIES)
    else:
        rolling = strategy["rollingUpdate"].specified("this should be defaulted and never be nil")
        unavailable, surge = rolling_counts(rolling)
        unavailable.int_or_percent()
        surge.int_or_percent()
        if not share(unavailable.value) and not share(surge.value):
            unavailable.invalid("may not be 0 when `maxSurge` is 0")
        unavailable.at_most_all()


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


#: Disabled fields of Deployments and ReplicaSets.
TERMINATING = GatedFields(("DeploymentReplicaSetTerminatingReplicas", ("status.terminatingReplicas",)))


KIND = Kind(
    "deployments.apps",
    Strategy(
        generation=("spec",),
        default=default_deployment,
        drop_disabled=drop_disabled_in("spec", "template", "spec", gated=TERMINATING),
        annotations_count=True,
        status_keeps=("generation", "labels"),
        validate=spec_validator(_validate_spec),
        warnings=of_named,
        update_warnings=where_changed(of_template),
        validate_update=spec_update_validator(_validate_spec),
        validate_status_update=status_validator(*COUNTS, at_most_all=COUNTS[2:5], more_than_ready=MORE_THAN_READY),
    ),
    printer=Printer(columns(NAME, "Ready", "Up-to-date", "Available", AGE, *SELECTED_COLUMNS), _deployment),
)
