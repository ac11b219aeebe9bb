"""The initial state of a server: its versions, the objects that exist at first, and how options show in them."""

from datetime import UTC, datetime

import pytest

from fakekube.server import bootstrap, initialobjects
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.random import SeededRandom
from fakekube.virtualtime.seeds import Seed

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
STAMP = "2026-03-04T05:06:07Z"


def server(**options):
    return bootstrap.api_server(NOW, SeededRandom(Seed(7)), **options)


def stored(made, collection, path):
    entry = made.store.get(collection, path)
    return entry.object if entry is not None else None


def listed(made, collection):
    return [entry.object for _, entry in made.store.collection(collection).scan("", "", None)]


@pytest.mark.parametrize(
    ("version", "emulation", "patch"),
    [("1.31", None, 0), ("1.32", None, 0), ("1.33", ("33", "32"), 0), ("1.36", ("36", "35"), 2)],
)
def test_the_version_info(version, emulation, patch):
    """Kubernetes 1.33 and later report the version that they emulate, and the oldest one that they could."""
    info = bootstrap.version_info(version)
    minor = version.partition(".")[2]
    assert (info["major"], info["minor"], info["gitVersion"]) == ("1", minor, f"v{version}.{patch}+fakekube")
    emulated = {key: info.get(key) for key in ("emulationMajor", "emulationMinor")}
    compatible = {key: info.get(key) for key in ("minCompatibilityMajor", "minCompatibilityMinor")}
    if emulation is None:
        assert {*emulated.values(), *compatible.values()} == {None}
    else:
        assert emulated == {"emulationMajor": "1", "emulationMinor": emulation[0]}
        assert compatible == {"minCompatibilityMajor": "1", "minCompatibilityMinor": emulation[1]}
    fixed = ("gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
    assert [info[key] for key in fixed] == ["", "clean", "2026-01-01T00:00:00Z", "none", "CPython", "any/any"]


def test_versions_are_read_from_any_form_and_listed_oldest_first():
    known = bootstrap.known_versions()
    assert list(known) == sorted(known, key=lambda one: int(one.partition(".")[2]))
    assert (known[0], known[-1], bootstrap.KUBERNETES_VERSION) == ("1.25", "1.37", "1.36")
    assert {bootstrap.version_of(text) for text in ("1.33", "v1.33", "v1.33.4", "1.33.0")} == {"1.33"}
    with pytest.raises(ValueError, match=r"1\.2"):
        bootstrap.version_of("1.2")


def test_the_defaults_of_a_server():
    made = server()
    assert made.store.get("configmaps", "kube-system/extension-apiserver-authentication") is None
    assert made.store.get("clusterroles.rbac.authorization.k8s.io", "admin") is None
    namespaces = [one["metadata"] for one in listed(made, "namespaces")]
    assert {one["name"] for one in namespaces} == {"default", "kube-system", "kube-public", "kube-node-lease"}
    assert {one["creationTimestamp"] for one in namespaces} == {STAMP}
    assert len({one["uid"] for one in namespaces}) == 4
    times = {entry["time"] for one in namespaces for entry in one.get("managedFields", ())}
    assert times <= {STAMP}


def uid(made):
    return stored(made, "namespaces", "default")["metadata"]["uid"]


def test_uids_of_initial_objects_follow_from_the_seed_or_are_fixed():
    def of(seed, **options):
        return uid(bootstrap.api_server(NOW, SeededRandom(Seed(seed)), **options))

    assert of(1) == of(1) != of(2)
    assert of(1, fixed_uids=True) == of(2, fixed_uids=True) == initialobjects.fixed_uid("namespaces/default")
    assert initialobjects.fixed_uid("namespaces/default") != initialobjects.fixed_uid("namespaces/other")


def test_servers_that_share_their_initial_objects_do_not_share_writes():
    first, second = server(fixed_uids=True), server(fixed_uids=True)
    first.store.create("configmaps", "default/a", {"metadata": {"name": "a"}})
    assert stored(second, "configmaps", "default/a") is None


def test_roles_exist_with_rbac_only():
    made = server(authorization_mode="Node,RBAC")
    assert stored(made, "clusterroles.rbac.authorization.k8s.io", "cluster-admin")["rules"]
    assert stored(made, "clusterrolebindings.rbac.authorization.k8s.io", "cluster-admin")["subjects"]
    with pytest.raises(ValueError, match="Nobody"):
        server(authorization_mode="Nobody")


@pytest.mark.parametrize(
    ("options", "address", "family", "endpoint", "endpoint_family", "port"),
    [
        (ClusterOptions(), "10.0.0.1", "IPv4", "192.0.2.1", "IPv4", 6443),
        (ClusterOptions("fd00:1::/112", "2001:db8::9", 8443), "fd00:1::1", "IPv6", "2001:db8::9", "IPv6", 8443),
        (ClusterOptions("172.30.0.0/16", "127.0.0.1", 1), "172.30.0.1", "IPv4", "127.0.0.1", "IPv4", 1),
    ],
    ids=["defaults", "ipv6", "ipv4"],
)
def test_the_objects_that_say_where_the_server_is(options, address, family, endpoint, endpoint_family, port):
    made = server(options=options)
    service = stored(made, "services", "default/kubernetes")["spec"]
    assert (service["clusterIP"], service["clusterIPs"], service["ipFamilies"]) == (address, [address], [family])
    assert [(one["name"], one["port"], one["targetPort"]) for one in service["ports"]] == [("https", 443, port)]
    endpoints = stored(made, "endpoints", "default/kubernetes")["subsets"]
    assert [one["addresses"] for one in endpoints] == [[{"ip": endpoint}]]
    assert [(one["name"], one["port"]) for one in endpoints[0]["ports"]] == [("https", port)]
    slices = stored(made, "endpointslices.discovery.k8s.io", "default/kubernetes")
    assert (slices["addressType"], [one["addresses"] for one in slices["endpoints"]]) == (endpoint_family, [[endpoint]])
    assert [(one["name"], one["port"]) for one in slices["ports"]] == [("https", port)]
    found = stored(made, "ipaddresses.networking.k8s.io", address)["metadata"]
    assert found["name"] == address
    assert found["labels"]["ipaddress.kubernetes.io/ip-family"] == family
    cidrs = stored(made, "servicecidrs.networking.k8s.io", "kubernetes")
    assert cidrs["spec"]["cidrs"] == [options.service_cluster_ip_range]
    assert {one["lastTransitionTime"] for one in cidrs["status"]["conditions"]} == {STAMP}


def test_config_maps_exist_on_request():
    made = server(options=ClusterOptions(config_maps=True))
    found = {"{namespace}/{name}".format(**one["metadata"]): one for one in listed(made, "configmaps")}
    assert "kube-system/extension-apiserver-authentication" in found
    authentication = found["kube-system/extension-apiserver-authentication"]
    assert "data" not in authentication
    assert "managedFields" not in authentication["metadata"]
    assert {one["data"]["since"] for one in found.values() if "since" in one.get("data", {})} == {"2026-03-04"}


def test_each_served_group_has_an_api_service_but_that_of_the_aggregator():
    made = server()
    names = {one["metadata"]["name"] for one in listed(made, "apiservices.apiregistration.k8s.io")}
    served = {(one.group, one.version) for one in made.catalog.resources()}
    expected = {f"{version}.{group}" for group, version in served if group != "apiregistration.k8s.io"}
    assert names == expected
