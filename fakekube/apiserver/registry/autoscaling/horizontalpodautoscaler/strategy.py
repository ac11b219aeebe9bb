"""HorizontalPodAutoscaler."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.autoscaling.horizontalpodautoscaler import validation
from fakekube.apiserver.registry.autoscaling.horizontalpodautoscaler.conversion import (
    CPU_UTILIZATION,
    _cpu_metric,
    from_v1,
    to_v1,
    with_status_annotations,
)
from fakekube.apiserver.registry.autoscaling.horizontalpodautoscaler.table import PRINTER
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

SCALE_UP: Object = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}


SCALE_DOWN: Object = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


def default_autoscaler(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [_cpu_metric(CPU_UTILIZATION)]
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = {**SCALE_UP, **(behavior.get("scaleUp") or {})}
        behavior["scaleDown"] = {**SCALE_DOWN, **(behavior.get("scaleDown") or {})}


def default_v1(obj: Object) -> None:
    """The defaults, and what conversion to the stored form and back adds: managers own it."""
    obj.setdefault("spec", {}).setdefault("minReplicas", 1)
    obj.update(to_v1(from_v1(obj)))


def prepare_v1(obj: Object) -> Object:
    """A new object has no status; some of it is in annotations."""
    return with_status_annotations(obj, {})


def prepare_v1_update(new: Object, old: Object) -> Object:
    return with_status_annotations(new, old["metadata"])


VALIDATE = validator(validation.validate)
VALIDATE_UPDATE = update_validator(validation.validate_update)
VALIDATE_STATUS_UPDATE = update_validator(validation.validate_status_update)

_GATED = GatedFields(
    ("HPAConfigurableTolerance", ("spec.behavior.scaleUp.tolerance", "spec.behavior.scaleDown.tolerance")),
)


KIND = Kind(
    "horizontalpodautoscalers.autoscaling",
    Strategy(
        drop_disabled=_GATED.drop_disabled,
        default=default_autoscaler,
        validate=VALIDATE,
        validate_update=VALIDATE_UPDATE,
        validate_status_update=VALIDATE_STATUS_UPDATE,
    ),
    printer=PRINTER,
    versions={
        "v1": Strategy(
            default=default_v1,
            prepare_create=prepare_v1,
            prepare_update=prepare_v1_update,
            validate=lambda obj: VALIDATE(from_v1(obj)),
            validate_update=lambda new, old: VALIDATE_UPDATE(from_v1(new), from_v1(old)),
            validate_status_update=VALIDATE_STATUS_UPDATE,
            read=to_v1,
            write=from_v1,
        )
    },
)
