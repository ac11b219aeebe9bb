"""Devices: rules of single fields.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, merged
from tests.apiserver.validation.test_devices import claim, offered, request

NEW = [
    ("ResourceClaim", claim({"name": "r", "exactly": {"deviceClassName": "c"}, "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}), ['spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set']),
    ("ResourceClaim", claim(request(tolerations=[{"operator": "Equal", "value": "a b"}, {"operator": "Near", "key": "a b"}, {"operator": "Exists", "value": "x", "effect": "Never"}])), [
        'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "a b": a valid label must be an empty string or consist of a…',
        'spec.devices.requests[0].exactly.tolerations[1].key: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\',…',
        'spec.devices.requests[0].exactly.tolerations[1].operator: Unsupported value: "Near": supported values: "Equal", "Exists"',
        'spec.devices.requests[0].exactly.tolerations[2].value: Invalid value: "x": must be empty for operator `Exists`',
        'spec.devices.requests[0].exactly.tolerations[2].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"',
    ]),
    ("ResourceClaim", claim(request(), constraints=[{"requests": ["a/b/c", "r"], "matchAttribute": "a/b/c"}, {"matchAttribute": "/x"}, {"distinctAttribute": "d.example.com/"}, {"matchAttribute": "d.example.com/" + "x" * 33}]), [
        'spec.devices.constraints[0].requests[0]: Invalid value: "a/b/c": must be the name of a request in the claim or the name of a reque…',
        'spec.devices.constraints[1].matchAttribute: Invalid value: "": the domain must not be empty',
        'spec.devices.constraints[2].distinctAttribute: Invalid value: "": the name must not be empty',
        'spec.devices.constraints[3].matchAttribute: Too long: may not be more than 32 bytes',
    ]),
    ("ResourceClaim", claim(request(), constraints=[{"requests": ["r", "r"]}, {"matchAttribute": "1"}]), [
        'spec.devices.constraints[0].requests[1]: Duplicate value: "r"',
        'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
        'spec.devices.constraints[1].matchAttribute: Invalid value: "1": a valid C identifier must start with alphabetic character or \'_\', …',
        'spec.devices.constraints[1].matchAttribute: Invalid value: "1": a fully qualified name must be a domain and a name separated by a slash',
    ]),
    ("ResourceSlice", offered(attributes={f"a{i}": {"int": 1} for i in range(33)}), ['spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32']),
    ("ResourceSlice", offered(attributes={"a": {"ints": list(range(49))}}), ['spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified']),
    ("ResourceSlice", offered(consumesCounters=[{"counterSet": "s", "counters": {f"c{i}": {"value": "1"} for i in range(33)}}]), ['spec.devices[0].consumesCounters[0].counters: Too many: 33: must have at most 32 items']),
    ("ResourceSlice", merged(offered(), {"spec": {"pool": {"name": "a/" + "b" * 260}}}), [
        'spec.pool.name: Too long: may not be more than 253 bytes',
        'spec.pool.name: Invalid value: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…',
    ]),
]  # fmt: skip

STATUSES = [
    ("ResourceClaim", claim(request()), {"allocation": {"devices": {"results": [{"request": "r", "driver": "d.example.com", "pool": "p", "device": "x", "tolerations": [{"operator": "Near"}]}], "config": [{"source": "FromSky", "opaque": {"driver": "d.example.com", "parameters": {}}}, {"source": "", "requests": ["q"]}]}}, "devices": [{"driver": "d.example.com", "pool": "p", "device": "x"}]}, None, [
        'status.allocation.devices.config[0].source: Unsupported value: "FromSky": supported values: "FromClaim", "FromClass"',
        'status.allocation.devices.config[1].source: Required value',
        'status.allocation.devices.config[1].requests[0]: Invalid value: "q": must be the name of a request in the claim or the name of a r…',
        'status.allocation.devices.config[1].opaque: Required value',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "obj", "status", "before", "expected"), STATUSES)
def test_status(kind, obj, status, before, expected):
    check_status(kind, obj, status, before, expected)
