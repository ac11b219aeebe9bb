"""An operator that runs a Deployment for each Shop, and says in the status of the Shop when it is available."""

from controllerlib import ApiError, Client, Manager, Request, create_or_update

API = "example.com/v1"


async def reconcile(request: Request, client: Client) -> None:
    try:
        shop = await client.get(API, "Shop", request.name, namespace=request.namespace)
    except ApiError as error:
        if error.reason == "NotFound":
            return
        raise
    replicas = shop["spec"]["replicas"]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": request.name, "namespace": request.namespace},
    }

    def mutate(found: dict) -> None:
        meta, labels = shop["metadata"], {"shop": request.name}
        owner = {"apiVersion": API, "kind": "Shop", "name": meta["name"], "uid": meta["uid"], "controller": True}
        found["metadata"]["ownerReferences"] = [owner]
        container = {"name": "web", "image": "example.com/shop:1"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = found.setdefault("spec", {"selector": {"matchLabels": labels}, "template": template})
        spec["replicas"] = replicas

    await create_or_update(client, deployment, mutate)
    ready = deployment.get("status", {}).get("availableReplicas", 0) >= replicas
    if ready != shop.get("status", {}).get("ready", False):
        await client.update_status({**shop, "status": {"ready": ready}})


def build(manager: Manager) -> None:
    manager.controller("shop").for_(API, "Shop").owns("apps/v1", "Deployment").complete(reconcile)
