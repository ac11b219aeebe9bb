"""Rules of names, metadata, empty values and deletions that a comparison of all kinds with a real server has found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.api import CONFIGMAPS, CRDS, PODS, Api
from tests.apiserver.validation.test_certificates import REQUEST

MERGE = {"content_type": "application/merge-patch+json"}


def definition(properties: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The definition `as.e.com`, whose objects have these properties."""
    names = {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"}
    schema = {"type": "object", **({"properties": properties} if properties else {})}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    usual = {"group": "e.com", "scope": "Cluster", "names": names, "versions": versions}
    return {"metadata": {"name": "as.e.com"}, "spec": {**usual, **spec}}


POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"podSelector": {}, "ingress": []}, True),
        ({"podSelector": {"matchLabels": {}}}, True),
        ({"podSelector": {}, "ingress": [{"from": []}]}, True),
        ({"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": []}}]}]}, True),
        ({"podSelector": {}, "ingress": [{}], "egress": [{"to": [{"podSelector": {}}]}]}, False),
        ({"podSelector": {}, "policyTypes": [], "ingress": None, "egress": [{"ports": None}], "other": []}, False),
        ({}, False),
    ],
)
def test_each_update_with_an_empty_list_is_a_new_generation_of_a_network_policy(
    api: Api, spec: dict[str, Any], counts: bool
) -> None:
    sent = {"metadata": {"name": "a"}, "spec": spec}
    api.ok("POST", POLICIES, sent)
    first = api.ok("PUT", f"{POLICIES}/a", sent)["metadata"]
    put = api.ok("PUT", f"{POLICIES}/a", sent)["metadata"]
    assert put["generation"] == first["generation"] + counts
    assert (put["resourceVersion"] != first["resourceVersion"]) == counts
    merged = api.ok("PATCH", f"{POLICIES}/a", {"spec": spec}, **MERGE)["metadata"]
    assert merged["generation"] == put["generation"] + counts


def test_each_apply_with_an_empty_list_is_a_new_generation_of_a_network_policy(api: Api) -> None:
    spec = {"podSelector": {}, "ingress": []}
    config = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a"}, "spec": spec}
    target, apply = f"{POLICIES}/a?fieldManager=m", {"content_type": "application/apply-patch+yaml"}
    made = [api.ok("PATCH", target, config, **apply)["metadata"] for _ in range(3)]
    assert [one["generation"] for one in made] == [1, 2, 3]
    assert "f:ingress" in made[-1]["managedFields"][0]["fieldsV1"]["f:spec"]
    del spec["ingress"]
    api.ok("PATCH", target, config, **apply)
    assert api.ok("PATCH", target, config, **apply)["metadata"]["generation"] == 3


@pytest.mark.parametrize("kind", ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"])
@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({"rules": []}, True),
        ({"matchConditions": []}, True),
        ({"namespaceSelector": {"matchLabels": {}}}, True),
        ({"namespaceSelector": {}}, False),
        ({"rules": None}, False),
    ],
)
def test_each_update_with_an_empty_list_is_a_new_generation_of_webhooks(
    api: Api, kind: str, more: dict[str, Any], counts: bool
) -> None:
    target = f"/apis/admissionregistration.k8s.io/v1/{kind}"
    hook = {"name": "a.b.c", "clientConfig": {"url": "https://a.b"}, "sideEffects": "None", **more}
    sent = {"webhooks": [{**hook, "admissionReviewVersions": ["v1"]}]}
    api.ok("POST", target, {"metadata": {"name": "a"}, **sent})
    made = [api.ok("PATCH", f"{target}/a", sent, **MERGE)["metadata"]["generation"] for _ in range(2)]
    assert made == ([2, 3] if counts else [1, 1])


