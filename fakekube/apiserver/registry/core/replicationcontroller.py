"""ReplicationController (`ValidateReplicationController`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import validate_template
from fakekube.apiserver.registry.core.podtemplate.replicas import (
    REPLICA_COLUMNS,
    default_replica_set,
    replica_cells,
    status_replicas,
)
from fakekube.apiserver.registry.core.podtemplate.status import replica_status_validator, with_labels_of_template
from fakekube.apiserver.registry.core.podtemplate.validation import (
    spec_update_validator,
    spec_validator,
    validate_lasting,
    validate_match,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_named, of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import Printer, get
from fakekube.apiserver.registry.generic.table.labels import labels_cell
from fakekube.apiserver.registry.generic.validation.field import Field

Object = dict[str, Any]


def default_replication_controller(obj: Object) -> None:
    """Selector and labels default to the labels of the template."""
    default_replica_set(obj)
    spec = obj["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def _validate_spec(spec: Field, options: PodOptions) -> None:
    """The selector is a map of labels, not a label selector."""
    spec["minReadySeconds"].non_negative()
    selector, template = spec["selector"], spec["template"]
    selector.required()
    spec["replicas"].non_negative()
    if template.value is None:
        template.missing()
        return
    if selector:
        validate_match({"matchLabels": selector.value}, template)
    validate_template(template, options)
    validate_lasting(template["spec"], "ReplicationController")


def _replication_controller(obj: Object, ages: Ages) -> list[Any]:
    return [*replica_cells(obj, ages), labels_cell(get(obj, "spec.selector"))]


KIND = Kind(
    "replicationcontrollers",
    Strategy(
        name_check=names.long_name_problems,
        default_propagation="Orphan",
        generation=("spec",),
        default=default_replication_controller,
        drop_disabled=drop_disabled_in("spec", "template", "spec"),
        prepare_status_update=with_labels_of_template,
        fields={"status.replicas": status_replicas},
        fields_message="label",
        validate=spec_validator(_validate_spec),
        warnings=of_named,
        update_warnings=where_changed(of_template),
        as_new_before=35,
        validate_update=spec_update_validator(_validate_spec, fixed_selector=False),
        validate_status_update=replica_status_validator(),
    ),
    printer=Printer(REPLICA_COLUMNS, _replication_controller),
)
