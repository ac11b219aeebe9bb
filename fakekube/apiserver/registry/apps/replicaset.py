"""ReplicaSet (`ValidateReplicaSet`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.podtemplate.status import replica_status_validator
from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    spec_update_validator,
    spec_validator,
    validate_selected_template,
    validate_template_selector,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_named, of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.table.labels import selector_cell
from fakekube.apiserver.registry.generic.validation.field import Field

Object = dict[str, Any]


def default_replica_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.get("template"))


def status_replicas(obj: Object) -> str:
    return str((obj.get("status") or {}).get("replicas", 0))


def _validate_spec(spec: Field, options: PodOptions) -> None:
    spec.non_negative_members("replicas", "minReadySeconds")
    validate_template_selector(spec["selector"], "deployment")
    validate_selected_template(spec, options, "ReplicaSet")


def replica_cells(obj: Object, ages: Ages) -> list[Any]:
    counts = [count_at(obj, path) for path in ("spec.replicas", "status.replicas", "status.readyReplicas")]
    return [name_of(obj), *counts, age_of(obj, ages), *container_cells(obj, "spec.template")]


def _replica_set(obj: Object, ages: Ages) -> list[Any]:
    return [*replica_cells(obj, ages), selector_cell(get(obj, "spec.selector"))]


REPLICA_COLUMNS = columns(NAME, integer("Desired"), integer("Current"), integer("Ready"), AGE, *SELECTED_COLUMNS)


KIND = Kind(
    "replicasets.apps",
    Strategy(
        generation=("spec",),
        default=default_replica_set,
        fields={"status.replicas": status_replicas},
        fields_message="label",
        validate=spec_validator(_validate_spec),
        warnings=of_named,
        update_warnings=where_changed(of_template),
        validate_update=spec_update_validator(_validate_spec),
        validate_status_update=replica_status_validator(),
    ),
    printer=Printer(REPLICA_COLUMNS, _replica_set),
)
