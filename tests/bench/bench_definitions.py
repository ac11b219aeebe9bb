"""What a large CustomResourceDefinition costs until it is served, and what its objects cost.

Goals: at most 100 ms until a definition of 1.2 MB is served; a custom resource at most 2 ms more than a ConfigMap.
"""

import json
from typing import Any

from fakekube import FakeKube

BATCH = 200
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PIPELINES = "/apis/bench.example.com/v1/namespaces/default/pipelines"
DESCRIPTION = "How the step is run. It follows the field of a pod with the same name, and is not set by default. " * 2
TEXT = {"type": "string", "description": DESCRIPTION}
QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": "^[0-9.]+[a-zA-Z]*$",
    "x-kubernetes-int-or-string": True,
}
RULES = [
    {"rule": "!has(self.name) || self.name.size() < 64", "message": "the name is too long"},
    {"rule": "self.ports.all(port, port.name != 'none' || port.containerPort > 1024)"},
    {"rule": "has(self.command) || self.texts0 != 'image'", "fieldPath": ".command"},
]


def container() -> dict[str, Any]:
    """The schema of a container: texts, a list by key with a default, quantities, and rules."""
    port = {
        "type": "object",
        "description": DESCRIPTION,
        "required": ["containerPort", "name"],
        "properties": {
            "name": {**TEXT, "maxLength": 63},
            "containerPort": {"type": "integer", "format": "int32"},
            "protocol": {"type": "string", "default": "TCP"},
        },
    }
    ports = {
        "type": "array",
        "maxItems": 16,
        "items": port,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    texts = {f"texts{i}": TEXT for i in range(28)}
    resources = {"type": "object", "additionalProperties": QUANTITY, "maxProperties": 8}
    strings = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"}
    own = {"name": {**TEXT, "maxLength": 128}, "command": strings, "ports": ports, "resources": resources}
    return {
        "type": "object",
        "description": DESCRIPTION,
        "required": ["ports", "texts0"],
        "properties": {**texts, **own},
        "x-kubernetes-validations": RULES,
    }


def definition() -> bytes:
    """A definition of more than 6,000 schemas and about 1.2 MB. Every container has different texts."""
    templates: dict[str, Any] = {}
    for name in range(40):
        one = {"type": "array", "maxItems": 4, "items": {**container(), "description": f"{name}: {DESCRIPTION}"}}
        extra = {f"part{i}": {"type": "object", "properties": {f"p{k}": TEXT for k in range(10)}} for i in range(10)}
        templates[f"step{name}"] = {"type": "object", "properties": {"containers": one, **extra}}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": templates},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"plural": "pipelines", "singular": "pipeline", "kind": "Pipeline"}
    versions = [{**version, "schema": {"openAPIV3Schema": schema}}]
    spec = {"group": "bench.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps({**kind, "metadata": {"name": "pipelines.bench.example.com"}, "spec": spec}).encode()


def defined(kube: FakeKube, body: bytes) -> None:
    """Create a definition. Other requests have their turn meanwhile, so that the answer must be awaited."""
    code, _, answer = kube.run(kube.access.transport().request("POST", DEFINITIONS, body=body))
    assert code == 201, answer


def test_a_large_definition_until_it_is_served(benchmark):
    benchmark.group = "definitions"
    body = definition()
    benchmark.extra_info["bytes"] = len(body)
    with FakeKube(wall_clock=False) as kube:
        transport = kube.access.transport()

        def removed():
            transport.request_now("DELETE", f"{DEFINITIONS}/pipelines.bench.example.com")

        def created():
            defined(kube, body)
            code, _, answer = transport.request_now("GET", PIPELINES)
            assert (code, answer["items"]) == (200, [])

        benchmark.pedantic(created, setup=removed, rounds=10, warmup_rounds=1)


def test_custom_resources_of_a_large_definition(benchmark):
    steps = {"step1": {"containers": [{"texts0": "a", "ports": [{"name": "p", "containerPort": 1}]}]}}
    kind = {"apiVersion": "bench.example.com/v1", "kind": "Pipeline"}
    with FakeKube(wall_clock=False) as kube:
        defined(kube, definition())
        creates(benchmark, kube, PIPELINES, {**kind, "spec": steps})


def test_config_maps_beside_them(benchmark):
    with FakeKube(wall_clock=False) as kube:
        creates(benchmark, kube, CONFIG_MAPS, {"data": {"colour": "red"}})


def creates(benchmark, kube, path, obj):
    benchmark.group = f"{BATCH} direct POSTs"
    transport, names = kube.access.transport(), iter(range(10**6))

    def ask():
        for _ in range(BATCH):
            code, _, answer = transport.request_now("POST", path, body={"metadata": {"name": f"o{next(names)}"}, **obj})
            assert code == 201, answer

    benchmark.pedantic(ask, rounds=10, warmup_rounds=1)
    benchmark.extra_info["ms per create"] = round(benchmark.stats.stats.median * 1000 / BATCH, 3)
