"""Kinds that make pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob; and what scales and guards
them."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.pod.defaults import default_template, round_up
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.kinds import autoscalers
from fakekube.apiserver.registry.validation import (
    cronjobs,
    disruption,
    jobs,
    jobstatus,
    scheduling,
    statefulsets,
    workloads,
    workloadstatus,
    workloadwarnings,
)
from fakekube.apiserver.registry.validation.workloadwarnings import where_changed

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


def default_replica_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.get("template"))


def default_replication_controller(obj: Object) -> None:
    """Its selector and its own labels come from its template's labels where they are missing."""
    default_replica_set(obj)
    spec = obj["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def default_stateful_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        rolling.pop("maxUnavailable", None)  # its feature is off
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def default_daemon_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _template_generation(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or ""
    return max(int(text), 1) if re.fullmatch("[+-]?[0-9]{1,18}", text) else 1


def _with_template_generation(obj: Object, generation: int) -> Object:
    annotations = {**(obj["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def prepare_daemon_set(obj: Object) -> Object:
    """It counts the changes of its template in an annotation."""
    return _with_template_generation(obj, _template_generation(obj))


def prepare_daemon_set_update(new: Object, old: Object) -> Object:
    changed = (new.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
    return _with_template_generation(new, _template_generation(old) + changed)


def prepare_daemon_set_status(new: Object, old: Object) -> Object:
    return _with_template_generation(new, _template_generation(old))


MAX_INT32 = 2**31 - 1


def default_job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", MAX_INT32 if spec.get("backoffLimitPerIndex") is not None else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    failing = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if failing else "TerminatingOrFailed")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    default_failure_policy(spec)
    default_template(template)


def default_failure_policy(spec: Object) -> None:
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")


def default_cron_job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    default_failure_policy(job)
    default_template(job.get("template"))


JOB_LABELS = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")


def prepare_job(obj: Object) -> Object:
    """Unless it selects by hand, a Job selects by its uid, and its pods carry uid and name (`generateSelector`)."""
    spec = dict(obj["spec"])
    if spec.get("manualSelector"):
        return obj
    uid, name = obj["metadata"]["uid"], obj["metadata"].get("name") or ""
    template = dict(spec.get("template") or {})
    meta = dict(template.get("metadata") or {})
    own = dict(zip(JOB_LABELS, (uid, name, uid, name), strict=True))
    meta["labels"] = {**own, **(meta.get("labels") or {})}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {JOB_LABELS[0]: uid, **(selector.get("matchLabels") or {})}
    labelled = {**obj["metadata"], "labels": obj["metadata"].get("labels") or dict(meta["labels"])}
    spec |= {"template": {**template, "metadata": meta}, "selector": selector}
    return {**obj, "metadata": labelled, "spec": spec}


def default_priority_class(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_runtime_class(obj: Object) -> None:
    round_up((obj.get("overhead") or {}).get("podFixed") or {})


def _counted(**more: Any) -> Strategy:
    return Strategy(generation=("spec",), **more)


def _replicas(obj: Object) -> str:
    return str((obj.get("status") or {}).get("replicas", 0))


STRATEGIES = {
    "deployments.apps": _counted(
        default=default_deployment,
        annotations_count=True,
        status_keeps=("generation", "labels"),
        validate=workloads.validate_deployment,
        warnings=workloadwarnings.of_named,
        update_warnings=where_changed(workloadwarnings.of_template),
        validate_update=workloads.validate_deployment_update,
        validate_status_update=workloadstatus.status_validator("Deployment"),
    ),
    "replicasets.apps": _counted(
        default=default_replica_set,
        fields={"status.replicas": _replicas},
        fields_message="label",
        validate=workloads.validate_replica_set,
        warnings=workloadwarnings.of_named,
        update_warnings=where_changed(workloadwarnings.of_template),
        validate_update=workloads.validate_replica_set_update,
        validate_status_update=workloadstatus.status_validator("ReplicaSet"),
    ),
    "statefulsets.apps": _counted(
        default=default_stateful_set,
        name_check=names.dns_label_problems,
        name_limit=63,
        validate=statefulsets.validate,
        warnings=workloadwarnings.of_stateful_set,
        update_warnings=where_changed(workloadwarnings.of_stateful_set),
        validate_update=statefulsets.validate_update,
        validate_status_update=workloadstatus.status_validator("StatefulSet"),
    ),
    "daemonsets.apps": _counted(
        default=default_daemon_set,
        prepare_create=prepare_daemon_set,
        prepare_update=prepare_daemon_set_update,
        prepare_status_update=prepare_daemon_set_status,
        validate=workloads.validate_daemon_set,
        warnings=workloadwarnings.of_template,
        update_warnings=where_changed(workloadwarnings.of_template),
        validate_update=workloads.validate_daemon_set_update,
        validate_status_update=workloadstatus.status_validator("DaemonSet"),
    ),
    "replicationcontrollers": _counted(
        default=default_replication_controller,
        fields={"status.replicas": _replicas},
        fields_message="label",
        validate=workloads.validate_replication_controller,
        warnings=workloadwarnings.of_named,
        update_warnings=where_changed(workloadwarnings.of_template),
        validate_update=workloads.validate_replication_controller_update,
        validate_status_update=workloadstatus.status_validator("ReplicaSet"),
    ),
    "controllerrevisions.apps": Strategy(
        validate=workloads.validate_revision,
        validate_update=workloads.validate_revision_update,
    ),
    "jobs.batch": _counted(
        default=default_job,
        prepare_create=prepare_job,
        fields={"status.successful": lambda o: str((o.get("status") or {}).get("succeeded", 0))},
        fields_message="label",
        validate=jobs.validate,
        warnings=workloadwarnings.of_job,
        update_warnings=where_changed(workloadwarnings.job_spec),
        validate_update=jobs.validate_update,
        validate_status_update=jobstatus.validate_status_update,
    ),
    "cronjobs.batch": _counted(
        default=default_cron_job,
        validate=cronjobs.validate,
        warnings=workloadwarnings.of_cron_job,
        update_warnings=where_changed(workloadwarnings.cron_job_spec),
        validate_update=cronjobs.validate_update,
    ),
    "poddisruptionbudgets.policy": _counted(
        unconditional_update=False,
        validate=disruption.validate,
        validate_update=disruption.validate_update,
        validate_status_update=disruption.validate_status_update,
    ),
    "priorityclasses.scheduling.k8s.io": Strategy(
        default=default_priority_class,
        constant_generation=True,
        validate=scheduling.validate_priority_class,
        validate_update=scheduling.validate_priority_class_update,
    ),
    "runtimeclasses.node.k8s.io": Strategy(
        default=default_runtime_class,
        unconditional_update=False,
        validate=scheduling.validate_runtime_class,
        warnings=workloadwarnings.of_runtime_class,
        validate_update=scheduling.validate_runtime_class_update,
    ),
    **autoscalers.STRATEGIES,
}
