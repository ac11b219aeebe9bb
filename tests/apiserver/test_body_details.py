"""Details of request bodies: repeated fields, the texts of numbers and strings, types in errors."""

import pytest

from tests.apiserver.api import PODS

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
JSON = {"content_type": "application/json"}
JSON_PATCH = {"content_type": "application/json-patch+json"}
MERGE = {"content_type": "application/merge-patch+json"}
STRATEGIC = {"content_type": "application/strategic-merge-patch+json"}


def service(spec):
    return f'{{"metadata":{{"name":"s"}},{spec}}}'.encode()


# --- repeated fields --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("validation", ["Ignore", "Warn"])
def test_a_repeated_struct_is_merged_into_the_earlier_one(api, validation):
    body = service('"spec":{"selector":{"a":"b"},"ports":[{"port":80,"name":"x"}]},"spec":{"selector":{"c":"d"}}')
    made = api.ok("POST", f"{SERVICES}?fieldValidation={validation}", body, **JSON)
    assert made["spec"]["selector"] == {"a": "b", "c": "d"}
    assert [port["name"] for port in made["spec"]["ports"]] == ["x"]


def test_the_items_of_a_repeated_list_are_merged(api):
    body = service('"spec":{"ports":[{"port":80,"name":"x"},{"port":81,"name":"y"}],"ports":[{"port":90}]}')
    (port,) = api.ok("POST", SERVICES, body, **JSON)["spec"]["ports"]
    assert (port["port"], port["name"]) == (90, "x")


def test_a_repeated_null_resets_pointers_only(api):
    body = service(
        '"spec":{"type":"NodePort","type":null,"ports":[{"port":80}],"sessionAffinityConfig":{},'
        '"sessionAffinityConfig":null}'
    )
    spec = api.ok("POST", SERVICES, body, **JSON)["spec"]
    assert spec["type"] == "NodePort"
    assert "sessionAffinityConfig" not in spec


def test_a_wrong_type_is_an_error_even_if_the_field_is_repeated(api):
    error = api.refused("POST", SERVICES, service('"spec":1,"spec":{"ports":[{"port":80}]}'), **JSON)
    assert error[2].endswith("cannot unmarshal number into Go struct field Service.spec of type v1.ServiceSpec")


def test_unknown_fields_of_every_occurrence_are_reported(api):
    body = service('"spec":{"ports":[{"port":80,"x":1}],"ports":[{"port":80,"y":1}]}')
    answer = api.answer("POST", SERVICES, body, **JSON)
    assert answer.warnings == [
        'unknown field "spec.ports[0].x"',
        'duplicate field "spec.ports"',
        'unknown field "spec.ports[0].y"',
    ]


def test_fields_that_have_a_decoder_of_their_own_have_no_duplicates(api):
    fields = '{"f:data":{},"f:data":{}}'
    entry = f'{{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{fields}}}'
    body = f'{{"metadata":{{"name":"c","managedFields":[{entry}]}}}}'.encode()
    assert api.answer("POST", f"{CONFIGMAPS}?fieldValidation=Strict", body, **JSON).status == 201


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["1.0", "3e0", "5353E+0", "108000000000000000000000"])
def test_errors_quote_numbers_as_they_were_sent(api, number):
    error = api.refused("POST", SERVICES, service(f'"spec":{{"ports":[{{"port":{number}}}]}}'), **JSON)
    assert f"cannot unmarshal number {number} into Go struct field ServicePort.spec.ports.port" in error[2]


def test_an_int_or_string_of_another_type_is_an_error_that_names_the_field(api):
    error = api.refused("POST", SERVICES, service('"spec":{"ports":[{"port":1,"targetPort":[1]}]}'), **JSON)
    assert "cannot unmarshal array into Go struct field ServicePort.spec.ports.targetPort of type int32" in error[2]


