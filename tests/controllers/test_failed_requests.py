"""Each controller of the cluster makes a request again that failed, and says what failed where its original does."""

import pytest

from tests.controllers.batchwork import end, job
from tests.controllers.test_accounts import account, token_secret
from tests.controllers.test_attachdetach import managed_node
from tests.controllers.test_autoscaler import begin as with_autoscaler
from tests.controllers.test_cronjob import cron_job
from tests.controllers.test_daemonset import daemon_set
from tests.controllers.test_disruption import bare_pod, budget
from tests.controllers.test_endpoints import add_pod, service
from tests.controllers.test_nodes import pod as bound_pod
from tests.controllers.test_statefulset import claim_template, stateful_set
from tests.controllers.volumes import claim, pod_with, storage_class, volume
from tests.controllers.workloads import deployment, node, pods, set_ready

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "other"}}
DRIVER = "csi.example.com"


# Each script creates something, waits at its `yield` until the fault is set, and goes on.


def scaled_down(kube):
    kube.create(deployment(2))
    kube.settle()
    yield
    kube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 1}})


def rolled_out(kube):
    kube.create(deployment(1))
    kube.settle()
    yield
    kube.patch("apps/v1", "Deployment", "web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})


def set_updated(kube):
    kube.create(stateful_set(1, volumeClaimTemplates=[claim_template()]))
    kube.settle()
    yield
    kube.patch("apps/v1", "StatefulSet", "web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})


def daemon_created(kube):
    kube.create(node("n0"))
    yield
    kube.create(daemon_set())


def job_suspended(kube):
    kube.create(job(parallelism=2))
    kube.settle()
    yield
    kube.patch("batch/v1", "Job", "j", {"spec": {"suspend": True}})


def job_expired(kube):
    kube.create(job(ttlSecondsAfterFinished=5))
    kube.settle()
    end(kube, pods(kube)[0])
    kube.settle()
    yield


def cron_job_due(kube):
    kube.create(cron_job("*/1 * * * *", successfulJobsHistoryLimit=0))
    yield
    kube.advance("61s")
    for one in pods(kube):
        end(kube, one)


def namespace_created(kube):
    yield
    kube.create(NAMESPACE)


def namespace_deleted(kube):
    kube.create(NAMESPACE)
    kube.create(CONFIG)
    kube.settle()
    yield
    kube.delete("v1", "Namespace", "other")


def published_changed(kube):
    kube.settle()
    yield
    kube.patch("v1", "ConfigMap", "kube-root-ca.crt", {"data": {"ca.crt": "x"}})


def token_requested(kube):
    kube.create(account())
    yield
    kube.create(token_secret())


def token_account_deleted(kube):
    kube.create(account(secrets=[{"name": "t"}]))
    kube.create(token_secret())
    kube.settle()
    yield
    kube.delete("v1", "ServiceAccount", "robot")


def token_deleted(kube):
    kube.create(account(secrets=[{"name": "t"}]))
    kube.create(token_secret())
    kube.settle()
    yield
    kube.delete("v1", "Secret", "t")


def owner_deleted(kube):
    kube.create({**CONFIG, "metadata": {"name": "owner", "namespace": "default"}})
    owner = kube.get("v1", "ConfigMap", "owner")["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    meta = {"name": "dependent", "namespace": "default", "ownerReferences": [reference]}
    kube.create({**CONFIG, "metadata": meta})
    kube.settle()
    yield
    kube.delete("v1", "ConfigMap", "owner")


def owner_orphaned(kube):
    steps = owner_deleted(kube)
    next(steps)
    yield
    kube.delete("v1", "ConfigMap", "owner", propagationPolicy="Orphan")


def owner_in_foreground(kube):
    steps = owner_deleted(kube)
    next(steps)
    yield
    kube.delete("v1", "ConfigMap", "owner", propagationPolicy="Foreground")


def node_lost(kube):
    kube.create(node("n1"))
    kube.create(bound_pod())
    set_ready(kube, bound_pod())
    kube.settle()
    yield
    kube.advance("1m")


def node_deleted(kube):
    kube.create(node("n1"))
    kube.create(bound_pod())
    kube.settle()
    yield
    kube.delete("v1", "Node", "n1")


def node_tainted(kube):
    kube.create(node("n1"))
    kube.create(bound_pod())
    kube.settle()
    yield
    kube.patch("v1", "Node", "n1", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})


def volume_attached(kube):
    kube.create(managed_node("n1"))
    kube.create(volume(csi={"driver": DRIVER, "volumeHandle": "h"}))
    kube.create(claim())
    kube.settle()
    yield
    kube.create(pod_with("data"))


def volume_detached(kube):
    steps = volume_attached(kube)
    next(steps)
    next(steps, None)
    kube.settle()
    yield
    kube.patch("v1", "Pod", "p", {"status": {"phase": "Succeeded"}}, subresource="status")


def volume_claimed(kube):
    kube.create(storage_class("manual", DRIVER))
    yield
    kube.create(claim())


def volume_provisioned(kube):
    yield from volume_claimed(kube)


def volume_removed(kube):
    kube.create(storage_class("manual", DRIVER))
    kube.create(claim())
    kube.advance("2s")
    yield
    kube.delete("v1", "PersistentVolumeClaim", "data")


def ephemeral_volume(kube):
    made = pod_with("unused", node="")
    made["spec"]["volumes"] = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}]
    yield
    kube.create(made)


