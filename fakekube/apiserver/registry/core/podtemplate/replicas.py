"""What ReplicaSets and ReplicationControllers share: defaults, table cells and the field `status.replicas`."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, age_of, columns, integer, name_of
from fakekube.apiserver.resource import Object

REPLICA_COLUMNS = columns(NAME, integer("Desired"), integer("Current"), integer("Ready"), AGE, *SELECTED_COLUMNS)


def default_replica_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.get("template"))


def status_replicas(obj: Object) -> str:
    return str((obj.get("status") or {}).get("replicas", 0))


def replica_cells(obj: Object, ages: Ages) -> list[Any]:
    counts = [count_at(obj, path) for path in ("spec.replicas", "status.replicas", "status.readyReplicas")]
    return [name_of(obj), *counts, age_of(obj, ages), *container_cells(obj, "spec.template")]
