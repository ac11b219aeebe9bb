"""Paths to fields, as rules and selectable fields name them."""

from typing import Any

import pytest

from fakekube.apiserver.crd.fieldpath import BadPath, resolve, tokens
from fakekube.apiserver.crd.structural import Structural

TEXT = {"type": "string"}
SCHEMA = Structural(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"color": TEXT, "a.b": TEXT, "it's": TEXT}},
            "labels": {"type": "object", "additionalProperties": TEXT},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.color", [".", "spec", ".", "color"]),
        ("['a.b'].c", ["[", "'a.b'", "]", ".", "c"]),
        ("['it\\'s']", ["[", "'it\\'s'", "]"]),
        ("['open", ["[", "'open"]),
        ("''", ["''"]),
        ("'", ["'"]),
        ("'a'", ["'a'"]),
        ("'a\\'", ["'a\\'"]),
        ("a.b]", ["a", ".", "b", "]"]),
        ("[..", ["[", ".", "."]),
        ("", []),
    ],
)
def test_the_tokens_of_a_path(path: str, found: list[str]) -> None:
    assert tokens(path) == found


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".spec", "spec"),
        (".spec.color", "spec.color"),
        ("['spec']['color']", "spec.color"),
        (".spec['a.b']", "spec.a.b"),
        (".spec['it\\'s']", "spec.it's"),
        (".labels.x", "labels[x]"),
        (".labels['a.b/c']", "labels[a.b/c]"),
    ],
)
def test_a_path_leads_to_a_field(path: str, shown: str) -> None:
    found, schema = resolve(path, SCHEMA)
    assert found == shown
    assert schema is not None
    assert schema.type in ("string", "object")


@pytest.mark.parametrize(
    ("path", "options", "why"),
    [
        ("spec", {}, "expected [ or . but got: spec"),
        (".", {}, "unexpected end of JSON path"),
        (".spec.", {}, "unexpected end of JSON path"),
        ("[", {}, "unexpected end of JSON path"),
        ("['spec'", {}, "unexpected end of JSON path"),
        ("['spec'.", {}, "expected ] but got ."),
        ("[spec]", {}, "expected single quoted string but got spec"),
        ("['']", {}, "does not refer to a valid field"),
        ("[']", {}, "expected single quoted string but got ']"),
        (".nope", {}, "does not refer to a valid field"),
        (".spec.color.x", {}, "does not refer to a valid field"),
        (".open.x", {}, "does not refer to a valid field"),
        ("['spec']", {"arrays": False}, "array notation is not allowed"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, options: Any, why: str) -> None:
    with pytest.raises(BadPath) as caught:
        resolve(path, SCHEMA, **options)
    assert str(caught.value) == why
