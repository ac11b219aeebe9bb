"""Values at the limits of rules: the last valid one beside the first invalid one."""

import pytest

from fakekube.apiserver.registry.apps.daemonset import prepare_daemon_set, prepare_daemon_set_update
from fakekube.apiserver.registry.core.event import validate as validate_event
from fakekube.apiserver.registry.core.pod.strategy import grace_period
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.response import Document, Response, outcome
from fakekube.apiserver.schema import unstructured
from tests.apiserver.validation.support import check_new, check_status, check_update, texts
from tests.apiserver.validation.test_devices import claim, offered, opaque, request

POD = {"containers": [{"name": "c", "image": "i"}]}


def pod(**spec):
    return {"spec": {**POD, **spec}}


def container(**fields):
    return pod(containers=[{"name": "c", "image": "i", **fields}])


@pytest.mark.parametrize(
    ("spec", "status", "requested", "seconds"),
    [
        ({}, {}, None, 30),
        ({"terminationGracePeriodSeconds": 5}, {}, None, 5),
        ({"terminationGracePeriodSeconds": 0}, {}, None, 0),
        ({"terminationGracePeriodSeconds": -1}, {}, None, 1),
        ({"terminationGracePeriodSeconds": 5}, {}, 7, 7),
        ({"terminationGracePeriodSeconds": 5}, {}, 0, 0),
        ({"terminationGracePeriodSeconds": 5}, {}, -3, 1),
        ({}, {"phase": "Failed"}, 7, 0),
        ({}, {"phase": "Succeeded"}, None, 0),
        ({}, {"phase": "Running"}, None, 30),
        ({"nodeName": ""}, {}, 7, 0),
    ],
)
def test_the_grace_period_of_a_pod(spec, status, requested, seconds):
    """`podStrategy.CheckGracefulDelete`."""
    assert grace_period({"spec": {"nodeName": "n", **spec}, "status": status}, requested) == seconds


def sleep(seconds):
    return container(lifecycle={"preStop": {"sleep": {"seconds": seconds}}})


SLEEP = "spec.containers[0].lifecycle.preStop.sleep: Invalid value: {}: must be non-negative and less than terminationGracePeriodSeconds (30)"  # fmt: skip


def event(**fields):
    return {
        "metadata": {"name": "e", "namespace": "default"}, "involvedObject": {"namespace": "default"}, "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "a.example.com/b", "reportingInstance": "x",
        "action": "a", "reason": "r", **fields,
    }  # fmt: skip


def event_problems(obj):
    root = Field(obj)
    validate_event(root)
    return texts(root.errors)


def resources(**fields):
    return container(resources=fields)


@pytest.mark.parametrize(
    ("kind", "good", "bad", "errors"),
    [
        ("Pod", sleep(0), sleep(-1), [SLEEP.format(-1)]),
        ("Pod", sleep(30), sleep(31), [SLEEP.format(31)]),
        ("Pod", resources(requests={"cpu": "1"}, limits={"cpu": "1000m"}),
         resources(requests={"cpu": "1001m"}, limits={"cpu": "1"}),
         ['spec.containers[0].resources.requests: Invalid value: "1001m": must be less than or equal to cpu limit of 1']),
        ("Pod", resources(requests={"hugepages-2Mi": "4Mi", "cpu": "1"}, limits={"hugepages-2Mi": "4Mi"}),
         resources(requests={"hugepages-2Mi": "5Mi", "cpu": "1"}, limits={"hugepages-2Mi": "5Mi"}),
         ['spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "5Mi": 5Mi is not positive integer multiple of '
          "hugepages-2Mi",
          'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "5Mi": 5Mi is not positive integer multiple of '
          "hugepages-2Mi"]),
        ("ResourceClaim", claim(*(request(f"r-{i}") for i in range(32))), claim(*(request(f"r-{i}") for i in range(33))),
         ["spec.devices.requests: Too many: 33: must have at most 32 items"]),
        ("ResourceClaim", claim(request(), config=[opaque()] * 32), claim(request(), config=[opaque()] * 33),
         ["spec.devices.config: Too many: 33: must have at most 32 items"]),
        ("ResourceSlice",
         offered(attributes={f"a{n}": {"int": n} for n in range(20)}, capacity={f"c{n}": {"value": "1"} for n in range(12)}),
         offered(attributes={f"a{n}": {"int": n} for n in range(20)}, capacity={f"c{n}": {"value": "1"} for n in range(13)}),
         ["spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"]),
    ],
)  # fmt: skip
def test_the_last_value_that_is_valid(kind, good, bad, errors):
    check_new(kind, good, [])
    check_new(kind, bad, errors)


