"""Rules of single kinds that a differential with a real server has found."""

from __future__ import annotations

from typing import Any

import pytest

from fakekube.apiserver.schema.quantity import is_whole
from tests.apiserver.api import CONFIGMAPS, CRDS, DEPLOYMENTS, PODS, Api

SERVICES = "/api/v1/namespaces/default/services"
MERGE = {"content_type": "application/merge-patch+json"}
HUGE = "12345678901234567890"


def service(name: str, *ports: Any, **spec: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"ports": list(ports), **spec}}


DNS = ({"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"})


def test_a_new_service_has_one_node_port_for_a_port_number(api: Api) -> None:
    ports = api.ok("POST", SERVICES, service("a", *DNS, type="NodePort"))["spec"]["ports"]
    assert ports[0]["nodePort"] == ports[1]["nodePort"]
    _, _, message = api.refused("POST", SERVICES, service("b", DNS[0], {**DNS[0], "name": "v"}, type="NodePort"))
    assert "spec.ports[1].nodePort: Duplicate value: " in message


@pytest.mark.parametrize(
    ("asked", "refused"),
    [((30501, 30501, 0), None), ((30501, 0, 30501), "spec.ports[2]"), ((30501, 30502, 30502), "spec.ports[2]")],
)
def test_a_new_service_shares_node_ports_of_one_port_number_only(api: Api, asked: Any, refused: str | None) -> None:
    ports = [{**DNS[0]}, {**DNS[1]}, {"name": "s", "port": 54, "protocol": "SCTP"}]
    sent = service("a", *({**port, "nodePort": one} if one else port for port, one in zip(ports, asked, strict=True)))
    sent["spec"]["type"] = "NodePort"
    code, shown = api.call("POST", SERVICES, sent)
    assert (code, shown["details"]["causes"][0]["field"] if code == 422 else None) == (
        (422, f"{refused}.nodePort") if refused else (201, None)
    )


def test_a_changed_service_has_a_node_port_for_each_of_its_ports(api: Api) -> None:
    api.ok("POST", SERVICES, service("a", *DNS))
    ports = api.ok("PATCH", f"{SERVICES}/a", {"spec": {"type": "NodePort"}}, **MERGE)["spec"]["ports"]
    assert ports[0]["nodePort"] != ports[1]["nodePort"]


def test_a_load_balancer_without_node_ports_gets_some_when_its_type_becomes_node_port(api: Api) -> None:
    sent = service("a", DNS[0], type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert "nodePort" not in api.ok("POST", SERVICES, sent)["spec"]["ports"][0]
    found = api.ok("PATCH", f"{SERVICES}/a", {"spec": {"type": "NodePort"}}, **MERGE)
    assert found["spec"]["ports"][0]["nodePort"] >= 30000


def test_endpoints_that_an_update_does_not_change_stay_valid(api: Api) -> None:
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    one = {"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}]}
    api.ok("POST", slices, one)
    _, _, message = api.refused("PATCH", f"{slices}/a", {"addressType": "IPv6"}, **MERGE)
    assert message.endswith('is invalid: addressType: Invalid value: "IPv6": field is immutable')
    changed = {"addressType": "IPv6", "endpoints": [{"addresses": ["1.2.3.5"]}]}
    assert "must be an IPv6 address" in api.refused("PATCH", f"{slices}/a", changed, **MERGE)[2]


def test_a_collection_of_a_resource_version_is_deleted_as_it_was_then(api: Api) -> None:
    made = [api.ok("POST", CONFIGMAPS, {"metadata": {"name": name}}) for name in "ab"]
    version = made[0]["metadata"]["resourceVersion"]
    found = api.ok("DELETE", f"{CONFIGMAPS}?resourceVersion={version}")
    assert (found["metadata"]["resourceVersion"], [one["metadata"]["name"] for one in found["items"]]) == (
        version,
        ["a"],
    )
    assert [one["metadata"]["name"] for one in api.ok("GET", CONFIGMAPS)["items"]] == ["b"]


def definition(leaf: Any) -> Any:
    """A definition of things with the field `spec.n`."""
    node = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": leaf}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": node}}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.com"}, "spec": spec}


def test_a_blank_message_of_a_rule_is_its_name_in_errors(api: Api) -> None:
    rule = {"rule": "int(self) > 0", "message": " "}
    leaf = {"type": "string", "default": "a", "x-kubernetes-validations": [rule]}
    _, _, message = api.refused("POST", CRDS, definition(leaf))
    assert "type conversion error from 'string' to 'int' evaluating rule: ," in message