def budget_created(kube):
    kube.create(deployment(2))
    kube.settle()
    yield
    kube.create(budget(maxUnavailable=1))


def endpoints_created(kube):
    kube.create(node("n1"))
    yield
    kube.create(service())


def endpoints_updated(kube):
    kube.create(node("n1"))
    kube.create(service())
    kube.settle()
    yield
    add_pod(kube, "a", "10.1.0.1")


def service_deleted(kube):
    kube.create(node("n1"))
    kube.create(service(ports=[{"port": 80, "targetPort": "http"}]))
    add_pod(kube, "a", "10.1.0.1", ports=[{"name": "http", "containerPort": 8080}])
    add_pod(kube, "b", "10.1.0.2", ports=[{"name": "http", "containerPort": 9090}])
    yield
    kube.delete("v1", "Pod", "a", gracePeriodSeconds=0)


def pod_scheduled(kube):
    kube.create(node("n1"))
    kube.patch("v1", "Node", "n1", {"spec": {"taints": None}})
    status = {"capacity": {"pods": "9", "cpu": "4"}, "allocatable": {"pods": "9", "cpu": "4"}}
    kube.patch("v1", "Node", "n1", {"status": status}, subresource="status")
    yield
    kube.create(bare_pod("p"))


def pod_not_scheduled(kube):
    yield
    kube.create(bare_pod("p"))


def scaled_by_metrics(kube):
    kube.pods.metrics.set_resource("cpu", "80m", pods="app=web")
    with_autoscaler(kube, 2)
    yield


SCALING = ["deployment", "replicaset", "horizontal-pod-autoscaler-controller"]
WORKLOADS = ["deployment", "replicaset", "statefulset", "daemonset", "disruption"]
BATCH = ["job", "cronjob", "ttl-after-finished"]
CORE = ["namespace", "serviceaccount", "serviceaccount-token", "root-ca-cert-publisher"]
NODES = ["nodelifecycle", "taint-eviction-controller", "podgc"]
STORAGE = ["persistentvolume-binder", "attachdetach", "external-attacher", "external-provisioner", "pvc-protection", "pv-protection", "ephemeral-volume-controller"]  # fmt: skip
SERVICES = ["endpoint", "endpointslice", "endpointslicemirroring"]
GARBAGE, SCHEDULER = ["garbagecollector"], ["scheduler"]


def row(controllers, script, *requests, agent="kube-", **events):
    """`requests`: verb and resource, which may have a subresource. `events`: how the text of an Event of a reason begins."""
    marks = pytest.mark.fakekube(controllers=controllers)
    return pytest.param(script, requests, agent, events, marks=marks, id=script.__name__)


