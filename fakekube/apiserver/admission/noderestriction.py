"""Limits what kubelets write to their own node and its pods (plugin NodeRestriction)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.auth import podreferences
from fakekube.apiserver.auth.node import LEASES, USER_PREFIX, node_of
from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import request_common_name
from fakekube.apiserver.storage.store import path_of
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import StatusError, not_found, together

Object = dict[str, Any]

Check = Callable[[Call, str, Object, Object | None], None]
"""Checks a write of a kubelet, given its node, the new and the stored object. Raises 403."""

#: Labels that a kubelet may set on its own node, and namespaces of such labels (`kubelet/pkg/apis`).
KUBELET_LABELS = frozenset({
    "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
})  # fmt: skip
KUBELET_LABEL_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")

RESTRICTED_NAMESPACE = "node-restriction.kubernetes.io"

#: Signers of the certificates of kubelets.
SIGNERS = frozenset({"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"})

AUDIENCE_VERB = "request-serviceaccounts-token-audience"


def admit(call: Call, obj: Object, old: Object | None) -> Object:
    """Check a create or an update by a kubelet. Returns the object unchanged. Raises 403, 404."""
    node = node_of(call.user)
    if node is not None:
        _check_identified(call, obj, node)
        _CHECKS[call.resource.collection](call, node, obj, old)
    return obj


def admit_delete(call: Call, old: Object) -> None:
    """Check a deletion by a kubelet. Raises 403."""
    node = node_of(call.user)
    if node is None or call.resource.collection not in _CHECKS:
        return
    _check_identified(call, old, node)
    collection, name = call.resource.collection, old["metadata"]["name"]
    if collection == "pods" and _node_name(old) != node:
        raise refused(call, old, f'node "{node}" can only delete pods with spec.nodeName set to itself')
    if collection == "nodes" and name != node:
        raise refused(call, old, _other_node(node, name))
    if collection == "persistentvolumeclaims":
        raise refused(call, old, "may only update PVC status")
    if collection == "resourceslices.resource.k8s.io" and _node_name(old) != node:
        raise refused(call, old, "can only delete ResourceSlice with the same NodeName as the requesting node")
    if collection in _OWN_NAMES:
        _check_own_name(call, node, old, old)


def _check_identified(call: Call, obj: Object, node: str) -> None:
    if not node:
        raise refused(call, obj, f"could not determine node from user {go_quote(call.user.name)}")


def _node_name(obj: Object) -> str:
    name: str = (obj.get("spec") or {}).get("nodeName") or ""
    return name


def _missing(kind: str, name: str) -> StatusError:
    """The error of a lister, which names the kind in the singular."""
    return not_found(kind, name)


# --- pods ------------------------------------------------------------------------------------------------------------


def _pod(call: Call, node: str, obj: Object, old: Object | None) -> None:
    subresource = call.info.subresource
    if subresource == "status":
        _pod_status(call, node, obj, old)
    elif subresource == "eviction":
        _eviction(call, node, obj)
    elif subresource:
        why = f"unexpected pod subresource \"{subresource}\", only 'status' and 'eviction' are allowed"
        raise refused(call, obj, why)
    elif old is None:
        _mirror_pod(call, node, obj)
    else:
        raise refused(call, obj, f'unexpected operation "UPDATE", node "{node}" can only create and delete mirror pods')


def _mirror_pod(call: Call, node: str, pod: Object) -> None:
    if not podreferences.is_mirror(pod):
        why = f'pod does not have "{podreferences.MIRROR}" annotation, node "{node}" can only create mirror pods'
        raise refused(call, pod, why)
    if _node_name(pod) != node:
        raise refused(call, pod, f'node "{node}" can only create pods with spec.nodeName set to itself')
    _check_owner(call, node, pod)
    try:
        kind = podreferences.api_references(pod)
    except ValueError as problem:
        raise refused(call, pod, f"error checking mirror pod for API references: {problem}") from None
    if kind:
        raise refused(call, pod, f'node "{node}" can not create pods that reference {kind}')


def _check_owner(call: Call, node: str, pod: Object) -> None:
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) > 1:
        raise refused(call, pod, f'node "{node}" can only create pods with a single owner reference set to itself')
    owner = owners[0] if owners else {}
    if [owner.get(field) for field in ("apiVersion", "kind", "name")] != ["v1", "Node", node]:
        raise refused(call, pod, f'node "{node}" can only create pods with an owner reference set to itself')
    if not owner.get("controller"):
        raise refused(call, pod, f'node "{node}" can only create pods with a controller owner reference set to itself')
    if owner.get("blockOwnerDeletion"):
        raise refused(call, pod, f'node "{node}" must not set blockOwnerDeletion on an owner reference')
    found = call.server.store.get("nodes", node)
    if found is None:
        raise _missing("node", node)
    uid = found.object["metadata"]["uid"]
    if owner.get("uid") != uid:
        raise refused(call, pod, f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}")


def _pod_status(call: Call, node: str, obj: Object, old: Object | None) -> None:
    old = old or {"metadata": {}}
    if _node_name(old) != node:
        why = f'node "{node}" can only update pod status for pods with spec.nodeName set to itself'
        raise refused(call, obj, why)
    if (old["metadata"].get("labels") or {}) != (obj["metadata"].get("labels") or {}):
        raise refused(call, obj, f'node "{node}" cannot update labels through pod status')
    status, before = obj.get("status") or {}, old.get("status") or {}
    if (status.get("resourceClaimStatuses") or []) != (before.get("resourceClaimStatuses") or []):
        raise refused(call, obj, f'node "{node}" cannot update resource claim statues')
    if status.get("extendedResourceClaimStatus") != before.get("extendedResourceClaimStatus"):
        raise refused(call, obj, f'node "{node}" cannot update extended resource claim status')


def _eviction(call: Call, node: str, obj: Object) -> None:
    found = call.stored()
    if found is None:
        raise _missing("pod", call.info.name)
    if _node_name(found.object) != node:
        raise refused(call, obj, f"node {node} can only evict pods with spec.nodeName set to itself")


# --- nodes -----------------------------------------------------------------------------------------------------------


def _node(call: Call, node: str, obj: Object, old: Object | None) -> None:
    name = call.info.name or obj["metadata"].get("name") or ""
    if name != node:
        raise refused(call, obj, _other_node(node, name))
    source = (obj.get("spec") or {}).get("configSource")
    labels = obj["metadata"].get("labels") or {}
    if old is None:
        if source is not None:
            raise refused(call, obj, f'node "{node}" is not allowed to create pods with a non-nil configSource')
        forbidden = _forbidden_labels(labels, {})
        if forbidden:
            raise refused(call, obj, f'node "{node}" is not allowed to set the following labels: {forbidden}')
        return
    before = old.get("spec") or {}
    if source is not None and source != before.get("configSource"):
        why = f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
        raise refused(call, obj, why)
    if ((obj.get("spec") or {}).get("taints") or []) != (before.get("taints") or []):
        raise refused(call, obj, f'node "{node}" is not allowed to modify taints')
    if (obj["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
        raise refused(call, obj, f'node "{node}" is not allowed to modify ownerReferences')
    forbidden = _forbidden_labels(labels, old["metadata"].get("labels") or {})
    if forbidden:
        raise refused(call, obj, f"is not allowed to modify labels: {forbidden}")


def _other_node(node: str, name: str) -> str:
    return f'node "{node}" is not allowed to modify node "{name}"'


def _forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> str:
    """The changed labels that a kubelet may not change."""
    changed = {key for key in new.keys() | old.keys() if new.get(key) != old.get(key)}
    return ", ".join(sorted(filter(_is_forbidden, changed)))


def _is_forbidden(label: str) -> bool:
    namespace = label.partition("/")[0] if "/" in label else ""
    if _within(namespace, RESTRICTED_NAMESPACE):
        return True
    ours = _within(namespace, "kubernetes.io") or _within(namespace, "k8s.io")
    return ours and label not in KUBELET_LABELS and not any(_within(namespace, one) for one in KUBELET_LABEL_NAMESPACES)


def _within(namespace: str, domain: str) -> bool:
    return namespace == domain or namespace.endswith(f".{domain}")


# --- tokens ----------------------------------------------------------------------------------------------------------


def _token(call: Call, node: str, obj: Object, old: Object | None) -> None:
    """A token is bound to a pod on the node, and its audience is one of the pod's volumes."""
    spec = obj.get("spec") or {}
    ref = spec.get("boundObjectRef") or {}
    if (ref.get("apiVersion"), ref.get("kind")) != ("v1", "Pod") or not ref.get("name"):
        raise refused(call, obj, "node requested token not bound to a pod")
    if not ref.get("uid"):
        raise refused(call, obj, "node requested token with a pod binding without a uid")
    found = call.server.store.get("pods", path_of(call.namespace, ref["name"]))
    if found is None:
        raise _missing("pod", ref["name"])
    pod = found.object
    if ref["uid"] != pod["metadata"]["uid"]:
        why = f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
        raise refused(call, obj, f"{why}The object might have been deleted and then recreated")
    if _node_name(pod) != node:
        raise refused(call, obj, "node requested token bound to a pod scheduled on a different node")
    audiences = spec.get("audiences") or [""]
    if len(audiences) > 1:
        raise refused(call, obj, "node may only request 0 or 1 audiences")
    mounted, problem = _mounts_audience(call, pod, audiences[0])
    if problem:
        raise refused(call, obj, f"error validating audience {go_quote(audiences[0])}: {problem}")
    if not mounted and not _may_request(call, audiences[0]):
        why = f"audience {go_quote(audiences[0])} not found in pod spec volume, {call.user.name} is not authorized to "
        raise refused(call, obj, f"{why}request tokens for this audience")


