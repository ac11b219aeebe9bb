"""Removes what a test has left in a real cluster: its namespaces with all objects, and cluster-scoped objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.resource import Resource
from fakekube.server.manifests import collection_path
from fakekube.server.systemclock import SystemClock

Object = Mapping[str, Any]
Request = Callable[..., tuple[int, Any, Any]]
Created = tuple[str, Object]

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"

_MERGE = {"Content-Type": "application/merge-patch+json"}
_NOW = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "gracePeriodSeconds": 0}

#: Real seconds until an object is gone, and the interval in which that is checked.
_PATIENCE = 10.0
_INTERVAL = 0.05


class NotRemoved(Exception):
    """Objects of a test are still in the cluster; the message names them."""


def remove(request: Request, created: Sequence[Created], kinds: Iterable[Resource], *, keep_definitions: bool) -> None:
    """Remove what was created, the latest first. Raises NotRemoved naming what is left.

    Finalizers are removed, as nothing runs any more that could. `keep_definitions`: leave CustomResourceDefinitions.
    """
    namespaces = {body["metadata"]["name"]: body for path, body in created if path == NAMESPACES}
    namespaced = [one for one in kinds if one.namespaced and {"list", "delete"} <= one.verbs]
    left: list[str] = []
    for name in namespaces:
        for resource in namespaced:
            left += _emptied(request, collection_path(resource, name))
    for path, body in reversed(created):
        if _is_left(path, namespaces) and not (keep_definitions and path == _DEFINITIONS):
            left += _removed(request, f"{path}/{body['metadata']['name']}", body["metadata"]["uid"])
    for name, body in reversed(namespaces.items()):
        left += _without_namespace(request, name, body["metadata"]["uid"])
    if left:
        raise NotRemoved(f"these objects of the test are still in the cluster: {', '.join(left)}")


def _is_left(path: str, namespaces: Mapping[str, Object]) -> bool:
    """Whether a created object is neither a namespace nor in one that is removed."""
    if path == NAMESPACES:
        return False
    _, inside, rest = path.partition("/namespaces/")
    return not inside or rest.partition("/")[0] not in namespaces


def _emptied(request: Request, collection: str) -> list[str]:
    code, _, body = request("GET", collection)
    left: list[str] = []
    for item in body.get("items", ()) if code == 200 else ():
        left += _removed(request, f"{collection}/{item['metadata']['name']}", item["metadata"]["uid"])
    return left


def _removed(request: Request, path: str, uid: str) -> list[str]:
    """Delete an object, if it still is the one with this uid. Returns its path if that has failed."""
    request("DELETE", path, body={**_NOW, "preconditions": {"uid": uid}})
    return [] if _is_gone(request, path, uid) else [path]


def _is_gone(request: Request, path: str, uid: str) -> bool:
    """Wait until the object is gone, without its finalizers."""
    clock = SystemClock()
    deadline = clock.monotonic() + _PATIENCE
    while True:
        code, _, body = request("GET", path)
        if code == 404 or (code == 200 and body["metadata"]["uid"] != uid):
            return True
        if clock.monotonic() > deadline:
            return False
        if code == 200 and body["metadata"].get("finalizers") and path.rpartition("/")[0] != _DEFINITIONS:
            request("PATCH", path, headers=_MERGE, body={"metadata": {"finalizers": None, "uid": uid}})
            continue
        clock.pause(_INTERVAL)


def _without_namespace(request: Request, name: str, uid: str) -> list[str]:
    """Delete an empty namespace, and finalize it: without kube-controller-manager nothing else does."""
    path = f"{NAMESPACES}/{name}"
    request("DELETE", path, body={"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})
    code, _, body = request("GET", path)
    if code == 200 and body["metadata"].get("deletionTimestamp"):
        request("PUT", f"{path}/finalize", body={**body, "spec": {"finalizers": []}})
    return [] if _is_gone(request, path, uid) else [path]
