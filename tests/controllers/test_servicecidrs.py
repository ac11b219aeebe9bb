"""When a ServiceCIDR may be deleted: no address of it may be left without a range (`pkg/controller/servicecidrs`)."""

import pytest

pytestmark = pytest.mark.fakekube(controllers=["service-cidr-controller"])

API = "networking.k8s.io/v1"


def create_range(fakekube, name, *cidrs):
    fakekube.create(
        {"apiVersion": API, "kind": "ServiceCIDR", "metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}
    )
    fakekube.settle()


def create_service(fakekube, name, address):
    meta = {"name": name, "namespace": "default"}
    spec = {"clusterIP": address, "ports": [{"port": 80}]}
    fakekube.create({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
    fakekube.settle()


def ready(fakekube, name):
    (found,) = fakekube.get(API, "ServiceCIDR", name, "")["status"]["conditions"]
    return found["status"], found.get("reason") or ""


def delete(fakekube, name, seconds=11):
    fakekube.delete(API, "ServiceCIDR", name, "")
    fakekube.advance(seconds)
    return not fakekube.exists(API, "ServiceCIDR", name, "")


def test_a_range_is_kept_for_ten_seconds_so_that_all_servers_know(fakekube):
    create_range(fakekube, "more", "10.200.0.0/24")
    assert ready(fakekube, "more") == ("True", "")
    assert fakekube.get(API, "ServiceCIDR", "more", "")["metadata"]["finalizers"] == [
        "networking.k8s.io/service-cidr-finalizer"
    ]
    assert not delete(fakekube, "more", 9)
    fakekube.advance(2)
    assert not fakekube.exists(API, "ServiceCIDR", "more", "")


@pytest.mark.parametrize(
    ("others", "deleted"),
    [
        ([], False),
        (["10.200.0.0/16"], True),  # a larger one contains it
        (["10.200.0.0/24"], True),  # an equal one
        (["10.200.0.0/28"], True),  # a smaller one has the address that is in use
        (["10.200.0.128/28"], False),
        (["10.201.0.0/16"], False),
        (["fd00::/64"], False),
    ],
)
def test_a_range_whose_address_is_in_use(fakekube, others, deleted):
    create_range(fakekube, "more", "10.200.0.0/24")
    for number, cidr in enumerate(others):
        create_range(fakekube, f"other{number}", cidr)
    create_service(fakekube, "web", "10.200.0.7")
    assert delete(fakekube, "more") is deleted
    if not deleted:
        assert ready(fakekube, "more") == ("False", "Terminating")
        fakekube.delete("v1", "Service", "web")
        fakekube.advance(11)
        assert not fakekube.exists(API, "ServiceCIDR", "more", "")


def test_the_addresses_of_other_ranges_do_not_matter(fakekube):
    create_range(fakekube, "more", "10.200.0.0/24")
    create_range(fakekube, "other", "10.201.0.0/24")
    create_service(fakekube, "web", "10.201.0.7")
    assert delete(fakekube, "more")


def test_a_range_that_is_created_frees_one_that_waits(fakekube):
    create_range(fakekube, "more", "10.200.0.0/24")
    create_service(fakekube, "web", "10.200.0.7")
    assert not delete(fakekube, "more")
    create_range(fakekube, "larger", "10.200.0.0/16")
    fakekube.advance(1)
    assert not fakekube.exists(API, "ServiceCIDR", "more", "")


def test_ranges_of_two_families_need_a_parent_for_each(fakekube):
    create_range(fakekube, "both", "10.200.0.0/24", "fd00:1::/112")
    create_range(fakekube, "four", "10.200.0.0/16")
    create_service(fakekube, "web", "10.200.0.7")
    assert delete(fakekube, "both")  # no address of the other family is in use
