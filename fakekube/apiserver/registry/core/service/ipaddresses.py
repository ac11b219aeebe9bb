"""The IPAddress objects of services (`ipallocator.createIPAddress`).

kube-apiserver creates one before it stores a service that gets an address, and deletes it after the service is gone.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.service.allocation import addresses_of

Object = dict[str, Any]

COLLECTION = "ipaddresses.networking.k8s.io"
API_VERSION = "networking.k8s.io/v1"

FAMILY_LABEL = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY_LABEL = "ipaddress.kubernetes.io/managed-by"
MANAGER = "ipallocator.k8s.io"

_FIELDS: Object = {
    "f:metadata": {"f:labels": {".": {}, f"f:{FAMILY_LABEL}": {}, f"f:{MANAGED_BY_LABEL}": {}}},
    "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
}


def ip_address(address: str, namespace: str, name: str, *, uid: str, now: str) -> Object:
    """The IPAddress of an address that a service has."""
    entry = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": API_VERSION,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": _FIELDS,
    }
    labels = {FAMILY_LABEL: "IPv6" if ":" in address else "IPv4", MANAGED_BY_LABEL: MANAGER}
    return {
        "metadata": {
            "name": address,
            "uid": uid,
            "creationTimestamp": now,
            "labels": labels,
            "managedFields": [entry],
        },
        "spec": {"parentRef": {"resource": "services", "namespace": namespace, "name": name}},
    }


def added(before: Object | None, after: Object | None) -> list[str]:
    """The addresses that a service has after a write and not before it."""
    held = set(addresses_of(before)) if before is not None else set()
    return [one for one in addresses_of(after) if one not in held] if after is not None else []
