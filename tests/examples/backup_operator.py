"""An operator as its author writes it: it knows nothing of the tests."""

from datetime import UTC, datetime

from controllerlib import ApiError, Client, Manager, Request, Result

API = "example.com/v1"


async def reconcile(request: Request, client: Client) -> Result | None:
    """Start a backup Job whenever one is due, and say in the status when that was."""
    try:
        backup = await client.get(API, "Backup", request.name, namespace=request.namespace)
    except ApiError as error:
        if error.reason == "NotFound":
            return None
        raise
    every = backup["spec"]["every"]
    status = backup.get("status") or {"runs": 0}
    now = datetime.now(UTC)
    last = datetime.fromisoformat(status["lastRun"]) if "lastRun" in status else None
    if last is not None and (passed := (now - last).total_seconds()) < every:
        return Result(requeue_after=every - passed)
    runs = status["runs"] + 1
    try:
        await client.create(job_of(backup, runs))
    except ApiError as error:
        if error.reason != "AlreadyExists":  # made before, but the status could not be written then
            raise
    await client.update_status({**backup, "status": {"runs": runs, "lastRun": now.isoformat()}})
    return Result(requeue_after=every)


def job_of(backup: dict, number: int) -> dict:
    meta = backup["metadata"]
    owner = {"apiVersion": API, "kind": "Backup", "name": meta["name"], "uid": meta["uid"], "controller": True}
    container = {"name": "backup", "image": "backup:1", "args": [backup["spec"]["target"]]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{meta['name']}-{number}",
            "namespace": meta["namespace"],
            "ownerReferences": [owner],
        },
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }


def build(manager: Manager) -> None:
    manager.controller("backup").for_(API, "Backup").owns("batch/v1", "Job").complete(reconcile)
