"""The kinds of Go's reflection that decoded values have, and pods as Go's internal type has them."""

import pytest

from fakekube.apiserver.registry.generic.validation.gostructs import _with_host_fields
from fakekube.apiserver.schema.unstructured import _kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("x", "string"),
        (True, "bool"),
        (0, "int64"),
        (2**63 - 1, "int64"),
        (-(2**63), "int64"),
        (2**63, "float64"),  # too large for an int64: decoded as a float
        (-(2**63) - 1, "float64"),
        (1.5, "float64"),
        ({}, "map"),
        ([], "slice"),
    ],
)
def test_the_kind_of_a_decoded_value(value, kind):
    assert _kind(value) == kind


@pytest.mark.parametrize(
    ("spec", "context"),
    [
        ({}, {}),
        ({"hostPID": True, "nodeName": "n"}, {"hostPID": True}),
        ({"securityContext": None, "hostIPC": False}, {"hostIPC": False}),
        ({"securityContext": {"runAsUser": 5}}, {"runAsUser": 5}),
        (
            {
                "securityContext": {"runAsUser": 5},
                "hostNetwork": True,
                "shareProcessNamespace": True,
                "hostUsers": False,
            },
            {"runAsUser": 5, "hostNetwork": True, "shareProcessNamespace": True, "hostUsers": False},
        ),
    ],
)
def test_the_host_fields_of_a_pod_are_in_its_internal_security_context(spec, context):
    assert _with_host_fields(spec) == {**spec, "securityContext": context}
