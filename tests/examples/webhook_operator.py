"""An operator with webhooks, as its author writes it: two versions of a Database, defaults, and a controller."""

import base64
import json
from datetime import UTC, datetime, timedelta

from aiohttp import web

from controllerlib import ApiError, Client, Manager, Request, Result

API = "example.com/v1"
FINALIZER = "example.com/volumes"
BACKUP_EVERY = timedelta(hours=6)

# --- webhooks --------------------------------------------------------------------------------------------------------


def application() -> web.Application:
    """What the operator serves over HTTPS."""
    app = web.Application()
    app.router.add_post("/convert", convert)
    app.router.add_post("/default", default)
    return app


async def convert(http: web.Request) -> web.Response:
    """Between v1alpha1, which had `size` and `instances`, and v1, which has `storage` and `replicas`."""
    review = await http.json()
    asked = review["request"]
    converted = [TO[asked["desiredAPIVersion"]](obj) for obj in asked["objects"]]
    answer = {"uid": asked["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": answer})


def to_v1(obj: dict) -> dict:
    spec = dict(obj["spec"])
    new: dict = {"storage": {"size": spec.pop("size")}}
    if "instances" in spec:
        new["replicas"] = spec.pop("instances")
    if (name := obj["metadata"].get("annotations", {}).get("example.com/class")) is not None:
        new["storage"]["className"] = name
    return {**obj, "apiVersion": API, "spec": new}


def to_v1alpha1(obj: dict) -> dict:
    spec, meta = obj["spec"], dict(obj["metadata"])
    old: dict = {"size": spec["storage"]["size"]}
    if "replicas" in spec:
        old["instances"] = spec["replicas"]
    if "className" in spec["storage"]:  # the old version has no place for it
        meta["annotations"] = {**meta.get("annotations", {}), "example.com/class": spec["storage"]["className"]}
    return {**obj, "apiVersion": "example.com/v1alpha1", "metadata": meta, "spec": old}


TO = {API: to_v1, "example.com/v1alpha1": to_v1alpha1}


async def default(http: web.Request) -> web.Response:
    """One replica, on standard storage, unless a Database says otherwise."""
    review = await http.json()
    spec = review["request"]["object"]["spec"]
    patch = []
    if "replicas" not in spec:
        patch.append({"op": "add", "path": "/spec/replicas", "value": 1})
    if "className" not in spec["storage"]:
        patch.append({"op": "add", "path": "/spec/storage/className", "value": "standard"})
    answer = {"uid": review["request"]["uid"], "allowed": True}
    if patch:
        answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": answer})


# --- the controller --------------------------------------------------------------------------------------------------


async def reconcile(request: Request, client: Client) -> Result | None:
    """A StatefulSet for each Database; every six hours a backup; volumes go before a Database does."""
    try:
        database = await client.get(API, "Database", request.name, namespace=request.namespace)
    except ApiError as error:
        if error.reason == "NotFound":
            return None
        raise
    meta = database["metadata"]
    finalizers = meta.get("finalizers") or []
    if "deletionTimestamp" in meta:
        if FINALIZER in finalizers:
            await client.delete("apps/v1", "StatefulSet", request.name, namespace=request.namespace)
            left = [one for one in finalizers if one != FINALIZER]
            await client.update({**database, "metadata": {**meta, "finalizers": left}})
        return None
    if FINALIZER not in finalizers:
        changed = {**database, "metadata": {**meta, "finalizers": [*finalizers, FINALIZER]}}
        await client.update(changed)
        return None
    wanted = stateful_set(database)
    try:
        have = await client.get("apps/v1", "StatefulSet", request.name, namespace=request.namespace)
        if have["spec"]["replicas"] != wanted["spec"]["replicas"]:
            await client.update({**have, "spec": {**have["spec"], "replicas": wanted["spec"]["replicas"]}})
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        have = await client.create(wanted)
    return await backed_up(database, have, client)


async def backed_up(database: dict, have: dict, client: Client) -> Result:
    begun = datetime.fromisoformat(database["metadata"]["creationTimestamp"])
    age = datetime.now(UTC) - begun
    status = {"ready": have.get("status", {}).get("readyReplicas", 0), "backups": age // BACKUP_EVERY}
    if database.get("status") != status:
        await client.update_status({**database, "status": status})
    return Result(requeue_after=(BACKUP_EVERY - age % BACKUP_EVERY).total_seconds())


def stateful_set(database: dict) -> dict:
    meta, spec = database["metadata"], database["spec"]
    labels = {"database": meta["name"]}
    owner = {"apiVersion": API, "kind": "Database", "name": meta["name"], "uid": meta["uid"], "controller": True}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": spec["storage"]["className"],
            "resources": {"requests": {"storage": spec["storage"]["size"]}},
        },
    }
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "database", "image": "database:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"], "ownerReferences": [owner]},
        "spec": {
            "replicas": spec["replicas"],
            "serviceName": meta["name"],
            "selector": {"matchLabels": labels},
            "template": pod,
            "volumeClaimTemplates": [claim],
        },
    }


def build(manager: Manager) -> None:
    manager.controller("database").for_(API, "Database").owns("apps/v1", "StatefulSet").complete(reconcile)
