"""Which pods a Job creates and deletes, and what they are created from (`manageJob` and `indexed_job_utils.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from fakekube.controllers.batch.job.completionindexes import (
    COMPLETION_INDEX,
    FAILURE_COUNT,
    IGNORED_FAILURE_COUNT,
    absolute_failure_count,
    completion_index,
    new_failure_counts,
)
from fakekube.controllers.batch.job.jobspec import TRACKING, Object, has_limit_per_index, is_indexed
from fakekube.controllers.batch.job.podbackoff import finished_at, remaining
from fakekube.controllers.workload.podranking import removal_order
from fakekube.controllers.workload.podstate import Pod

#: The environment variable with the index of a pod.
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"

#: The most characters of a generated name before its random suffix (names.MaxGeneratedNameLength).
_PREFIX = 58


def pod_template(job: Object) -> dict[str, Any]:
    """The template of the Job's pods, with the finalizer, and with the variable of the index."""
    template = dict(job["spec"]["template"])
    meta = dict(template.get("metadata") or {})
    finalizers = meta.get("finalizers") or ()
    meta["finalizers"] = [*finalizers] if TRACKING in finalizers else [*finalizers, TRACKING]
    spec = template["spec"]
    if is_indexed(job):
        found = {
            name: list(map(_with_index, spec[name])) for name in ("initContainers", "containers") if spec.get(name)
        }
        spec = {**spec, **found}
    return {**template, "metadata": meta, "spec": spec}


def indexed_template(job: Object, template: Object, index: int, replaced: Pod | None) -> dict[str, Any]:
    """The template of the pod of an index that replaces a pod."""
    meta = template["metadata"]
    annotations = {**(meta.get("annotations") or {}), COMPLETION_INDEX: str(index)}
    if has_limit_per_index(job):
        counted, ignored = new_failure_counts(job, replaced)
        annotations[FAILURE_COUNT] = str(counted)
        if ignored > 0:
            annotations[IGNORED_FAILURE_COUNT] = str(ignored)
    labels = {**(meta.get("labels") or {}), COMPLETION_INDEX: str(index)}
    spec = {**template["spec"], "hostname": f"{job['metadata']['name']}-{index}"}
    return {**template, "metadata": {**meta, "labels": labels, "annotations": annotations}, "spec": spec}


def indexed_name(job: Object, index: int) -> str:
    """The generateName of the pod of an index."""
    suffix = f"-{index}-"
    return f"{job['metadata']['name'][: _PREFIX - len(suffix)]}{suffix}"


def _with_index(container: Mapping[str, Any]) -> Mapping[str, Any]:
    variables = container.get("env") or ()
    if any(one.get("name") == INDEX_VARIABLE for one in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*variables, {"name": INDEX_VARIABLE, "valueFrom": source}]}


def surplus(job: Object, active: Sequence[Pod], at_least: int) -> Sequence[Pod]:
    """The active pods to delete: those without a valid index, all but one of each index, and then `at_least` in all."""
    removed: list[Pod] = []
    left = list(active)
    if is_indexed(job):
        removed, left = _duplicates(active, job["spec"]["completions"])
    return [*removed, *removal_order(left)[: max(0, at_least - len(removed))]]


def _duplicates(active: Sequence[Pod], completions: int) -> tuple[list[Pod], list[Pod]]:
    removed: list[Pod] = []
    left: list[Pod] = []
    for index, group in groupby(sorted(active, key=index_order), key=index_order):
        pods = list(group)
        if not 0 <= index < completions:
            removed.extend(pods)
            continue
        *others, kept = removal_order(pods)
        removed.extend(others)
        left.append(kept)
    return removed, left


def index_order(pod: Pod) -> int:
    """The index of a pod, -1 for one without."""
    index = completion_index(pod)
    return -1 if index is None else index


def later_failure(one: Pod, other: Pod) -> bool:
    """Whether `other` is the later of two failed pods of an index."""
    return absolute_failure_count(one) <= absolute_failure_count(other) and finished_at(other) >= finished_at(one)


def creatable(indexes: Sequence[int], last: Mapping[int, Pod], now: datetime) -> tuple[Sequence[int], float]:
    """The indexes whose back-off has ended; if there is none, the seconds until the first one's ends.

    `last`: the last failed pod of an index.
    """
    waits = {index: _index_wait(last.get(index), now) for index in indexes}
    free = [index for index, wait in waits.items() if wait == 0]
    return free, 0.0 if free else min(waits.values(), default=0.0)


def _index_wait(last: Pod | None, now: datetime) -> float:
    return 0.0 if last is None else remaining(absolute_failure_count(last) + 1, finished_at(last), now)