@pytest.mark.parametrize(
    ("field", "limit"), [("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)]
)
def test_the_longest_texts_of_an_event(field, limit):
    assert event_problems(event(**{field: "x" * limit})) == []
    assert event_problems(event(**{field: "x" * (limit + 1)})) == [
        f'{field}: Invalid value: "": can have at most {limit} characters'
    ]


@pytest.mark.parametrize(
    ("status", "errors"),
    [
        ({"podIPs": [{"ip": "10.0.0.1"}]}, []),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "2001:db8::1"}]}, []),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "2001:db8::1"}, {"ip": "10.0.0.2"}]},
         ['status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"2001:db8::1"},{"IP":"10.0.0.2"}]: may specify no more than '
          "one IP for each IP family"]),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
         ['status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP '
          "family"]),
    ],
)  # fmt: skip
def test_the_addresses_of_a_pod_have_different_families(status, errors):
    check_status("Pod", pod(), {**status, "qosClass": "BestEffort"}, {"qosClass": "BestEffort"}, errors)


@pytest.mark.parametrize(
    ("old", "new", "generation"),
    [("1", "a", "1"), ("5", "a", "5"), ("5", "b", "6"), ("-3", "b", "2"), ("x", "a", "1"), (None, "b", "2")],
)
def test_the_generation_of_the_template_of_a_daemon_set(old, new, generation):
    """`daemonSetStrategy.PrepareForUpdate`."""
    key = "deprecated.daemonset.template.generation"
    before = {"metadata": {"annotations": {} if old is None else {key: old}}, "spec": {"template": "a"}}
    found = prepare_daemon_set_update({"metadata": {}, "spec": {"template": new}}, before)
    assert found["metadata"]["annotations"] == {key: generation}
    assert prepare_daemon_set(before)["metadata"]["annotations"][key] == (old if old in ("1", "5") else "1")


@pytest.mark.parametrize(
    ("code", "body", "shown"),
    [
        (200, {"kind": "Status", "reason": "R", "message": "m"}, ("", "", "")),
        (399, {"reason": "R", "message": "m"}, ("", "", "")),
        (400, {"reason": "R", "message": "m"}, ("", "R", "m")),
        (404, {"reason": "R", "message": "m", "details": {"kind": "pods", "name": "a"}}, ("a", "R", "m")),
        (404, {"reason": "R", "details": {"name": "a"}}, ("", "R", "")),
        (500, {"details": None}, ("", "", "")),
    ],
)
def test_the_outcome_of_a_request(code, body, shown):
    assert outcome(Response(code, Document(body))) == shown


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        (5, 5, []),
        (5, 4, []),
        (5, 6, ["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"]),
        (None, 5, []),
        (None, None, []),
        (
            5,
            None,
            ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
        ),
    ],
)
def test_a_deadline_may_only_be_shortened(before, after, errors):
    old = pod() if before is None else pod(activeDeadlineSeconds=before)
    check_update("Pod", old, {"spec": {"activeDeadlineSeconds": after}}, errors)


@pytest.mark.parametrize(
    ("limit", "errors"),
    [
        ("1", []),
        (
            "1500m",
            [
                'spec.resources.containers[0][cpu].limits: Invalid value: "1500m": must be less than or equal to pod limits of 1'
            ],
        ),
    ],
)
def test_the_limit_of_a_container_is_at_most_that_of_its_pod(limit, errors):
    check_new(
        "Pod",
        {
            "spec": {
                **resources(requests={"cpu": "1"}, limits={"cpu": limit})["spec"],
                "resources": {"limits": {"cpu": "1"}},
            }
        },
        errors,
    )


@pytest.mark.parametrize(
    ("number", "bits", "wrapped"),
    [
        (2**31 - 1, 32, 2**31 - 1), (2**31, 32, -(2**31)), (-(2**31), 32, -(2**31)), (-(2**31) - 1, 32, 2**31 - 1), (2**32, 32, 0),
        (2**63 - 1, 64, 2**63 - 1), (-(2**63), 64, -(2**63)), (2**63, 64, -(2**63)), (-(2**63) - 1, 64, -(2**63)), (2**63 - 1, 32, -1),
        (2**70, 32, 0),
    ],
)  # fmt: skip
def test_numbers_are_converted_as_go_does(number, bits, wrapped):
    assert unstructured._wrapped(number, bits) == wrapped


def test_the_longest_name_of_a_feature():
    def node(length):
        return {"status": {"declaredFeatures": ["A" + "b" * (length - 1)]}}

    shown = "A" + "b" * 253
    check_new("Node", node(253), [])
    check_new("Node", node(254), [
        f'status.declaredFeatures[0]: Invalid value: "{shown}": invalid feature name "{shown}": must be no more than 253 '
        "characters",
    ])  # fmt: skip
