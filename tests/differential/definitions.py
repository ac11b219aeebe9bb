"""Drawn CustomResourceDefinitions: structural schemas, and objects for them."""

from __future__ import annotations

import copy
from typing import Any

from tests.differential import vocabulary
from tests.differential.scenario import Draw, Object, Step, create

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

#: format -> values, of which the first ones are valid.
FORMATS: dict[str, tuple[str, ...]] = {
    "date-time": ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+01:00", "2020-01-01 00:00:00Z", "2020-01-01", "2020-02-30T00:00:00Z"),
    "date": ("2020-01-01", "2020-02-30", "2020-1-1", "x"),
    "datetime": ("2020-01-01T00:00:00Z", "x"),
    "duration": ("1s", "1h2m", "1d", "1 week", "-1s", "x", "1.5h", ""),
    "ipv4": ("1.2.3.4", "01.2.3.4", "::1", "1.2.3", "::ffff:1.2.3.4"),
    "ipv6": ("::1", "1.2.3.4", "fe80::1%eth0", ":::", "::ffff:1.2.3.4"),
    "ip": ("1.2.3.4",),
    "cidr": ("10.0.0.0/8", "10.0.0.1/8", "::/0", "10.0.0.0", "10.0.0.0/33"),
    "mac": ("01:23:45:67:89:ab", "0123.4567.89ab", "x", "01:23:45:67:89"),
    "email": ("a@example.com", "a", "a b@example.com", "<a@b.c>"),
    "hostname": ("a.example.com", "-a", "a_b", "a" * 64, "", "ä.com"),
    "uri": ("https://example.com", "/a", "a", "http://[::1", "a b"),
    "uuid": ("00000000-0000-4000-8000-000000000000", "00000000000040008000000000000000", "x"),
    "uuid3": ("00000000-0000-3000-8000-000000000000", "00000000-0000-4000-8000-000000000000"),
    "uuid4": ("00000000-0000-4000-8000-000000000000", "00000000-0000-3000-8000-000000000000"),
    "uuid5": ("00000000-0000-5000-8000-000000000000", "x"),
    "byte": ("YQ==", "YQ", "!!", ""),
    "bsonobjectid": ("507f1f77bcf86cd799439011", "x"),
    "hexcolor": ("#fff", "fff", "#ffffff", "#gggggg"),
    "rgbcolor": ("rgb(1,2,3)", "rgb(300,2,3)", "x"),
    "creditcard": ("4111111111111111", "1"),
    "isbn": ("0321751043", "x"),
    "isbn10": ("0321751043", "978-0321751041"),
    "isbn13": ("978-0321751041", "0321751043"),
    "ssn": ("111-11-1111", "x"),
    "password": ("x",),
    "k8s-short-name": ("a", "A", "a.b", "a" * 64),
    "k8s-long-name": ("a.b", "A", "a..b", "a" * 254),
    "unknown-format": ("x",),
}  # fmt: skip

PATTERNS = {
    "^[a-z]+$": ("abc", "A", ""),
    "a|b": ("a", "xbx", "c"),
    "^\\d{2}$": ("12", "1", "١٢"),
    "(": ("a",),
    "^(?i)a$": ("A", "b"),
}

INTEGERS = (0, 1, 2, 3, 5, 10, -1, 100)

#: CEL rules by the type of the value they are about, valid and invalid ones.
RULES: dict[str, tuple[str, ...]] = {
    "string": ("self.size() > 1", "self != 'b'", "self == oldSelf", "self.matches('^a')", "self.startsWith('a') || self == ''", "self > 1", "self.lowerAscii() == self", "int(self) > 0"),
    "integer": ("self > 0", "self % 2 == 0", "self >= oldSelf", "10 / self > 1", "self + 9223372036854775807 > 0", "self > 1.5", "string(self) != '3'"),
    "number": ("self > 0.5", "self < 1e3", "self == oldSelf", "self > 1"),
    "boolean": ("self", "!self", "self || oldSelf", "self == 1"),
    "array": ("self.size() < 2", "self.all(x, x == x)", "self.exists(x, x == oldSelf[0])", "self[0] == self[1]", "self.isSorted()", "self.map(x, x).size() == 1"),
    "object": ("has(self.a)", "self.a == self.b", "!has(self.c) || self.c == oldSelf.c", "size(self) < 3", "self.nosuch == 1", "has(self.a) && has(oldSelf.a)", "self == oldSelf", "self.metadata.name.startsWith('a')"),
}  # fmt: skip


