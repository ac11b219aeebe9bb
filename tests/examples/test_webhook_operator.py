"""The operator of `webhook_operator.py` with the manifests that it ships: conversion, defaults, a policy, its role."""

from pathlib import Path

import pytest

from controllerlib import ApiError
from tests.examples.webhook_operator import API, application, build

SHIPPED = Path(__file__).parent / "databases"
OLD = "example.com/v1alpha1"

pytestmark = pytest.mark.fakekube(rbac=True)


def old_database(name="orders", **spec):
    return {"apiVersion": OLD, "kind": "Database", "metadata": {"name": name}, "spec": {"size": "10Gi", **spec}}


def database(name="orders", **spec):
    spec = {"storage": {"size": "10Gi"}, **spec}
    return {"apiVersion": API, "kind": "Database", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def operator(fakekube):
    fakekube.apply(SHIPPED)
    fakekube.webhooks.serve(application(), service="operator", namespace="databases")
    fakekube.webhooks.inject_ca_bundle()
    return fakekube.start(build, service_account="databases/operator")


def test_what_ships_does_what_it_should(fakekube, operator):
    fakekube.create(old_database(instances=3))
    fakekube.settle()

    assert fakekube.get(API, "Database", "orders")["spec"] == {
        "replicas": 3,
        "storage": {"size": "10Gi", "className": "standard"},
    }
    assert fakekube.get("apps/v1", "StatefulSet", "orders")["spec"]["replicas"] == 3
    with pytest.raises(ApiError, match="a database needs an odd number of replicas"):
        fakekube.patch(API, "Database", "orders", {"spec": {"replicas": 2}})

    fakekube.advance(days=1)
    assert fakekube.get(OLD, "Database", "orders")["status"] == {"ready": 0, "backups": 4}
    report = fakekube.access.rbac_report(service_account="databases/operator")
    assert report.missing == []


def test_the_whole_life_of_a_database(fakekube, operator):
    made = fakekube.create(old_database())
    assert made["apiVersion"] == OLD
    assert made["spec"] == {"size": "10Gi", "instances": 1}
    assert made["metadata"]["annotations"] == {"example.com/class": "standard"}
    fakekube.settle()
    fakekube.patch(OLD, "Database", "orders", {"spec": {"instances": 5}})
    fakekube.settle()
    assert fakekube.get("apps/v1", "StatefulSet", "orders")["spec"]["replicas"] == 5
    assert [one["spec"]["instances"] for one in fakekube.list(OLD, "Database")] == [5]
    assert fakekube.get(API, "Database", "orders")["metadata"]["finalizers"] == ["example.com/volumes"]
    fakekube.delete(OLD, "Database", "orders")
    fakekube.settle()
    assert not fakekube.exists(API, "Database", "orders")
    assert not fakekube.exists("apps/v1", "StatefulSet", "orders")
    assert operator["database"].errors() == []


@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(lambda: database(replicas=4), "a database needs an odd number of replicas", id="even"),
        pytest.param(lambda: database(replicas=7), "at most 5 replicas, not 7", id="too-many"),
        pytest.param(lambda: old_database(instances=7), "at most 5 replicas, not 7", id="too-many-of-the-old-version"),
        pytest.param(lambda: database(storage={}), "spec.storage.size: Required value", id="no-size"),
    ],
)
def test_invalid_objects_are_rejected(fakekube, operator, make, why):
    with pytest.raises(ApiError, match=why):
        fakekube.create(make())
    assert not fakekube.exists(API, "Database", "orders")


def test_a_size_stays_what_it_is_in_either_version(fakekube, operator):
    fakekube.create(database())
    for version, change in ((API, {"storage": {"size": "20Gi"}}), (OLD, {"size": "20Gi"})):
        with pytest.raises(ApiError, match="the size of a database cannot change"):
            fakekube.patch(version, "Database", "orders", {"spec": change})


def test_limits_come_from_a_config_map(fakekube, operator):
    fakekube.patch("v1", "ConfigMap", "database-limits", {"data": {"mostReplicas": "9"}}, namespace="databases")
    assert fakekube.create(database(replicas=7))["spec"]["replicas"] == 7
    fakekube.delete("v1", "ConfigMap", "database-limits", "databases")
    with pytest.raises(ApiError, match="no params found for policy binding with `Deny` parameterNotFoundAction"):
        fakekube.create(database("other"))


def test_the_role_is_minimal(fakekube, operator):
    fakekube.create(database())
    fakekube.settle()
    fakekube.patch(API, "Database", "orders", {"spec": {"replicas": 3}})
    fakekube.settle()
    fakekube.delete(API, "Database", "orders")
    fakekube.settle()
    report = fakekube.access.rbac_report(service_account="databases/operator")
    assert report.missing == []
    assert {one.verb for one in report.unused} <= {"get", "list"}  # reads come from the cache
