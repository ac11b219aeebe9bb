"""Objects for tests of the controllers of pods, and a test's hand as the kubelet."""

from datetime import UTC, datetime, timedelta

from fakekube.controllers.workload.podstate import is_ready, timestamp


def template(image="nginx:1", **spec):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def deployment(replicas=2, image="nginx:1", *, name="web", **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image),
            **spec,
        },
    }


def pods(fakekube, **labels):
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    return [
        pod
        for pod in fakekube.list("v1", "Pod", label_selector=selector)
        if not pod["metadata"].get("deletionTimestamp")
    ]


def events_about(fakekube, kind=None):
    """The types, reasons and messages of the Events about objects of a kind; None: of any kind."""
    found = [event for event in fakekube.events() if kind in (None, event["involvedObject"]["kind"])]
    return [(event["type"], event["reason"], event["message"]) for event in found]


def distinct_events_about(fakekube, kind=None):
    """`events_about` without repetitions."""
    return list(dict.fromkeys(events_about(fakekube, kind)))


def set_ready(fakekube, pod, ready=True):
    """Write the status of a pod that runs and is ready, or is not."""
    now = f"{fakekube.clock.now().isoformat()[:19]}Z"
    conditions = [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now}]
    status = {"phase": "Running", "conditions": conditions}
    fakekube.patch("v1", "Pod", pod["metadata"]["name"], {"status": status}, subresource="status")


def make_all_ready(fakekube):
    """Make every pod ready, until no controller creates another one."""
    while waiting := [pod for pod in pods(fakekube) if not is_ready(pod)]:
        for pod in waiting:
            set_ready(fakekube, pod)
        fakekube.settle()


def node(name="n1", *, ready="True", labels=None, **spec):
    conditions = [{"type": "Ready", "status": ready, "reason": "KubeletReady"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"conditions": conditions},
    }


#: A moment, for rules that get the time as an argument.
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def stamp(seconds):
    """The time this many seconds before NOW, as objects have it."""
    return timestamp((NOW - timedelta(seconds=seconds)).replace(tzinfo=None))
