"""Writes in protobuf, and answers in protobuf."""

from __future__ import annotations

import struct

from fakekube.apiserver.wire import envelope
from fakekube.apiserver.wire.marshal import marshaler_of
from fakekube.apiserver.wire.protobuf import MAGIC
from tests.differential import objects
from tests.differential.mutations import mutated, schemas
from tests.differential.scenario import PROTOBUF, Draw, Object, Scenario, Step

ACCEPTED = (PROTOBUF, PROTOBUF, f"{PROTOBUF},application/json", "application/json")
VALIDATION = ((), (), (("fieldValidation", "Strict"),), (("fieldValidation", "Warn"),))


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Writes of one kind."""
    kinds = [one for one in objects.resources() if marshaler_of(one.api_version, one.kind) is not None]
    resource = draw.one(kinds)
    schema = schemas().of_kind(resource.group, resource.version, resource.kind)
    assert schema is not None
    collection = objects.collection(resource, namespace)
    base = objects.valid(draw, resource, namespace, "a")
    path = f"{collection}/{base['metadata']['name']}"
    dry = (("dryRun", "All"),) if objects.is_tried(resource) else ()
    top = tuple(name for name in schema.fields if name not in ("apiVersion", "kind", "metadata"))
    steps = [_sent(draw, "POST", collection, encoded(base, base), *dry)]
    for i in range(draw.number(4, 8)):
        changed = mutated(draw, base, schema, draw.number(1, 2), top)
        match draw.weighted({"create": 3, "update": 4, "read": 2, "odd": 2, "status": 1, "delete": 0.5}):
            case "create":
                if resource.namespaced:
                    changed["metadata"]["name"] = f"b{i}"
                steps.append(_sent(draw, "POST", collection, encoded(changed, base), *dry, *draw.one(VALIDATION)))
            case "update":
                steps.append(_sent(draw, "PUT", path, encoded(changed, base), *draw.one(VALIDATION)))
            case "status" if "status" in resource.subresources:
                steps.append(_sent(draw, "PUT", f"{path}/status", encoded(changed, base)))
            case "read":
                steps.append(
                    Step(
                        "GET",
                        draw.one((path, path, collection) if resource.namespaced else (path,)),
                        headers={"Accept": draw.one(ACCEPTED)},
                    )
                )
            case "delete":
                steps.append(Step("DELETE", path, query=(("dryRun", "All"),), headers={"Accept": draw.one(ACCEPTED)}))
            case _:
                steps.append(_sent(draw, "POST", collection, _damaged(draw, encoded(base, base)), ("dryRun", "All")))
    kept = resource.namespaced and resource.plural != "services"
    every = [path, *(f"{collection}/b{i}" for i in range(8))] if resource.namespaced else [path]
    return Scenario(steps, [] if kept or dry else every)


def encoded(obj: Object, otherwise: Object) -> bytes:
    """An object in protobuf; another one if it has a value that its field cannot hold."""
    try:
        found = envelope.encode(obj)
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, AssertionError, struct.error):
        found = envelope.encode(otherwise)
    return found


def _sent(draw: Draw, method: str, path: str, body: bytes, *query: tuple[str, str]) -> Step:
    content = draw.one((PROTOBUF, PROTOBUF, PROTOBUF, f"{PROTOBUF};charset=utf-8"))
    return Step(method, path, body, tuple(query), {"Content-Type": content, "Accept": draw.one(ACCEPTED)})


def _damaged(draw: Draw, body: bytes) -> bytes:
    """Bytes that are no valid message, or one of another kind."""
    return draw.one(
        (
            body[: draw.number(0, len(body))],
            body[4:],
            MAGIC,
            MAGIC + b"\xff\xff",
            body[:-1],
            body + b"\x08\x01",
            body + b"\xfa\x3e\x01x",
            body.replace(b"v1", b"v9", 1),
            b"{}",
            MAGIC + b"\x0a\x02\x0a\x00",
            body[:20] + b"\x00" + body[21:],
        )
    )
