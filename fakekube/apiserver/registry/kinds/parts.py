"""Paths that write just one part of an object, other than its status: what each takes, and what it checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.certificates.certificatesigningrequest.validation import validate_approval
from fakekube.apiserver.registry.core.pod.resources import qos_class
from fakekube.apiserver.registry.core.pod.validation import podresize
from fakekube.apiserver.registry.core.pod.validation.pod import validate_ephemeral_containers
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]

Take = Callable[[Object, Object, str], Object]
"""The stored object with the part that the path writes, given what was sent, what is stored, and the time."""


@dataclass(frozen=True, slots=True)
class Part:
    """Of metadata only managedFields are taken (`ResetObjectMetaForStatus`)."""

    take: Take
    validate: Callable[[Object, Object], list[FieldError]]


# --- pods ------------------------------------------------------------------------------------------------------------


def _ephemeral_containers(new: Object, old: Object, now: str) -> Object:
    spec = {key: value for key, value in (old.get("spec") or {}).items() if key != "ephemeralContainers"}
    found = (new.get("spec") or {}).get("ephemeralContainers")
    return {**old, "spec": {**spec, "ephemeralContainers": found} if found else spec}


def _resized(new: list[Object], old: list[Object]) -> list[Object]:
    """The old containers with the new ones' resources; the new ones, where they are not the same ones."""
    if [one.get("name") for one in new] != [one.get("name") for one in old[: len(new)]]:
        return new
    taken = ("resources", "resizePolicy")
    found = []
    for container, sent in zip(old, new, strict=False):
        kept = {key: value for key, value in container.items() if key not in taken}
        found.append({**kept, **{key: sent[key] for key in taken if key in sent}})
    return found + old[len(new) :]


def _resources(new: Object, old: Object, now: str) -> Object:
    spec, sent = dict(old.get("spec") or {}), new.get("spec") or {}
    for kind in ("initContainers", "containers"):
        wanted = sent.get(kind) or []
        if wanted:
            spec[kind] = _resized(wanted, spec.get(kind) or [])
        elif kind == "containers":
            spec[kind] = wanted
    return {**old, "spec": spec}


# --- certificate signing requests -----------------------------------------------------------------------------------


def timed(conditions: list[Object], before: list[Object], now: str) -> list[Object]:
    """Conditions with the times that they came without (`populateConditionTimestamps`)."""
    found = []
    for condition in conditions:
        times = {"lastUpdateTime": condition.get("lastUpdateTime") or now}
        transition = condition.get("lastTransitionTime")
        if not transition:
            same = [one for one in before if one.get("type") == condition.get("type")]
            stays = bool(same) and same[0].get("status") == condition.get("status")
            transition = (same[0].get("lastTransitionTime") if stays else None) or now
        found.append({**condition, **times, "lastTransitionTime": transition})
    return found


def _approval(new: Object, old: Object, now: str) -> Object:
    status = {key: value for key, value in (old.get("status") or {}).items() if key != "conditions"}
    before = (old.get("status") or {}).get("conditions") or []
    conditions = timed((new.get("status") or {}).get("conditions") or [], before, now)
    return {**old, "status": {**status, "conditions": conditions} if conditions else status}


#: (qualified resource, subresource) -> the part that it writes.
PARTS: Mapping[tuple[str, str], Part] = {
    ("pods", "ephemeralcontainers"): Part(_ephemeral_containers, validate_ephemeral_containers),
    ("pods", "resize"): Part(_resources, podresize.validator(qos_class)),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): Part(_approval, validate_approval),
}
