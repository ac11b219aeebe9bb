"""Generated workloads: sequences of changes to the custom resources of a test, drawn from their schemas."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from fakekube.simulation.anchor import target_of
from fakekube.simulation.atoms import SpecChange
from fakekube.simulation.intents import intents_of
from fakekube.simulation.observation import TEST, Observation

Object = Mapping[str, Any]

#: At most so many sequences.
_SEQUENCES = 200

#: Numbers are tried near the present one, and small ones; bounds that are further away would be expensive.
_SMALL = (0, 1, 2, 3)

#: Characters of a value that stand in a plan as they are.
_PLAIN = '"[]:-'

#: The value of a field that is not there.
ABSENT = object()


@dataclass(slots=True)
class _Known:
    """What the test has written to a field, by kind and path."""

    values: dict[tuple[str, str], list[Any]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, spec: Any, path: str = "spec") -> None:
        values = self.values[kind, path]
        if spec not in values:
            values.append(spec)
        for name, value in spec.items() if isinstance(spec, Mapping) else ():
            self.add(kind, value, f"{path}.{name}")


def workloads(reference: Observation, length: int, seed: int) -> Iterator[Sequence[SpecChange]]:
    """Sequences of so many changes of objects that the test has created and not deleted, each drawn from the seed."""
    objects = {}
    for intent in intents_of(reference).objects:
        target = target_of(intent.kind, intent.namespace, intent.name)
        schema = _schema_of(reference, intent.kind)
        if intent.wanted is not None and schema is not None and target in reference.final:
            objects[target] = (schema, dict(intent.wanted).get("spec") or {})
    known = _Known()
    for one in reference.commits:
        if one.actor == TEST and one.after is not None and not one.rest:
            known.add(one.kind, one.after.get("spec") or {})
    found: set[tuple[SpecChange, ...]] = set()
    for number in range(_SEQUENCES if objects else 0):
        sequence = tuple(_sequence(objects, known, length, random.Random(f"workload {seed} {number}")))
        if sequence and sequence not in found:
            found.add(sequence)
            yield sequence


def _schema_of(reference: Observation, kind: str) -> Object | None:
    """The schema of the spec of a custom kind in the version in which its objects are stored; None for other kinds."""
    for target, definition in reference.final.items():
        if target.startswith("crd/"):
            spec = definition["spec"]
            names = [spec["names"]["kind"].lower(), *spec["names"].get("shortNames", ())[:1]]
            if kind in (*names, *(f"{one}.{spec['group']}" for one in names)):
                stored = next(one for one in spec["versions"] if one["storage"])
                found: Object | None = stored["schema"]["openAPIV3Schema"].get("properties", {}).get("spec")
                return found
    return None


def _sequence(
    objects: Mapping[str, tuple[Object, Any]], known: _Known, length: int, chance: random.Random
) -> Iterator[SpecChange]:
    specs = {target: spec for target, (_, spec) in objects.items()}
    for _ in range(length):
        target = chance.choice(list(objects))
        kind = target.partition("/")[0]
        places = [one for one in _places(objects[target][0], specs[target], "spec", kind, known) if one[1]]
        if not places:
            return
        path, values = chance.choice(places)
        value = chance.choice(values)
        specs[target] = changed({"spec": specs[target]}, path, value)["spec"]
        yield SpecChange(target, path, text_of(value))


def _places(schema: Object, value: Any, path: str, kind: str, known: _Known) -> Iterator[tuple[str, Sequence[Any]]]:
    """The fields that can be changed, each with values that it does not have."""
    properties = schema.get("properties") or {}
    for name, one in properties.items():
        inner, now = f"{path}.{name}", value.get(name, ABSENT) if isinstance(value, Mapping) else ABSENT
        if one.get("properties") and isinstance(now, Mapping):
            yield from _places(one, now, inner, kind, known)
            continue
        if "." in name:  # a path could not name it
            continue
        values = [each for each in _values(one, now, known.values.get((kind, inner), ())) if each != now]
        if now is not ABSENT and _is_optional(name, schema, known.values.get((kind, path), ())):
            values.append(ABSENT)
        yield inner, values


def _is_optional(name: str, schema: Object, used: Sequence[Any]) -> bool:
    """Whether a field may be removed: the schema says which ones are required, or the test has an object without it."""
    if "required" in schema:
        return name not in schema["required"]
    return any(isinstance(one, Mapping) and name not in one for one in used)


def _values(schema: Object, now: Any, used: Sequence[Any]) -> Sequence[Any]:
    """Values of a field: those of its schema, those near the present one, and those that the test uses."""
    found = [*schema.get("enum", ()), *used, *([schema["default"]] if "default" in schema else ())]
    kind = schema.get("type")
    if kind == "boolean":
        found += [True, False]
    elif kind in ("integer", "number") and "enum" not in schema:
        near = (now - 1, now + 1) if isinstance(now, int | float) else ()
        found += [one for one in (*near, *_SMALL, schema.get("minimum")) if one is not None and _is_within(one, schema)]
    elif kind == "array" and isinstance(now, list) and "enum" not in schema:
        new = [one for one in _values(schema.get("items") or {}, ABSENT, now) if one not in now]
        longer, shorter = ([*now, one] for one in new[:2]), (now[:at] + now[at + 1 :] for at in range(len(now)))
        found += [one for one in (*longer, *shorter) if _fits(one, schema, "Items")]
    elif kind == "object" and isinstance(now, Mapping) and isinstance(schema.get("additionalProperties"), Mapping):
        values = _values(schema["additionalProperties"], ABSENT, list(now.values()))
        fewer = ({name: one for name, one in now.items() if name != left} for left in now)
        more = ({**now, "generated": one} for one in values[:2])
        found += [one for one in (*fewer, *more) if _fits(one, schema, "Properties")]
    elif kind == "object" and now is ABSENT and schema.get("properties"):
        parts = {name: _values(one, ABSENT, ()) for name, one in schema["properties"].items()}
        if all(parts.get(name) for name in schema.get("required", ())):
            found.append({name: values[0] for name, values in parts.items() if values})
    return [one for number, one in enumerate(found) if one not in found[:number]]


def _is_within(value: float, schema: Object) -> bool:
    low, high = schema.get("minimum", 0), schema.get("maximum", value)
    is_above = value > low if schema.get("exclusiveMinimum") else value >= low
    is_below = value < high if schema.get("exclusiveMaximum") else value <= high
    return is_above and is_below and not (value % schema["multipleOf"] if schema.get("multipleOf") else 0)


def _fits(value: Sequence[Any] | Mapping[str, Any], schema: Object, what: str) -> bool:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", len(value))
    return bool(least <= len(value) <= most)


def text_of(value: Any) -> str:
    """A value as the text of a plan; empty for ABSENT."""
    return "" if value is ABSENT else quote(json.dumps(value, separators=(",", ":")), safe=_PLAIN)


def value_of(text: str) -> Any:
    """The value of a text, or ABSENT. Raises ValueError."""
    return json.loads(unquote(text)) if text else ABSENT


def changed(obj: Object, path: str, value: Any) -> Object:
    """An object with another value at a path; ABSENT removes what is there."""
    name, _, rest = path.partition(".")
    inner = obj.get(name)
    if rest:
        return {**obj, name: changed(inner if isinstance(inner, Mapping) else {}, rest, value)}
    kept = {key: one for key, one in obj.items() if key != name}
    return kept if value is ABSENT else {**obj, name: value}