def _may_request(call: Call, audience: str) -> bool:
    info = RequestInfo(
        AUDIENCE_VERB, "", is_resource=True, version="v1", namespace=call.namespace, resource=audience,
        name=call.info.name,
    )  # fmt: skip
    return call.server.decide(call.user, info).allowed


def _mounts_audience(call: Call, pod: Object, audience: str) -> tuple[bool, str]:
    """Whether a volume of the pod, or the CSI driver of one, has tokens for the audience; and what could not be
    looked up if none has ("": nothing)."""
    problems: list[str] = []
    for volume in podreferences.volumes(pod):
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token is not None and (token.get("audience") or "") == audience:
                return True, ""
        try:
            requests = _driver_tokens(call, pod, volume)
        except StatusError as problem:
            problems.append(str(problem))
            continue
        if any((one.get("audience") or "") == audience for one in requests):
            return True, ""
    return False, together(problems)


def _driver_tokens(call: Call, pod: Object, volume: Object) -> Sequence[Object]:
    """The token requests of the CSI driver of a volume. Raises 404 for what does not exist."""
    name = (volume.get("csi") or {}).get("driver") or ""
    for claim_name in podreferences.claim_names({**pod, "spec": {"volumes": [volume]}}):
        path = path_of(call.namespace, claim_name)
        claim = _found(call, "persistentvolumeclaims", "persistentvolumeclaim", path)
        bound = _found(call, "persistentvolumes", "persistentvolume", claim["spec"].get("volumeName") or "")
        name = (bound["spec"].get("csi") or {}).get("driver") or ""
    if not name:
        return ()
    driver = _found(call, "csidrivers.storage.k8s.io", "csidriver.storage.k8s.io", name)
    return (driver.get("spec") or {}).get("tokenRequests") or ()


