"""An operator of kopf with all kinds of handlers, sync and async, that call the cluster with the official client.

An async handler that calls a blocking client stops kopf's event loop meanwhile, as many operators do.
"""

import asyncio
import time

import kopf
import kubernetes
from kubernetes import client

GROUP = ("example.com", "v1", "databases")

registry = kopf.OperatorRegistry()


@kopf.on.login(registry=registry)
def login(**arguments):
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.startup(registry=registry)
def configure(settings: kopf.OperatorSettings, **_):
    kubernetes.config.load_kube_config()
    settings.posting.enabled = False


@kopf.on.create(*GROUP, registry=registry)
async def created(name, namespace, spec, **_):
    """Blocking calls inside an async handler."""
    await asyncio.sleep(5)
    meta = client.V1ObjectMeta(name=name)
    client.CoreV1Api().create_namespaced_config_map(namespace, client.V1ConfigMap(metadata=meta, data=dict(spec)))
    return {"at": time.time()}


@kopf.on.update(*GROUP, field="spec", registry=registry)
def updated(name, namespace, new, retry, **_):
    """Blocking calls and sleeps in a thread; the first try fails."""
    time.sleep(30)
    if retry == 0:
        raise kopf.TemporaryError("not yet", delay=120)
    client.CoreV1Api().patch_namespaced_config_map(name, namespace, {"data": dict(new)})


@kopf.on.delete(*GROUP, registry=registry)
def deleted(name, namespace, **_):
    client.CoreV1Api().delete_namespaced_config_map(name, namespace)


@kopf.timer(*GROUP, interval=3600, initial_delay=600, registry=registry)
def backed_up(name, namespace, **_):
    """A sync timer."""
    meta = client.V1ObjectMeta(generate_name=f"{name}-backup-")
    client.BatchV1Api().create_namespaced_job(namespace, client.V1Job(metadata=meta, spec=JOB))


@kopf.timer(*GROUP, interval=1800, registry=registry)
async def checked(patch, **_):
    """An async timer."""
    patch.status["checked"] = time.time()


@kopf.daemon(*GROUP, cancellation_timeout=10, registry=registry)
async def followed(stopped, name, namespace, **_):
    """An async daemon."""
    while not stopped:
        client.CoreV1Api().list_namespaced_endpoints(namespace, field_selector=f"metadata.name={name}")
        await asyncio.sleep(900)


@kopf.daemon(*GROUP, cancellation_timeout=10, registry=registry)
def measured(stopped, name, **_):
    """A sync daemon, in a thread."""
    while not stopped:
        client.CoreV1Api().list_namespaced_pod("default", label_selector=f"database={name}")
        stopped.wait(1200)


JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "backup", "image": "backup"}]}}}