def test_the_token_of_a_page_counts_for_one_name_too(api: Api) -> None:
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert api.refused("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name%3Da&continue=abc")[0] == 400


@pytest.mark.parametrize(
    ("query", "again"),
    [
        ("", 1),
        ("&limit=1", None),
        ("&resourceVersionMatch=Exact", None),
        ("&limit=1&resourceVersionMatch=NotOlderThan", 1),
    ],
)
def test_one_name_at_a_future_version_is_asked_for_again_where_the_watch_cache_answers(
    api: Api, query: str, again: int | None
) -> None:
    path = f"{CONFIGMAPS}?fieldSelector=metadata.name%3Da&resourceVersion=999999{query}"
    code, shown = api.call("GET", path)
    assert (code, shown["details"].get("retryAfterSeconds")) == (504, again)


def test_a_whole_float_in_place_of_an_integer_is_a_new_generation(api: Api) -> None:
    """Go reads 1.0 from a body as a float64 and 1 from storage as an int64."""
    api.ok("POST", CRDS, definition({"type": "number"}))
    things = "/apis/example.com/v1/namespaces/default/things"
    kind = {"apiVersion": "example.com/v1", "kind": "Thing"}
    api.ok("POST", things, {**kind, "metadata": {"name": "a"}, "spec": {"n": 1}})
    generations = [
        api.ok("PATCH", f"{things}/a", body, **MERGE)["metadata"]["generation"]
        for body in (b'{"spec": {"n": 1}}', b'{"spec": {"n": 1.0}}', b'{"spec": {"n": 1.0}}')
    ]
    assert generations == [1, 2, 3]
    assert api.ok("GET", f"{things}/a")["spec"] == {"n": 1}


def test_a_default_beyond_int64_is_a_float(api: Api) -> None:
    leaf = {"type": "integer", "format": "int32", "default": 2**63}
    _, _, message = api.refused("POST", CRDS, definition(leaf))
    assert 'default: Invalid value: "float64":  in body must be of type int32: "float64"' in message


def test_an_empty_selector_of_a_claim_is_not_an_absent_one(api: Api) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    resources = {"requests": {"storage": "1Gi"}}
    api.ok(
        "POST", claims, {"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}
    )
    _, _, message = api.refused("PATCH", f"{claims}/a", {"spec": {"selector": {}}}, **MERGE)
    assert '\n- "Selector": null,\n+ "Selector": {},\n' in message


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1", True), ("1500m", False), ("1e-9", False), ("1Gi", True), ("0.5Ki", True), ("1.3Ki", False),
        ("9223372036854775", True),
        ("9223372036854776", False),  # its thousandths overflow as an int64
        ("100000000000000001", False),
        ("1000P", True),  # the overflow of 10**18 is cut to 0
        (HUGE, False),
        ("10000000000000000000000", False),
        ("9Pi", False), ("1Ei", False), ("8Ei", True), ("16Ei", True), ("100000000000000.5Ki", False),
        ("1E", True), ("1e30", True),
    ],
)  # fmt: skip
def test_whole_quantities_overflow_as_those_of_go(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_a_huge_quantity_is_no_integer(api: Api) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": HUGE}}}
    message = api.refused("POST", "/api/v1/namespaces/default/resourcequotas", quota)[2]
    assert message.endswith(f'spec.hard[pods]: Invalid value: "{HUGE}": must be an integer')


def test_a_node_is_warned_of_fields_that_are_not_used(api: Api) -> None:
    spec = {"externalID": "x", "podCIDRs": ["FD00::/64"]}
    found = api.answer("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": spec})
    assert list(found.warnings) == [
        "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        'spec.podCIDRs[0]: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")',
    ]


