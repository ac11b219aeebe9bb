"""Server-side apply: sequences of several managers, on built-in kinds and on custom resources of two versions."""

from __future__ import annotations

import copy
from typing import Any

from tests.differential import definitions, objects
from tests.differential.mutations import mutated, schemas
from tests.differential.scenario import (
    JSON_PATCH,
    MERGE_PATCH,
    Draw,
    Object,
    Scenario,
    Step,
    apply,
    create,
    filled,
    patch,
)

MANAGERS = ("alpha", "beta", "gamma")

#: Kind -> fragments of its contents, which are merged.
FRAGMENTS: dict[tuple[str, str], tuple[Object, ...]] = {
    ("apps", "deployments"): (
        {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}},
        {"spec": {"replicas": 1}},
        {"spec": {"replicas": 3}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "busybox", "ports": [{"containerPort": 80}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "b"}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "args": ["x"], "resources": {"limits": {"cpu": "1"}}}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 80}]}]}}}},
        {"spec": {"template": {"spec": {"nodeSelector": {"x": "y"}, "volumes": [{"name": "v", "emptyDir": {}}]}}}},
        {"spec": {"template": {"metadata": {"annotations": {"n": "1"}}}}},
        {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}},
        {"metadata": {"labels": {"l": "1"}, "annotations": {"x": "y"}}},
        {"metadata": {"labels": {"l": "2", "m": "3"}, "finalizers": ["example.com/f"]}},
    ),
    ("", "services"): (
        {"spec": {"ports": [{"port": 80, "name": "a"}]}},
        {"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "a", "targetPort": 8080}]}},
        {"spec": {"ports": [{"port": 81, "name": "b"}, {"port": 80, "name": "c", "protocol": "UDP"}]}},
        {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "a"}]}},
        {"spec": {"selector": {"app": "a"}}},
        {"spec": {"selector": {"app": "b", "c": "d"}}},
        {"spec": {"type": "NodePort"}},
        {"spec": {"type": "ClusterIP", "sessionAffinity": "ClientIP"}},
        {"spec": {"externalIPs": ["1.2.3.4"]}},
        {"metadata": {"labels": {"l": "1"}}},
        {"metadata": {"annotations": {"x": "y"}}},
    ),
    ("", "configmaps"): (
        {"data": {"a": "1"}}, {"data": {"a": "2", "b": "1"}}, {"data": {"c": ""}}, {"data": None}, {"data": {}}, {"binaryData": {"z": "YQ=="}},
        {"immutable": True}, {"metadata": {"labels": {"l": "1"}}}, {"metadata": {"labels": {"l": "2"}}}, {"metadata": {"finalizers": ["example.com/f"]}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "00000000-0000-4000-8000-000000000001"}]}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "t", "uid": "00000000-0000-4000-8000-000000000002"}]}},
        {"metadata": {"resourceVersion": "1"}}, {"metadata": {"managedFields": []}}, {"metadata": {"uid": "x"}}, {"unknown": 1}, {"data": ["a"]}, {"data": {"a": 1}},
    ),
    ("custom", "gadgets"): (
        {"spec": {"a": "1"}}, {"spec": {"a": "2", "n": 1}}, {"spec": {"n": None}}, {"spec": {"set": ["a", "b"]}}, {"spec": {"set": ["b", "c"]}}, {"spec": {"set": ["a", "a"]}},
        {"spec": {"items": [{"k": "x", "v": 1}]}}, {"spec": {"items": [{"k": "x", "v": 2}, {"k": "y"}]}}, {"spec": {"items": [{"v": 1}]}}, {"spec": {"items": [{"k": "x"}, {"k": "x"}]}},
        {"spec": {"atomic": {"p": 1}}}, {"spec": {"atomic": {"q": 2}}}, {"spec": {"free": {"deep": {"er": [1, 2]}}}}, {"spec": {"free": {"deep": {"x": 1}}}},
        {"spec": {"list": [1, 2]}}, {"spec": {"list": []}}, {"spec": {"unknown": 1}}, {"metadata": {"labels": {"l": "1"}}}, {"metadata": {"labels": {"l": "2"}}},
        {"spec": {"a": 5}}, {"spec": {}}, {"spec": None}, {"status": {"ready": True}}, {"spec": {"map": {"m": {"x": "1"}}}}, {"spec": {"map": {"m": {"y": "1"}, "o": {}}}},
    ),
}  # fmt: skip

