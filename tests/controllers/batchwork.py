"""Jobs for tests, and a test's hand as the kubelet of their pods."""

from tests.controllers.workloads import pods

TEMPLATE = {
    "metadata": {"labels": {"app": "batch"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox:1"}]},
}


def job(name="j", **spec):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": TEMPLATE, **spec}}


def job_status(fakekube, name="j"):
    return fakekube.get("batch/v1", "Job", name)["status"]


def condition_types(fakekube, name="j"):
    return [one["type"] for one in job_status(fakekube, name).get("conditions", ()) if one["status"] == "True"]


def end(fakekube, pod, code=0):
    """Write the status of a pod whose container has ended now with an exit code."""
    now = f"{fakekube.clock.now().isoformat()[:19]}Z"
    state = {"terminated": {"exitCode": code, "startedAt": now, "finishedAt": now}}
    container = {"name": "c", "image": "busybox:1", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
    fakekube.patch("v1", "Pod", pod["metadata"]["name"], {"status": status}, subresource="status")


def running(fakekube):
    """The pods that have not ended."""
    return [pod for pod in pods(fakekube) if pod["status"]["phase"] not in ("Succeeded", "Failed")]
