"""The ResourceClaims of a pod (`dynamic-resource-allocation/resourceclaim`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from controllerlib.controller import controller_of
from fakekube.controllers.workload.podstate import Pod, is_terminal
from fakekube.struct import Struct

Object = Mapping[str, Any]

#: The annotation of a claim that was made for a pod: the name of the claim in the spec of the pod.
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"

#: The most characters of a name that is completed by a hyphen and five random characters.
_MOST = 57


class ClaimNotCreated(Exception):
    """The claim of a pod was not created yet from its template."""


class ClaimName(Struct, frozen=True):
    """The name of the claim of a pod, "" if it needs none. `made`: from a template, so that the pod must own it."""

    name: str
    made: bool


def claim_name_of(pod: Pod, wanted: Object) -> ClaimName:
    """The claim for an entry of `spec.resourceClaims`. Raises ClaimNotCreated (resourceclaim.Name)."""
    if wanted.get("resourceClaimName") is not None:
        return ClaimName(wanted["resourceClaimName"], made=False)
    for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if one["name"] == wanted["name"]:
            return ClaimName(one.get("resourceClaimName") or "", made=True)
    meta = pod["metadata"]
    raise ClaimNotCreated(f'pod "{meta["namespace"]}/{meta["name"]}": ResourceClaim not created yet')


def wanted_claims(pod: Pod) -> Sequence[Object]:
    """The entries of `spec.resourceClaims`."""
    return pod["spec"].get("resourceClaims") or ()


def known_claims(pod: Pod) -> Iterator[str]:
    """The names of the claims of a pod that exist, or did."""
    for wanted in wanted_claims(pod):
        try:
            found = claim_name_of(pod, wanted).name
        except ClaimNotCreated:
            continue
        if found:
            yield found


def extended_claim(pod: Pod) -> str:
    """The claim that the scheduler made for extended resources, "" without one."""
    found = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return found.get("resourceClaimName") or ""


def foreign_problem(pod: Pod, claim: Object) -> str:
    """Why a claim is not that of the pod, "" if it is (resourceclaim.IsForPod)."""
    meta, mine = claim["metadata"], pod["metadata"]
    reference = controller_of(claim)
    if reference is not None and reference.get("uid") == mine["uid"]:
        return ""
    names = f"ResourceClaim {meta['namespace']}/{meta['name']} was not created for Pod"
    return f"{names} {mine['namespace']}/{mine['name']} (Pod is not owner)"


def is_done(pod: Pod) -> bool:
    """Whether no container of the pod runs or will run (isPodDone)."""
    return is_terminal(pod) or bool(pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName"))


def is_reserved_for(pod: Pod, claim: Object) -> bool:
    """Whether a claim is reserved for the pod."""
    return any(one["uid"] == pod["metadata"]["uid"] for one in reserved_for(claim))


def reserved_for(claim: Object) -> Sequence[Object]:
    """The consumers that a claim is reserved for."""
    return (claim.get("status") or {}).get("reservedFor") or ()


def needs_reservation(pod: Pod, claim: Object) -> bool:
    """Whether an allocated claim of a scheduled pod is not reserved for it."""
    allocated = bool((claim.get("status") or {}).get("allocation"))
    return bool(pod["spec"].get("nodeName")) and allocated and not is_reserved_for(pod, claim)


def needs_work(pod: Pod, get: Callable[[str, str], Object | None]) -> bool:
    """Whether a claim of a pod must be created or reserved; `get` finds one by its namespace and name (podNeedsWork).

    The claims are looked at in their order. One that only users can create or remove ends that, and so does one that is
    not needed.
    """
    for wanted in wanted_claims(pod):
        try:
            found = claim_name_of(pod, wanted)
        except ClaimNotCreated:
            return True
        claim = get(pod["metadata"]["namespace"], found.name) if found.name else None
        if claim is None:
            return bool(found.name) and wanted.get("resourceClaimTemplateName") is not None
        if found.made and foreign_problem(pod, claim):
            return False
        if needs_reservation(pod, claim):
            return True
    return False


def owning_pod(claim: Object) -> tuple[str, str]:
    """The name and the uid of the pod that controls a claim, "" without one."""
    for reference in claim["metadata"].get("ownerReferences") or ():
        if reference.get("controller") and reference["apiVersion"] == "v1" and reference["kind"] == "Pod":
            return reference["name"], reference["uid"]
    return "", ""


def claim_from_template(pod: Pod, wanted: Object, template: Object) -> dict[str, Any]:
    """A claim that the pod owns, with a generated name."""
    meta, of_template = pod["metadata"], template["spec"].get("metadata") or {}
    labels = of_template.get("labels")
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": _base_name(meta["name"], wanted["name"]),
            "namespace": meta["namespace"],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
            ],
            "annotations": {**(of_template.get("annotations") or {}), POD_CLAIM: wanted["name"]},
            **({"labels": labels} if labels else {}),
        },
        "spec": template["spec"]["spec"],
    }


def _base_name(pod: str, claim: str) -> str:
    """The prefix of a claim's name; of a long one, both parts are shortened in proportion."""
    base = f"{pod}-{claim}-"
    if len(base) <= _MOST:
        return base
    return f"{pod[: len(pod) * _MOST // len(base)]}-{claim[: len(claim) * _MOST // len(base)]}"