def test_a_status_of_a_pod_keeps_the_observed_generations_that_an_update_leaves_out(api: Api) -> None:
    api.ok("POST", PODS, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})

    def conditions(*generations: int | None) -> list[Any]:
        made = [{"type": "PodScheduled" if i < 2 else "Ready", "status": "True"} for i in range(len(generations))]
        return [{**one, "observedGeneration": n} if n else one for one, n in zip(made, generations, strict=True)]

    def written(status: dict[str, Any]) -> tuple[Any, list[Any]]:
        body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": status}
        shown = api.ok("PUT", f"{PODS}/a/status", body)["status"]
        observed = [one.get("observedGeneration") for one in shown.get("conditions", [])]
        return shown.get("observedGeneration"), observed

    assert written({"observedGeneration": 3, "conditions": conditions(1, 2, None)}) == (3, [1, 2, None])
    assert written({"conditions": conditions(None, None, 7)}) == (3, [1, 2, 7])
    assert written({"observedGeneration": 4, "conditions": conditions(None, 5, None)}) == (4, [1, 5, 7])
    assert written({"observedGeneration": 0, "conditions": conditions()}) == (4, [])
    assert written({"conditions": conditions(None, None, None)}) == (4, [None, None, None])


@pytest.mark.parametrize(
    ("target", "body", "shown"),
    [
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
            "Invalid value: {}: `selector` does not match template `labels`",
        ),
        ("/api/v1/persistentvolumes", {"capacity": {}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}, "Unsupported value: {}"),
        ("/api/v1/persistentvolumes", {"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}, "Unsupported value: null"),
    ],
)  # fmt: skip
def test_an_error_shows_the_empty_maps_that_were_sent(api: Api, target: str, body: Any, shown: str) -> None:
    code, _, message = api.refused("POST", target, {"metadata": {"name": "a"}, "spec": body})
    assert code == 422
    assert shown in message


def test_an_error_shows_the_empty_lists_that_an_update_was_sent_with(api: Api) -> None:
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    claim = {
        "metadata": {"name": "a"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
    }
    api.ok("POST", claims, claim)
    for requests, shown in (([], '"Requests":[]'), (None, '"Requests":null')):
        changed = {"metadata": {"name": "a"}, "spec": {"devices": {"requests": requests, "constraints": []}}}
        _, _, message = api.refused("PUT", f"{claims}/a", changed)
        assert f'{{"Devices":{{{shown},"Constraints":[],"Config":null}}}}: field is immutable' in message


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", 'must be spec.names.plural+"."+spec.group'),
        ("/apis/apiregistration.k8s.io/v1/apiservices", 'must be `spec.version+"."+spec.group`: "."'),
    ],
)
def test_a_name_that_does_not_follow_from_the_spec_is_an_error_of_the_metadata(
    api: Api, target: str, wanted: str
) -> None:
    code, shown = api.call("POST", target, {"metadata": {"name": "a", "labels": {"a": "!"}}})
    causes = [(one["field"], one["message"]) for one in shown["details"]["causes"]]
    assert (code, causes[0]) == (422, ("metadata.name", f'Invalid value: "a": {wanted}'))
    assert causes[1][0] == "metadata.labels"


def test_the_place_of_an_event_is_an_error_before_those_of_its_metadata(api: Api) -> None:
    event = {"metadata": {"name": "a", "labels": {"!": "x"}}, "regarding": {"namespace": "x"}}
    _, shown = api.call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", event)
    fields = [one["field"] for one in shown["details"]["causes"]]
    assert fields == ["involvedObject.namespace", *["metadata.labels"] * (len(fields) - 3), "eventTime", "type"]


def test_a_review_has_no_metadata_that_only_the_server_sets(api: Api) -> None:
    meta = {"name": "a", "uid": "x", "creationTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    _, _, message = api.refused(
        "POST",
        reviews,
        {"metadata": meta, "spec": {"user": "u", "nonResourceAttributes": {"path": "/a", "verb": "get"}}},
    )
    assert 'metadata: Invalid value: {"name":"a","managedFields":[' in message
    token = api.ok("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"metadata": meta, "spec": {"token": "t"}})
    assert token["metadata"].keys() & meta.keys() == {"name"}


@pytest.mark.parametrize(
    ("claims", "volumes", "place"), [((), ("x", "x"), 1), (("d",), ("x", "x"), 2), (("d", "e"), ("d", "x", "x"), 3)]
)
def test_the_claims_of_a_stateful_set_come_before_its_volumes(api: Api, claims: Any, volumes: Any, place: int) -> None:
    templates = [
        {
            "metadata": {"name": one},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
        }
        for one in claims
    ]
    pod = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": one} for one in volumes]}
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
        "volumeClaimTemplates": templates,
    }
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    _, _, message = api.refused("POST", sets, {"metadata": {"name": "a"}, "spec": spec})
    assert message.endswith(f'is invalid: spec.template.spec.volumes[{place}].name: Duplicate value: "x"')