#: Those that compile for every schema of the type.
CAREFUL_RULES: dict[str, tuple[str, ...]] = {
    "string": ("self.size() > 1", "self != 'b'", "self == oldSelf", "self.startsWith('a') || self == ''"),
    "integer": (
        "self > 0",
        "self % 2 == 0",
        "self >= oldSelf",
        "10 / self > 1",
        "self + 9223372036854775807 > 0",
        "string(self) != '3'",
    ),
    "number": ("self > 0.5", "self < 1e3", "self == oldSelf"),
    "boolean": ("self", "!self", "self || oldSelf"),
    "array": ("self.size() < 2", "self[0] == self[1]", "self == oldSelf"),
    "object": ("self == oldSelf", "self != oldSelf"),
}


def property_schema(draw: Draw, depth: int) -> Object:
    """A schema of one property."""
    kinds = {"string": 5, "integer": 3, "number": 1, "boolean": 1, "intorstring": 1, "any": 1, "untyped": 0}
    if depth > 0:
        kinds |= {"object": 4, "array": 4, "map": 2, "embedded": 1}
    schema: Object = _MADE[draw.weighted(kinds)](draw, depth)
    if draw.chance(0.15) and not (draw.careful and "x-kubernetes-list-type" in schema):
        schema["nullable"] = True
    if draw.chance(0.2):
        schema["default"] = value(draw, schema, 1.0 if draw.careful else 0.9)
    if draw.chance(0.1) and schema.get("type") in (CAREFUL_RULES if draw.careful else RULES):
        schema["x-kubernetes-validations"] = [rule(draw, schema["type"]) for _ in range(draw.number(1, 2))]
    if draw.slip(0.03):
        schema[draw.one(("uniqueItems", "readOnly", "id", "title", "x-unknown", "example", "$ref", "deprecated"))] = (
            draw.one((True, "x", {}))
        )
    return schema


def rule(draw: Draw, kind: str) -> Object:
    """A validation rule of a type."""
    made: Object = {"rule": draw.one((CAREFUL_RULES if draw.careful else RULES)[kind])}
    if draw.careful and ("oldSelf" not in made["rule"]) and not draw.chance(0.3):
        return made
    for name, values in (
        ("message", ("bad", "", "a\nb", " ")),
        ("messageExpression", ("'bad ' + string(self)", "'x'", "1", "'' ", "string(self)")),
        ("reason", ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "Other")),
        ("fieldPath", (".a", ".b", ".nosuch", "a", "")),
        ("optionalOldSelf", (True, False)),
    ):
        if draw.slip(0.15):
            made[name] = draw.one(values)
    if draw.careful and draw.chance(0.3):
        made |= draw.one(
            ({"message": "bad"}, {"messageExpression": "'bad ' + string(1)"}, {"reason": "FieldValueForbidden"})
        )
    return made


def _string(draw: Draw, depth: int) -> Object:
    made: Object = {"type": "string"}
    match draw.number(0, 5):
        case 0:
            made["format"] = draw.one(tuple(FORMATS))
        case 1:
            made["enum"] = draw.one((["a", "b"], ["a"], ["", "a"], ["a", "a"]))
        case 2:
            made["pattern"] = "(" if draw.slip(0.05) else draw.one([name for name in PATTERNS if name != "("])
        case 3:
            made |= {"minLength": draw.number(0, 3), "maxLength": draw.number(2, 6)}
    return made


