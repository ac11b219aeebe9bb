"""The status of definitions as their controllers set it: accepted names, establishing, termination
(`apiextensions-apiserver/pkg/controller/status`, `establish`, `finalizer`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fakekube.apiserver.crd import apiapproval
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.status import together

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def condition(crd: Object, type: str) -> Object | None:
    """The condition of a type."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type), None)


def is_true(crd: Object, type: str) -> bool:
    found = condition(crd, type)
    return found is not None and found.get("status") == "True"


def with_condition(crd: Object, type: str, status: str, reason: str, message: str, now: str) -> Object:
    """The definition with a condition set; its transition time changes only with its status."""
    made = {"type": type, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    conditions = list((crd.get("status") or {}).get("conditions") or ())
    for i, one in enumerate(conditions):
        if one.get("type") == type:
            if one.get("status") == status:
                made["lastTransitionTime"] = one.get("lastTransitionTime") or now
            conditions[i] = made
            break
    else:
        conditions.append(made)
    return {**crd, "status": {**(crd.get("status") or {}), "conditions": conditions}}


# --- names -----------------------------------------------------------------------------------------------------------

#: Name -> reason of a conflict, and whether it is the name of a kind (else of a resource).
_NAMES = (
    ("plural", "PluralConflict", False),
    ("singular", "SingularConflict", False),
    ("shortNames", "ShortNamesConflict", False),
    ("kind", "KindConflict", True),
    ("listKind", "ListKindConflict", True),
)


def has_names(crd: Object) -> bool:
    """Whether all names of the definition are accepted, and it is said whether it is established."""
    accepted = (crd.get("status") or {}).get("acceptedNames") or {}
    return bool(crd["spec"]["names"] == accepted) and condition(crd, "Established") is not None


def named(crd: Object, group: Iterable[Object], now: str) -> Object:
    """The definition with the names that no other definition of its API group uses; established if all are accepted.

    `group` contains the definitions of the API group, including this one.
    """
    if has_names(crd):
        return crd
    wanted = crd["spec"]["names"]
    accepted: Object = (crd.get("status") or {}).get("acceptedNames") or {}
    resources, kinds = _taken(group)
    names = dict(accepted)
    conflict: tuple[str, str] | None = None
    for key, reason, is_kind in _NAMES:
        problem = _conflict(wanted.get(key), accepted.get(key), kinds if is_kind else resources)
        if problem:
            conflict = (reason, problem)
        elif wanted.get(key):
            names[key] = wanted[key]
        else:
            names.pop(key, None)
    if wanted.get("categories"):
        names["categories"] = wanted["categories"]
    else:
        names.pop("categories", None)
    names = {"plural": names.get("plural") or "", "kind": names.get("kind") or "", **_shown(names)}
    made = {**crd, "status": {**(crd.get("status") or {}), "acceptedNames": names}}
    if conflict is not None:
        made = with_condition(made, "NamesAccepted", "False", *conflict, now)
    else:
        made = with_condition(made, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    return _established(made, accepted_all=conflict is None, now=now)


def _shown(names: Object) -> Object:
    return {key: value for key, value in names.items() if value and key not in ("plural", "kind")}


def _taken(group: Iterable[Object]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for one in group:
        names = (one.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ())}
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    return resources, kinds


def _conflict(wanted: Any, accepted: Any, taken: set[str]) -> str:
    """The reason why a name cannot be accepted; "" if it can."""
    if isinstance(wanted, list):
        mine = set(accepted or ())
        return together(f'"{one}" is already in use' for one in wanted if one not in mine and one in taken)
    return f'"{wanted}" is already in use' if wanted and wanted != accepted and wanted in taken else ""


def _established(crd: Object, *, accepted_all: bool, now: str) -> Object:
    if is_true(crd, "Established"):
        return crd
    if accepted_all:
        message = "the initial names have been accepted"
        return with_condition(crd, "Established", "True", "InitialNamesAccepted", message, now)
    if condition(crd, "Established") is not None:
        return crd
    return with_condition(crd, "Established", "False", "NotAccepted", "not all names are accepted", now)


def conformant(crd: Object, now: str) -> Object:
    """The definition with the condition of the API approval policy, if the policy applies to its group."""
    if not apiapproval.is_protected(crd["spec"]["group"]):
        return crd
    state, message = apiapproval.state(crd)
    status, reason = apiapproval.CONDITIONS[state]
    return with_condition(crd, "KubernetesAPIApprovalPolicyConformant", status, reason, message, now)


# --- termination -----------------------------------------------------------------------------------------------------


def marked_deleted(crd: Object, now: str) -> Object:
    """The definition after its first delete, with the finalizer that deletes its objects."""
    meta = dict(crd["metadata"])
    meta.setdefault("deletionTimestamp", now)
    finalizers = list(meta.get("finalizers") or ())
    if CLEANUP_FINALIZER not in finalizers:
        finalizers.append(CLEANUP_FINALIZER)
    meta["finalizers"] = finalizers
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    marked = {**crd, "metadata": meta}
    return with_condition(marked, "Terminating", "True", "InstanceDeletionPending", message, now)


def deleting(crd: Object, now: str) -> Object:
    """The definition while its objects are being deleted."""
    message = "CustomResource deletion is in progress"
    return with_condition(crd, "Terminating", "True", "InstanceDeletionInProgress", message, now)


def cleaned(crd: Object, now: str) -> Object:
    """The definition after its objects are deleted, without the finalizer."""
    if is_true(crd, "Established"):
        crd = with_condition(crd, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances", now)
    else:
        crd = with_condition(crd, "Terminating", "False", "NeverEstablished", "resource was never established", now)
    finalizers = [one for one in crd["metadata"].get("finalizers") or () if one != CLEANUP_FINALIZER]
    meta = {key: value for key, value in crd["metadata"].items() if key != "finalizers"}
    return {**crd, "metadata": {**meta, "finalizers": finalizers} if finalizers else meta}