@pytest.mark.parametrize(
    ("script", "requests", "agent", "events"),
    [
        row(WORKLOADS, scaled_down, "update replicasets", "delete pods", FailedDelete="Error deleting: "),
        row(WORKLOADS, rolled_out, "update deployments/status", "create replicasets"),
        row(WORKLOADS, set_updated, "create controllerrevisions", "update statefulsets/status"),
        row(WORKLOADS, daemon_created, "create controllerrevisions"),
        row(WORKLOADS, budget_created, "update poddisruptionbudgets/status"),
        row(
            SCALING,
            scaled_by_metrics,
            *("update deployments/scale", "update horizontalpodautoscalers/status"),
            FailedRescale="New size: 4; reason: cpu resource utilization (percentage of request) above target; error: ",
            FailedUpdateStatus="Internal error occurred",
        ),
        row(BATCH, job_suspended, "delete pods", "update jobs/status", FailedDelete="Error deleting: "),
        row(BATCH, job_expired, "get jobs", "delete jobs"),
        row(
            BATCH,
            cron_job_due,
            *("create jobs", "update cronjobs/status", "delete jobs"),
            FailedCreate="Error creating job: ",
            FailedDelete="Deleted job: ",
        ),
        row(CORE, namespace_created, "create serviceaccounts", "create configmaps"),
        row(
            CORE,
            namespace_deleted,
            *("get namespaces", "deletecollection configmaps", "list configmaps", "update namespaces/finalize"),
        ),
        row(CORE, published_changed, "update configmaps"),
        row(CORE, token_requested, "update secrets"),
        row(CORE, token_account_deleted, "delete secrets"),
        row(CORE, token_deleted, "update serviceaccounts"),
        row(GARBAGE, owner_deleted, "get configmaps", "delete configmaps"),
        row(GARBAGE, owner_orphaned, "patch configmaps"),
        row(GARBAGE, owner_in_foreground, "patch configmaps"),
        row(NODES, node_lost, "update pods/status", "patch nodes", NodeNotReady="Node "),
        row(NODES, node_deleted, "get nodes"),
        row(NODES, node_deleted, "delete pods"),
        row(NODES, node_tainted, "delete pods", "patch pods/status"),
        row(
            STORAGE,
            volume_attached,
            *("create volumeattachments", "patch nodes/status"),
            FailedAttachVolume='AttachVolume.Attach failed for volume "pv" : kubernetes.io/csi: attacher.Attach failed: ',
        ),
        row(STORAGE, volume_detached, "delete volumeattachments"),
        row(
            STORAGE,
            volume_claimed,
            "update persistentvolumeclaims",
            ProvisioningFailed="Error saving claim: ",
        ),
        row(STORAGE, volume_provisioned, "create persistentvolumes", agent="external-provisioner"),
        row(STORAGE, volume_removed, "delete persistentvolumes", agent="external-provisioner"),
        row(
            STORAGE,
            ephemeral_volume,
            "create persistentvolumeclaims",
            FailedBinding="ephemeral volume v: create PVC p-v: ",
        ),
        row(
            SERVICES,
            endpoints_created,
            *("create endpoints", "create endpointslices"),
            FailedToCreateEndpoint="Failed to create endpoint for service default/web: ",
            FailedToUpdateEndpointSlices="Error updating Endpoint Slices for Service default/web: failed to create",
        ),
        row(
            SERVICES,
            endpoints_updated,
            *("update endpoints", "update endpointslices"),
            FailedToUpdateEndpoint="Failed to update endpoint default/web: ",
            FailedToUpdateEndpointSlices="Error updating Endpoint Slices for Service default/web: failed to update",
        ),
        row(
            SERVICES,
            service_deleted,
            "delete endpointslices",
            FailedToUpdateEndpointSlices="Error updating Endpoint Slices for Service default/web: failed to delete",
        ),
        row(SCHEDULER, pod_scheduled, "create pods/binding", FailedScheduling="binding rejected: "),
        row(SCHEDULER, pod_not_scheduled, "patch pods/status", FailedScheduling="no nodes available to schedule pods"),
    ],
)
def test_requests_that_failed_are_made_again(fakekube, script, requests, agent, events):
    steps = script(fakekube)
    next(steps)
    asked = [(verb, *what.partition("/")[::2]) for verb, what in map(str.split, requests)]
    for verb, resource, subresource in asked:
        target = {"verb": verb, "resource": resource, "subresource": subresource, "user_agent": f"{agent}*"}
        fakekube.fault(**target, error=500, times=1)
    next(steps, None)
    fakekube.advance("2m")
    for verb, resource, subresource in asked:
        found = [one for one in fakekube.requests(verb=verb, resource=resource) if one.user_agent.startswith(agent)]
        made = [one for one in found if one.subresource == subresource]
        (failed,) = [one for one in made if one.code == 500]
        assert [one for one in made if one.serial > failed.serial and (one.name == failed.name or verb == "create")]
    for reason, text in events.items():
        assert any(one["message"].startswith(text) for one in fakekube.events(reason=reason)), reason
