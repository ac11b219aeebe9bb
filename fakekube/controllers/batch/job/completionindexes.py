"""Completion indexes of Indexed Jobs, and sets of them as ordered intervals (`indexed_job_utils.go`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fakekube.controllers.batch.job.jobspec import Object, has_failed, is_tracked
from fakekube.controllers.batch.job.podfailurepolicy import match
from fakekube.controllers.workload.podstate import Pod, phase

#: The annotation, and the label, with the index of a pod.
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

#: The annotations with the number of failures of the index before the pod: counted ones, and ignored ones.
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"

#: First and last index of intervals that are in order and do not touch.
Intervals = Sequence[tuple[int, int]]

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def completion_index(pod: Pod) -> int | None:
    """The completion index of a pod, None if it has no valid one."""
    text = (pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX, "")
    index = _integer(text)
    return index if index is not None and index >= 0 else None


def valid_index(pod: Pod, job: Object) -> int | None:
    """The completion index of a pod if it is one of the Job."""
    index = completion_index(pod)
    return index if index is not None and index < job["spec"]["completions"] else None


def indexes_of(pods: Iterable[Pod]) -> set[int]:
    """The completion indexes of pods."""
    return {index for pod in pods if (index := completion_index(pod)) is not None}


def failure_count(pod: Pod) -> int:
    """How often the index of the pod had failed when the pod was created."""
    return _count(pod, FAILURE_COUNT)


def absolute_failure_count(pod: Pod) -> int:
    """As `failure_count`, with the failures that the pod failure policy ignores."""
    return _count(pod, FAILURE_COUNT) + _count(pod, IGNORED_FAILURE_COUNT)


def new_failure_counts(job: Object, replaced: Pod | None) -> tuple[int, int]:
    """The counted and the ignored failures of an index whose last pod is `replaced`."""
    if replaced is None:
        return 0, 0
    counts = match(job["spec"].get("podFailurePolicy"), replaced).counts
    return _count(replaced, FAILURE_COUNT) + counts, _count(replaced, IGNORED_FAILURE_COUNT) + (not counts)


def is_index_failed(job: Object, pod: Pod) -> bool:
    """Whether the failure of the pod makes its index fail."""
    if not has_failed(pod, job):
        return False
    found = match(job["spec"].get("podFailurePolicy"), pod)
    if found.action == "FailIndex":
        return True
    return found.counts and failure_count(pod) >= job["spec"]["backoffLimitPerIndex"]


def succeeded_indexes(job: Object, pods: Iterable[Pod]) -> tuple[Intervals, Intervals]:
    """The indexes that the status has, and those with the pods that have succeeded since."""
    before = parse((job.get("status") or {}).get("completedIndexes") or "", job["spec"]["completions"])
    new = {
        index
        for pod in pods
        if phase(pod) == "Succeeded" and is_tracked(pod) and (index := valid_index(pod, job)) is not None
    }
    return before, merged(before, singles(new))


def failed_indexes(job: Object, pods: Iterable[Pod]) -> Intervals:
    """The indexes that have failed: those of the status, and those of the pods that have failed since."""
    before = parse((job.get("status") or {}).get("failedIndexes") or "", job["spec"]["completions"])
    new = {
        index
        for pod in pods
        if is_tracked(pod) and (index := valid_index(pod, job)) is not None and is_index_failed(job, pod)
    }
    return merged(before, singles(new))


# --- intervals


def parse(text: str, completions: int) -> Intervals:
    """The intervals of a text such as "1,3-5,7" below `completions`; corrupt ones are left out."""
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        limits = part.split("-")
        first = _integer(limits[0])
        if first is None:
            continue
        if first >= completions:
            break
        last = _integer(limits[1]) if len(limits) > 1 else first
        if last is None:
            continue
        last = min(last, completions - 1)
        if found and found[-1][1] == first - 1:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def text_of(intervals: Intervals) -> str:
    """The text of intervals: "1,3-5,7"."""
    parts = []
    for first, last in intervals:
        parts.append(str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}")
    return ",".join(parts)


def singles(indexes: Iterable[int]) -> Intervals:
    """The intervals of single indexes, which may touch; `merged` brings them in order."""
    return [(index, index) for index in indexes]


def merged(one: Intervals, other: Intervals) -> Intervals:
    """The intervals with the indexes of both."""
    found: list[tuple[int, int]] = []
    for first, last in sorted([*one, *other]):
        if not found or first > found[-1][1] + 1:
            found.append((first, last))
        elif found[-1][1] < last:
            found[-1] = (found[-1][0], last)
    return found


def total(intervals: Intervals) -> int:
    """How many indexes there are."""
    return sum(last - first + 1 for first, last in intervals)


def has(intervals: Intervals, index: int) -> bool:
    """Whether an index is in one of the intervals."""
    return any(first <= index <= last for first, last in intervals)


def overlap(one: Intervals, other: Intervals) -> int:
    """How many indexes are in both."""
    return sum(
        max(0, min(one_last, last) - max(one_first, first) + 1) for one_first, one_last in one for first, last in other
    )


def gaps(intervals: Intervals, count: int, completions: int) -> Sequence[int]:
    """The first `count` indexes below `completions` that are in none of the intervals."""
    found: list[int] = []
    candidate = 0
    for first, last in [*intervals, (completions, completions)]:
        stop = min(first, completions, candidate + count - len(found))
        found.extend(range(candidate, stop))
        candidate = max(candidate, last + 1)
    return found


def _count(pod: Pod, annotation: str) -> int:
    value = _integer((pod["metadata"].get("annotations") or {}).get(annotation, "")) or 0
    return max(0, value) if value < 2**31 else 0


def _integer(text: str) -> int | None:
    """The value of a decimal integer, None for another text (strconv.Atoi)."""
    return int(text) if _INTEGER.fullmatch(text) else None