def test_a_new_quota_is_warned_of_requests_above_the_limits(api: Api) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    hard = {"cpu": "2", "limits.cpu": "1500m", "requests.memory": "1Gi", "limits.memory": "1Gi"}
    found = api.answer("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    assert found.warnings == ["ResourceQuota cpu (2) should be less than limits.cpu (1500m)"]
    assert not api.answer("PATCH", f"{quotas}/q", {"spec": {"hard": {"cpu": "3"}}}, **MERGE).warnings


def test_resources_of_a_pod_as_a_whole_are_added_by_a_resize(api: Api) -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    container = {"name": "c", "image": "x", "resources": resources}
    api.ok("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    change = {"spec": {"resources": {"requests": {"cpu": "2"}}}}
    found = api.ok("PATCH", f"{PODS}/p/resize", change, **MERGE)
    assert found["spec"]["resources"]["requests"] == {"cpu": "2"}


def test_states_of_devices_are_validated(api: Api) -> None:
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    api.ok("POST", claims, {"metadata": {"name": "a"}, "spec": {}})
    network = {
        "interfaceName": "x" * 257,
        "hardwareAddress": "x" * 129,
        "ips": ["1.2.3.4", "10.0.0.1/24", "FD00::1/64"],
    }
    device = {"driver": "d", "pool": "p", "device": "e", "shareID": "x", "data": ["a"], "networkData": network}
    _, shown = api.call("PATCH", f"{claims}/a/status", {"status": {"devices": [device, device]}}, **MERGE)
    first = [one for one in shown["details"]["causes"] if "devices[0]" in one["field"] and one["field"][-1] != "]"]
    assert [(one["field"].removeprefix("status.devices[0]."), one["message"]) for one in first] == [
        ("shareID", 'Invalid value: "x": error validating uid: invalid UUID length: 1'),
        ("data", 'Invalid value: "<value omitted>": must be a valid JSON object'),
        ("networkData.interfaceName", "Too long: may not be more than 256 bytes"),
        ("networkData.hardwareAddress", "Too long: may not be more than 128 bytes"),
    ]
    errors = [
        one["message"]
        for one in shown["details"]["causes"]
        if one["field"].startswith("status.devices[0].networkData.ips[")
    ]
    assert errors == [
        'Invalid value: "1.2.3.4": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
        'Invalid value: "FD00::1/64": must be in canonical form ("fd00::1/64")',
    ]
    twice = 'Duplicate value: {"Driver":"d","Pool":"p","Device":"e","ShareID":"x"}'
    assert [one["message"] for one in shown["details"]["causes"] if one["field"] == "status.devices[1]"][-1] == twice


ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def mutate(api: Api, resource: str, expression: str) -> None:
    """A policy that applies a configuration to what is written of a resource of the group apps."""
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": [resource]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]}, "failurePolicy": "Fail", "reinvocationPolicy": "Never",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": one}}
            for one in (expression, 'Object{metadata: Object.metadata{name: "n" + object.metadata.labels.none}}')
        ],
    }  # fmt: skip
    api.ok("POST", f"{ADMISSION}/mutatingadmissionpolicies", {"metadata": {"name": "m"}, "spec": spec})
    api.ok(
        "POST", f"{ADMISSION}/mutatingadmissionpolicybindings", {"metadata": {"name": "m"}, "spec": {"policyName": "m"}}
    )


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
WEB = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}


def test_the_error_of_a_policy_names_the_object_as_it_was_sent(api: Api) -> None:
    mutate(api, "deployments", 'Object{metadata: Object.metadata{name: "renamed"}}')
    code, shown = api.call("POST", DEPLOYMENTS, WEB)
    assert (code, shown["details"]["name"]) == (403, "web")


def test_a_policy_cannot_apply_to_a_kind_that_its_group_does_not_publish(api: Api) -> None:
    api.ok("POST", DEPLOYMENTS, WEB)
    mutate(api, "deployments/scale", "Object{spec: Object.spec{replicas: 3}}")
    _, _, message = api.refused("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 2}}, **MERGE)
    assert message.endswith("typed object: no corresponding type for autoscaling/v1, Kind=Scale")


def test_the_error_of_a_variable_names_it(api: Api) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "n", "expression": "object.data.none"}],
        "validations": [{"expression": "variables.n == 'x'"}],
    }
    api.ok("POST", f"{ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": "v"}, "spec": spec})
    binding = {"metadata": {"name": "v"}, "spec": {"policyName": "v", "validationActions": ["Deny"]}}
    api.ok("POST", f"{ADMISSION}/validatingadmissionpolicybindings", binding)
    _, _, message = api.refused("POST", CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"b": "c"}})
    assert message.endswith('resulted in error: composited variable "n" fails to evaluate: no such key: none')


@pytest.mark.parametrize(("query", "prefix"), [("", "/registry"), ("?dryRun=All", "")])
def test_a_dry_run_names_a_key_without_the_prefix_of_etcd(api: Api, query: str, prefix: str) -> None:
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    _, _, message = api.refused("PUT", f"{CONFIGMAPS}/a{query}", {"metadata": {"name": "a", "uid": "x"}})
    assert f"Key: {prefix}/configmaps/default/a, " in message
