"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import round_up
from fakekube.apiserver.registry.core.pod.validation import affinity, resources
from fakekube.apiserver.registry.core.pod.warnings import DEPRECATED_LABELS, Warnings
from fakekube.apiserver.registry.core.resourcenames import check_container_resource
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.metadata import check_again

Object = dict[str, Any]


def default_runtime_class(obj: Object) -> None:
    round_up((obj.get("overhead") or {}).get("podFixed") or {})


def of_runtime_class(obj: Object) -> Warnings:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or {}
    return [
        f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}" for key in sorted(selector) if key in DEPRECATED_LABELS
    ]


def validate_runtime_class(obj: Object) -> Errors:
    errors: Errors = []
    content.check_dns_label(obj.get("handler") or "", "handler", errors)
    if obj.get("overhead") is not None:
        rules = resources.Rules(check_container_resource)
        resources.check_requirements({"limits": obj["overhead"].get("podFixed")}, "overhead", errors, rules)
    scheduling = obj.get("scheduling")
    if scheduling is not None:
        labelselectors.check_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector", errors)
        affinity.check_tolerations(scheduling.get("tolerations") or (), "scheduling.tolerations", errors)
    return errors


def validate_runtime_class_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    check_again(new, errors)
    errors += validate_runtime_class(new)
    content.check_immutable(new.get("handler"), old.get("handler"), "handler", errors)
    return errors


def _runtime_class(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("handler") or "", age_of(obj, ages)]


KIND = Kind(
    "runtimeclasses.node.k8s.io",
    Strategy(
        default=default_runtime_class,
        unconditional_update=False,
        validate=validate_runtime_class,
        warnings=of_runtime_class,
        validate_update=validate_runtime_class_update,
    ),
    printer=Printer(columns(NAME, "Handler", AGE), _runtime_class),
)
