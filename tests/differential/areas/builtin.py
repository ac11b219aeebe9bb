"""Writes of built-in kinds: creations, updates and merges of valid objects with drawn changes."""

from __future__ import annotations

import copy
from typing import Any

from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.model import Schema
from tests.differential import objects, vocabulary
from tests.differential.mutations import drawn, mutated, schemas
from tests.differential.scenario import MERGE_PATCH, Draw, Object, Scenario, Step, create, patch

WEIGHTS = {
    "pods": 8, "services": 4, "deployments": 3, "statefulsets": 3, "daemonsets": 2, "jobs": 4, "cronjobs": 3, "ingresses": 3,
    "networkpolicies": 3, "persistentvolumes": 3, "persistentvolumeclaims": 3, "horizontalpodautoscalers": 3, "nodes": 2,
    "endpointslices": 2, "resourceclaims": 2, "resourceslices": 3, "customresourcedefinitions": 3,
}  # fmt: skip

VALIDATION = (
    (),
    (),
    (("fieldValidation", "Strict"),),
    (("fieldValidation", "Warn"),),
    (("fieldValidation", "Ignore"),),
)


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Writes of one kind."""
    resource = draw.one([one for one in objects.resources() for _ in range(WEIGHTS.get(one.plural, 1))])
    schema = schemas().of_kind(resource.group, resource.version, resource.kind)
    assert schema is not None
    return _Writes(draw, namespace, resource, schema).scenario()


class _Writes:
    def __init__(self, draw: Draw, namespace: str, resource: Resource, schema: Schema) -> None:
        self.draw, self.namespace, self.resource, self.schema = draw, namespace, resource, schema
        self.collection = objects.collection(resource, namespace)
        self.base = objects.valid(draw, resource, namespace, "a")
        self.path = f"{self.collection}/{self.base['metadata']['name']}"
        self.top = tuple(name for name in schema.fields if name not in ("apiVersion", "kind", "metadata", "status"))
        self.dry = (("dryRun", "All"),) if objects.is_tried(resource) else ()
        self.created: list[str] = []

    def scenario(self) -> Scenario:
        draw = self.draw
        steps = [create(self.collection, self.base, *self.dry)]
        for i in range(draw.number(4, 9)):
            kind = draw.weighted({"create": 4, "update": 3, "merge": 2, "metadata": 1, "status": 1, "delete": 0})
            if self.dry and kind != "metadata":
                kind = "create"
            steps += getattr(self, f"_{kind}")(i)
        steps.append(Step("DELETE", self.path, None if draw.chance(0.7) else self._delete_options()))
        kept = self.resource.namespaced and self.resource.plural != "services"  # there are few cluster IPs
        cleanup = [] if kept or self.dry else [self.path, *self.created]
        return Scenario(steps, cleanup)

    def _changed(self, under: tuple[str, ...] = ()) -> Object:
        count = self.draw.weighted({1: 6, 2: 3, 3: 1})
        return mutated(self.draw, self.base, self.schema, count, under or self.top)

    def _query(self) -> tuple[tuple[str, str], ...]:
        return self.draw.one(VALIDATION)

    def _create(self, i: int) -> list[Step]:
        body = self._changed()
        if not self.dry and self.resource.plural not in ("ipaddresses", "customresourcedefinitions", "apiservices"):
            body["metadata"]["name"] = objects.name_in(self.resource, self.namespace, f"b{i}")
            self.created.append(f"{self.collection}/{body['metadata']['name']}")
        return [create(self.collection, body, *self._query(), *self.dry)]

    def _update(self, i: int) -> list[Step]:
        body = self._changed()
        if self.draw.chance(0.2):
            body["metadata"]["resourceVersion"] = self.draw.one(("${rv}", "1", "x", "999999999"))
        read = Step("GET", self.path, save={"rv": "metadata.resourceVersion"})
        return [read, Step("PUT", self.path, body, self._query())]

    def _merge(self, i: int) -> list[Step]:
        changed, base = self._changed(), self.base
        difference = {
            name: changed.get(name) for name in changed.keys() | base.keys() if changed.get(name) != base.get(name)
        }
        return [patch(self.path, MERGE_PATCH, dict(sorted(difference.items())), *self._query())]

    def _status(self, i: int) -> list[Step]:
        status = self.schema.fields.get("status")
        if status is None or "status" not in self.resource.subresources:
            return self._merge(i)
        body = {"status": drawn(self.draw, status, "status", 3)}
        return [patch(f"{self.path}/status", MERGE_PATCH, body, *self._query())]

    def _metadata(self, i: int) -> list[Step]:
        """A creation with drawn metadata."""
        draw, body = self.draw, copy.deepcopy(self.base)
        metadata: dict[str, Any] = body["metadata"]
        if not self.resource.namespaced and not self.dry:
            return self._create(i)
        metadata["name"] = objects.name_in(self.resource, self.namespace, f"m{i}")
        for _ in range(draw.number(1, 2)):
            name, value = draw.one(_metadata_of(draw))
            metadata[name] = value
        if draw.chance(0.2):
            del metadata["name"]
            metadata["generateName"] = draw.one(("a-", "", "A-", "x" * 70, "a.b-", "-"))
        return [create(self.collection, body, *self._query(), *self.dry)]

    def _delete_options(self) -> Any:
        return {"kind": "DeleteOptions", "apiVersion": "v1", **self.draw.one(DELETE_OPTIONS)}


DELETE_OPTIONS: tuple[Object, ...] = (
    {},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Orphan"},
    {"propagationPolicy": "Other"},
    {"gracePeriodSeconds": 0},
    {"gracePeriodSeconds": -1},
    {"preconditions": {"uid": "x"}},
    {"preconditions": {"resourceVersion": "1"}},
    {"dryRun": ["All"]},
    {"dryRun": ["Some"]},
    {"orphanDependents": True, "propagationPolicy": "Orphan"},
    {"unknown": 1},
)

UIDS = ("", "00000000-0000-4000-8000-000000000001", "x")


def _metadata_of(draw: Draw) -> list[tuple[str, Any]]:
    """Names and drawn values of metadata."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": draw.one(UIDS)}
    change = draw.one(
        ({}, {"controller": True}, {"apiVersion": ""}, {"kind": "Event"}, {"name": ""}, {"apiVersion": "a/b/c"})
    )
    managed = {"manager": "m", "operation": draw.one(("Update", "Apply", "x")), "fieldsType": draw.one(("FieldsV1", "x", "")),
               "apiVersion": draw.one(("v1", "")), "fieldsV1": draw.one(({}, {"f:metadata": {}}, {"x": 1}))}  # fmt: skip
    return [
        ("labels", {draw.one(vocabulary.KEYS): draw.one(("a", "", "-a", "x" * 64, "a b", None, "é"))}),
        ("annotations", {draw.one(vocabulary.KEYS): draw.one(("a", "", "x" * 300, None, "\n"))}),
        ("annotations", {"a": "x" * draw.one((262143, 262144))}),
        ("finalizers", draw.some(vocabulary.FIELDS["finalizers"], 2, 1)),
        ("finalizers", draw.one((None, [""], ["a"], ["x/y", "x/y"]))),
        ("ownerReferences", [{**owner, **change}]),
        ("ownerReferences", [{**owner, "controller": True}, {**owner, "controller": True, "name": "p"}]),
        ("ownerReferences", draw.one((None, [], [{}], "x"))),
        ("namespace", draw.one(("", "other", "Bad", None))),
        ("name", draw.one(vocabulary.FIELDS["name"])),
        ("uid", draw.one(UIDS)),
        ("resourceVersion", draw.one(("", "0", "1", "x"))),
        ("generation", draw.one((0, 5, -1, "1"))),
        ("creationTimestamp", draw.one(vocabulary.TIMES)),
        ("deletionTimestamp", draw.one((None, "2020-01-01T00:00:00Z", "x"))),
        ("deletionGracePeriodSeconds", draw.one((0, 30, -1, "x"))),
        ("selfLink", draw.one(("", "/x"))),
        ("managedFields", draw.one(([managed], [{}], None, [managed, managed]))),
        ("unknown", draw.one(vocabulary.OTHER)),
    ]
