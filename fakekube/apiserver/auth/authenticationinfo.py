"""The ConfigMap extension-apiserver-authentication (`controlplane/controller/clusterauthenticationtrust`).

Aggregated API servers, kube-controller-manager and kube-scheduler read it to authenticate requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Object = dict[str, Any]

COLLECTION = "configmaps"
NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
PATH = f"{NAMESPACE}/{NAME}"


class Context(Protocol):
    """The time and the randomness of the write."""

    @property
    def now(self) -> str: ...

    def uid(self, key: str) -> str: ...


def request_header(ca: str, name: str) -> dict[str, str]:
    """The data that describes the proxy: the CA of its certificate, its name, and the headers that it sets."""
    return {
        "requestheader-allowed-names": f'["{name}"]',
        "requestheader-client-ca-file": ca,
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }


def published(present: Object | None, data: Mapping[str, str], context: Context) -> Object:
    """The ConfigMap with more data; the same object if it has them."""
    held: Object = (present or {}).get("data") or {}
    merged = {key: {**held, **data}[key] for key in sorted({*held, *data})}
    if present is not None and merged == held:
        return present
    meta: Object = present["metadata"] if present is not None else _metadata(context)
    fields: Object = {".": {}, **{f"f:{key}": {} for key in merged}}
    entry = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": "v1",
        "time": context.now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": fields},
    }
    return {"metadata": {**meta, "managedFields": [entry]}, "data": merged}


def _metadata(context: Context) -> Object:
    uid = context.uid(f"{COLLECTION}/{PATH}")
    return {"name": NAME, "namespace": NAMESPACE, "uid": uid, "creationTimestamp": context.now}
