"""The Node authorizer: a kubelet may use its own Node and what the pods on it need (`plugin/pkg/auth/authorizer/node`).

The real authorizer keeps a graph of the relations between objects; here they are looked up in the store for each
request, because there is no time between a write and the next request in which the graph could be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from fakekube.apiserver.auth import podreferences, rbac
from fakekube.apiserver.auth.rbac import ALLOWED, DENIED, Decision
from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Store, path_of
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.selectors import FieldTerm
from fakekube.struct import Struct

USER_PREFIX, GROUP = "system:node:", "system:nodes"

LEASES = "kube-node-lease"

NO_RULES = "node authorizer does not support user rule resolution"

_READ, _OWN = frozenset({"get", "list", "watch"}), frozenset({"get", "create", "update", "patch", "delete"})


def node_of(user: User) -> str | None:
    """The name of the node whose kubelet the user is; None for another user (`NodeIdentity`)."""
    if not user.name.startswith(USER_PREFIX) or GROUP not in user.groups:
        return None
    return user.name.removeprefix(USER_PREFIX)


class _Asked(Struct, frozen=True):
    """A request of a kubelet."""

    store: Store
    node: str
    info: RequestInfo

    def related(self) -> Decision:
        """Allowed if the object is related to the node."""
        info = self.info
        if not info.name:
            return Decision(False, "No Object name found")
        if _is_related(self.store, self.node, info.resource, info.namespace, info.name):
            return ALLOWED
        return Decision(False, f"no relationship found between node '{self.node}' and this object")

    def selects_node(self, field: str) -> bool:
        return any(one == FieldTerm(field, equal=True, value=self.node) for one in self.info.field_terms)


def authorize(rules: Sequence[Object], store: Store, user: User, info: RequestInfo) -> Decision:
    """The decision for a kubelet; no opinion on other users. `rules` apply to resources that are not subdivided."""
    node = node_of(user)
    if node is None:
        return DENIED
    if not node:
        return Decision(False, f'unknown node for user "{user.name}"')
    decide = _SUBDIVIDED.get((info.group, info.resource)) if info.is_resource else None
    if decide is not None:
        return decide(_Asked(store, node, info))
    return ALLOWED if any(rbac.rule_allows(rule, info) for rule in rules) else DENIED


# --- resources whose objects belong to nodes -------------------------------------------------------------------------


def _read_namespaced(asked: _Asked) -> Decision:
    info = asked.info
    if info.verb not in _READ:
        return Decision(False, "can only read resources of this type")
    if info.subresource:
        return Decision(False, "cannot read subresource")
    if not info.namespace:
        return Decision(False, "can only read namespaced object of this type")
    return asked.related()


def _get(asked: _Asked) -> Decision:
    if asked.info.verb != "get":
        return Decision(False, "can only get individual resources of this type")
    if asked.info.subresource:
        return Decision(False, "cannot get subresource")
    return asked.related()


def _claim(asked: _Asked) -> Decision:
    if asked.info.subresource != "status":
        return _get(asked)
    if asked.info.verb not in ("update", "patch"):
        return Decision(False, "can only get/update/patch this type")
    return asked.related()


def _service_account(asked: _Asked) -> Decision:
    info = asked.info
    if info.verb == "get" and not info.subresource:
        return _read_namespaced(asked)
    if info.verb != "create" or not info.name:
        return Decision(False, "can only create tokens for individual service accounts")
    if info.subresource != "token":
        return Decision(False, "can only create token subresource of serviceaccount")
    return asked.related()


def _own(kind: str, article: str, asked: _Asked) -> Decision:
    """An object with the name of the node. The name of a new object is not known yet; NodeRestriction checks it."""
    info = asked.info
    if info.verb not in _OWN:
        return Decision(False, f"can only get, create, update, patch, or delete {article}")
    if kind == "node lease" and info.namespace != LEASES:
        return Decision(False, f'can only access leases in the "{LEASES}" system namespace')
    if kind != "node lease" and info.subresource:
        return Decision(False, f"cannot authorize {kind} subresources")
    if info.verb != "create" and info.name != asked.node:
        return Decision(False, f"can only access {kind} with the same name as the requesting node")
    return ALLOWED


def _slice(asked: _Asked) -> Decision:
    info = asked.info
    if info.subresource:
        return Decision(False, "cannot authorize ResourceSlice subresources")
    if info.verb == "create":
        return ALLOWED
    if info.verb in ("get", "update", "patch", "delete"):
        return asked.related()
    if info.verb in ("watch", "list", "deletecollection"):
        if asked.selects_node("spec.nodeName"):
            return ALLOWED
        return Decision(False, "can only list/watch/deletecollection resourceslices with nodeName field selector")
    why = "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, "
    return Decision(False, f"{why}deletecollection")


def _node(asked: _Asked) -> Decision:
    info, node = asked.info, asked.node
    if info.subresource == "status":
        return ALLOWED if info.verb in ("update", "patch") else DENIED
    if info.subresource or info.verb not in ("create", "update", "patch", *_READ):
        return DENIED
    if info.verb not in _READ or info.name == node:
        return ALLOWED
    if not info.name:
        return Decision(False, f"node '{node}' cannot read all nodes, only its own Node object")
    return Decision(False, f"node '{node}' cannot read '{info.name}', only its own Node object")


def _pod(asked: _Asked) -> Decision:
    info = asked.info
    if (info.verb, info.subresource) in _POD_WRITES:
        return ALLOWED
    if info.subresource or info.verb not in _READ:
        return DENIED
    if info.verb == "get":
        return _get(asked)
    if asked.selects_node("spec.nodeName"):
        return ALLOWED
    if info.name:
        return asked.related()
    return Decision(False, "can only list/watch pods with spec.nodeName field selector")


#: Writes of pods, which NodeRestriction limits to pods on the node.
_POD_WRITES = frozenset({
    ("create", ""), ("delete", ""), ("update", "status"), ("patch", "status"), ("create", "eviction"),
})  # fmt: skip


def _certificate_request(asked: _Asked) -> Decision:
    """PodCertificateRequests are off by default."""
    return DENIED


_SUBDIVIDED: Mapping[tuple[str, str], Callable[[_Asked], Decision]] = {
    ("", "secrets"): _read_namespaced,
    ("", "configmaps"): _read_namespaced,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _get,
    ("resource.k8s.io", "resourceclaims"): _get,
    ("storage.k8s.io", "volumeattachments"): _get,
    ("", "serviceaccounts"): _service_account,
    ("coordination.k8s.io", "leases"): partial(_own, "node lease", "a node lease"),
    ("storage.k8s.io", "csinodes"): partial(_own, "CSINode", "a CSINode"),
    ("resource.k8s.io", "resourceslices"): _slice,
    ("", "nodes"): _node,
    ("", "pods"): _pod,
    ("certificates.k8s.io", "podcertificaterequests"): _certificate_request,
}


# --- relations -------------------------------------------------------------------------------------------------------


def _is_related(store: Store, node: str, resource: str, namespace: str, name: str) -> bool:
    """Whether there is a path from the object to the node (`hasPathFrom`)."""
    if resource == "pods":
        found = store.get("pods", path_of(namespace, name))
        return found is not None and _runs_on(found.object, node)
    if resource in ("volumeattachments", "resourceslices"):
        group = "storage.k8s.io" if resource == "volumeattachments" else "resource.k8s.io"
        found = store.get(f"{resource}.{group}", name)
        return found is not None and (found.object.get("spec") or {}).get("nodeName") == node
    if resource == "persistentvolumes":
        found = store.get("persistentvolumes", name)
        return found is not None and _volume_is_used(store, node, found.object)
    names_of = _NAMES_OF[resource]
    if any(name in names_of(pod) for pod in _pods_on(store, node, namespace)):
        return True
    return resource == "secrets" and _secret_of_volume(store, node, namespace, name)


def _account_name(pod: Object) -> Iterator[str]:
    yield (pod.get("spec") or {}).get("serviceAccountName") or ""


#: Resource -> the names of those objects that a pod refers to.
_NAMES_OF: Mapping[str, Callable[[Object], Iterator[str]]] = {
    "secrets": podreferences.secret_names,
    "configmaps": podreferences.config_map_names,
    "persistentvolumeclaims": podreferences.claim_names,
    "resourceclaims": podreferences.resource_claim_names,
    "serviceaccounts": _account_name,
}


def _pods_on(store: Store, node: str, namespace: str) -> Iterator[Object]:
    """The pods on a node whose references count. Mirror pods, which kubelets create, have none that do."""
    for _, entry in store.collection("pods").scan(f"{namespace}/", "", None):
        if _runs_on(entry.object, node) and not podreferences.is_mirror(entry.object):
            yield entry.object


def _runs_on(pod: Object, node: str) -> bool:
    return (pod.get("spec") or {}).get("nodeName") == node


def _volume_is_used(store: Store, node: str, volume: Object) -> bool:
    """Whether a pod on the node uses the claim that a PersistentVolume is bound to."""
    claim = (volume.get("spec") or {}).get("claimRef")
    if claim is None:
        return False
    return _is_related(store, node, "persistentvolumeclaims", claim.get("namespace") or "", claim.get("name") or "")


def _secret_of_volume(store: Store, node: str, namespace: str, name: str) -> bool:
    return any(
        (namespace, name) in podreferences.volume_secrets(entry.object) and _volume_is_used(store, node, entry.object)
        for _, entry in store.collection("persistentvolumes").scan("", "", None)
    )
