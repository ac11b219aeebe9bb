"""Writes that skip all rules, as a direct write to etcd does."""

import pytest

from fakekube.apiserver.endpoints import unchecked
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.api import Api
from tests.apiserver.validation.test_pods import POD


def write(api, obj, plural="configmaps", group="", version="v1"):
    resource = api.apiserver.catalog.find(group, version, plural)
    return unchecked.write(api.apiserver, resource, obj, api.context).object


def test_a_new_object_gets_what_every_stored_object_has():
    api = Api()
    made = write(api, {"metadata": {"name": "A!", "resourceVersion": "9", "labels": {"x": "y"}}, "data": {"a": "b"}})
    meta = made["metadata"]
    assert (meta["name"], meta["namespace"], meta["uid"]) == ("A!", "default", "uid-1-of-configmaps/default/A!")
    assert meta["creationTimestamp"] == api.context.now
    assert meta["resourceVersion"] == str(api.revision)
    assert "generation" not in meta
    (entry,) = meta["managedFields"]
    assert (entry["manager"], entry["operation"], list(entry["fieldsV1"])) == (
        "unchecked-write",
        "Update",
        ["f:data", "f:metadata"],
    )
    assert len(api.changes) == 1


def test_given_metadata_is_kept_and_the_existing_one_fills_it_up():
    api = Api()
    old = write(
        api,
        {
            "metadata": {
                "name": "a",
                "namespace": "n",
                "uid": "u",
                "creationTimestamp": "2001-01-01T00:00:00Z",
                "generation": 5,
            }
        },
    )
    assert (old["metadata"]["uid"], old["metadata"]["generation"], old["metadata"]["namespace"]) == ("u", 5, "n")
    new = write(api, {"metadata": {"name": "a", "namespace": "n"}, "data": {"x": "1"}})["metadata"]
    assert (new["uid"], new["creationTimestamp"], new["generation"]) == ("u", "2001-01-01T00:00:00Z", 5)
    other = write(
        api,
        {
            "metadata": {
                "name": "a",
                "namespace": "n",
                "uid": "v",
                "generation": 6,
                "managedFields": [
                    {
                        "manager": "m",
                        "operation": "Update",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {}},
                    }
                ],
            }
        },
    )
    assert (other["metadata"]["uid"], other["metadata"]["generation"]) == ("v", 6)
    assert [one["manager"] for one in other["metadata"]["managedFields"]] == ["m"]


def test_kinds_that_count_generations_begin_with_the_first():
    made = write(Api(), {"metadata": {"name": "a"}, "spec": {}}, "deployments", "apps")
    assert made["metadata"]["generation"] == 1
    assert made["spec"]["replicas"] == 1, "it has defaults"


def test_a_status_is_written_with_the_object_and_no_rule_is_checked():
    api = Api()
    made = write(api, {"metadata": {"name": "p"}, "spec": POD["spec"], "status": {"phase": "Running"}}, "pods")
    assert made["status"]["phase"] == "Running"
    assert write(api, {"metadata": {"name": "p"}, "spec": {"containers": []}}, "pods")["spec"]["containers"] == []


def test_objects_without_a_namespace():
    made = write(Api(), {"metadata": {"name": "n"}}, "nodes")["metadata"]
    assert "namespace" not in made
    assert made["uid"] == "uid-1-of-nodes/n"


def test_what_the_schema_does_not_have():
    api = Api()
    with pytest.raises(StatusError, match="unknown field z"):
        write(api, {"metadata": {"name": "a"}, "z": 1})
    with pytest.raises(WrongType):
        write(api, {"metadata": {"name": "a"}, "data": 1})
    assert api.changes == []
