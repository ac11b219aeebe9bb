"""The data of a SharedConfig is in a ConfigMap of each namespace that its labels select.

`python sharedconfig.py --leader-elect` runs it, in a pod or with a kubeconfig.
"""

import argparse
import logging
from typing import Any

from controllerlib import (
    ApiError,
    Client,
    LeaderElection,
    LeaderElectionOptions,
    Manager,
    Request,
    create_or_update,
    run,
    set_controller_reference,
)
from controllerlib.client import is_not_found
from controllerlib.controller import EnqueueRequestsFromMapFunc

API = "example.com/v1"
LABEL = "example.com/shared-config"


class SharedConfigs:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def reconcile(self, request: Request) -> None:
        try:
            config = await self.client.get(API, "SharedConfig", request.name)
        except ApiError as error:
            if is_not_found(error):
                return  # its ConfigMaps have it as their owner
            raise
        wanted = {namespace["metadata"]["name"] for namespace in await self.namespaces(config)}
        for copy in await self.client.list("v1", "ConfigMap", label_selector=f"{LABEL}={request.name}"):
            if copy["metadata"]["namespace"] not in wanted:
                await self.client.delete(copy)
        for namespace in sorted(wanted):
            await self.copy(config, namespace)
        if config.get("status", {}).get("namespaces") != len(wanted):
            await self.client.update_status({**config, "status": {"namespaces": len(wanted)}})

    async def namespaces(self, config: dict[str, Any]) -> list[dict[str, Any]]:
        selector = ",".join(f"{key}={value}" for key, value in config["spec"]["namespaces"].items())
        found = await self.client.list("v1", "Namespace", label_selector=selector)
        return [one for one in found if "deletionTimestamp" not in one["metadata"]]

    async def copy(self, config: dict[str, Any], namespace: str) -> None:
        name = config["metadata"]["name"]

        def fill(copy: dict[str, Any]) -> None:
            copy["metadata"]["labels"] = {**copy["metadata"].get("labels", {}), LABEL: name}
            copy["metadata"].update(set_controller_reference(config, copy)["metadata"])
            copy["data"] = config["spec"]["data"]

        copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
        await create_or_update(self.client, copy, fill)

    async def of_namespace(self, namespace: dict[str, Any]) -> list[Request]:
        """All: a namespace that has lost its labels is wanted no more."""
        return [Request("", one["metadata"]["name"]) for one in await self.client.list(API, "SharedConfig")]


def build(manager: Manager) -> None:
    configs = SharedConfigs(manager.client)
    controller = manager.controller("sharedconfig").for_(API, "SharedConfig").owns("v1", "ConfigMap")
    controller.watches("v1", "Namespace", EnqueueRequestsFromMapFunc(configs.of_namespace)).complete(configs.reconcile)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--leader-elect", action="store_true", help="Let only one of several replicas work.")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    election = LeaderElection(LeaderElectionOptions("sharedconfig", release_on_cancel=True))
    run(build, user_agent="sharedconfig", election=election if options.leader_elect else None)


if __name__ == "__main__":
    main()
