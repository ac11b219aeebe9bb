"""The revisions of a Deployment in the annotations of its ReplicaSets (`deployment_util.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.workload.intorpercent import integer
from fakekube.controllers.workload.semantic import is_equal

PREFIX = "deployment.kubernetes.io/"
REVISION, HISTORY = "revision", "revision-history"
DESIRED_REPLICAS, MAX_REPLICAS = "desired-replicas", "max-replicas"

#: A deprecated annotation, in which `kubectl rollout undo` of old names the revision to return to.
ROLLBACK_TO = "deprecated.deployment.rollback.to"

#: The label that keeps the pods of a Deployment's ReplicaSets apart.
HASH_LABEL = "pod-template-hash"

#: The longest history of revisions, in characters.
HISTORY_LIMIT = 2000

#: Annotations of a Deployment that its ReplicaSets do not get.
_OWN = frozenset({
    "kubectl.kubernetes.io/last-applied-configuration", ROLLBACK_TO,
    *(PREFIX + name for name in (REVISION, HISTORY, DESIRED_REPLICAS, MAX_REPLICAS)),
})  # fmt: skip

Object = Mapping[str, Any]


def annotation(obj: Object, name: str) -> str | None:
    """An annotation of the Deployment controller."""
    found: str | None = (obj["metadata"].get("annotations") or {}).get(PREFIX + name)
    return found


def number_in(obj: Object, name: str) -> int | None:
    """The number in an annotation; None if there is none, or no int32 above 0."""
    text = annotation(obj, name) or ""
    return int(text) if text.isascii() and text.isdigit() and int(text) < 2**31 else None


def revision(obj: Object) -> int | None:
    """The revision of an object: 0 without an annotation, None if it is not a number."""
    text = annotation(obj, REVISION)
    return 0 if text is None else integer(text)


def max_revision(replica_sets: Sequence[Object]) -> int:
    return max((found for one in replica_sets if (found := revision(one)) is not None), default=0)


def last_revision(replica_sets: Sequence[Object]) -> int:
    """The second highest revision, to which a rollback without a revision returns."""
    known = sorted(found for one in replica_sets if (found := revision(one)) is not None)
    return known[-2] if len(known) > 1 else 0


def created(replica_set: Object) -> tuple[str, str]:
    """The order of ReplicaSets by age (controller.ReplicaSetsByCreationTimestamp)."""
    return replica_set["metadata"].get("creationTimestamp") or "", replica_set["metadata"]["name"]


def is_same_template(one: Object, other: Object) -> bool:
    """Whether two templates differ at most in their hash label (EqualIgnoreHash)."""
    return is_equal(_without_hash(one), _without_hash(other))


def _without_hash(template: Object) -> dict[str, Any]:
    meta = template.get("metadata") or {}
    labels = {name: value for name, value in (meta.get("labels") or {}).items() if name != HASH_LABEL}
    return {**template, "metadata": {**meta, "labels": labels, "creationTimestamp": None}}


def new_and_old(deployment: Object, replica_sets: Sequence[Object]) -> tuple[Object | None, Sequence[Object]]:
    """The oldest ReplicaSet with the template of the Deployment, and all others."""
    template = deployment["spec"]["template"]
    ordered = sorted(replica_sets, key=created)
    new = next((one for one in ordered if is_same_template(one["spec"]["template"], template)), None)
    return new, [one for one in ordered if one is not new]


def with_replicas_annotations(annotations: Mapping[str, str], desired: int, most: int) -> dict[str, str]:
    """The annotations with the sizes of the Deployment, from which a later scaling computes shares."""
    sizes = {PREFIX + DESIRED_REPLICAS: str(desired), PREFIX + MAX_REPLICAS: str(most)}
    return {**annotations, **sizes}


def new_annotations(deployment: Object, replica_set: Object, new_revision: int) -> dict[str, str]:
    """The annotations of the new ReplicaSet: those of the Deployment, its revision and its former revisions.

    Source: deployment_util.go, SetNewReplicaSetAnnotations.
    """
    present = dict(replica_set["metadata"].get("annotations") or {})
    own = deployment["metadata"].get("annotations") or {}
    found = {**present, **{name: value for name, value in own.items() if name not in _OWN}}
    text = present.get(PREFIX + REVISION, "")
    try:
        old = int(text) if text else 0
    except ValueError:
        return found
    if old < new_revision:
        found[PREFIX + REVISION] = str(new_revision)
        if PREFIX + REVISION in present:
            found[PREFIX + HISTORY] = _history(present.get(PREFIX + HISTORY, ""), text)
    return found


def _history(history: str, revision: str) -> str:
    """The history with one more revision; the oldest ones are dropped if it would get too long."""
    if not history:
        return revision
    known = history.split(",")
    length = len(history) + len(revision) + 1
    while length > HISTORY_LIMIT and known:
        length -= len(known.pop(0)) + 1
    return ",".join([*known, revision]) if length <= HISTORY_LIMIT else history


def rolled_back_annotations(deployment: Object, replica_set: Object) -> dict[str, str]:
    """The annotations of a Deployment that returns to the template of a ReplicaSet (SetDeploymentAnnotationsTo)."""
    own = deployment["metadata"].get("annotations") or {}
    theirs = replica_set["metadata"].get("annotations") or {}
    return {
        **{name: value for name, value in own.items() if name in _OWN},
        **{name: value for name, value in theirs.items() if name not in _OWN},
    }