def _integer(draw: Draw, depth: int) -> Object:
    made: Object = {"type": "integer"}
    if draw.chance(0.3):
        made["format"] = draw.one(("int32", "int64", "double"))
    if draw.chance(0.4):
        made |= {"minimum": draw.number(-1, 2), "maximum": draw.number(2, 9)}
    if draw.chance(0.1):
        made["exclusiveMinimum"] = draw.one((True, False))
    if draw.chance(0.1):
        made["multipleOf"] = draw.one((2, 3, 0.5))
    if draw.chance(0.1):
        made["enum"] = [1, 2, 3]
    return made


def _number(draw: Draw, depth: int) -> Object:
    made: Object = {"type": "number"}
    if draw.chance(0.4):
        made |= {
            "minimum": draw.one((0, 0.5, -1.5)),
            "maximum": draw.one((2, 2.5)),
            "exclusiveMaximum": draw.one((True, False)),
        }
    return made


def _object(draw: Draw, depth: int) -> Object:
    names = draw.some(("a", "b", "c", "d-e", "apiVersion"), 3, 1)
    made: Object = {"type": "object", "properties": {name: property_schema(draw, depth - 1) for name in names}}
    if draw.chance(0.3):
        made["required"] = draw.some([*names, "z"], 2, 1)
    if draw.chance(0.15):
        made["x-kubernetes-preserve-unknown-fields"] = True
    if draw.chance(0.1):
        made["x-kubernetes-map-type"] = draw.one(("atomic", "granular"))
    if draw.chance(0.1):
        made[draw.one(("minProperties", "maxProperties"))] = draw.number(0, 2)
    if draw.chance(0.12):
        inner = [{"required": [name]} for name in names] + [{"properties": {names[0]: {"minimum": 2}}}]
        junctor = draw.one(("anyOf", "oneOf", "allOf"))
        made[junctor] = draw.some(inner, 2, 1)
    if draw.chance(0.05):
        made["not"] = {"required": [names[0]]}
    return made


def _map(draw: Draw, depth: int) -> Object:
    return {"type": "object", "additionalProperties": property_schema(draw, depth - 1)}


def _array(draw: Draw, depth: int) -> Object:
    made: Object = {"type": "array", "items": property_schema(draw, depth - 1)}
    kind = draw.weighted({"": 4, "set": 2, "map": 3, "atomic": 1})
    if kind:
        made["x-kubernetes-list-type"] = kind
    if kind == "map":
        item: Object = {"type": "object", "properties": {"k": {"type": "string"}, "v": property_schema(draw, 0)}}
        if draw.chance(0.7):
            item["required"] = ["k"]
        elif draw.careful or draw.chance(0.7):
            item["properties"]["k"]["default"] = "d"
        made |= {"items": item, "x-kubernetes-list-map-keys": ["k"]}
    elif kind == "set" and made["items"].get("type") not in ("string", "integer") and not draw.slip(0.2):
        made["items"] = {"type": "string"}
    if draw.chance(0.2):
        made |= {"minItems": draw.number(0, 1), "maxItems": draw.number(1, 3)}
    return made


def _int_or_string(draw: Draw, depth: int) -> Object:
    made: Object = {"x-kubernetes-int-or-string": True}
    if draw.chance(0.3):
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made


def _any(draw: Draw, depth: int) -> Object:
    made: Object = {"x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", **made} if draw.chance(0.6) else made


def _boolean(draw: Draw, depth: int) -> Object:
    return {"type": "boolean"}


