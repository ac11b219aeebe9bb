"""ReplicaSet (`ValidateReplicaSet`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.apps.deployment import TERMINATING
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.podtemplate.replicas import (
    REPLICA_COLUMNS,
    default_replica_set,
    replica_cells,
)
from fakekube.apiserver.registry.core.podtemplate.status import replica_status_validator
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
from fakekube.apiserver.registry.generic.table.columns import Printer, get
from fakekube.apiserver.registry.generic.table.labels import selector_cell
from fakekube.apiserver.registry.generic.validation.field import Field

Object = dict[str, Any]


def _validate_spec(spec: Field, options: PodOptions) -> None:
    spec.non_negative_members("replicas", "minReadySeconds")
    validate_template_selector(spec["selector"], "deployment")
    validate_selected_template(spec, options, "ReplicaSet")


def _replica_set(obj: Object, ages: Ages) -> list[Any]:
    return [*replica_cells(obj, ages), selector_cell(get(obj, "spec.selector"))]


KIND = Kind(
    "replicasets.apps",
    Strategy(
        generation=("spec",),
        default=default_replica_set,
        drop_disabled=drop_disabled_in("spec", "template", "spec", gated=TERMINATING),
        validate=spec_validator(_validate_spec),
        warnings=of_named,
        update_warnings=where_changed(of_template),
        as_new_before=34,
        validate_update=spec_update_validator(_validate_spec),
        validate_status_update=replica_status_validator(),
    ),
    printer=Printer(REPLICA_COLUMNS, _replica_set),
)
