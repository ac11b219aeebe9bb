"""The kinds and fields of the served Kubernetes version."""

import pytest

from fakekube import data
from fakekube.apiserver import versions
from fakekube.apiserver.catalog import builtin_resources
from fakekube.apiserver.resource import version_priority
from fakekube.apiserver.versions import UnknownVersion
from fakekube.server import bootstrap
from tests.apiserver.api import PODS, Api


@pytest.mark.parametrize("text", ["1.31", "v1.31", "1.31.4", " 1.31 "])
def test_notations_of_a_version(text):
    assert bootstrap.version_of(text) == "1.31"


@pytest.mark.parametrize("text", ["1.24", "2.0", "latest", "", "1.31.x"])
def test_an_unsupported_version(text):
    with pytest.raises(UnknownVersion, match=r"choose a minor version from 1\.25 to 1\.\d\d"):
        bootstrap.version_of(text)


def served(version, group=""):
    catalog = Api(version=version).apiserver.catalog
    return {f"{r.plural}.{r.version}" for r in catalog.resources() if r.group == group}


@pytest.mark.parametrize(
    ("group", "row", "first", "last"),
    [
        pytest.param("", "pods.v1", "1.25", "1.37", id="always"),
        pytest.param("resource.k8s.io", "deviceclasses.v1", "1.34", "1.37", id="devices"),
        pytest.param("networking.k8s.io", "ipaddresses.v1", "1.33", "1.37", id="addresses"),
        pytest.param("admissionregistration.k8s.io", "validatingadmissionpolicies.v1", "1.30", "1.37", id="validation"),
        pytest.param("admissionregistration.k8s.io", "mutatingadmissionpolicies.v1", "1.36", "1.37", id="mutation"),
        pytest.param("autoscaling", "horizontalpodautoscalers.v2beta2", "1.25", "1.25", id="old-autoscalers"),
        pytest.param("flowcontrol.apiserver.k8s.io", "flowschemas.v1beta2", "1.25", "1.28", id="old-flow-schemas"),
        pytest.param("flowcontrol.apiserver.k8s.io", "flowschemas.v1beta3", "1.26", "1.31", id="less-old-flow-schemas"),
        pytest.param("flowcontrol.apiserver.k8s.io", "flowschemas.v1", "1.29", "1.37", id="flow-schemas"),
        pytest.param("storage.k8s.io", "csistoragecapacities.v1beta1", "1.25", "1.26", id="old-capacities"),
    ],
)
def test_the_range_of_versions_that_serve_a_kind(group, row, first, last):
    found = [version for version in bootstrap.known_versions() if row in served(version, group)]
    assert (found[0], found[-1]) == (first, last)
    assert found == [v for v in bootstrap.known_versions() if found[0] <= v <= found[-1]], "without a gap"


def test_the_preferred_version_is_first():
    assert Api(version="1.25").apiserver.catalog.versions("flowcontrol.apiserver.k8s.io") == ["v1beta2", "v1beta1"]
    assert Api(version="1.30").apiserver.catalog.versions("flowcontrol.apiserver.k8s.io") == ["v1", "v1beta3"]


def test_a_kind_that_is_not_yet_served_is_not_found():
    api = Api(version="1.33")
    assert api.refused("GET", "/apis/resource.k8s.io/v1/deviceclasses")[0] == 404


def test_a_field_of_a_later_version_is_unknown():
    container = {"name": "c", "image": "i"}
    body = {"metadata": {"name": "a"}, "spec": {"containers": [container], "hostnameOverride": "x"}}
    for version, is_known in (("1.30", False), ("1.36", True)):
        response = Api(version=version).answer("POST", PODS, body)
        assert (response.warnings == []) == is_known, response.warnings


def test_a_subresource_of_a_later_version():
    assert (
        Api(version="1.32").refused("GET", f"{PODS}/a/resize")[2] == "the server could not find the requested resource"
    )
    assert Api(version="1.33").refused("GET", f"{PODS}/a/resize")[2] == 'pods "a" not found'


@pytest.mark.parametrize("version", bootstrap.known_versions())
def test_every_kind_of_every_version_has_a_schema(version):
    api = Api(version=version, authorization_mode="RBAC")
    for resource in api.apiserver.catalog.resources():
        assert api.apiserver.registration(resource).schema is not None, resource
    assert api.apiserver.version["minor"] == version.partition(".")[2]
    assert api.ok("GET", "/version")["gitVersion"].startswith(f"v{version}.")


@pytest.mark.parametrize("version", bootstrap.known_versions())
def test_stored_objects_have_only_fields_of_their_version(version):
    api = Api(version=version)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    made = api.ok("POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    schema = api.apiserver.schemas.of_kind("", "v1", "Pod")
    assert made["spec"].keys() <= schema.fields["spec"].fields.keys()
    assert made["spec"]["containers"][0].keys() <= schema.fields["spec"].fields["containers"].items.fields.keys()


@pytest.mark.parametrize("version", ["1.25", "1.28", "1.33"])
def test_old_versions_list_groups_and_versions_in_the_same_order(version):
    catalog, latest = Api(version=version).apiserver.catalog, Api().apiserver.catalog.group_names()
    names = catalog.group_names()
    assert [name for name in names if name in latest] == [name for name in latest if name in names]
    for group in ["", *names]:
        found = catalog.versions(group)
        assert found == sorted(found, key=version_priority)
        rows = [row.version for row in catalog.resources() if row.group == group]
        assert rows == sorted(rows, key=version_priority)


@pytest.mark.parametrize("version", ["1.25", "1.31", "1.35", "1.37"])
def test_the_resources_of_another_version_are_in_the_order_of_discovery(version):
    """Groups in the order of 1.36, those that it does not have after them, and in each the versions by their priority."""
    recorded = builtin_resources(data.load(bootstrap.DISCOVERY))
    found = versions.resources(recorded, Api(version=version).apiserver.schemas)
    order = list(dict.fromkeys(row.group for row in recorded))
    groups = list(dict.fromkeys(row.group for row in found))
    known = [group for group in groups if group in order]
    assert known == [group for group in order if group in groups]
    assert groups[: len(known)] == known
    for group in groups:
        rows = [row.version for row in found if row.group == group]
        assert rows == sorted(rows, key=version_priority)
    places = [groups.index(row.group) for row in found]
    assert places == sorted(places)


def test_the_resources_of_the_recorded_version_are_as_recorded():
    recorded = builtin_resources(data.load(bootstrap.DISCOVERY))
    found = versions.resources(recorded, Api().apiserver.schemas)
    assert [(row.group, row.version, row.plural) for row in found] == [
        (row.group, row.version, row.plural) for row in recorded
    ]
