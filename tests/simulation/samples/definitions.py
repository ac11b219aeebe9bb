"""What the sample operators share: the definitions of their kinds, children with an owner, and idempotent writes."""

from typing import Any

from controllerlib import ApiError, Client, Request, set_controller_reference
from controllerlib.client import is_not_found
from controllerlib.controller import EnqueueRequestsFromMapFunc

GROUP = "samples.example.com"
API = f"{GROUP}/v1"

Object = dict[str, Any]


def definition(kind: str, **fields: str) -> Object:
    """The CustomResourceDefinition of a kind with a status subresource; `fields` are those of its spec, with a type."""
    plural = f"{kind.lower()}s"
    types: dict[str, Object] = {
        name: {"type": "object", "additionalProperties": {"type": "string"}} if of == "map" else {"type": of}
        for name, of in fields.items()
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": types}, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural},
        "versions": [version],
    }
    meta = {"name": f"{plural}.{GROUP}"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}


def custom(kind: str, name: str = "a", **spec: Any) -> Object:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def labelled(owner: Object, kind: str, name: str, *, api_version: str = "v1", **content: Any) -> Object:
    """An object with a label that names its owner. A name that ends in `-` is generated."""
    meta = owner["metadata"]
    named = {"generateName": name} if name.endswith("-") else {"name": name}
    labels = {"owner": meta["name"]}
    metadata = {**named, "namespace": meta["namespace"], "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def child(owner: Object, kind: str, name: str, *, api_version: str = "v1", **content: Any) -> Object:
    """As `labelled`, with `owner` as its controller."""
    return set_controller_reference(owner, labelled(owner, kind, name, api_version=api_version, **content))


def _owner_in_label(obj: Object) -> list[Request]:
    meta = obj["metadata"]
    name = (meta.get("labels") or {}).get("owner")
    return [Request(meta["namespace"], name)] if name else []


#: Requests the owner that the label of an object names.
BY_LABEL = EnqueueRequestsFromMapFunc(_owner_in_label)


def pod(owner: Object, name: str, **annotations: str) -> Object:
    made = child(owner, "Pod", name, spec={"containers": [{"name": "main", "image": "main:1"}]})
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}}


async def find(client: Client, api_version: str, kind: str, name: str, namespace: str) -> Object | None:
    """The object, or None if there is none."""
    try:
        return await client.get(api_version, kind, name, namespace)
    except ApiError as error:
        if not is_not_found(error):
            raise
        return None


async def ensure(client: Client, wanted: Object, field: str = "data") -> Object:
    """Create `wanted`, or replace the field that differs. `client` reads from the server."""
    meta = wanted["metadata"]
    have = await find(client, wanted["apiVersion"], wanted["kind"], meta["name"], meta["namespace"])
    if have is None:
        return await client.create(wanted)
    if have.get(field) == wanted.get(field):
        return have
    return await client.update({**have, field: wanted.get(field)})


async def remove(client: Client, kind: str, name: str, namespace: str) -> None:
    """Delete an object as it was read from the server, unless it is gone."""
    have = await find(client, "v1", kind, name, namespace)
    if have is not None:
        await discard(client, have)


async def discard(client: Client, have: Object) -> None:
    """Delete this very version of an object, unless it is gone."""
    meta = have["metadata"]
    try:
        await client.delete(have, uid=meta["uid"], resource_version=meta["resourceVersion"])
    except ApiError as error:
        if not is_not_found(error):
            raise


async def report(client: Client, obj: Object, **status: Any) -> None:
    """Write the status, with the generation that it describes, if it differs."""
    wanted = {**status, "observedGeneration": obj["metadata"]["generation"]}
    if obj.get("status") != wanted:
        await client.update_status({**obj, "status": wanted})
