"""How clusterIP and clusterIPs of a Service are made to agree (`normalizeClusterIPs`)."""

import pytest

from fakekube.apiserver.registry.core.service.assignment import _normalize_addresses

ONE, TWO, THREE = "10.0.0.1", "10.0.0.2", "10.0.0.3"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (None, {"clusterIP": ONE}, {"clusterIP": ONE, "clusterIPs": [ONE]}),
        (None, {"clusterIP": ONE, "clusterIPs": [TWO]}, {"clusterIP": ONE, "clusterIPs": [TWO]}),
        (None, {}, {}),
        ((ONE, [ONE]), {"clusterIP": ONE}, {"clusterIP": ONE, "clusterIPs": [ONE]}),
        ((ONE, [ONE]), {"clusterIP": TWO}, {"clusterIP": TWO}),
        ((ONE, [ONE]), {"clusterIP": TWO, "clusterIPs": [ONE]}, {"clusterIP": TWO, "clusterIPs": [TWO]}),
        ((ONE, [ONE]), {"clusterIP": TWO, "clusterIPs": [THREE]}, {"clusterIP": TWO, "clusterIPs": [THREE]}),
        ((ONE, [ONE]), {"clusterIPs": [ONE]}, {}),
        ((ONE, [ONE]), {"clusterIP": ONE, "clusterIPs": [TWO]}, {"clusterIP": ONE, "clusterIPs": [TWO]}),
    ],
)
def test_addresses(old, new, found):
    spec = dict(new)
    _normalize_addresses(spec, None if old is None else {"spec": {"clusterIP": old[0], "clusterIPs": old[1]}})
    assert spec == found
