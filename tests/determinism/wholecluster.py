"""All controllers of a cluster with three nodes for two virtual hours, which give the same log in each run.

A Deployment that rolls out, scales and has pods that crash, a StatefulSet with claims, a DaemonSet, a Job that fails
and retries, a CronJob, a Service, a disruption budget, a quota, a node that is lost and a namespace that is deleted.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.server.runner import ServerRunner


def labelled(name):
    return {"matchLabels": {"app": name}}


def template(name, restart="Always", **container):
    containers = [{"name": "main", "image": "example.com/main", **container}, {"name": "sidecar", "image": "s"}]
    spec = {"containers": containers, "restartPolicy": restart}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def of(api_version, kind, name, **fields):
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        **fields,
    }


def job(name, restart="Never"):
    return {"completions": 4, "parallelism": 2, "backoffLimit": 3, "template": template(name, restart)}


def objects():
    requests = {"cpu": "500m", "memory": "64Mi"}
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    web = {"replicas": 5, "selector": labelled("web"), "revisionHistoryLimit": 2}
    web["template"] = template("web", resources={"requests": requests}, readinessProbe=probe)
    db = {"replicas": 3, "serviceName": "db", "selector": labelled("db"), "template": template("db")}
    cron = {"schedule": "*/10 * * * *", "jobTemplate": {"spec": job("cron", "OnFailure")}}
    return [
        of("v1", "ResourceQuota", "limits", spec={"hard": {"pods": "100"}}),
        of("v1", "Service", "db", spec={"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 80}]}),
        of("v1", "Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
        of("policy/v1", "PodDisruptionBudget", "web", spec={"minAvailable": 2, "selector": labelled("web")}),
        of("apps/v1", "Deployment", "web", spec=web),
        of("apps/v1", "StatefulSet", "db", spec={**db, "volumeClaimTemplates": [claim]}),
        of("apps/v1", "DaemonSet", "agent", spec={"selector": labelled("agent"), "template": template("agent")}),
        of("batch/v1", "Job", "once", spec=job("once")),
        of("batch/v1", "CronJob", "often", spec=cron),
    ]


def work(kube):
    """What the test does in two hours."""
    kube.pods("app=once", name="once-*").always().exit_after("20s", exit_code=1)
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "extra"}}, *objects())
    kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "extra"}})
    kube.advance(minutes=10)
    kube.pods("app=web").crash(after="30s", container="main")
    kube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 9}})
    kube.advance(minutes=10)
    kube.patch("apps/v1", "Deployment", "web", {"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}})
    kube.patch("apps/v1", "StatefulSet", "db", {"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}})
    kube.advance(minutes=10)
    kube.nodes["node-2"].lose()
    kube.delete("v1", "Namespace", "extra")
    kube.advance(minutes=20)
    kube.nodes["node-2"].recover()
    kube.pods("app=db", name="db-1").evict()
    kube.advance(minutes=20)
    kube.delete("apps/v1", "DaemonSet", "agent")
    kube.delete("apps/v1", "Deployment", "web", propagationPolicy="Foreground")
    kube.advance(minutes=50)


@contextmanager
def recorded(runner: ServerRunner) -> Iterator[list[str]]:
    """The requests that the server receives: virtual time, method, path, query, headers, body."""
    received: list[str] = []
    begin = runner.begin

    def recording(request, client=None):
        body = request.body.decode() if isinstance(request.body, bytes) else json.dumps(request.body)
        query, headers = dict(request.query), dict(request.headers)
        at = round(runner.clock.monotonic() * 1_000_000)
        received.append(f"{at} {request.method} {request.path} {query} {headers} {request.user.name} {body}")
        return begin(request, client)

    runner.begin = recording  # type: ignore[method-assign]
    try:
        yield received
    finally:
        runner.begin = begin  # type: ignore[method-assign]


def run(seed=2026):
    """One run: its log with all requests, reconciles and requests."""
    with (
        FakeKube(seed=seed, controllers=["*"], nodes=3, detect={"all": "off"}) as kube,
        recorded(engine_of(kube).server) as received,
    ):
        work(kube)
        return "\n".join([*received, kube.log()]), len(kube.ledger), len(received)
