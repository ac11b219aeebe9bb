"""Sets the priority of pods from their PriorityClass (plugin Priority)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.call import Call

Object = dict[str, Any]

COLLECTION = "priorityclasses.scheduling.k8s.io"


def mutate_pod(call: Call, obj: Object, old: Object | None) -> Object:
    """Set the priority and preemption policy of a new pod. Raises 403 if its class does not exist or if it sets other
    values."""
    spec = obj.get("spec") or {}
    if old is not None:
        return _with_priority_of(obj, spec, old.get("spec") or {})
    name = spec.get("priorityClassName") or ""
    if name:
        entry = call.server.store.get(COLLECTION, name)
        if entry is None:
            raise refused(call, obj, f"no PriorityClass with name {name} was found")
        found: Object | None = entry.object
    else:
        found = default_class(call)
    value, policy = (found["value"], found.get("preemptionPolicy")) if found else (0, None)
    policy = policy or "PreemptLowerPriority"
    given = spec.get("priority")
    if given is not None and given != value:
        raise refused(
            call, obj,
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name",
        )  # fmt: skip
    own = spec.get("preemptionPolicy")
    if own is not None and own != policy:
        raise refused(
            call, obj,
            f"the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name",
        )  # fmt: skip
    named = {"priorityClassName": found["metadata"]["name"]} if found else {}
    return {**obj, "spec": {**spec, **named, "priority": value, "preemptionPolicy": policy}}


def _with_priority_of(obj: Object, spec: Object, old: Object) -> Object:
    """An updated pod, which keeps its priority and preemption policy if the update does not set them."""
    kept = {field: old[field] for field in ("priority", "preemptionPolicy") if field not in spec and field in old}
    return {**obj, "spec": {**spec, **kept}} if kept else obj


def default_class(call: Call) -> Object | None:
    """The default class; of several, the one with the lowest value."""
    classes = call.server.store.collection(COLLECTION).scan("", "", None)
    found = [entry.object for _, entry in classes if entry.object.get("globalDefault")]
    return min(found, key=lambda one: one["value"]) if found else None


def validate_class(call: Call, obj: Object, old: Object | None) -> None:
    """Raises 403 if another class is already the default."""
    if not obj.get("globalDefault"):
        return
    other = default_class(call)
    name = obj["metadata"].get("name")
    if other is not None and other["metadata"]["name"] != name:
        why = f"PriorityClass {other['metadata']['name']} is already marked as default. Only one default can exist"
        raise refused(call, obj, why)
