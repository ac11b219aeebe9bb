"""Custom resources: drawn definitions, and writes and reads of their objects."""

from __future__ import annotations

from tests.differential import definitions
from tests.differential.scenario import JSON_PATCH, MERGE_PATCH, Draw, Object, Scenario, Step, create, patch

VALIDATION = (
    (),
    (),
    (("fieldValidation", "Strict"),),
    (("fieldValidation", "Warn"),),
    (("fieldValidation", "Ignore"),),
)

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Definitions that are only tried, then one with objects."""
    tried = [
        create(definitions.DEFINITIONS, _definition(draw, namespace), ("dryRun", "All"))
        for _ in range(draw.number(0, 2))
    ]
    draw.careful = draw.chance(0.9)
    body = _definition(draw, namespace)
    steps = [*tried, *definitions.defined(namespace, body), *_objects(draw, namespace, body["spec"]["versions"][0])]
    return Scenario(steps, [definitions.path(namespace)])


def _definition(draw: Draw, namespace: str) -> Object:
    spec = {
        "type": "object",
        "properties": {name: definitions.property_schema(draw, 2) for name in draw.some("abcde", 4, 2)},
    }
    schema: Object = {"type": "object", "properties": {"spec": spec}}
    if draw.chance(0.2):
        schema["required"] = ["spec"]
    if draw.chance(0.2):
        spec["x-kubernetes-validations"] = [definitions.rule(draw, "object")]
    if draw.slip(0.1):
        schema["x-kubernetes-validations"] = [definitions.rule(draw, "object")]
    if draw.chance(0.1):
        schema["properties"]["metadata"] = draw.one(METADATA[: 2 if draw.careful else None])
    more: Object = {}
    if draw.chance(0.4):
        schema["properties"]["status"] = {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
        }
        more["subresources"] = draw.one(SUBRESOURCES[: 3 if draw.careful else None])
    if draw.chance(0.3):
        more["additionalPrinterColumns"] = draw.some(COLUMNS[: 7 if draw.careful else None], 3, 1)
    if draw.slip(0.15):
        more["selectableFields"] = [
            {"jsonPath": draw.one((".spec.a", ".spec.b", "spec.a", ".spec.nosuch", ".metadata.name"))}
        ]
    return definitions.definition(namespace, schema, **more)


METADATA: tuple[Object, ...] = (
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
    {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}},
    {"type": "object", "properties": {"labels": {"type": "object"}}},
    {"type": "object"},
)
SUBRESOURCES: tuple[Object, ...] = (
    {"status": {}},
    {"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.n"}},
    {
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.n",
            "labelSelectorPath": ".status.s",
        }
    },
    {"scale": {"specReplicasPath": "spec", "statusReplicasPath": ".n"}},
)
COLUMNS: tuple[Object, ...] = (
    {"name": "A", "type": "string", "jsonPath": ".spec.a"},
    {"name": "B", "type": "integer", "jsonPath": ".spec.b", "priority": 1},
    {"name": "C", "type": "number", "jsonPath": ".spec.c"},
    {"name": "D", "type": "boolean", "jsonPath": ".spec.d"},
    {"name": "T", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "F", "type": "string", "format": "byte", "jsonPath": ".spec.a"},
    {"name": "X", "type": "string", "jsonPath": ".spec.a[*].k", "description": "x"},
    {"name": "Y", "type": "string", "jsonPath": ".spec['b']"},
    {"name": "Z", "type": "other", "jsonPath": ".spec["},
)


def _objects(draw: Draw, namespace: str, version: Object) -> list[Step]:
    schema, collection = version["schema"]["openAPIV3Schema"], definitions.collection(namespace)
    spec = schema["properties"]["spec"]

    def content(right: float) -> Object:
        found: Object = {"spec": definitions.value(draw, spec, right)}
        if draw.chance(0.1):
            found[draw.one(("status", "other"))] = {"n": 1}
        return found

    steps = [create(collection, definitions.gadget(namespace, name, content(right)), *draw.one(VALIDATION))
             for name, right in (("a", 1.0), ("b", 1.0), ("c", 0.9), ("d", 0.9))]  # fmt: skip
    for _ in range(draw.number(2, 6)):
        path = f"{collection}/{draw.one('abcd')}"
        match draw.weighted({"put": 3, "merge": 3, "json": 2, "read": 1, "status": 2, "table": 1, "scale": 1}):
            case "put":
                name = path.rpartition("/")[2]
                body = definitions.gadget(namespace, name, content(0.95))
                body["metadata"]["resourceVersion"] = "${rv}"
                steps += [
                    Step("GET", path, save={"rv": "metadata.resourceVersion"}),
                    Step("PUT", path, body, draw.one(VALIDATION)),
                ]
            case "merge":
                steps.append(patch(path, MERGE_PATCH, content(0.95), *draw.one(VALIDATION)))
            case "json":
                name = draw.one(tuple(spec["properties"]))
                to = definitions.value(draw, spec["properties"][name], 0.9)
                operation = draw.one(
                    (
                        {"op": "add", "value": to},
                        {"op": "replace", "value": to},
                        {"op": "remove"},
                        {"op": "test", "value": to},
                    )
                )
                steps.append(patch(path, JSON_PATCH, [{**operation, "path": f"/spec/{name}"}], *draw.one(VALIDATION)))
            case "read":
                steps.append(Step("GET", path))
            case "status":
                status = {"n": draw.one((1, "x", None)), "s": draw.one(("a", 1))}
                steps.append(
                    patch(f"{path}/status", MERGE_PATCH, {"status": status, "spec": {"a": "z"}}, *draw.one(VALIDATION))
                )
            case "table":
                steps.append(Step("GET", collection, headers=TABLE))
            case "scale":
                steps += [
                    Step("GET", f"{path}/scale"),
                    patch(f"{path}/scale", MERGE_PATCH, {"spec": {"replicas": draw.one((1, -1, "x"))}}),
                ]
    return steps
