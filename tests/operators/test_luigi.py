"""A task of Luigi (pykube, in a thread): it creates a Job, and polls it in a blocking loop until it ends."""

import warnings
from datetime import timedelta

import pytest
import requests

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import luigi
    from luigi.contrib.kubernetes import KubernetesJobTask

pytestmark = [
    # the loop of Luigi lists the Job each minute
    pytest.mark.fakekube(configure=True, detect={"poll-list": "off"}),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
]

AGENT = "pykube-ng/23.6.0"


class Nightly(KubernetesJobTask):
    name = "nightly"
    spec_schema = {"containers": [{"name": "work", "image": "busybox"}]}  # noqa: RUF012
    poll_interval = 60

    kubeconfig_path = luigi.Parameter()


def start(kube):
    return kube.thread(Nightly(kubeconfig_path=str(kube.access.kubeconfig)).run, name="nightly")


def add_pod(kube):
    """What the Job controller does; returns the Job's name."""
    (job,) = kube.list("batch/v1", "Job")
    name = job["metadata"]["name"]
    meta = {"name": f"{name}-0", "labels": {"job-name": name}}
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": job["spec"]["template"]["spec"]})
    return name


def give_work(kube):
    """It gives up when there is no pod."""
    kube.settle()
    add_pod(kube)


def end(kube, name, **status):
    kube.patch("batch/v1", "Job", name, {"status": status}, subresource="status")


def scenario(kube):
    start(kube)
    kube.settle()
    name = add_pod(kube)
    kube.advance(hours=6)
    end(kube, name, succeeded=1)
    kube.advance(minutes=2)


def polls(kube):
    return [r.at for r in kube.requests(verb="list", resource="jobs", user_agent=AGENT)]


@pytest.mark.slow
def test_polls_a_job_each_minute_for_36_hours(fakekube):
    thread = start(fakekube)
    fakekube.settle()
    name = add_pod(fakekube)

    fakekube.advance(hours=36)
    assert thread.is_alive()
    end(fakekube, name, succeeded=1)
    fakekube.advance(minutes=1)

    assert not thread.is_alive()
    # at first, it waits 5 s for a pod
    assert polls(fakekube) == [0, *range(5, 36 * 3600 + 6, 60)]
    assert fakekube.list("batch/v1", "Job") == []
    writes = [(r.verb, r.code, r.at) for r in fakekube.requests(user_agent=AGENT) if r.verb not in ("get", "list")]
    last = timedelta(hours=36, seconds=5).total_seconds()
    assert writes == [("create", 201, 0), ("patch", 200, last), ("delete", 200, last)]


def test_the_name_has_the_time_of_the_cluster_and_follows_from_the_seed(fakekube):
    start(fakekube)
    fakekube.settle()
    (job,) = fakekube.list("batch/v1", "Job")
    assert job["metadata"]["name"].startswith(f"nightly-{fakekube.clock.now():%Y%m%d%H%M%S}-")
    assert job["metadata"]["labels"]["spawned_by"] == "luigi"


@pytest.mark.slow
def test_a_failed_job_fails_the_task(fakekube):
    start(fakekube)
    fakekube.settle()
    name = add_pod(fakekube)
    fakekube.advance(hours=1)
    end(fakekube, name, failed=1)
    with pytest.raises(AssertionError, match=f"Kubernetes job {name} failed"):
        fakekube.advance(hours=1)
    assert polls(fakekube)[-1] == timedelta(hours=1, seconds=5).total_seconds()


@pytest.mark.slow
def test_a_rejected_poll_fails_the_task(fakekube):
    start(fakekube)
    fakekube.settle()
    add_pod(fakekube)
    fakekube.advance(hours=1)
    with (
        fakekube.fault(verb="list", resource="jobs", error=403, times=1),
        pytest.raises(requests.HTTPError, match="403"),
    ):
        fakekube.advance(minutes=1)
