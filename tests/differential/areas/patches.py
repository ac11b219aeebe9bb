"""Patches: JSON patches, merge patches and strategic merge patches of built-in kinds."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.differential import objects, vocabulary
from tests.differential.mutations import drawn, mutated, schemas
from tests.differential.scenario import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Draw,
    Object,
    Scenario,
    Step,
    create,
    patch,
)

KINDS = (
    ("", "pods"), ("apps", "deployments"), ("apps", "deployments"), ("apps", "statefulsets"), ("", "services"), ("", "configmaps"), ("", "secrets"),
    ("networking.k8s.io", "ingresses"), ("networking.k8s.io", "networkpolicies"), ("", "serviceaccounts"), ("batch", "cronjobs"),
    ("rbac.authorization.k8s.io", "roles"), ("", "persistentvolumeclaims"), ("policy", "poddisruptionbudgets"), ("", "endpoints"), ("", "limitranges"),
)  # fmt: skip

VALIDATION = ((), (), (), (("fieldValidation", "Strict"),), (("fieldValidation", "Warn"),))


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Patches of one object."""
    resource = objects.resource(*draw.one(KINDS))
    schema = schemas().of_kind(resource.group, resource.version, resource.kind)
    assert schema is not None
    base = objects.valid(draw, resource, namespace, "a")
    collection = objects.collection(resource, namespace)
    path = f"{collection}/a"
    top = tuple(name for name in schema.fields if name not in ("apiVersion", "kind", "status"))
    steps = [create(collection, base)]
    for _ in range(draw.number(5, 11)):
        query = draw.one(VALIDATION)
        match draw.weighted({"json": 4, "merge": 3, "strategic": 5, "odd": 1}):
            case "json":
                steps.append(patch(path, JSON_PATCH, _operations(draw, base), *query))
            case "merge":
                steps.append(patch(path, MERGE_PATCH, _part(draw, mutated(draw, base, schema, 1, top)), *query))
            case "strategic":
                steps.append(patch(path, STRATEGIC_PATCH, _strategic(draw, base, schema, top), *query))
            case "odd":
                steps.append(_odd(draw, path))
    return Scenario([*steps, Step("GET", path)], [path] if resource.plural == "services" else [])


def _pointers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if path:
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from _pointers(item, f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}")


def _operations(draw: Draw, base: Object) -> Any:
    known = [one for one in _pointers(base) if one[0].split("/")[1] not in ("apiVersion", "kind")]
    return [_operation(draw, known) for _ in range(draw.weighted({1: 5, 2: 3, 3: 1}))]


def _operation(draw: Draw, known: list[tuple[str, Any]]) -> Object:
    pointer, value = draw.one(known)
    if draw.chance(0.2):
        pointer = draw.one((f"{pointer}/-", f"{pointer}/0", f"{pointer}/99", f"{pointer}/x", pointer.rpartition("/")[0] + "/new", f"{pointer}/-1", "",
                            "/", "nosuch", "/spec/~2", f"{pointer}/01", "/metadata/labels/example.com~1a", "/metadata/annotations/a"))  # fmt: skip
    other = draw.one((value, value, draw.one(vocabulary.OTHER), "changed", {"a": "b"}, 7))
    op = draw.weighted({"add": 4, "replace": 4, "remove": 3, "test": 2, "copy": 1, "move": 1, "other": 0.3})
    made: Object = {"op": op, "path": pointer}
    if op in ("add", "replace", "test"):
        made["value"] = copy.deepcopy(other)
    if op in ("copy", "move"):
        made["from"] = draw.one(known)[0]
    if draw.chance(0.03):
        made.pop(draw.one(tuple(made)))
    if draw.chance(0.03):
        made[draw.one(("op", "path", "from", "extra"))] = draw.one(vocabulary.OTHER)
    return made


def _part(draw: Draw, obj: Object) -> Any:
    """A part of an object: some of its fields, some of them null."""
    if not isinstance(obj, dict):
        return None if draw.chance(0.1) else obj
    kept = {name: value for name, value in obj.items() if name in ("apiVersion", "kind") or draw.chance(0.6)}
    return {name: value if name in ("apiVersion", "kind") else _part(draw, value) for name, value in kept.items()}


def _strategic(draw: Draw, base: Object, schema: Any, top: tuple[str, ...]) -> Any:
    changed = _part(draw, mutated(draw, base, schema, 1, top))
    for _ in range(draw.number(0, 2)):
        _direct(draw, changed, schema)
    return changed


