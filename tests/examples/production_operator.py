"""An operator as it runs in production: `python production_operator.py --leader-elect`, in a pod or with a kubeconfig.

The same `build` runs in tests under the `fakekube` fixture.
"""

import argparse
import logging
from typing import Any

from controllerlib import ApiError, Client, LeaderElection, LeaderElectionOptions, Manager, Request, Result, run
from controllerlib.client import is_already_exists, is_not_found

API = "example.com/v1"


class Backups:
    """Starts a Job for each Backup, and says so in an Event."""

    def __init__(self, manager: Manager) -> None:
        self.client: Client = manager.client
        self.events = manager.event_recorder("backup-operator")

    async def reconcile(self, request: Request) -> Result | None:
        try:
            backup = await self.client.get(API, "Backup", request.name, request.namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        if (backup.get("status") or {}).get("runs"):
            return None
        job = job_of(backup)
        try:
            job = await self.client.create(job)
        except ApiError as error:
            if not is_already_exists(error):  # what was read came from a cache, which may be late
                raise
        else:
            name = job["metadata"]["name"]
            self.events.eventf(backup, job, "Normal", "BackupStarted", "Create", "started %s", name)
        await self.client.patch_status(backup, {"status": {"runs": 1}})
        return None


def job_of(backup: dict[str, Any]) -> dict[str, Any]:
    meta = backup["metadata"]
    owner = {"apiVersion": API, "kind": "Backup", "name": meta["name"], "uid": meta["uid"], "controller": True}
    container = {"name": "backup", "image": "backup:1", "args": [backup["spec"]["target"]]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{meta['name']}-1", "namespace": meta["namespace"], "ownerReferences": [owner]},
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }


def build(manager: Manager) -> None:
    backups = Backups(manager)
    manager.controller("backup").for_(API, "Backup").owns("batch/v1", "Job").complete(backups.reconcile)
    manager.add_healthz_check("ping", lambda: None)
    manager.add_readyz_check("synced", lambda: synced(manager))


def synced(manager: Manager) -> None:
    """Fail until every controller works."""
    waiting = [name for name, controller in manager.controllers.items() if not controller.started.is_set()]
    if waiting:
        raise RuntimeError(f"not started yet: {', '.join(waiting)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--leader-elect", action="store_true", help="Let only one of several replicas work.")
    parser.add_argument("--namespace", default="", help="Of the lease; default: that of the pod.")
    parser.add_argument("--metrics-bind-address", default=":8080")
    parser.add_argument("--health-probe-bind-address", default=":8081")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    election = LeaderElectionOptions("backup-operator", namespace=options.namespace, release_on_cancel=True)
    run(
        build,
        user_agent="backup-operator",
        election=LeaderElection(election) if options.leader_elect else None,
        metrics_bind_address=options.metrics_bind_address,
        health_probe_bind_address=options.health_probe_bind_address,
    )


if __name__ == "__main__":
    main()