@pytest.mark.parametrize(
    ("target", "reporter"),
    [
        ("/api/v1/namespaces/default/events", "reportingComponent"),
        ("/apis/events.k8s.io/v1/namespaces/default/events", "reportingController"),
    ],
)
def test_the_reporter_of_an_event_has_the_name_of_the_version(api: Api, target: str, reporter: str) -> None:
    event = {
        "metadata": {"name": "a"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Normal",
        reporter: "",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
    }
    code, shown = api.call("POST", target, event)
    assert code == 422
    assert {one["field"] for one in shown["details"]["causes"]} == {reporter}


@pytest.mark.parametrize(
    ("target", "spec"),
    [
        (
            "/apis/networking.k8s.io/v1/ipaddresses",
            {"parentRef": {"resource": "services", "name": "x", "namespace": "d"}},
        ),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests", None),
    ],
)
def test_an_update_validates_the_metadata_as_new_once_more(api: Api, target: str, spec: Any) -> None:
    name = "10.0.0.9" if spec else "a"
    api.ok("POST", target, {"metadata": {"name": name}, **({"spec": spec} if spec else REQUEST)})
    for change, fields in (
        ({"labels": {"!": "x"}}, ["metadata.labels"] * 4),
        ({"finalizers": ["x"]}, ["metadata.finalizers[0]"] * 2),
    ):
        code, shown = api.call("PATCH", f"{target}/{name}", {"metadata": change}, **MERGE)
        assert (code, [one["field"] for one in shown["details"]["causes"]]) == (422, fields)
    if spec:
        _, _, message = api.refused("PATCH", f"{target}/{name}", {"metadata": {"generateName": "x-"}}, **MERGE)
        assert 'metadata.generateName: Invalid value: "x-": must be a valid IP address' in message
        _, _, message = api.refused("PUT", f"{target}/{name}", {"metadata": {"name": name}})
        assert message.endswith(
            "[spec.parentRef: Required value, spec.parentRef: Invalid value: null: field is immutable]"
        )


def test_an_unknown_kind_of_delete_options(api: Api) -> None:
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    for sent, version in (({}, "meta.k8s.io/v1"), ({"apiVersion": "v1"}, "v1")):
        code, _, message = api.refused("DELETE", f"{CONFIGMAPS}/a", {"kind": "X", **sent})
        assert (code, message.partition(" in scheme")[0]) == (400, f'no kind "X" is registered for version "{version}"')


def test_new_finalizers_of_a_deleted_object_are_named_in_order(api: Api) -> None:
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "a", "finalizers": ["e.com/a"]}})
    api.ok("DELETE", f"{CONFIGMAPS}/a")
    change = {"metadata": {"finalizers": ["e.com/z", "e.com/a", "e.com/b", "e.com/z"]}}
    _, _, message = api.refused("PATCH", f"{CONFIGMAPS}/a", change, **MERGE)
    assert message.endswith('found new finalizers []string{"e.com/b", "e.com/z"}')


@pytest.mark.parametrize(("field", "what"), [("uid", "UID"), ("resourceVersion", "ResourceVersion")])
def test_a_definition_checks_the_preconditions_of_its_deletion_itself(api: Api, field: str, what: str) -> None:
    api.ok("POST", CRDS, definition())
    meta = api.ok("GET", f"{CRDS}/as.e.com")["metadata"]
    code, _, message = api.refused("DELETE", f"{CRDS}/as.e.com", {"preconditions": {field: "0"}})
    assert code == 409
    assert message == (
        'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "as.e.com": '
        f"Precondition failed: {what} in precondition: 0, {what} in object meta: {meta[field]}"
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (2**53, 2**53), (2**53 + 1, 2**53), (-(2**53) - 1, -(2**53)), (123456789012345678, 123456789012345680),
        (2**63 - 1, 9223372036854776000), (-(2**63), -9223372036854776000), (7, 7),
    ],
)  # fmt: skip
def test_the_limits_of_a_schema_are_numbers_of_64_bits(api: Api, sent: int, kept: int) -> None:
    response = api.answer("POST", CRDS, definition({"x": {"type": "integer", "maximum": sent, "example": sent}}))
    assert f'"maximum":{kept}' in response.body.encode().decode()
    assert f'"example":{sent}' in response.body.encode().decode()


