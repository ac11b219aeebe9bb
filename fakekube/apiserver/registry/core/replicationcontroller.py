"""TODO"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.registry.apps.replicaset import (
    REPLICA_COLUMNS,
    default_replica_set,
    replica_cells,
    status_replicas,
)
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import check_template
from fakekube.apiserver.registry.core.podtemplate.status import status_validator
from fakekube.apiserver.registry.core.podtemplate.validation import (
    CheckSpec,
    check_lasting,
    check_match,
    revalidate,
    validator,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_named, of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import Printer, get
from fakekube.apiserver.registry.generic.table.labels import labels_cell
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.wire.status import field_required

Object = dict[str, Any]


def default_replication_controller(obj: Object) -> None:
    """Its selector and its own labels come from its template's labels where they are missing."""
    default_replica_set(obj)
    spec = obj["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def update_validator(check: CheckSpec) -> Callable[[Object, Object], Errors]:
    """Of a changed one, of whose spec nothing is fixed."""

    def validate_update(new: Object, old: Object) -> Errors:
        errors: Errors = []
        revalidate(new, old, check, errors)
        return errors

    return validate_update


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


def _replication_controller(obj: Object, ages: Ages) -> list[Any]:
    return [*replica_cells(obj, ages), labels_cell(get(obj, "spec.selector"))]


KIND = Kind(
    "replicationcontrollers",
    Strategy(
        generation=("spec",),
        default=default_replication_controller,
        fields={"status.replicas": status_replicas},
        fields_message="label",
        validate=validate_replication_controller,
        warnings=of_named,
        update_warnings=where_changed(of_template),
        validate_update=validate_replication_controller_update,
        validate_status_update=status_validator("ReplicaSet"),
    ),
    printer=Printer(REPLICA_COLUMNS, _replication_controller),
)