def test_invalid_times_are_quoted_as_bytes(api):
    body = '{"metadata":{"name":"c","creationTimestamp":"é"}}'.encode()
    assert r'parsing time "\xc3\xa9" as' in api.refused("POST", CONFIGMAPS, body, **JSON)[2]


# --- JSON patches -----------------------------------------------------------------------------------------------------


@pytest.fixture
def patched(api):
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": "é<b>", "n": "1"}})

    def answer(body):
        return api.answer("PATCH", f"{CONFIGMAPS}/c?dryRun=All", body.encode(), **JSON_PATCH).status

    return answer


@pytest.mark.parametrize(
    ("test", "status"),
    [
        (r'"path":"/data/a","value":"é\u003cb\u003e"', 200),
        (r'"path":"/data/a","value":"é<b>"', 422),
        (r'"path":"/data/a","value":"\u00e9\u003cb\u003e"', 422),
        (r'"path":"/data","value":{"\u006e":"1","a":"é\u003cb\u003e"}', 200),
        (r'"path":"/data/missing","value":null', 200),
    ],
)
def test_a_test_compares_texts(patched, test, status):
    assert patched(f'[{{"op":"test",{test}}}]') == status


def test_a_test_compares_the_text_of_an_earlier_operation(patched):
    assert (
        patched(r'[{"op":"add","path":"/data/x","value":"A"},{"op":"test","path":"/data/x","value":"\u0041"}]') == 422
    )
    assert patched(r'[{"op":"add","path":"/data/x","value":"A"},{"op":"test","path":"/data/x","value":"A"}]') == 200


@pytest.mark.parametrize(("member", "what"), [('"op":1', "number"), ('"path":{}', "object"), ('"from":[]', "array")])
def test_members_of_an_operation_are_strings(api, member, what):
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "c"}})
    error = api.refused("PATCH", f"{CONFIGMAPS}/c", f"[{{{member}}}]".encode(), **JSON_PATCH)
    name = member.split('"')[1]
    assert (error[0], error[2]) == (
        400,
        f"error decoding patch: json: cannot unmarshal {what} into Go struct field jsonPatchOp.{name} of type string",
    )


@pytest.mark.parametrize("operation", ['"op":"add","path":"","value":{}', '"op":"copy","path":"/data","from":""'])
def test_the_root_is_not_added_or_copied(patched, operation):
    assert patched(f"[{{{operation}}}]") == 422


# --- warnings of patches ----------------------------------------------------------------------------------------------


def test_unknown_fields_of_a_strategic_merge_patch_are_sorted_and_without_keys_of_maps(api):
    api.ok("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    patch = {"zzz": 1, "spec": {"xxx": 1, "containers": [{"name": "c", "yyy": 1}]}, "aaa": 1}
    answer = api.answer("PATCH", f"{PODS}/p", patch, **STRATEGIC)
    assert answer.warnings == [
        'unknown field "aaa"',
        'unknown field "spec.containers[0].yyy"',
        'unknown field "spec.xxx"',
        'unknown field "zzz"',
    ]


def test_unknown_fields_of_a_merge_patch_are_sorted_where_maps_are_merged(api):
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "c"}})
    answer = api.answer("PATCH", f"{CONFIGMAPS}/c", {"zzz": 1, "metadata": {"yyy": 1}, "aaa": 1}, **MERGE)
    assert answer.warnings == ['unknown field "aaa"', 'unknown field "metadata.yyy"', 'unknown field "zzz"']


def test_an_order_does_not_merge_a_list_that_is_replaced(api):
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    spec = {"policyName": "p", "validationActions": ["Deny", "Audit"]}
    api.ok("POST", path, {"metadata": {"name": "b"}, "spec": spec})
    patch = {"spec": {"$setElementOrder/validationActions": ["Deny"], "validationActions": ["Deny"]}}
    assert api.ok("PATCH", f"{path}/b", patch, **STRATEGIC)["spec"]["validationActions"] == ["Deny"]
