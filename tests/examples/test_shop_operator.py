"""The operator of `shop_operator.py`, which waits for a Deployment: the cluster's controllers and a node run it."""

from pathlib import Path

import pytest

from tests.examples.shop_operator import API, build

CRD = Path(__file__).parent / "crds" / "shop.yaml"
SHOP = {"apiVersion": API, "kind": "Shop", "metadata": {"name": "a", "namespace": "default"}, "spec": {"replicas": 2}}


@pytest.mark.fakekube(controllers=["*"], nodes=1)
def test_a_shop_is_ready_when_its_pods_are(fakekube):
    fakekube.apply(CRD, SHOP)
    fakekube.pods("shop=a").always().start_after("2m")
    fakekube.start(build)
    fakekube.advance(minutes=1)
    assert "status" not in fakekube.get(API, "Shop", "a")
    fakekube.advance(minutes=2)
    assert fakekube.get(API, "Shop", "a")["status"] == {"ready": True}


@pytest.mark.fakekube(controllers=["*"], nodes=1)
def test_a_shop_is_not_ready_while_its_pods_crash(fakekube):
    fakekube.apply(CRD, SHOP)
    fakekube.start(build)
    fakekube.advance_until(lambda: fakekube.get(API, "Shop", "a").get("status") == {"ready": True}, "1m")
    fakekube.pods("shop=a").crash(exit_code=137)
    fakekube.advance(minutes=1)
    assert fakekube.get(API, "Shop", "a")["status"] == {"ready": False}


@pytest.mark.fakekube(controllers=["*"], nodes=1)
def test_a_deleted_shop_takes_its_pods_with_it(fakekube):
    fakekube.apply(CRD, SHOP)
    fakekube.start(build)
    fakekube.advance(minutes=1)
    assert len(fakekube.list("v1", "Pod")) == 2
    fakekube.delete(API, "Shop", "a")
    fakekube.advance(minutes=1)
    assert fakekube.list("v1", "Pod") == []


@pytest.mark.fakekube(controllers=["deployment", "replicaset"])
def test_the_test_is_the_kubelet(fakekube):
    fakekube.apply(CRD, SHOP)
    fakekube.start(build)
    for pod in fakekube.list("v1", "Pod"):
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        fakekube.patch("v1", "Pod", pod["metadata"]["name"], {"status": status}, subresource="status")
    fakekube.settle()
    assert fakekube.get(API, "Shop", "a")["status"] == {"ready": True}
