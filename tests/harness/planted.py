"""A small database operator, with a switch for each of the defects that operators have.

A Database has a child ConfigMap with its settings, a finalizer, and a status. `build(bug)` is the operator with that
defect, `build("")` the correct one.
"""

import asyncio
import time
from datetime import UTC, datetime

from controllerlib import ApiError, ControllerOptions, Result
from controllerlib.controller import UpdateEvent

API = "planted.example.com/v1"
FINALIZER = "planted.example.com/backup"

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "databases.planted.example.com"},
    "spec": {
        "group": "planted.example.com",
        "names": {"plural": "databases", "singular": "database", "kind": "Database", "listKind": "DatabaseList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def database(name="a", size=1):
    return {
        "apiVersion": API,
        "kind": "Database",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    }


class DatabaseOperator:
    """Reconciles Databases; `bug` is the name of its defect."""

    def __init__(self, bug, manager):
        self.bug, self.manager = bug, manager
        self.tasks = []

    async def reconcile(self, request, client):
        try:
            found = await self._read(request, client)
        except ApiError as error:
            if error.reason != "NotFound" or self.bug == "NotFound raised":
                raise
            return None
        if "deletionTimestamp" in found["metadata"]:
            return await self._clean_up(found, client)
        if self.bug == "wrong order of writes":
            await client.create(self._backup(request))
        if FINALIZER not in (found["metadata"].get("finalizers") or []):
            found["metadata"].setdefault("finalizers", []).append(FINALIZER)
            found = await client.update(found)
        await self._settings(found, client)
        await self._misbehave(found)
        return await self._report(found, client)

    async def _read(self, request, client):
        share = self.bug == "cache mutation"
        return await self.manager.cache.get(API, "Database", request.name, request.namespace, share=share)

    async def _clean_up(self, found, client):
        if self.bug != "finalizer never removed":
            rest = [one for one in found["metadata"]["finalizers"] if one != FINALIZER]
            await client.update({**found, "metadata": {**found["metadata"], "finalizers": rest}})

    def _backup(self, request):
        meta = {"name": f"{request.name}-backup", "namespace": request.namespace}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": meta}

    async def _settings(self, found, client):
        name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
        meta = {"name": f"{name}-settings", "namespace": namespace}
        owner = {"apiVersion": API, "kind": "Database", "name": name, "uid": found["metadata"]["uid"]}
        if self.bug != "owner reference missing":
            meta["ownerReferences"] = [{**owner, "controller": True}]
        wanted = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta,
            "data": {"size": str(found["spec"]["size"])},
        }
        if self.bug == "stale cache and duplicate children":
            children = await client.list("v1", "ConfigMap", namespace)
            if not any(
                (one["metadata"].get("ownerReferences") or [{}])[0].get("uid") == owner["uid"] for one in children
            ):
                meta["generateName"] = f"{meta.pop('name')}-"
                await client.create(wanted)
            return
        try:
            child = await client.get("v1", "ConfigMap", meta["name"], namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            await client.create(wanted)
            return
        if child["data"] != wanted["data"] or self.bug == "child written unchanged":
            await client.update({**child, "data": wanted["data"]})

    async def _misbehave(self, found):
        match self.bug:
            case "cache mutation":
                found["spec"]["size"] += 1
            case "blocking sleep":
                time.sleep(1)  # noqa: ASYNC251 - the defect
            case "unawaited coroutine":
                self._forever()
            case "leaked task":
                self.tasks.append(asyncio.create_task(self._forever()))
            case "leaked failing task":
                self.tasks.append(asyncio.create_task(self._fails()))
            case "swallowed CancelledError":
                task = asyncio.create_task(self._stubborn())
                self.tasks.append(task)
                await asyncio.sleep(0)
                task.cancel()

    async def _forever(self):
        while True:  # noqa: ASYNC110 - it never ends
            await asyncio.sleep(60)

    async def _stubborn(self):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if asyncio.current_task().cancelling() > 1:
                    raise  # the test itself has to end

    async def _fails(self):
        raise ConnectionError("the backup host does not answer")

    async def _report(self, found, client):
        status = dict(found.get("status") or {})
        wanted = {"phase": "Ready", "size": found["spec"]["size"]}
        if self.bug in ("", "missed requeue", "conflict ignored"):
            # the database needs half a minute to start, which no event announces
            started = status.setdefault("since", self.manager.clock.monotonic())
            if self.manager.clock.monotonic() < started + 30:
                wanted["phase"] = "Starting"
            wanted["since"] = started
        if self.bug == "status hot loop with a counter":
            wanted["seen"] = status.get("seen", 0) + 1
        if self.bug == "status hot loop with a timestamp":
            wanted["seen"] = datetime.now(UTC).isoformat()
        if status != wanted or found.get("status") != wanted or self.bug == "status written unchanged":
            if self.bug == "status through the main resource":
                await client.update({**found, "status": wanted})
            else:
                await self._write_status({**found, "status": wanted}, client)
        if wanted["phase"] == "Starting" and self.bug != "missed requeue":
            return Result(requeue_after=30)
        return None

    async def _write_status(self, found, client):
        try:
            await client.update_status(found)
        except ApiError as error:
            if error.reason != "Conflict" or self.bug != "conflict ignored":
                raise


def build(bug=""):
    def add(manager):
        operator = DatabaseOperator(bug, manager)
        controller = manager.controller("database").for_(API, "Database").owns("v1", "ConfigMap")
        if bug == "wrong predicate":
            controller = controller.with_event_filter(lambda event: not isinstance(event, UpdateEvent))
        if bug == "writes by a non-leader":
            controller = controller.with_options(ControllerOptions(need_leader_election=False))
        controller.complete(operator.reconcile)

    return add
