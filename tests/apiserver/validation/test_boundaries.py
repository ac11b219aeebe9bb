"""Values at the limits of rules: the last valid one beside the first invalid one."""

import pytest

from fakekube.apiserver.registry.core.event import validate as validate_event
from fakekube.apiserver.registry.core.pod.strategy import grace_period
from fakekube.apiserver.registry.generic.validation.field import Field
from tests.apiserver.validation.support import check_new, check_status, texts
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
