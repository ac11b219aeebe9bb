"""What every field of a valid object requires: without the field, and with a value that it rejects.

Each entry of the tables is a valid object with rows of a path, a value (null: the field is missing) and the first error
that follows; an error that ends in an ellipsis is its beginning.
"""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.validation.support import as_new, complete, problems, strategy, texts

TABLES = [
    entry
    for name in ("workloads", "others")
    for entry in json.loads(Path(__file__).with_name(f"fieldrules_{name}.json").read_text())
]


def changed(obj: Any, path: list[Any], value: Any) -> Any:
    """The object with another value at a path, or without it."""
    made = deepcopy(obj)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


@pytest.mark.parametrize("entry", TABLES, ids=[f"{number}-{entry['kind']}" for number, entry in enumerate(TABLES)])
def test_what_the_fields_of_a_kind_require(entry):
    kind, obj = entry["kind"], entry["object"]
    assert problems(kind, obj) == []
    for path, value, expected in entry["rows"]:
        found = problems(kind, changed(obj, path, value))[0]
        begin = expected.removesuffix("…")
        assert found == expected or (begin != expected and found.startswith(begin)), (path, value, found)


#: Kinds whose specs cannot be changed, so that the update is refused as a whole.
NOT_CHANGED = ("PriorityClass", "ResourceClaim", "ServiceCIDR", "CertificateSigningRequest")
CHANGEABLE = [entry for entry in TABLES if entry["kind"] not in NOT_CHANGED]


@pytest.mark.parametrize(
    "entry", CHANGEABLE, ids=[f"{number}-{entry['kind']}" for number, entry in enumerate(CHANGEABLE)]
)
def test_an_update_requires_the_same(entry):
    kind, obj = entry["kind"], entry["object"]
    rules, stored = strategy(kind), as_new(kind, obj)
    for path, value, expected in entry["rows"]:
        sent = complete(kind, changed(obj, path, value))
        sent["metadata"] |= {key: stored["metadata"][key] for key in ("uid", "creationTimestamp")}
        sent |= {"status": stored["status"]} if "status" in stored else {}
        found = texts(rules.validate_update(rules.prepare_update(sent, stored), stored))
        assert any(one.startswith(expected.removesuffix("…")) for one in found), (path, value, found)


@pytest.mark.parametrize("kind", ["Role", "ClusterRole", "RoleBinding", "StorageClass"])
def test_the_name_of_an_object_does_not_change(kind):
    stored = as_new(kind, next(entry["object"] for entry in TABLES if entry["kind"] == kind))
    sent = {**stored, "metadata": {**stored["metadata"], "name": "other"}}
    assert 'metadata.name: Invalid value: "other": field is immutable' in texts(
        strategy(kind).validate_update(sent, stored)
    )
    assert texts(strategy(kind).validate_update(stored, stored)) == []