def _direct(draw: Draw, value: Object, schema: Any) -> None:
    """Adds a directive to a drawn part of a strategic merge patch."""
    places = list(_parts(value, schema))
    part, found = draw.one(places)
    lists = [name for name, inner in found.fields.items() if inner.type == "list"]
    match draw.weighted({"patch": 4, "order": 2, "delete": 2, "retain": 2, "item": 3, "odd": 0.5}):
        case "patch":
            part["$patch"] = draw.one(("delete", "replace", "merge", "other", 1))
        case "order" if lists:
            name = draw.one(lists)
            part[f"$setElementOrder/{name}"] = draw.one(
                (
                    [{"name": "c"}, {"name": "d"}],
                    ["a", "b"],
                    [{"containerPort": 80}],
                    [],
                    "x",
                    [{"port": 81}, {"port": 80}],
                )
            )
        case "delete" if lists:
            part[f"$deleteFromPrimitiveList/{draw.one(lists)}"] = draw.one((["a"], ["kubernetes"], [], "x", [1]))
        case "retain":
            part["$retainKeys"] = draw.one((list(part), ["name"], ["type"], [], "x", [1]))
        case "item" if lists:
            name = draw.one(lists)
            inner = found.fields[name]
            item = drawn(draw, inner.items, name, 1) if inner.items is not None else "a"
            marked = {**item, "$patch": draw.one(("delete", "replace", "merge"))} if isinstance(item, dict) else item
            part[name] = [marked, *draw.one(([], [{"$patch": "replace"}], [{"$patch": "delete"}]))]
        case _:
            part[
                draw.one(
                    (
                        "$other",
                        "$patch/x",
                        "$setElementOrder/nosuch",
                        "$deleteFromPrimitiveList/nosuch",
                        "$setElementOrder/",
                    )
                )
            ] = draw.one(vocabulary.OTHER)


def _parts(value: Any, schema: Any) -> Iterator[tuple[Object, Any]]:
    if schema is None:
        return
    if schema.type == "object" and isinstance(value, dict):
        yield value, schema
        for name, item in value.items():
            yield from _parts(item, schema.fields.get(name))
    elif schema.type == "list" and isinstance(value, list):
        for item in value:
            yield from _parts(item, schema.items)


def _odd(draw: Draw, path: str) -> Step:
    return draw.one(
        (
            patch(path, JSON_PATCH, "{"),
            patch(path, JSON_PATCH, {}),
            patch(path, JSON_PATCH, []),
            patch(path, JSON_PATCH, [1]),
            patch(path, MERGE_PATCH, []),
            patch(path, MERGE_PATCH, "null"),
            patch(path, MERGE_PATCH, ""),
            patch(path, MERGE_PATCH, '{"a":1,"a":2}'),
            patch(path, MERGE_PATCH, '{"metadata":{"labels":{"a":"1","a":"2"}}}', ("fieldValidation", "Strict")),
            patch(path, STRATEGIC_PATCH, '{"metadata":{"labels":{"a":"1","a":"2"}}}', ("fieldValidation", "Strict")),
            patch(path, STRATEGIC_PATCH, "[]"),
            patch(path, STRATEGIC_PATCH, "x"),
            patch(path, "application/json", {}),
            patch(path, "application/yaml", "a: b"),
            patch(path, "application/merge-patch+json; charset=utf-8", {}),
            patch(path, "application/strategic-merge-patch+yaml", {}),
            patch(path, MERGE_PATCH, {"metadata": {"name": "b"}}),
            patch(path, MERGE_PATCH, {"metadata": {"namespace": "b"}}),
            patch(path, MERGE_PATCH, {"metadata": {"uid": "b"}}),
            patch(path, MERGE_PATCH, {"metadata": {"resourceVersion": "1"}}),
            patch(path, MERGE_PATCH, {"metadata": {"resourceVersion": ""}}),
            patch(path, MERGE_PATCH, {"kind": "Other"}),
            patch(path, MERGE_PATCH, {"apiVersion": "v9"}),
            patch(path, MERGE_PATCH, {"metadata": None}),
            patch(path, MERGE_PATCH, {"spec": None}),
            patch(
                path,
                MERGE_PATCH,
                {"metadata": {"creationTimestamp": None, "generation": 9, "deletionTimestamp": "2020-01-01T00:00:00Z"}},
            ),
            patch(path, MERGE_PATCH, {"metadata": {"managedFields": [{}]}}),
            patch(f"{path}x", MERGE_PATCH, {"metadata": {"labels": {"a": "b"}}}),
            patch(path, MERGE_PATCH, {"metadata": {"labels": {"z": "1"}}}, ("dryRun", "All")),
            patch(path, MERGE_PATCH, {"metadata": {"labels": {"z": "1"}}}, ("dryRun", "x")),
            patch(path, MERGE_PATCH, {"metadata": {"labels": {"z": "1"}}}, ("fieldValidation", "x")),
            patch(path, MERGE_PATCH, {"metadata": {"labels": {"z": "1"}}}, ("fieldManager", "a" * 129)),
        )
    )