SPEC: Object = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "integer", "nullable": True},
        "d": {"type": "string", "default": "def"},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
            },
        },
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "integer"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "items": {"type": "integer"}},
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
}


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Applications, updates and patches of one object."""
    kind = draw.weighted({**dict.fromkeys(FRAGMENTS, 3), ("drawn", ""): 3})
    return _Sequence(draw, namespace, kind).scenario()


class _Sequence:
    def __init__(self, draw: Draw, namespace: str, kind: tuple[str, str]) -> None:
        self.draw, self.namespace, self.kind = draw, namespace, kind
        self.versions: tuple[str, ...] = ("v1",)
        self.base: Object = {}
        if kind == ("custom", "gadgets"):
            self.versions = ("v1", "v2")
        elif kind[0] == "drawn":
            self.resource = draw.one(
                [one for one in objects.resources() if one.namespaced and one.plural not in ("events", "pods")]
            )
            self.base = objects.valid(draw, self.resource, namespace, "a")
        else:
            self.resource = objects.resource(*kind)

    def path(self, version: str) -> str:
        if self.kind[0] == "custom":
            return f"{definitions.collection(self.namespace, version)}/a"
        return f"{objects.collection(self.resource, self.namespace)}/a"

    def scenario(self) -> Scenario:
        steps = self._definition() if self.kind[0] == "custom" else []
        for _ in range(self.draw.number(5, 11)):
            steps += self._step()
        cleanup = [definitions.path(self.namespace)] if self.kind[0] == "custom" else []
        if self.kind == ("", "services"):
            cleanup = [self.path("v1")]
        return Scenario([*steps, Step("GET", self.path(self.versions[-1]))], cleanup)

    def _definition(self) -> list[Step]:
        schema = {
            "type": "object",
            "properties": {"spec": SPEC, "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}},
        }
        body = definitions.definition(self.namespace, schema, subresources={"status": {}})
        second = {**copy.deepcopy(body["spec"]["versions"][0]), "name": "v2", "storage": False}
        body["spec"]["versions"].append(second)
        return [
            *definitions.defined(self.namespace, body),
            Step("GET", definitions.collection(self.namespace, "v2"), until=200, compared=False),
        ]

    def _content(self) -> Object:
        if self.kind[0] == "drawn":
            found = self.resource
            schema = schemas().of_kind(found.group, found.version, found.kind)
            assert schema is not None
            top = tuple(name for name in schema.fields if name not in ("apiVersion", "kind", "metadata", "status"))
            return mutated(self.draw, self.base, schema, self.draw.number(0, 2), top)
        made: Object = {}
        for fragment in self.draw.some(FRAGMENTS[self.kind], 4, 1):
            made = merged(made, fragment)
        return made

    def _body(self, version: str) -> Object:
        made = merged({"metadata": {"name": "a"}}, self._content())
        if self.kind[0] == "custom":
            header = {"apiVersion": f"{definitions.group_of(self.namespace)}/{version}", "kind": "Gadget"}
        else:
            header = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        if self.draw.chance(0.02):
            header[self.draw.one(("apiVersion", "kind"))] = self.draw.one(("", "v9", "Other"))
        return {**made, **header}

    def _step(self) -> list[Step]:
        draw, version = self.draw, self.draw.one(self.versions)
        path, manager = self.path(version), draw.one(MANAGERS)
        query = (
            (draw.one((("fieldValidation", "Strict"), ("fieldValidation", "Warn"), ("dryRun", "All"))),)
            if draw.chance(0.2)
            else ()
        )
        body = self._body(version)
        match draw.weighted(
            {"apply": 10, "merge": 2, "update": 2, "json": 1, "create": 1, "delete": 0.3, "odd": 0.5, "status": 0.7}
        ):
            case "apply":
                return [apply(path, body, manager, *query, force=draw.chance(0.4))]
            case "merge":
                body.pop("apiVersion"), body.pop("kind")
                return [patch(path, MERGE_PATCH, body, ("fieldManager", manager), *query)]
            case "update":
                return [Step("PUT", path, body, (("fieldManager", manager), *query))]
            case "json":
                change = draw.one(JSON_CHANGES)
                return [patch(path, JSON_PATCH, change, ("fieldManager", manager), *query)]
            case "create":
                return [create(path.rpartition("/")[0], body, ("fieldManager", manager), *query)]
            case "delete":
                return [Step("DELETE", path)]
            case "status":
                return [apply(f"{path}/status", body, manager, *query, force=draw.chance(0.5))]
        return [draw.one(_odd(path, body))]


JSON_CHANGES: tuple[list[Object], ...] = (
    [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
    [{"op": "add", "path": "/metadata/labels", "value": {"l": "9"}}],
    [{"op": "remove", "path": "/metadata/managedFields/0"}],
    [{"op": "remove", "path": "/metadata/labels"}],
    [{"op": "add", "path": "/metadata/annotations", "value": {"j": "1"}}],
)


def _odd(path: str, body: Any) -> list[Step]:
    """Applications that are refused, or are written otherwise."""
    return [
        patch(path, "application/apply-patch+yaml", body),
        apply(path, body, ""),
        apply(path, body, "x" * 129),
        apply(path, body, "alpha", ("force", "maybe")),
        patch(path, "application/apply-patch+yaml", "a: [", ("fieldManager", "alpha")),
        patch(path, "application/apply-patch+yaml", "- a", ("fieldManager", "alpha")),
        patch(path, "application/apply-patch+cbor", body, ("fieldManager", "alpha")),
        patch(path, MERGE_PATCH, body, ("fieldManager", "alpha"), ("force", "true")),
        apply(path.rpartition("/")[0] + "/b", body, "alpha"),
        apply(path, filled({**body, "metadata": {**body["metadata"], "namespace": "other"}}, {}), "alpha"),
    ]


def merged(left: Any, right: Any) -> Any:
    """Two contents as one; the right one wins."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {
            name: merged(left.get(name), right[name]) if name in right else left[name] for name in {**left, **right}
        }
    return copy.deepcopy(right)
