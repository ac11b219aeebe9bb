"""Devices that are asked for, and those that drivers offer: what is said of them.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, check_update, complete, merged


def claim(*requests, **devices):
    return {"spec": {"devices": {"requests": list(requests), **devices}}}


def request(name="r", **exactly):
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def opaque(**more):
    return {"opaque": {"driver": "d.example.com", "parameters": {"a": 1}, **more}}


def offered(**device):
    return {"spec": {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "x", **device}],
    }}  # fmt: skip


REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
NEW = [
    ("ResourceClaim", claim(request()), []),
    ("ResourceClaim", claim({"name": "a b"}), [
        'spec.devices.requests[0].name: Invalid value: "a b": a lowercase RFC 1123 label…',
        "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
    ]),
    ("ResourceClaim", claim(request(), request()), ['spec.devices.requests[1]: Duplicate value: "r"']),
    ("ResourceClaim", claim(*(request(f"r-{i}") for i in range(33))),
     ["spec.devices.requests: Too many: 33: must have at most 32 items"]),
    ("ResourceClaim", claim(request(deviceClassName="", allocationMode="Some")), [
        "spec.devices.requests[0].exactly.deviceClassName: Required value",
        'spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
    ]),
    ("ResourceClaim", claim(request(allocationMode="All", count=2)),
     ["spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"]),
    ("ResourceClaim", claim(request(count=-1, selectors=[{}])), [
        "spec.devices.requests[0].exactly.selectors[0].cel: Required value",
        "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero",
    ]),
    ("ResourceClaim", claim(request(), constraints=[{"requests": ["r", "s"], "matchAttribute": "model"}]), [
        f'spec.devices.constraints[0].requests[1]: Invalid value: "s": {REFERENCE}',
        'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash',
    ]),
    ("ResourceClaim", claim(
        {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]},
        config=[{"requests": ["r/a", "r/b"], **opaque()}, {}]), [
        f'spec.devices.config[0].requests[1]: Invalid value: "r/b": {REFERENCE}',
        "spec.devices.config[1].opaque: Required value",
    ]),
    ("ResourceClaim", claim(request(), config=[opaque(driver="", parameters={"a": "x" * 20000})]), [
        "spec.devices.config[0].opaque.driver: Required value",
        "spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes",
    ]),
    ("ResourceClaim", claim(request(tolerations=[{"operator": "Exists", "value": "a", "effect": "Evict"}])), [
        'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "a": must be empty for operator `Exists`',
        'spec.devices.requests[0].exactly.tolerations[0].effect: Unsupported value: "Evict": supported values: "NoExecute", "NoSchedule", "None"',
    ]),
    ("ResourceClaimTemplate", {"spec": claim(request())}, []),
    ("ResourceClaimTemplate", {"spec": claim(request(deviceClassName=""))},
     ["spec.spec.devices.requests[0].exactly.deviceClassName: Required value"]),
    ("DeviceClass", {"spec": {"selectors": [{"cel": {"expression": "true"}}], "config": [opaque()]}}, []),
    ("DeviceClass", {"spec": {"extendedResourceName": "cpu", "config": [{}]}}, [
        "spec.config[0].opaque: Required value",
        'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ]),
    ("ResourceSlice", offered(attributes={"model": {"string": "a"}, "example.com/v": {"version": "1.2.3-rc.1"}}), []),
    ("ResourceSlice", offered(attributes={"a": {}, "b": {"version": "1.2"}}), [
        'spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified',
        'spec.devices[0].attributes[b].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0',
    ]),
    ("ResourceSlice", offered(attributes={"d_d/a": {"int": 1}}),
     ['spec.devices[0].attributes: Invalid value: "d_d": a lowercase RFC 1123 subdomain…']),
    ("ResourceSlice", offered(attributes={"d.example.com/a": {"int": 1}, "a/b/c": {"int": 1}}), []),
    ("ResourceSlice", offered(attributes={"/a": {"int": 1}, "d.example.com/": {"int": 1}}), [
        'spec.devices[0].attributes: Invalid value: "": the domain must not be empty',
        'spec.devices[0].attributes: Invalid value: "": the name must not be empty',
    ]),
    ("ResourceSlice", offered(attributes={"1a": {"int": 1}}),
     ['spec.devices[0].attributes: Invalid value: "1a": a valid C identifier must start with…']),
    ("ResourceSlice", offered(taints=[{"key": "", "effect": ""}]),
     ['spec.devices[0].taints[0].key: Invalid value: "": name part must be non-empty', "…", "spec.devices[0].taints[0].effect: Required value"]),
    ("ResourceSlice", offered(nodeName="n"),
     ["spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if…"]),
    ("ResourceSlice", merged(offered(), {"spec": {"nodeName": None}}),
     ["spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"]),
    ("ResourceSlice", merged(offered(), {"spec": {"allNodes": True}}),
     ['spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of…']),
    ("ResourceSlice", merged(offered(), {"spec": {"pool": {"name": "a//b", "generation": -1, "resourceSliceCount": 0}}}), [
        'spec.pool.name: Invalid value: "": a lowercase RFC 1123 subdomain…',
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


def test_defaults():
    found = complete("ResourceClaim", claim(request(tolerations=[{"key": "a"}]), request("s", allocationMode="All")))
    first, second = (one["exactly"] for one in found["spec"]["devices"]["requests"])
    assert (first["allocationMode"], first["count"], first["tolerations"][0]["operator"]) == ("ExactCount", 1, "Equal")
    assert second["allocationMode"] == "All"
    assert not second.get("count")


def test_a_claim_stays_as_it_is():
    change = {"spec": {"devices": {"requests": [request("other")]}}}
    check_update("ResourceClaim", claim(request()), change, ["spec: Invalid value: …"])
    check_update("ResourceSlice", offered(), {"spec": {"driver": "e.example.com"}}, [
        'spec.driver: Invalid value: "e.example.com": field is immutable',
    ])  # fmt: skip


RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
ALLOCATED = {"allocation": {"devices": {"results": [RESULT]}}}
POD = {"resource": "pods", "name": "a", "uid": "u"}
STATES = [
    (None, {**ALLOCATED, "reservedFor": [POD]}, []),
    (None, {"reservedFor": [POD]}, ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"]),
    (ALLOCATED, {**ALLOCATED, "reservedFor": [{"uid": "u"}, POD]}, [
        "status.reservedFor[0].resource: Required value", "status.reservedFor[0].name: Required value",
        'status.reservedFor[1]: Duplicate value: "u"',
    ]),
    (ALLOCATED, {"allocation": {"devices": {"results": [{**RESULT, "device": "y"}]}}},
     ["status.allocation: Invalid value: …"]),
    (ALLOCATED, {}, []),
    (None, {"allocation": {"devices": {"results": [{**RESULT, "request": "s"}]}}},
     [f'status.allocation.devices.results[0].request: Invalid value: "s": {REFERENCE}']),
    (ALLOCATED, {**ALLOCATED, "devices": [{"driver": "d.example.com", "pool": "p", "device": "y"}]},
     ['status.devices[0]: Invalid value: {"Driver":"d.example.com","Pool":"p","Device":"y","ShareID":""}: must be an allocated device in the claim']),
]  # fmt: skip


@pytest.mark.parametrize(("before", "status", "expected"), STATES)
def test_what_is_given_out(before, status, expected):
    check_status("ResourceClaim", claim(request()), status, before, expected)
