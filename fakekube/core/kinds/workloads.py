"""Kinds that make pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob; and what scales and guards them."""

from __future__ import annotations

from typing import Any

from fakekube.core import names
from fakekube.core.strategy import Strategy

Object = dict[str, Any]


def cron_job_name_problems(name: str, prefix: bool = False) -> list[str]:
    """52 characters: a Job's name is made of it (`ValidateCronJobName`)."""
    if not prefix and len(name) > 52:
        return [names.too_long(52)]
    return names.dns_subdomain_problems(name, prefix)


def _counted(**more: Any) -> Strategy:
    return Strategy(generation=("spec",), **more)


def _replicas(obj: Object) -> str:
    return str((obj.get("status") or {}).get("replicas", 0))


STRATEGIES = {
    "deployments.apps": _counted(annotations_count=True, default_status={}),
    "replicasets.apps": _counted(
        default_status={"replicas": 0}, fields={"status.replicas": _replicas}, fields_message="label"
    ),
    "statefulsets.apps": _counted(
        name_check=names.dns_label_problems, default_status={"availableReplicas": 0, "replicas": 0}
    ),
    "daemonsets.apps": _counted(
        default_status={
            "currentNumberScheduled": 0,
            "desiredNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        }
    ),
    "replicationcontrollers": _counted(
        default_status={"replicas": 0}, fields={"status.replicas": _replicas}, fields_message="label"
    ),
    "controllerrevisions.apps": Strategy(),
    "jobs.batch": _counted(
        default_status={},
        fields={"status.successful": lambda o: str((o.get("status") or {}).get("succeeded", 0))},
        fields_message="label",
    ),
    "cronjobs.batch": _counted(name_check=cron_job_name_problems, default_status={}),
    "poddisruptionbudgets.policy": _counted(
        unconditional_update=False,
        default_status={"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
    ),
    "horizontalpodautoscalers.autoscaling": Strategy(),
}
