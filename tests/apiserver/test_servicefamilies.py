"""The IP families of Services (`initIPFamilyFields` of the service's REST storage)."""

import pytest

from fakekube.apiserver.registry.core.service.families import init_families
from fakekube.apiserver.wire.status import StatusError

ONE, TWO = ("IPv4",), ("IPv4", "IPv6")
SIX = ("IPv6", "IPv4")
V4, V6 = "10.0.0.9", "2001:db8::9"


def completed(spec, cluster, old=None):
    spec = {"type": "ClusterIP", "selector": {"a": "b"}, **spec}
    service = {"metadata": {"name": "s"}, "spec": spec}
    before = None if old is None else {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", **old}}
    init_families(spec, service, before, cluster)
    return spec.get("ipFamilyPolicy"), spec.get("ipFamilies"), spec.get("clusterIPs")


@pytest.mark.parametrize(
    ("spec", "cluster", "policy", "families"),
    [
        ({}, ONE, "SingleStack", ["IPv4"]),
        ({}, SIX, "SingleStack", ["IPv6"]),
        ({"ipFamilies": ["IPv6"]}, TWO, "SingleStack", ["IPv6"]),
        ({"ipFamilyPolicy": "PreferDualStack"}, ONE, "PreferDualStack", ["IPv4"]),
        ({"ipFamilyPolicy": "PreferDualStack"}, TWO, "PreferDualStack", ["IPv4", "IPv6"]),
        ({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6"]}, TWO, "PreferDualStack", ["IPv6", "IPv4"]),
        ({"ipFamilyPolicy": "RequireDualStack"}, SIX, "RequireDualStack", ["IPv6", "IPv4"]),
        ({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"]}, TWO, "RequireDualStack", ["IPv6", "IPv4"]),
        ({"clusterIPs": [V6], "clusterIP": V6}, TWO, "SingleStack", ["IPv6"]),
        ({"clusterIPs": [V6, V4], "clusterIP": V6, "ipFamilyPolicy": "PreferDualStack"}, TWO, "PreferDualStack",
         ["IPv6", "IPv4"]),
        # headless: without a selector both families, whatever the cluster has
        ({"clusterIP": "None", "clusterIPs": ["None"]}, ONE, "SingleStack", ["IPv4"]),
        ({"clusterIP": "None", "clusterIPs": ["None"], "selector": None}, ONE, "RequireDualStack", ["IPv4", "IPv6"]),
        ({"clusterIP": "None", "clusterIPs": ["None"], "selector": None}, SIX, "RequireDualStack", ["IPv6", "IPv4"]),
        ({"clusterIP": "None", "clusterIPs": ["None"], "selector": None, "ipFamilyPolicy": "SingleStack"}, ONE,
         "SingleStack", ["IPv4"]),
        ({"type": "ExternalName"}, TWO, None, None),
    ],
)  # fmt: skip
def test_the_families_of_a_new_service(spec, cluster, policy, families):
    assert completed(spec, cluster)[:2] == (policy, families)


@pytest.mark.parametrize(
    ("spec", "cluster", "why"),
    [
        ({"ipFamilyPolicy": "RequireDualStack"}, ONE,
         'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services'),
        ({"ipFamilies": ["IPv6"]}, ONE, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        ({"clusterIPs": [V6], "clusterIP": V6}, ONE,
         f'spec.clusterIPs[0]: Invalid value: ["{V6}"]: IPv6 is not configured on this cluster'),
        ({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]}, TWO,
         'spec.ipFamilyPolicy: Invalid value: "SingleStack": must be \'RequireDualStack\' or \'PreferDualStack\' when multiple '
         "IP families are specified"),
        ({"ipFamilyPolicy": "SingleStack", "clusterIPs": [V4, V6], "clusterIP": V4}, TWO,
         'spec.ipFamilyPolicy: Invalid value: "SingleStack": must be \'RequireDualStack\' or \'PreferDualStack\' when multiple '
         "cluster IPs are specified"),
    ],
)  # fmt: skip
def test_families_that_are_refused(spec, cluster, why):
    with pytest.raises(StatusError) as raised:
        completed(spec, cluster)
    assert raised.value.message == f'Service "s" is invalid: {why}'


DUAL = {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4", "IPv6"], "clusterIPs": [V4, V6], "clusterIP": V4}
SINGLE = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"], "clusterIPs": [V4], "clusterIP": V4}


@pytest.mark.parametrize(
    ("old", "change", "expected"),
    [
        (SINGLE, {}, ("SingleStack", ["IPv4"], [V4])),
        (SINGLE, {"ipFamilyPolicy": None}, ("SingleStack", ["IPv4"], [V4])),  # that of before
        (SINGLE, {"ipFamilyPolicy": "PreferDualStack"}, ("PreferDualStack", ["IPv4", "IPv6"], [V4])),
        (DUAL, {}, ("PreferDualStack", ["IPv4", "IPv6"], [V4, V6])),
        (DUAL, {"ipFamilyPolicy": "SingleStack"}, ("SingleStack", ["IPv4"], [V4])),  # the second ones are released
        (DUAL, {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"], "clusterIPs": [V4]}, ("SingleStack", ["IPv4"], [V4])),
        (DUAL, {"ipFamilyPolicy": "RequireDualStack"}, ("RequireDualStack", ["IPv4", "IPv6"], [V4, V6])),
        ({"type": "ExternalName"}, {**DUAL, "clusterIPs": None, "clusterIP": None}, ("PreferDualStack", ["IPv4", "IPv6"], None)),
    ],
)  # fmt: skip
def test_the_families_of_a_changed_service(old, change, expected):
    assert completed({**old, "type": "ClusterIP", **change}, TWO, old) == expected


@pytest.mark.parametrize(
    ("change", "whats"),
    [
        ({"ipFamilies": ["IPv4"]}, ["IP family"]),
        ({"clusterIPs": [V4]}, ["cluster IP"]),
        ({"clusterIPs": [V4], "ipFamilies": ["IPv4"]}, ["cluster IP", "IP family"]),
    ],
)
def test_a_second_family_is_released_by_the_policy_only(change, whats):
    with pytest.raises(StatusError) as raised:
        completed({**DUAL, **change}, TWO, DUAL)
    for what in ("cluster IP", "IP family"):
        why = f"\"PreferDualStack\": must be 'SingleStack' to release the secondary {what}"
        assert (why in raised.value.message) is (what in whats)
