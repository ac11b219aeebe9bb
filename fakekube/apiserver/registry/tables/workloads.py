"""Rows of workloads, and of what belongs to them."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.tables.ages import Ages, between
from fakekube.apiserver.registry.tables.columns import (
    AGE,
    NAME,
    Printer,
    age,
    boolean,
    columns,
    get,
    going,
    integer,
    joined,
    name,
    printed,
    wide,
)
from fakekube.apiserver.registry.tables.labels import InvalidSelector, labels_cell, selector_cell, selector_text
from fakekube.apiserver.resource import qualify

Object = dict[str, Any]


def _containers(obj: Object, path: str) -> list[str]:
    """The names and the images of a pod template's containers: two cells."""
    found = get(obj, f"{path}.spec.containers", ())
    return [joined([one.get(field) or "" for one in found]) for field in ("name", "image")]


def _count(obj: Object, path: str) -> int:
    return get(obj, path, 0)  # type: ignore[no-any-return]


def _deployment(obj: Object, ages: Ages) -> list[Any]:
    try:
        selector = selector_text(get(obj, "spec.selector"))
    except InvalidSelector:
        selector = "<invalid>"
    return [
        name(obj),
        f"{_count(obj, 'status.readyReplicas')}/{_count(obj, 'spec.replicas')}",
        _count(obj, "status.updatedReplicas"),
        _count(obj, "status.availableReplicas"),
        age(obj, ages),
        *_containers(obj, "spec.template"),
        selector,
    ]


def _replicas(obj: Object, ages: Ages) -> list[Any]:
    counts = [_count(obj, path) for path in ("spec.replicas", "status.replicas", "status.readyReplicas")]
    return [name(obj), *counts, age(obj, ages), *_containers(obj, "spec.template")]


def _replica_set(obj: Object, ages: Ages) -> list[Any]:
    return [*_replicas(obj, ages), selector_cell(get(obj, "spec.selector"))]


def _replication_controller(obj: Object, ages: Ages) -> list[Any]:
    return [*_replicas(obj, ages), labels_cell(get(obj, "spec.selector"))]


def _stateful_set(obj: Object, ages: Ages) -> list[Any]:
    ready = f"{_count(obj, 'status.readyReplicas')}/{_count(obj, 'spec.replicas')}"
    return [name(obj), ready, age(obj, ages), *_containers(obj, "spec.template")]


_DAEMON_COUNTS = (
    "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
)  # fmt: skip


def _daemon_set(obj: Object, ages: Ages) -> list[Any]:
    return [
        name(obj),
        *(_count(obj, f"status.{field}") for field in _DAEMON_COUNTS),
        labels_cell(get(obj, "spec.template.spec.nodeSelector")),
        age(obj, ages),
        *_containers(obj, "spec.template"),
        selector_cell(get(obj, "spec.selector")),
    ]


#: The first of a Job's conditions that holds names its state; where none does it runs.
_JOB_STATES = (("Complete", "Complete"), ("Failed", "Failed"), ("", "Terminating"), ("Suspended", "Suspended"),
               ("FailureTarget", "FailureTarget"), ("SuccessCriteriaMet", "SuccessCriteriaMet"))  # fmt: skip


def _job_state(job: Object) -> str:
    statuses: dict[str, str] = {}
    for condition in get(job, "status.conditions", ()):
        statuses.setdefault(condition.get("type", ""), condition.get("status", ""))
    statuses[""] = "True" if going(job) else "False"
    return next((state for type, state in _JOB_STATES if statuses.get(type) == "True"), "Running")


def _job_completions(job: Object) -> str:
    succeeded, wanted = _count(job, "status.succeeded"), get(job, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = _count(job, "spec.parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Object, ages: Ages) -> str:
    start, end = get(job, "status.startTime"), get(job, "status.completionTime")
    if not start:
        return ""
    return between(start, end) if end else ages(start)


def _job(obj: Object, ages: Ages) -> list[Any]:
    return [
        name(obj),
        _job_state(obj),
        _job_completions(obj),
        _job_duration(obj, ages),
        age(obj, ages),
        *_containers(obj, "spec.template"),
        selector_cell(get(obj, "spec.selector")),
    ]


def _cron_job(obj: Object, ages: Ages) -> list[Any]:
    last = get(obj, "status.lastScheduleTime")
    return [
        name(obj),
        get(obj, "spec.schedule", ""),
        get(obj, "spec.timeZone", "<none>"),
        printed(get(obj, "spec.suspend")),
        len(get(obj, "status.active", ())),
        ages(last) if last else "<none>",
        age(obj, ages),
        *_containers(obj, "spec.jobTemplate.spec.template"),
        selector_cell(get(obj, "spec.jobTemplate.spec.selector")),
    ]


def _pod_template(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), *_containers(obj, "template"), labels_cell(get(obj, "template.metadata.labels"))]


def _controller_revision(obj: Object, ages: Ages) -> list[Any]:
    owner = next((one for one in get(obj, "metadata.ownerReferences", ()) if one.get("controller")), None)
    controller = "<none>"
    if owner is not None:
        group, _, _ = owner.get("apiVersion", "").rpartition("/")
        kind = qualify(owner.get("kind", ""), group)
        controller = f"{kind.lower()}/{owner.get('name', '')}"
    return [name(obj), controller, obj.get("revision") or 0, age(obj, ages)]


def _scale(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), _count(obj, "spec.replicas"), _count(obj, "status.replicas"), age(obj, ages)]


_TEMPLATE = (wide("Containers"), wide("Images"))
_WIDE = (*_TEMPLATE, wide("Selector"))
_REPLICAS = columns(NAME, integer("Desired"), integer("Current"), integer("Ready"), AGE, *_WIDE)

PRINTERS = {
    "deployments.apps": Printer(columns(NAME, "Ready", "Up-to-date", "Available", AGE, *_WIDE), _deployment),
    "replicasets.apps": Printer(_REPLICAS, _replica_set),
    "replicationcontrollers": Printer(_REPLICAS, _replication_controller),
    "statefulsets.apps": Printer(columns(NAME, "Ready", AGE, *_TEMPLATE), _stateful_set),
    "daemonsets.apps": Printer(
        columns(NAME, integer("Desired"), integer("Current"), integer("Ready"), integer("Up-to-date"),
                integer("Available"), "Node Selector", AGE, *_WIDE),
        _daemon_set,
    ),
    "jobs.batch": Printer(columns(NAME, "Status", "Completions", "Duration", AGE, *_WIDE), _job),
    "cronjobs.batch": Printer(
        columns(NAME, "Schedule", "Timezone", boolean("Suspend"), integer("Active"), "Last Schedule", AGE, *_WIDE),
        _cron_job,
    ),
    "podtemplates": Printer(columns(NAME, "Containers", "Images", "Pod Labels"), _pod_template),
    "controllerrevisions.apps": Printer(columns(NAME, "Controller", "Revision", AGE), _controller_revision),
}  # fmt: skip

SCALE = Printer(columns("Name", integer("Desired"), integer("Available"), AGE), _scale)
