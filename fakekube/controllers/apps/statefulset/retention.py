"""Who owns the claims of a StatefulSet, so that they are deleted with their owner (`stateful_set_utils.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.apps.statefulset.podidentity import ordinal, ordinals
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podstate import Pod

Object = Mapping[str, Any]


def policy(set: Object) -> tuple[bool, bool]:
    """Whether claims are deleted when the StatefulSet is deleted, and when it is scaled down."""
    found = set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return found.get("whenDeleted") == "Delete", found.get("whenScaled") == "Delete"


def is_up_to_date(claim: Object, set: Object, pod: Pod) -> bool:
    """Whether the claim has the owners that the policy gives it (isClaimOwnerUpToDate)."""
    if has_stale_owner(claim, set, "apps/v1", "StatefulSet") or has_stale_owner(claim, pod, "v1", "Pod"):
        return True  # the claim is about to be deleted with its former owner
    by_set, by_pod = _is_owned(claim, set), _is_owned(claim, pod)
    if has_unexpected_controller(claim, set, pod):
        return not (by_set or by_pod)
    if any(_is(one, set) or _is(one, pod) for one in _references(claim) if not one.get("controller")):
        return False
    return (by_set, by_pod) == _wanted(set, pod)


def _wanted(set: Object, pod: Pod) -> tuple[bool, bool]:
    """Whether the StatefulSet and the pod should own a claim of the pod."""
    when_deleted, when_scaled = policy(set)
    scaled_down = when_scaled and ordinal(pod) not in ordinals(set)
    return when_deleted and not scaled_down, scaled_down


def with_owners(claim: Object, set: Object, pod: Pod) -> dict[str, Any]:
    """The claim with the owners that the policy gives it (updateClaimOwnerRefForSetAndPod)."""
    kept = [
        one
        for one in _references(claim)
        if not (_names(one, set, "apps/v1", "StatefulSet") or _names(one, pod, "v1", "Pod"))
    ]
    if not has_unexpected_controller(claim, set, pod):
        by_set, by_pod = _wanted(set, pod)
        if by_set:
            kept.append(controller_reference(set, "apps/v1", "StatefulSet"))
        if by_pod:
            kept.append(controller_reference(pod, "v1", "Pod"))
    return {**claim, "metadata": {**claim["metadata"], "ownerReferences": kept}}


def has_unexpected_controller(claim: Object, set: Object, pod: Pod) -> bool:
    """Whether another object controls the claim, though the policy would have it deleted."""
    if policy(set) == (False, False):
        return False
    for one in _references(claim):
        if _names(one, set, "apps/v1", "StatefulSet") or _names(one, pod, "v1", "Pod"):
            if not (_is(one, set) or _is(one, pod)):
                return True
        elif one.get("controller"):
            return True
    return False


def has_stale_owner(claim: Object, owner: Object, api_version: str, kind: str) -> bool:
    """Whether an owner has the name of `owner`, but another uid."""
    for one in _references(claim):
        if _names(one, owner, api_version, kind):
            return not _is(one, owner)
    return False


def _references(claim: Object) -> Sequence[Object]:
    return claim["metadata"].get("ownerReferences") or ()


def _is_owned(claim: Object, owner: Object) -> bool:
    return any(_is(one, owner) for one in _references(claim))


def _is(reference: Object, owner: Object) -> bool:
    return bool(reference["uid"] == owner["metadata"].get("uid"))


def _names(reference: Object, owner: Object, api_version: str, kind: str) -> bool:
    same = reference["apiVersion"] == api_version and reference["kind"] == kind
    return bool(same and reference["name"] == owner["metadata"]["name"])
