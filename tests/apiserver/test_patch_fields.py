"""Unknown and duplicate fields in patches: a warning, an error or nothing, by fieldValidation (`handlers/patch.go`)."""

import orjson
import pytest

from tests.apiserver.api import BACKUPS, CONFIGMAPS, CRDS, Api, backup, configmap, definition

MERGE, STRATEGIC, OPERATIONS = (
    f"application/{kind}+json" for kind in ("merge-patch", "strategic-merge-patch", "json-patch")
)


@pytest.fixture(scope="module")
def served():
    api = Api()
    api.ok("POST", CONFIGMAPS, configmap(data={"a": "b"}))
    made = definition()
    made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object"}}
    api.ok("POST", CRDS, made)
    api.ok("POST", BACKUPS, backup("a"))
    return api


FOO, BOTH = '{"foo":1}', '{"metadata":{"bad":1},"other":2}'
UNKNOWN, UNKNOWN_BOTH = ['unknown field "foo"'], ['unknown field "metadata.bad"', 'unknown field "other"']
TWICE, TWICE_IN = '{"data":{"c":"1","c":"2"}}', ['duplicate field "data.c"']

#: A content type, a body, and what is wrong with it.
ROWS = [
    (MERGE, '{"data":{"c":"d"}}', []),
    (MERGE, FOO, UNKNOWN),
    (MERGE, BOTH, UNKNOWN_BOTH),
    (MERGE, TWICE, TWICE_IN),
    (MERGE, '{"foo":1,"foo":2}', ['duplicate field "foo"', *UNKNOWN]),
    (STRATEGIC, '{"data":{"c":"d"}}', []),
    (STRATEGIC, FOO, UNKNOWN),
    (STRATEGIC, BOTH, UNKNOWN_BOTH),
    (STRATEGIC, TWICE, TWICE_IN),
    (OPERATIONS, '[{"op":"add","path":"/data/c","value":"d"}]', []),
    (OPERATIONS, '[{"op":"add","path":"/foo","value":1}]', UNKNOWN),
    (
        OPERATIONS,
        '[{"op":"add","path":"/data/c","value":"d"},{"op":"add","op":"add","path":"/foo","value":1,"x":2}]',
        ['json patch duplicate field "[1].op"', 'json patch unknown field "[1].x"', *UNKNOWN],
    ),
]


def patched(api, kind, body, validation, path=f"{CONFIGMAPS}/a"):
    query = f"dryRun=All&fieldValidation={validation}"
    return api.answer("PATCH", f"{path}?{query}", body.encode(), content_type=kind)


@pytest.mark.parametrize(("kind", "body", "problems"), ROWS)
def test_fields_that_are_warned_of(served, kind, body, problems):
    for validation in ("Warn", ""):
        found = patched(served, kind, body, validation)
        assert (found.status, list(found.warnings)) == (200, problems)
    found = patched(served, kind, body, "Ignore")
    assert (found.status, list(found.warnings)) == (200, [])


@pytest.mark.parametrize(("kind", "body", "problems"), ROWS)
def test_fields_that_are_refused(served, kind, body, problems):
    found = patched(served, kind, body, "Strict")
    assert (found.status, list(found.warnings)) == (422 if problems else 200, [])
    if not problems:
        return
    [cause] = found.body.to_object()["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("patch", "FieldValueInvalid")
    begin, _, why = cause["message"].rpartition(": strict decoding error: ")
    assert why == ", ".join(problems)
    quoted = begin.removeprefix("Invalid value: ")
    if kind == STRATEGIC:
        assert orjson.loads(quoted).startswith("map[")
    else:
        assert orjson.loads(orjson.loads(quoted))["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        (MERGE, '{"data":{"c":1}}', "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        (STRATEGIC, '{"data":{"c":1}}', "cannot convert int64 to string"),
        (
            OPERATIONS,
            '[{"op":"add","path":"/data/c","value":true}]',
            "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string",
        ),
        (MERGE, '{"kind":"Secret"}', 'no kind "Secret" is registered for version "v1" in scheme'),
        (MERGE, '{"apiVersion":"v2"}', 'no kind "ConfigMap" is registered for version "v2" in scheme'),
    ],
)
@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
def test_values_that_have_no_place_in_the_type_are_refused(served, kind, body, why, validation):
    found = patched(served, kind, body, validation)
    assert found.status == 422
    assert "Invalid value: " in found.body.to_object()["message"]
    assert why in found.body.to_object()["message"]


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        (FOO, UNKNOWN),
        ('{"metadata":{"bad":1}}', ['unknown field "metadata.bad"']),
        ('{"metadata":{"labels":{"a":"b"}}}', []),
    ],
)
def test_unknown_fields_of_a_custom_resource(served, body, problems):
    path = f"{BACKUPS}/a"
    assert list(patched(served, MERGE, body, "Warn", path).warnings) == problems
    assert list(patched(served, MERGE, body, "Ignore", path).warnings) == []
    found = patched(served, MERGE, body, "Strict", path)
    assert found.status == (422 if problems else 200)
    if problems:
        assert found.body.to_object()["message"].endswith(f": strict decoding error: {', '.join(problems)}")


@pytest.mark.parametrize(
    ("kind", "body", "code", "message"),
    [
        (MERGE, "[1]", 400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (MERGE, "{", 400, "error decoding patch: unexpected end of JSON input"),
        (STRATEGIC, "[1]", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (STRATEGIC, "{", 400, "unexpected end of JSON input"),
        (OPERATIONS, "{", 400, "error decoding patch: unexpected end of JSON input"),
        ("application/json", "{}", 415, "415: Unsupported Media Type"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_patch(served, kind, body, code, message):
    found = patched(served, kind, body, "")
    assert (found.status, found.body.to_object()["message"]) == (code, message)