def _embedded(draw: Draw, depth: int) -> Object:
    return {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


_MADE = {
    "string": _string, "integer": _integer, "number": _number, "boolean": _boolean, "object": _object, "array": _array,
    "map": _map, "intorstring": _int_or_string, "any": _any, "embedded": _embedded,
}  # fmt: skip


def value(draw: Draw, schema: Object, right: float) -> Any:
    """A value for a schema; `right` is the share of parts that are meant to be valid."""
    if not draw.chance(right):
        return copy.deepcopy(draw.one(vocabulary.OTHER))
    if schema.get("nullable") and draw.chance(0.2):
        return None
    if schema.get("x-kubernetes-embedded-resource"):
        return draw.one(({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "x": 1}, {"kind": "A"}, {},
                         {"apiVersion": "a/b/c", "kind": "A", "metadata": {"labels": {"a": 1}}}))  # fmt: skip
    if schema.get("x-kubernetes-int-or-string"):
        return draw.one((1, "a", "1", 0, 1.5))
    if "enum" in schema:
        return draw.one([*schema["enum"], *schema["enum"], "c"])
    match schema.get("type"):
        case "string":
            return _text(draw, schema)
        case "integer":
            return draw.one(INTEGERS if draw.chance(0.9) else (2**31, 2**63, 1.5, 1.0))
        case "number":
            return draw.one((0, 1, 1.5, 0.5, 2.5, -1.5, 1e10, 2))
        case "boolean":
            return draw.one((True, False))
        case "array":
            return _items(draw, schema, right)
        case "object":
            return _fields(draw, schema, right)
    return copy.deepcopy(draw.one(vocabulary.OTHER))


def _text(draw: Draw, schema: Object) -> str:
    if schema.get("format") in FORMATS:
        found = FORMATS[schema["format"]]
        return found[0] if draw.chance(0.4) else draw.one(found)
    if schema.get("pattern") in PATTERNS:
        found = PATTERNS[schema["pattern"]]
        return found[0] if draw.chance(0.5) else draw.one(found)
    return draw.one(("a", "b", "ab", "abc", "abcdefgh", "", "3", "ä"))


def _items(draw: Draw, schema: Object, right: float) -> list[Any]:
    found = [value(draw, schema["items"], right) for _ in range(draw.weighted({0: 1, 1: 3, 2: 3, 3: 1}))]
    if schema.get("x-kubernetes-list-type") == "map":
        for i, item in enumerate(found):
            if isinstance(item, dict) and draw.chance(0.85):
                item["k"] = f"k{i}" if draw.chance(0.85) else "k0"
    return found


def _fields(draw: Draw, schema: Object, right: float) -> Object:
    made: Object = {}
    for name, inner in schema.get("properties", {}).items():
        if draw.chance(0.75):
            made[name] = value(draw, inner, right)
    if "additionalProperties" in schema:
        for name in draw.some(("a", "b", "x y"), 2):
            made[name] = value(draw, schema["additionalProperties"], right)
    if draw.chance(0.1) or (schema.get("x-kubernetes-preserve-unknown-fields") and draw.chance(0.4)):
        made[draw.one(("unknown", "A"))] = copy.deepcopy(draw.one(vocabulary.OTHER))
    return made


def definition(namespace: str, schema: Object, *, scope: str = "Namespaced", **more: Any) -> Object:
    """A definition of the group of a scenario, with one version v1. `more` is added to the version."""
    group = group_of(namespace)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }


def group_of(namespace: str) -> str:
    return f"{namespace}.example.com"


def collection(namespace: str, version: str = "v1") -> str:
    return f"/apis/{group_of(namespace)}/{version}/namespaces/{namespace}/gadgets"


def gadget(namespace: str, name: str, content: Object, version: str = "v1") -> Object:
    return {"apiVersion": f"{group_of(namespace)}/{version}", "kind": "Gadget", "metadata": {"name": name}, **content}


def defined(namespace: str, body: Object) -> list[Step]:
    """Creates a definition, and waits until its first version is served."""
    version = body["spec"]["versions"][0]["name"]
    return [
        create(DEFINITIONS, body),
        Step("GET", collection(namespace, version), until=200, compared=False),
    ]


def path(namespace: str) -> str:
    """The path of the definition of a scenario."""
    return f"{DEFINITIONS}/gadgets.{group_of(namespace)}"
