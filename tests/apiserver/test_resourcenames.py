"""Names of compute resources, and their quantities (`pkg/apis/core/v1/helper`)."""

import pytest

from fakekube.apiserver.registry.core import resourcenames
from fakekube.apiserver.registry.generic.validation.field import Field
from tests.apiserver.validation.support import texts

STANDARD = "must be a standard resource type or fully qualified"
OF_CONTAINERS = "must be a standard resource for containers"
EXTENDED = "doesn't follow extended resource name standard"


@pytest.mark.parametrize(
    ("name", "native", "extended", "overcommits", "of_pods"),
    [
        ("cpu", True, False, True, True),
        ("memory", True, False, True, True),
        ("ephemeral-storage", True, False, True, False),
        ("hugepages-2Mi", True, False, False, True),
        ("kubernetes.io/batteries", True, False, True, False),
        ("a.kubernetes.io/x", True, False, True, False),
        ("example.com/gpu", False, True, False, False),
        ("requests.example.com/gpu", False, False, False, False),
        ("example.com/a/b", False, False, False, False),
        ("example.com/" + "a" * 64, False, False, False, False),
    ],
)
def test_kinds_of_resources(name, native, extended, overcommits, of_pods):
    assert resourcenames.is_native(name) is native
    assert resourcenames.is_extended(name) is extended
    assert resourcenames.allows_overcommit(name) is overcommits
    assert resourcenames.is_supported_of_pods(name) is of_pods


@pytest.mark.parametrize(
    ("name", "anywhere", "of_containers"),
    [
        ("cpu", [], []),
        ("hugepages-1Gi", [], []),
        ("requests.hugepages-1Gi", [], [OF_CONTAINERS]),
        ("requests.cpu", [], [OF_CONTAINERS]),
        ("limits.memory", [], [OF_CONTAINERS]),
        ("storage", [], [OF_CONTAINERS]),
        ("requests.storage", [], [OF_CONTAINERS]),
        ("limits.storage", [STANDARD], [STANDARD, OF_CONTAINERS]),
        ("pods", [], [OF_CONTAINERS]),
        ("services.loadbalancers", [], [OF_CONTAINERS]),
        ("gpu", [STANDARD], [STANDARD, OF_CONTAINERS]),
        ("example.com/gpu", [], []),
        ("kubernetes.io/x", [], []),
        ("requests.example.com/gpu", [], [EXTENDED]),
    ],
)
def test_names_of_resources(name, anywhere, of_containers):
    assert list(resourcenames.name_problems(name)) == anywhere
    assert list(resourcenames.container_name_problems(name)) == of_containers


@pytest.mark.parametrize(
    ("quantity", "name", "problems"),
    [
        ("0", "pods", []),
        ("-1", "cpu", ["must be greater than or equal to 0"]),
        ("1500m", "cpu", []),
        ("1500m", "pods", ["must be an integer"]),
        ("1500m", "services.nodeports", ["must be an integer"]),
        ("1500m", "example.com/gpu", ["must be an integer"]),
        ("-1500m", "pods", ["must be greater than or equal to 0", "must be an integer"]),
        ("1500m", "requests.example.com/gpu", []),
    ],
)
def test_quantities_of_resources(quantity, name, problems):
    root = Field({"q": quantity})
    resourcenames.validate_quantity(root["q"], name)
    assert texts(root.errors) == [f'q: Invalid value: "{quantity}": {problem}' for problem in problems]


@pytest.mark.parametrize(
    ("quantity", "shown"),
    [
        ("0", None),
        ("1", None),
        ("-500m", None),
        ("-1", -1),
        ("-1500m", -1),
        ("9223372036854775807", None),
        ("9223372036854775808", -(2**63)),
    ],
)
def test_quantities_of_storage_are_integers_of_64_bits(quantity, shown):
    root = Field({"q": quantity})
    resourcenames.validate_basic_quantity(root["q"])
    expected = [] if shown is None else [f"q: Invalid value: {shown}: must be a valid resource quantity"]
    assert texts(root.errors) == expected


@pytest.mark.parametrize(
    ("name", "value", "divisible"),
    [
        ("hugepages-2Mi", "4Mi", True),
        ("hugepages-2Mi", "0", True),
        ("hugepages-2Mi", "5Mi", False),
        ("hugepages-2Mi", "1Mi", False),
        ("hugepages-1", "1500m", True),
        ("hugepages-0", "1", False),
        ("hugepages-1500m", "3", False),
        ("hugepages-x", "1", False),
    ],
)
def test_huge_pages_are_whole(name, value, divisible):
    assert resourcenames.is_divisible(name, value) is divisible
