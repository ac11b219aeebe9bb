"""The operator runs unmodified under the clock of the cluster, with the role of `deploy/rbac.yaml`."""

import asyncio
from pathlib import Path

import kopf
import previews  # noqa: F401 - the import registers the handlers
import pytest

DEPLOY = Path(__file__).parent.parent / "deploy"
PREVIEW = ("example.com/v1", "Preview", "pr-7")
DEPLOYMENT = ("apps/v1", "Deployment", "pr-7")

pytestmark = pytest.mark.fakekube(rbac=True, configure="default/previews")


def preview(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Preview", "metadata": {"name": "pr-7"}, "spec": spec}


def image_of(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container["image"]


@pytest.fixture
def kube(fakekube):
    fakekube.apply(DEPLOY)
    stop = asyncio.Event()
    operator = fakekube.task(kopf.operator(stop_flag=stop, standalone=True, clusterwide=True))
    yield fakekube
    stop.set()
    fakekube.advance(seconds=10)
    assert operator.done()


def test_a_preview_has_a_deployment(kube):
    kube.create(preview(image="shop:7"))
    kube.settle()
    deployment = kube.get(*DEPLOYMENT)
    assert image_of(deployment) == "shop:7"
    assert [owner["kind"] for owner in deployment["metadata"]["ownerReferences"]] == ["Preview"]


def test_a_new_image_is_deployed(kube):
    kube.create(preview(image="shop:7"))
    kube.settle()
    kube.patch(*PREVIEW, {"spec": {"image": "shop:8"}})
    kube.settle()
    assert image_of(kube.get(*DEPLOYMENT)) == "shop:8"


def test_a_preview_ends_after_its_hours(kube):
    kube.create(preview(image="shop:7", hours=2))
    kube.advance(minutes=119)
    assert kube.exists(*PREVIEW)
    kube.advance(minutes=2)
    assert not kube.exists(*PREVIEW)


def test_an_error_of_the_server_is_retried(kube):
    with kube.fault(verb="create", resource="deployments", error=503, times=1) as fault:
        kube.create(preview(image="shop:7"))
        kube.advance(minutes=2)
    assert fault.hits == 1
    assert kube.exists(*DEPLOYMENT)
