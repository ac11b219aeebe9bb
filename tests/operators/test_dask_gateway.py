"""The controller of dask-gateway (kubernetes_asyncio): informers, a queue with back-off, and a loop that cleans up."""

import logging

import pytest
from dask_gateway_server.backends.kubernetes.backend import KubeClusterConfig
from dask_gateway_server.backends.kubernetes.controller import KubeController
from traitlets.config import Config

from tests.operators.definitions import definition

API, KIND = "gateway.dask.org/v1alpha1", "DaskCluster"
HOUR = 3600

DEFINITIONS = [
    definition("daskclusters.gateway.dask.org", "DaskCluster", "v1alpha1", subresources={"status": {}}),
    definition("ingressroutes.traefik.io", "IngressRoute", "v1alpha1"),
    definition("ingressroutetcps.traefik.io", "IngressRouteTCP", "v1alpha1"),
]

SETTINGS = {
    "address": "127.0.0.1:0",
    "api_url": "http://gateway/api",
    "gateway_instance": "gateway",
    "completed_cluster_max_age": float(HOUR),
}

#: What creates Endpoints for Services, starts pods and removes dependents.
CONTROLLERS = {"controllers": ["endpoint", "garbagecollector", "scheduler", "kubelet"]}

pytestmark = pytest.mark.fakekube(configure=True, **CONTROLLERS)


def main():
    """The coroutine of a new process of the controller."""
    controller = KubeController(config=Config(KubeController=SETTINGS))
    controller.initialize([])
    logging.getLogger(controller.log.name).handlers.clear()
    return controller.main()


def start(kube):
    kube.apply(*DEFINITIONS)
    return kube.task(main, name="controller")


def cluster(name="a", replicas=2):
    meta = {"name": name, "namespace": "default", "labels": {"gateway.dask.org/instance": "gateway"}}
    spec = {"config": KubeClusterConfig().to_dict(), "replicas": replicas}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec}


def workers(kube):
    return [p["metadata"]["name"] for p in kube.list("v1", "Pod") if "worker" in p["metadata"]["name"]]


def phase(kube):
    return kube.get(API, KIND, "a")["status"]["phase"]


def made(kube):
    """What the controller has written: verb, resource and time."""
    agents = {r.user_agent for r in kube.requests(resource="daskclusters", verb="watch")}
    return [
        (r.verb, r.resource, r.at)
        for r in kube.requests()
        if r.user_agent in agents and r.verb not in ("get", "list", "watch")
    ]


def scenario(kube):
    start(kube)
    kube.create(cluster())
    kube.advance(minutes=10)
    kube.patch(API, KIND, "a", {"spec": {"replicas": 4}})
    kube.advance(minutes=10)
    kube.patch(API, KIND, "a", {"spec": {"active": False}})
    kube.advance(minutes=40)


@pytest.mark.slow
def test_starts_a_cluster(fakekube):
    start(fakekube)
    fakekube.create(cluster())
    fakekube.advance(seconds=10)

    assert phase(fakekube) == "Running"
    assert made(fakekube) == [
        ("create", "secrets", 0),
        ("create", "pods", 0),
        ("patch", "daskclusters", 0),
        ("create", "services", 1),
        ("patch", "daskclusters", 1),
        ("create", "ingressroutes", 1),
        ("create", "ingressroutetcps", 1),
        ("patch", "daskclusters", 1),
        ("create", "pods", 1),
        ("create", "pods", 1),
    ]


@pytest.mark.slow
def test_watches_again_every_ten_seconds(fakekube):
    start(fakekube)
    fakekube.advance(hours=1)
    for resource in ("daskclusters", "pods", "endpoints"):
        found = fakekube.requests(
            resource=resource, verb="watch", user_agent="OpenAPI-Generator/33.3.0+snapshot/python"
        )
        assert [r.at for r in found] == list(range(0, HOUR + 1, 10))


@pytest.mark.slow
def test_a_record_is_deleted_an_hour_after_the_cluster_has_stopped(fakekube):
    start(fakekube)
    fakekube.create(cluster())
    fakekube.advance(minutes=15)
    fakekube.patch(API, KIND, "a", {"spec": {"active": False}})
    fakekube.advance(minutes=1)
    assert phase(fakekube) == "Stopped"
    assert fakekube.list("v1", "Pod") == []

    fakekube.advance(hours=2)

    # every ten minutes it looks for records that are older than an hour
    assert [at for verb, resource, at in made(fakekube) if (verb, resource) == ("delete", "daskclusters")] == [
        HOUR + 20 * 60
    ]
    assert not fakekube.exists(API, KIND, "a")


@pytest.mark.slow
def test_replaces_a_worker_that_fails(fakekube):
    start(fakekube)
    fakekube.create(cluster())
    fakekube.advance(minutes=1)
    first, second = workers(fakekube)
    fakekube.pods(name=first).evict()
    fakekube.advance(minutes=1)
    left = workers(fakekube)
    assert second in left
    assert len(left) == 2


@pytest.mark.slow
def test_errors_are_retried_with_an_exponential_back_off(fakekube):
    start(fakekube)
    with fakekube.fault(verb="create", resource="secrets", error=500, times=5):
        fakekube.create(cluster())
        fakekube.advance(minutes=1)
    tries = [(r.code, round(r.at, 3)) for r in fakekube.requests(verb="create", resource="secrets")]
    assert tries == [(500, 0), (500, 0.1), (500, 0.3), (500, 0.7), (500, 1.5), (201, 3.1)]
    assert phase(fakekube) == "Running"


@pytest.mark.slow
def test_cancelled_it_stops_in_good_order(fakekube):
    task = start(fakekube)
    fakekube.create(cluster())
    fakekube.advance(minutes=10)
    task.cancel()
    fakekube.settle()
    assert task.done()
    before = len(fakekube.requests(verb="watch", resource="endpoints"))
    fakekube.advance(hours=1)
    assert len(fakekube.requests(verb="watch", resource="endpoints")) == before


@pytest.mark.slow
def test_each_restart_starts_the_workers_again_that_wait_for_a_node(fakekube):
    """A pod without container statuses is not counted: `on_pod_update` of controller.py returns at once."""
    task = start(fakekube)
    waiting = cluster(replicas=3)
    waiting["spec"]["config"] |= {"worker_cores": 1000, "worker_cores_limit": 1000}
    fakekube.create(waiting)
    fakekube.advance(minutes=1)
    numbers = [len(workers(fakekube))]
    for _ in range(3):
        task.cancel()
        fakekube.settle()
        task = start(fakekube)
        fakekube.advance(minutes=1)
        numbers.append(len(workers(fakekube)))
    assert numbers == [3, 6, 9, 12]


@pytest.mark.slow
def test_one_worker_less_deletes_all_but_one_of_those_that_have_not_started(fakekube):
    """`handle_scale_down` of controller.py takes `list(info.pending)[:delta]`, with a negative delta."""
    fakekube.pods(label_selector="app.kubernetes.io/component=dask-worker").always().start_after("1h")
    start(fakekube)
    fakekube.create(cluster(replicas=4))
    fakekube.advance(minutes=1)
    first = workers(fakekube)
    fakekube.patch(API, KIND, "a", {"spec": {"replicas": 3}})
    fakekube.advance(minutes=1)
    left = workers(fakekube)
    assert [verb for verb, resource, _ in made(fakekube) if resource == "pods"].count("delete") == 3
    assert (len(left), len(set(left) & set(first))) == (3, 1)
