"""The operator of `plain_operator.py`, in a thread under the cluster's clock; what it does shows in the request log."""

import base64

import pytest

from tests.examples import plain_operator


def config_map(name, **data):
    meta = {"name": name, "namespace": "default", "labels": {"mirror": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


@pytest.fixture
def operator(fakekube, fakekube_client):
    """The operator, started on a cluster with one ConfigMap."""
    fakekube_client.user_agent = "mirror/1.0"
    fakekube.apply(config_map("a", colour="red"))
    fakekube.thread(plain_operator.run, fakekube_client, name="mirror")
    fakekube.settle()


def calls(fakekube):
    return [(r.verb, r.resource) for r in fakekube.requests(user_agent="mirror/1.0")]


def test_mirrors_what_is_there(fakekube, operator):
    secret = fakekube.get("v1", "Secret", "a")
    assert base64.b64decode(secret["data"]["colour"]) == b"red"
    assert calls(fakekube) == [
        ("list", "configmaps"),
        ("get", "secrets"),
        ("create", "secrets"),
        ("watch", "configmaps"),
    ]


def test_follows_changes(fakekube, operator):
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"colour": "blue"}})
    fakekube.settle()
    assert base64.b64decode(fakekube.get("v1", "Secret", "a")["data"]["colour"]) == b"blue"
    assert calls(fakekube)[-2:] == [("get", "secrets"), ("update", "secrets")]


def test_lists_again_every_ten_minutes(fakekube, operator):
    fakekube.advance(hours=1)
    assert calls(fakekube).count(("list", "configmaps")) == 1 + 6
    assert fakekube.findings.noop_writes() == []
    assert [r for r in fakekube.requests(user_agent="mirror/1.0") if r.verb == "update"] == []
