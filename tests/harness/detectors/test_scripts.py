"""P7: scripts of simulated pods that match no pod."""

import pytest

from fakekube import FakeKube
from tests.harness.detectors.scenes import texts


@pytest.fixture
def kube():
    detect = {"all": "warn", "writes-at-rest": "off"}
    with FakeKube(nodes=1, controllers=["scheduler", "kubelet"], detect=detect) as kube:
        yield kube


def pod(name="web", app="web"):
    meta = {"name": name, "namespace": "default", "labels": {"app": app}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [{"name": "main", "image": "i"}]},
    }


@pytest.mark.slow
def test_p7_a_selector_that_never_matches(kube):
    kube.pods("app=wbe").always().crash()
    kube.apply(pod())
    kube.advance(60)
    assert texts(kube) == [
        "[unused-script] pods('app=wbe').always(): 'crash' has matched no pod on a simulated node: compare the selector, "
        "the namespace and the name of the container with those of the pods"
    ]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (lambda pods: pods.crash(container="side"), "'crash' of container 'side'"),
        (lambda pods: pods.exec("out", container="side"), "'exec' of container 'side'"),
        (lambda pods: pods.logs("text", container="s*"), "'logs' of container 's*'"),
        (lambda pods: pods.fail_probe("readiness", container="side"), "'fail readiness' of container 'side'"),
    ],
)
def test_p7_a_container_that_no_pod_has(kube, script, said):
    script(kube.pods("app=web").always())
    kube.apply(pod())
    kube.advance(60)
    (text,) = texts(kube)
    assert said in text


def test_p7_an_eviction_concerns_only_pods_that_exist(kube):
    kube.pods("app=web").always().evict()
    kube.apply(pod())
    kube.advance(5)
    assert len(texts(kube)) == 1


@pytest.mark.slow
def test_p7_pods_that_exist_already_or_come_later_or_have_gone_again(kube):
    kube.apply(pod("first", "one"))
    kube.advance(5)
    kube.pods("app=one").always().not_ready()
    kube.pods("app=two").always().crash()
    kube.apply(pod("second", "two"))
    kube.advance(5)
    kube.delete("v1", "Pod", "second")
    kube.advance(60)
    assert texts(kube) == []


def test_p7_a_pod_that_no_node_runs_has_no_containers(kube):
    kube.pods("app=web").always().crash()
    waits = pod()
    waits["spec"]["nodeSelector"] = {"no": "node"}
    kube.apply(waits)
    kube.advance(60)
    (text,) = texts(kube)
    assert "'crash' has matched no pod" in text
