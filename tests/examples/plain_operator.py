"""An operator in plain official-client code: list, then watch, for ever; copies labelled ConfigMaps into a Secret."""

import base64
import time

from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

SELECTOR = "mirror=yes"
NAMESPACE = "default"
RESYNC = 600


def run(api: client.ApiClient) -> None:
    """Never returns."""
    core = client.CoreV1Api(api)
    while True:
        listed = core.list_namespaced_config_map(NAMESPACE, label_selector=SELECTOR)
        for found in listed.items:
            mirror(core, found)
        try:
            follow(core, listed.metadata.resource_version)
        except ApiException as error:
            if error.status != 410:
                time.sleep(5)


def follow(core: client.CoreV1Api, version: str) -> None:
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        label_selector=SELECTOR,
        resource_version=version,
        timeout_seconds=RESYNC,
    )
    for event in stream:
        if event["type"] in ("ADDED", "MODIFIED"):
            mirror(core, event["object"])


def mirror(core: client.CoreV1Api, found: client.V1ConfigMap) -> None:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in (found.data or {}).items()}
    name = found.metadata.name
    body = client.V1Secret(metadata=client.V1ObjectMeta(name=name), data=data)
    try:
        existing = core.read_namespaced_secret(name, NAMESPACE)
    except ApiException as error:
        if error.status != 404:
            raise
        core.create_namespaced_secret(NAMESPACE, body)
        return
    if existing.data != data:
        core.replace_namespaced_secret(name, NAMESPACE, body)