def _found(call: Call, collection: str, kind: str, path: str) -> Object:
    entry = call.server.store.get(collection, path)
    if entry is None:
        raise _missing(kind, path.rpartition("/")[2])
    return entry.object


# --- other kinds -----------------------------------------------------------------------------------------------------


def _claim(call: Call, node: str, obj: Object, old: Object | None) -> None:
    if call.info.subresource != "status" or old is None:
        raise refused(call, obj, "may only update PVC status")
    if _without_capacity(obj) != _without_capacity(old):
        why = f'node "{node}" is not allowed to update fields other than status.quantity and status.conditions'
        raise refused(call, obj, why)


#: Fields of the status of a claim that a kubelet updates.
_CAPACITY = frozenset({"capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"})


def _without_capacity(claim: Object) -> Object:
    skipped = ("resourceVersion", "managedFields")
    meta = {key: value for key, value in claim["metadata"].items() if key not in skipped}
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in _CAPACITY}
    return {"metadata": meta, "spec": claim.get("spec") or {}, "status": status}


def _check_own_name(call: Call, node: str, obj: Object, old: Object | None) -> None:
    what = _OWN_NAMES[call.resource.collection]
    if what == "node lease" and call.namespace != LEASES:
        raise refused(call, obj, f'can only access leases in the "{LEASES}" system namespace')
    if (obj["metadata"].get("name") if old is None else call.info.name) != node:
        raise refused(call, obj, f"can only access {what} with the same name as the requesting node")


#: Collection of objects with the names of nodes -> what the message calls them.
_OWN_NAMES = {"leases.coordination.k8s.io": "node lease", "csinodes.storage.k8s.io": "CSINode"}


def _slice(call: Call, node: str, obj: Object, old: Object | None) -> None:
    if old is None and _node_name(obj) != node:
        raise refused(call, obj, "can only create ResourceSlice with the same NodeName as the requesting node")


def _certificate_request(call: Call, node: str, obj: Object, old: Object | None) -> None:
    spec = obj.get("spec") or {}
    if old is not None or spec.get("signerName") not in SIGNERS:
        return
    try:
        name = request_common_name(spec.get("request") or "")
    except ValueError as problem:
        raise refused(call, obj, f"unable to parse csr: {problem}") from None
    if name != f"{USER_PREFIX}{node}":
        raise refused(call, obj, f"can only create a node CSR with CN={USER_PREFIX}{node}")


_CHECKS: Mapping[str, Check] = {
    "pods": _pod,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "serviceaccounts": _token,
    "leases.coordination.k8s.io": _check_own_name,
    "csinodes.storage.k8s.io": _check_own_name,
    "resourceslices.resource.k8s.io": _slice,
    "certificatesigningrequests.certificates.k8s.io": _certificate_request,
}

_POD_WRITES = ("", "status", "eviction", "binding", "ephemeralcontainers", "resize")

#: The collections and subresources whose writes are checked.
RESTRICTED = (
    *(("pods", subresource) for subresource in _POD_WRITES),
    *(("nodes", subresource) for subresource in ("", "status")),
    *(("persistentvolumeclaims", subresource) for subresource in ("", "status")),
    ("serviceaccounts", "token"),
    ("leases.coordination.k8s.io", ""),
    ("csinodes.storage.k8s.io", ""),
    ("resourceslices.resource.k8s.io", ""),
    ("certificatesigningrequests.certificates.k8s.io", ""),
)
