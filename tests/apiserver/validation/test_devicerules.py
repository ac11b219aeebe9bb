"""Selectors of devices, templates of claims, binding conditions and request policies (`resource/validation`)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakekube.apiserver import features
from fakekube.apiserver.user import User
from tests.apiserver.api import Api
from tests.apiserver.validation.support import check_new, check_status, problems
from tests.apiserver.validation.test_devices import claim, offered, request

Object = dict[str, Any]
RESOURCE = "/apis/resource.k8s.io/v1"

#: An expression and its error.
EXPRESSIONS = [
    ("true", None),
    ("device.attributes['a'].b", None),
    ("device.attributes['a'].b == 'x' && device.driver.startsWith('d') && device.allowMultipleAllocations", None),
    ("device.capacity['a'].b.isGreaterThan(quantity('1Gi'))", None),
    ("cel.bind(gpu, device.attributes['gpu'], gpu.a && gpu.b)", None),
    ("device.attributes.all(k, device.attributes[k].all(l, l.matches('a+')))", None),
    ("device.attributes['a'][?'b'].orValue(false)", None),
    ("device.driver", "must evaluate to bool or the unknown type, not string"),
    ("dyn(true)", "must evaluate to bool or the unknown type, not dyn"),
    ("device.attributes['a']", "must evaluate to bool or the unknown type, not map(string, google.protobuf.Any)"),
    ("[timestamp(0)]", "must evaluate to bool or the unknown type, not list(google.protobuf.Timestamp)"),
    ("device.x", "compilation failed: ERROR: <input>:1:7: undefined field 'x'\n | device.x\n | ......^"),
    ("", "compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting …"),
    ("device.attributes['a'].b.all(x, x)", "compilation failed: ERROR: <input>:1:23: expression of type 'any' cannot …"),
    ("cel.bind(a.b, 1, true)", "compilation failed: ERROR: <input>:1:11: cel.bind() variable names must be simple …"),
    ("x.bind(y, 1, true)", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' …"),
    ("device.capacity['a'].b.c", "compilation failed: ERROR: <input>:1:23: unexpected failed resolution of 'kube…"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "why"), EXPRESSIONS)
def test_m12_selectors_of_devices_are_compiled(expression: str, why: str | None) -> None:
    selectors = [{"cel": {"expression": expression}}]
    given = f'Invalid value: "{expression}": {why}'
    check_new("DeviceClass", {"spec": {"selectors": selectors}},
              [f"spec.selectors[0].cel.expression: {given}"] if why else [])  # fmt: skip
    path = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    check_new("ResourceClaim", claim(request(selectors=selectors)), [f"{path}: {given}"] if why else [])
    alternative = {"name": "s", "deviceClassName": "gpu", "selectors": selectors}
    path = "spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression"
    check_new("ResourceClaim", claim({"name": "r", "firstAvailable": [alternative]}),
              [f"{path}: {given}"] if why else [])  # fmt: skip


def test_m12_a_selector_that_costs_too_much_or_fails_as_a_constant() -> None:
    nested = "device.attributes.all(a, true)"
    for name in "bcde":
        nested = f"device.attributes.all({name}, {nested})"
    path = "spec.selectors[0].cel.expression"
    for expression, error in (
        (nested, "Forbidden: too complex, exceeds cost limit"),
        ("int('x') == 1", "Internal error: program instantiation failed: type conversion error from 'string' to 'int'"),
        ("'" + "a" * 10_240 + "' == ''", "Too long: may not be more than 10240 bytes"),
    ):
        check_new("DeviceClass", {"spec": {"selectors": [{"cel": {"expression": expression}}]}}, [f"{path}: {error}"])


def test_m12_a_template_of_a_claim_has_only_labels_and_annotations() -> None:
    spec = claim(request())["spec"]
    meta = {"name": "x", "namespace": "y", "uid": "u", "finalizers": ["a/b"], "labels": {"a": "b", "-": "c"}}
    forbidden = [
        f"spec.metadata.{field}: Forbidden: cannot be set" for field in ("name", "namespace", "uID", "finalizers")
    ]
    check_new("ResourceClaimTemplate", {"spec": {"metadata": meta, "spec": spec}},
              ['spec.metadata.labels: Invalid value: "-": name part must consist of…', *forbidden])  # fmt: skip
    valid = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    check_new("ResourceClaimTemplate", {"spec": {"metadata": valid, "spec": spec}}, [])


BINDING = [
    ({"bindingConditions": ["a"], "bindingFailureConditions": ["b"]}, []),
    ({"bindingFailureConditions": ["a.example.com/b"]},
     ["bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions"]),
    ({"bindingConditions": ["a"]},
     ["bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions"]),
    ({"bindingConditions": ["a", "a"], "bindingFailureConditions": ["a", "b", "b"]}, [
        'bindingConditions[1]: Duplicate value: "a"',
        'bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
        'bindingFailureConditions[2]: Duplicate value: "b"',
    ]),
    ({"bindingConditions": list("abcde"), "bindingFailureConditions": ["-"]}, [
        "bindingConditions: Too many: 5: must have at most 4 items",
        'bindingFailureConditions[0]: Invalid value: "-": name part must consist of…',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "expected"), BINDING)
def test_m12_binding_conditions_of_devices_and_of_results(conditions: Object, expected: list[str]) -> None:
    check_new("ResourceSlice", offered(**conditions), [f"spec.devices[0].{error}" for error in expected])
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x", **conditions}
    check_status("ResourceClaim", claim(request()), {"allocation": {"devices": {"results": [result]}}}, None,
                 [f"status.allocation.devices.results[0].{error}" for error in expected])  # fmt: skip


POLICIES = [
    ({"default": "1", "validValues": ["1", "2"]}, []),
    ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}, []),
    ({"default": "3", "validValues": ["2", "1", "11Gi"]}, [
        '.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
        '.validValues[2]: Invalid value: "11Gi": option is larger than capacity value: 10Gi',
        '.validValues: Invalid value: "3": default value is not valid according to the requestPolicy',
    ]),
    ({"default": "1", "validValues": ["1", "1.0"]}, ['.validValues[1]: Duplicate value: "1"']),
    ({"default": "1", "validValues": [str(i) for i in range(1, 12)]}, [
        ".validValues: Too many: 11: must have at most 10 items",
        '.validValues: Invalid value: "1": default value is not valid according to the requestPolicy',
    ]),
    ({"validValues": ["1"]}, [".default: Required value: required when validValues is defined"]),
    ({"validRange": {"min": "1"}}, [".default: Required value: required when validRange is defined"]),
    ({"default": "1", "validRange": {}}, [".validRange.min: Required value: required when validRange is defined"]),
    ({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}},
     [': Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time']),
    ({"default": "1", "validRange": {"min": "2", "max": "20Gi", "step": "15Gi"}}, [
        '.validRange.min: Invalid value: "1": default is less than min: 2',
        '.validRange.max: Invalid value: "20Gi": max is larger than capacity value: 10Gi',
        '.validRange.step: Invalid value: "15Gi": one step 16106127362 is larger than capacity value: 10Gi',
        '.validRange.step: Invalid value: "1": value is not a multiple of a given step (15Gi) from (2)',
        '.validRange.step: Invalid value: "20Gi": value is not a multiple of a given step (15Gi) from (2)',
    ]),
    ({"default": "9", "validRange": {"min": "8", "max": "7"}}, [
        '.validRange.max: Invalid value: "8": min is larger than max: 7',
        '.validRange.max: Invalid value: "9": default is more than max: 7',
    ]),
    ({"default": "10Gi", "validRange": {"min": "10Gi", "max": "10Gi"}}, []),
    ({"default": "2", "validRange": {"min": "2", "max": "10Gi"}}, []),
    ({"default": "2", "validRange": {"min": "2", "step": "10737418238"}}, []),
    ({"default": "2", "validRange": {"min": "2", "step": "10737418239"}},
     ['.validRange.step: Invalid value: "10737418239": one step 10737418241 is larger than capacity value: 10Gi']),
    ({"default": "12Gi", "validRange": {"min": "11Gi"}},
     ['.validRange.min: Invalid value: "11Gi": min is larger than capacity value: 10Gi']),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_request_policies_of_shared_capacities(policy: Object, expected: list[str]) -> None:
    device = {"allowMultipleAllocations": True, "capacity": {"c": {"value": "10Gi", "requestPolicy": policy}}}
    path = "spec.devices[0].capacity[c].requestPolicy"
    check_new("ResourceSlice", offered(**device), [f"{path}{error}" for error in expected])
    alone = {"capacity": device["capacity"]}
    check_new("ResourceSlice", offered(**alone), [f"{path}: Forbidden: allowMultipleAllocations must be true"])


@pytest.mark.parametrize(
    ("uid", "why"),
    [
        ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", ""),
        ("x", "error validating uid: invalid UUID length: 1"),
        ("6ba7b810-9dad-11d1-80b4-00c04fd430cg", "error validating uid: invalid UUID format"),
        ("6BA7B810-9dad-11d1-80b4-00c04fd430c8", "uid must be in RFC 4122 normalized form…"),
        ("6ba7b8109dad11d180b400c04fd430c8", "uid must be in RFC 4122 normalized form…"),
        ("urn:uuix:6ba7b810-9dad-11d1-80b4-00c04fd430c8", 'error validating uid: invalid urn prefix: "urn:uuix:"'),
        ("(6ba7b810-9dad-11d1-80b4-00c04fd430c8)", "error validating uid: invalid bracketed UUID format"),
    ],
)
def test_share_ids_are_uuids(uid: str, why: str) -> None:
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x", "shareID": uid}
    path = "status.allocation.devices.results[0].shareID"
    check_status("ResourceClaim", claim(request()), {"allocation": {"devices": {"results": [result]}}}, None,
                 [f'{path}: Invalid value: "{uid}": {why}'] if why else [])  # fmt: skip


# --- admin access and permissions ------------------------------------------------------------------------------------

ADMIN_ACCESS = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the "
    "containing namespace"
)


def named(kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **more}


@pytest.mark.parametrize("label", [None, "false", "true"])
def test_m12_admin_access_needs_a_labeled_namespace(label: str | None) -> None:
    api = Api()
    meta = {"name": "ns", "labels": {"resource.kubernetes.io/admin-access": label} if label else {}}
    api.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    base = f"{RESOURCE}/namespaces/ns"
    wanted = claim(request("q"), request(adminAccess=True))
    template = {"spec": {"spec": wanted["spec"]}}
    result = {"request": "q", "driver": "d.example.com", "pool": "p", "device": "x", "adminAccess": True}
    status = {"allocation": {"devices": {"results": [result]}}}
    plain = named("ResourceClaim", "plain", **claim(request("q")))
    api.ok("POST", f"{base}/resourceclaims", plain)
    writes = [
        ("POST", f"{base}/resourceclaims", named("ResourceClaim", "c", **wanted), "spec.devices.requests[1]"),
        (
            "POST",
            f"{base}/resourceclaimtemplates",
            named("ResourceClaimTemplate", "t", **template),
            "spec.devices.requests[1]",
        ),
        (
            "PUT",
            f"{base}/resourceclaims/plain/status",
            {**plain, "status": status},
            "status.allocation.devices.results[0]",
        ),
    ]
    for method, path, body, where in writes:
        if label == "true":
            api.ok(method, path, body)
        else:
            assert api.refused(method, path, body)[2].endswith(f"is invalid: {where}.adminAccess: {ADMIN_ACCESS}")


def granted(api: Api, user: str, *rules: tuple[str, str, str]) -> User:
    """A user with a cluster role of rules (group, resource, verb)."""
    group = "rbac.authorization.k8s.io"
    meta = {"metadata": {"name": user}}
    rows = [{"apiGroups": [one[0]], "resources": [one[1]], "verbs": [one[2]]} for one in rules]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", **meta, "rules": rows}
    ref = {"apiGroup": group, "kind": "ClusterRole", "name": user}
    subject = {"kind": "User", "apiGroup": group, "name": user}
    binding = {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", **meta, "roleRef": ref, "subjects": [subject]}
    api.ok("POST", f"/apis/{group}/v1/clusterroles", role)
    api.ok("POST", f"/apis/{group}/v1/clusterrolebindings", binding)
    return User(user, groups=("system:authenticated",))


def test_a_status_of_a_claim_needs_the_permissions_to_bind_and_for_its_drivers() -> None:
    api = Api(authorization_mode="RBAC")
    group = "resource.k8s.io"
    status = (group, "resourceclaims/status", "*")
    reporter = granted(api, "reporter", status)
    scheduler = granted(api, "scheduler", status, (group, "resourceclaims/binding", "update"))
    driver = granted(api, "driver", status, (group, "resourceclaims/driver", "arbitrary-node:update"))
    path = f"{RESOURCE}/namespaces/default/resourceclaims"
    body = named("ResourceClaim", "c", **claim(request()))
    api.ok("POST", path, body)
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    others = [{"driver": f"{name}.example.com", "pool": "p", "device": name} for name in "zay"]
    results = [result, *({"request": "r", **one} for one in others)]
    allocated = {**body, "status": {"allocation": {"devices": {"results": results}}}}
    state = {"driver": "d.example.com", "pool": "p", "device": "x"}
    ready = {**body, "status": {**allocated["status"], "devices": [state]}}

    why = api.refused("PUT", f"{path}/c/status", allocated, user=reporter)[2]
    assert why.endswith(
        'status.allocation: Forbidden: changing status.allocation or status.reservedFor requires '
        'resource="resourceclaims/binding", verb="update" permission: resourceclaims.resource.k8s.io is forbidden: '
        'User "reporter" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster '
        "scope"
    )  # fmt: skip
    api.ok("PUT", f"{path}/c/status", allocated, user=scheduler)
    why = api.refused("PUT", f"{path}/c/status", ready, user=scheduler)[2]
    assert why.endswith(
        'status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", '
        'verb="[arbitrary-node:update]" permission: resourceclaims.resource.k8s.io "d.example.com" is forbidden: User '
        '"scheduler" cannot arbitrary-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in '
        'the namespace "default"'
    )
    several = {**body, "status": {**allocated["status"], "devices": others}}
    why = api.refused("PUT", f"{path}/c/status", several, user=scheduler)[2]
    assert [part.partition(".example.com")[0] for part in why.split('claims.resource.k8s.io "')[1:]] == ["a", "y", "z"]
    api.ok("PUT", f"{path}/c/status", ready, user=driver)
    api.ok("PUT", f"{path}/c/status", ready, user=reporter)


def test_a_driver_changes_devices_on_its_own_node() -> None:
    api = Api(authorization_mode="RBAC")
    group, name = "resource.k8s.io", "system:serviceaccount:default:driver"
    granted(
        api, name, (group, "resourceclaims/status", "*"), (group, "resourceclaims/driver", "associated-node:update")
    )
    path = f"{RESOURCE}/namespaces/default/resourceclaims"
    body = named("ResourceClaim", "c", **claim(request()))
    api.ok("POST", path, body)
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [only]}}
    api.ok("PUT", f"{path}/c/status", {**body, "status": {"allocation": allocation}})
    state = {"driver": "d.example.com", "pool": "p", "device": "x"}
    ready = {**body, "status": {"allocation": allocation, "devices": [state]}}

    def on(node: str) -> User:
        return User(name, groups=("system:authenticated",), extra={"authentication.kubernetes.io/node-name": (node,)})

    assert "associated-node:update" not in api.refused("PUT", f"{path}/c/status", ready, user=on("node-2"))[2]
    api.ok("PUT", f"{path}/c/status", ready, user=on("node-1"))


# --- the limits of a slice -------------------------------------------------------------------------------------------


def devices(count: int, **device: Any) -> Object:
    found = offered(**device)
    found["spec"]["devices"] = [{"name": f"d{number}", **device} for number in range(count)]
    return found


def counter_sets(count: int, counters: int = 1) -> Object:
    found = offered()
    values = {f"c{number}": {"value": "1"} for number in range(counters)}
    del found["spec"]["devices"]
    found["spec"]["sharedCounters"] = [{"name": f"s{number}", "counters": values} for number in range(count)]
    return found


TAINT = {"key": "a", "effect": "None"}
#: A function of a number, the last one that is accepted, and the error of the next.
LIMITS = [
    pytest.param(devices, 128, "spec.devices: Too many: 129: must have at most 128 items", id="devices"),
    pytest.param(
        lambda count: devices(count, taints=[TAINT]), 64, "spec.devices: Too many: 65: must have at most 64 items",
        id="devices-with-taints",
    ),
    pytest.param(
        lambda count: devices(count, consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}]), 64,
        "spec.devices: Too many: 65: must have at most 64 items", id="devices-with-counters",
    ),
    pytest.param(
        lambda count: devices(count, attributes={"a": {"ints": [1]}}), 64,
        "spec.devices: Too many: 65: must have at most 64 items", id="devices-with-lists",
    ),
    pytest.param(
        lambda count: offered(taints=[{"key": f"a{number}", "effect": "None"} for number in range(count)]), 16,
        "spec.devices[0].taints: Too many: 17: must have at most 16 items", id="taints",
    ),
    pytest.param(
        lambda count: offered(attributes={"a": {"ints": [0] * 24}, "b": {"strings": ["x"] * (count - 25)}, "c": {"int": 1}}),
        48, "spec.devices[0]: Invalid value: 49: the total number of attribute values must not exceed 48",
        id="attribute-values",
    ),
    pytest.param(counter_sets, 8, "spec.sharedCounters: Too many: 9: must have at most 8 items", id="counter-sets"),
    pytest.param(
        lambda count: counter_sets(1, count), 32,
        "spec.sharedCounters[0].counters: Too many: 33: must have at most 32 items", id="counters",
    ),
    pytest.param(
        lambda count: offered(consumesCounters=[
            {"counterSet": f"s{number}", "counters": {"c": {"value": "1"}}} for number in range(count)
        ]),
        2, "spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items", id="consumptions",
    ),
]  # fmt: skip


@pytest.fixture
def all_gates() -> Iterator[None]:
    token = features.use(features.features_of(features.RECORDED, {"AllAlpha": True, "AllBeta": True}))
    yield
    features.leave(token)


@pytest.mark.parametrize(("build", "last", "error"), LIMITS)
def test_the_most_that_a_slice_has(all_gates: None, build: Callable[[int], Object], last: int, error: str) -> None:
    check_new("ResourceSlice", build(last), [])
    check_new("ResourceSlice", build(last + 1), [error])


@pytest.mark.parametrize(("count", "error"), [(2, "Duplicate value"), (32, "Duplicate value"), (33, "Too many")])
def test_names_are_compared_unless_there_are_too_many(count: int, error: str) -> None:
    requests = [request(f"r{number}") for number in range(count - 1)] + [request("r0")]
    wanted = claim(*requests)
    found = problems("ResourceClaim", wanted)
    assert [one.partition(": ")[2].partition(":")[0] for one in found] == [error]
    if count < 33:
        assert found == [f'spec.devices.requests[{count - 1}]: Duplicate value: "r0"']
