"""Preview environments: each Preview has a Deployment of its image, until its time is over."""

from datetime import UTC, datetime, timedelta

import kopf
from kubernetes import client, config

GROUP, VERSION, PLURAL = KIND = ("example.com", "v1", "previews")


@kopf.on.startup()
def connect(**_):
    config.load_config()


@kopf.on.create(*KIND)
@kopf.on.update(*KIND, field="spec")
def deploy(name, namespace, spec, body, **_):
    deployment = deployment_of(name, spec["image"])
    kopf.adopt(deployment, owner=body)
    apps = client.AppsV1Api()
    try:
        apps.create_namespaced_deployment(namespace, deployment)
    except client.ApiException as error:
        if error.status != 409:
            raise
        apps.patch_namespaced_deployment(name, namespace, deployment)


@kopf.timer(*KIND, interval=60)
def expire(name, namespace, spec, meta, **_):
    age = datetime.now(UTC) - datetime.fromisoformat(meta["creationTimestamp"])
    if age >= timedelta(hours=spec["hours"]):
        client.CustomObjectsApi().delete_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)


def deployment_of(name, image):
    labels = {"preview": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    }