def test_the_overhead_of_a_runtime_class_is_not_rounded(api: Api) -> None:
    sent = {"metadata": {"name": "a"}, "handler": "h", "overhead": {"podFixed": {"cpu": "1.5m", "memory": "1n"}}}
    made = api.ok("POST", "/apis/node.k8s.io/v1/runtimeclasses", sent)
    assert made["overhead"]["podFixed"] == {"cpu": "1500u", "memory": "1n"}


@pytest.mark.parametrize(("driver", "warns"), [("Gpu.example.com", True), ("gpu.example.com", False)])
def test_a_driver_with_capitals_is_warned_of(api: Api, driver: str, warns: bool) -> None:
    pool = {"name": "n", "resourceSliceCount": 1}
    sent = {"metadata": {"name": "a"}, "spec": {"driver": driver, "nodeName": "n", "pool": pool}}
    response = api.answer("POST", "/apis/resource.k8s.io/v1/resourceslices", sent)
    assert response.status == 201
    why = f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters'
    assert response.warnings == ([why] if warns else [])


def test_the_requests_of_a_pod_follow_from_those_that_a_limit_range_gives_its_containers(api: Api) -> None:
    limits = [{"type": "Container", "defaultRequest": {"cpu": "1"}, "default": {"cpu": "2", "memory": "1Gi"}}]
    api.ok("POST", "/api/v1/namespaces/default/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    containers = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
    spec = {"containers": containers, "resources": {"limits": {"memory": "2Gi"}}}
    made = api.ok("POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    assert made["spec"]["resources"] == {"limits": {"memory": "2Gi"}, "requests": {"cpu": "2", "memory": "2Gi"}}
    assert api.ok("GET", f"{PODS}/a") == made


@pytest.mark.parametrize(
    ("name", "why"), [("..", "may not be '..'"), (".", "may not be '.'"), ("a%b", "may not contain '%'"), (".a", "")]
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_a_name_that_is_not_one_segment_of_a_path_is_refused(api: Api, method: str, name: str, why: str) -> None:
    body = {"metadata": {"labels": {"a": "b"}}} if method == "PATCH" else b""
    code, _, message = api.refused(method, f"{CONFIGMAPS}/{name}", body, **MERGE)
    assert (code, message) == (
        (400, f'Name parameter invalid: "{name}": {why}') if why else (404, f'configmaps "{name}" not found')
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1//namespaces", "the server could not find the requested resource"),
        ("/apis/apps//v1/deployments", "the server could not find the requested resource"),
        ("//api/v1/namespaces", "404 page not found\n"),
        ("/apis//apps/v1", "404 page not found\n"),
    ],
)
def test_a_path_with_two_slashes_is_not_found(api: Api, path: str, message: str) -> None:
    assert api.refused("GET", path)[::2] == (404, message)


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ({}, "cannot bind token to object of type /, Kind="),
        ({"kind": "Pod"}, "Name parameter required."),
        ({"kind": "Pod", "name": "p"}, 'pods "p" not found'),
    ],
)
def test_an_empty_reference_of_a_token_is_refused(api: Api, ref: dict[str, str], message: str) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    api.ok("POST", accounts, {"metadata": {"name": "a"}})
    assert api.refused("POST", f"{accounts}/a/token", {"spec": {"boundObjectRef": ref}})[2] == message


def test_a_conversion_without_webhook_has_none(api: Api) -> None:
    made = api.ok("POST", CRDS, definition(conversion={"strategy": "None", "webhook": {}}))
    assert made["spec"]["conversion"] == {"strategy": "None"}


def test_two_slashes_within_the_path_of_a_proxied_request_are_passed_on(api: Api) -> None:
    assert api.refused("GET", f"{PODS}/a/proxy//b")[2] == 'pods "a" not found'
