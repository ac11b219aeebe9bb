"""Requests by a direct call: what an operator in the test's process and the test itself pay.

Goals (a second and core): 20,000 gets, 8,000 creates of small objects.
"""

import itertools

import pytest

from fakekube import FakeKube

BATCH = 200
_numbers = itertools.count()


@pytest.fixture(scope="module")
def transport():
    with FakeKube(wall_clock=False) as kube:
        transport = kube.access.transport()
        for obj in (config_map("a"), deployment("a")):
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


PATHS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
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


def apply(transport, make, number):
    headers = {"Content-Type": "application/apply-patch+yaml"}
    obj = make("applied")
    obj["metadata"]["annotations"] = {"number": str(number)}
    query = [("fieldManager", "bench")]
    return transport.request_now("PATCH", f"{PATHS[obj['kind']]}/applied", headers=headers, query=query, body=obj)


@pytest.mark.parametrize("make", [config_map, deployment])
@pytest.mark.parametrize("verb", [get, create, patch, apply])
def test_two_hundred(benchmark, transport, verb, make):
    benchmark.group = f"{BATCH} direct requests"

    def batch():
        for _ in range(BATCH):
            code, _, answer = verb(transport, make, next(_numbers))
            assert code < 300, answer

    benchmark.pedantic(batch, rounds=15, warmup_rounds=2)
    benchmark.extra_info["requests per second"] = round(BATCH / benchmark.stats.stats.median)
