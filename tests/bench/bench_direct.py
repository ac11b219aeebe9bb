"""Requests by a direct call: what an operator in the test's process and the test itself pay.

Goals (a second and core): 20,000 gets, 8,000 creates of small objects.
"""

import itertools

import pytest

from fakekube import FakeKube
from tests.harness.operators import definition

BATCH = 200
_numbers = itertools.count()


@pytest.fixture(scope="module")
def transport():
    with FakeKube(wall_clock=False) as kube:
        transport = kube.access.transport()
        transport.request_now("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=DEFINITION)
        for obj in (config_map("a"), deployment("a"), application("a")):
            transport.request_now("POST", PATHS[obj["kind"]], body=obj)
        yield transport


def config_map(name):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"colour": "red"}}


def deployment(name):
    labels = {"app": name}
    container = {"name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def of(**properties):
    return {"type": "object", "properties": properties}


def listed(items, *keys):
    of_keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)} if keys else {}
    return {"type": "array", "items": {**items, **({"required": list(keys)} if keys else {})}, **of_keys}


QUANTITIES = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
CONTAINER = of(
    name=TEXT,
    image=TEXT,
    args=listed(TEXT),
    env=listed(of(name=TEXT, value=TEXT), "name"),
    ports=listed(of(containerPort=NUMBER, name=TEXT, protocol={**TEXT, "default": "TCP"}), "containerPort", "protocol"),
    resources=of(limits=QUANTITIES, requests=QUANTITIES),
    volumeMounts=listed(of(name=TEXT, mountPath=TEXT, readOnly={"type": "boolean"}), "mountPath"),
)
ROLE = of(
    replicas={**NUMBER, "minimum": 0, "default": 1},
    containers=listed(CONTAINER, "name"),
    volumes=listed(of(name=TEXT, emptyDir=of(), configMap=of(name=TEXT)), "name"),
)
SCHEMA = of(
    spec=of(idleSeconds=NUMBER, worker=ROLE, scheduler=ROLE),
    status=of(phase=TEXT, conditions=listed(of(type=TEXT, status=TEXT, message=TEXT), "type")),
)

#: Of a custom resource with a schema like those of real operators.
DEFINITION = definition("Application")
DEFINITION["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": SCHEMA}


def application(name):
    """A custom resource of 3 kB."""

    def container(title):
        return {
            "name": title,
            "image": "registry.example.com/app:1.2.3",
            "args": ["serve", "--port", "8786", "--dashboard", "8787"],
            "env": [{"name": f"VARIABLE_{number}", "value": str(number)} for number in range(6)],
            "ports": [{"containerPort": port, "name": f"p{port}", "protocol": "TCP"} for port in (8786, 8787)],
            "resources": {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "conf", "mountPath": "/etc/conf"}],
        }

    def role(title):
        volumes = [{"name": "data", "emptyDir": {}}, {"name": "conf", "configMap": {"name": "conf"}}]
        return {"replicas": 2, "containers": [container(title), container("sidecar")], "volumes": volumes}

    return {
        "apiVersion": "example.com/v1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"idleSeconds": 60, "worker": role("worker"), "scheduler": role("scheduler")},
    }


PATHS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Application": "/apis/example.com/v1/namespaces/default/applications",
}


def get(transport, make, number):
    return transport.request_now("GET", f"{PATHS[make('a')['kind']]}/a")


def create(transport, make, number):
    obj = make(f"n{number}")
    return transport.request_now("POST", PATHS[obj["kind"]], body=obj)


def patch(transport, make, number):
    headers = {"Content-Type": "application/merge-patch+json"}
    body = {"metadata": {"annotations": {"number": str(number)}}}
    return transport.request_now("PATCH", f"{PATHS[make('a')['kind']]}/a", headers=headers, body=body)


def patch_status(transport, make, number):
    headers = {"Content-Type": "application/merge-patch+json"}
    condition = {"type": "Available", "status": "True", "message": str(number)}
    body = {"status": {"conditions": [condition]}}
    return transport.request_now("PATCH", f"{PATHS[make('a')['kind']]}/a/status", headers=headers, body=body)


def update(transport, make, number):
    """Read an object, and write it with another annotation."""
    path = f"{PATHS[make('a')['kind']]}/a"
    _, _, obj = transport.request_now("GET", path)
    obj["metadata"].setdefault("annotations", {})["number"] = str(number)
    return transport.request_now("PUT", path, body=obj)


def apply(transport, make, number):
    headers = {"Content-Type": "application/apply-patch+yaml"}
    obj = make("applied")
    obj["metadata"]["annotations"] = {"number": str(number)}
    query = [("fieldManager", "bench")]
    return transport.request_now("PATCH", f"{PATHS[obj['kind']]}/applied", headers=headers, query=query, body=obj)


@pytest.mark.parametrize("make", [config_map, deployment, application])
@pytest.mark.parametrize("verb", [get, create, patch, patch_status, update, apply])
def test_two_hundred(benchmark, transport, verb, make):
    benchmark.group = f"{BATCH} direct requests"
    if verb is patch_status and make is config_map:
        pytest.skip("a ConfigMap has no status")

    def batch():
        for _ in range(BATCH):
            code, _, answer = verb(transport, make, next(_numbers))
            assert code < 300, answer

    benchmark.pedantic(batch, rounds=15, warmup_rounds=2)
    benchmark.extra_info["requests per second"] = round(BATCH / benchmark.stats.stats.median)
