"""Rows of built-in kinds."""

import pytest

from fakekube.apiserver.registry.builtin import PRINTERS, printer_of
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import DEFAULT
from fakekube.apiserver.storage.store import Entry
from fakekube.server import bootstrap

NOW = "2026-01-01T01:00:00Z"
AGES = Ages(NOW)
META = {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}
OWN_COUNT = {"ipaddresses.networking.k8s.io": 3}
"""Printers whose rows are longer than their columns, as in kube-apiserver."""


def row(qualified, **obj):
    """The cells by their columns' names; of the name and the age nothing is shown where they are as always."""
    found = printer_of(qualified)
    cells = found.cells({"metadata": META, **obj}, AGES)
    named = dict(zip([column.name for column in found.columns], cells, strict=False))
    return {key: value for key, value in named.items() if (key, value) not in (("Name", "a"), ("Age", "60m"))}


@pytest.mark.parametrize("qualified", sorted(PRINTERS))
def test_an_empty_object_has_a_cell_for_each_column(qualified):
    found = printer_of(qualified)
    assert len(found.cells({"metadata": {}}, AGES)) == OWN_COUNT.get(qualified, len(found.columns))


def test_printers_belong_to_existing_resources():
    served = {
        resource.qualified for version in bootstrap.known_versions() for resource in bootstrap._resources(version)
    }
    off_by_default = {"leasecandidates.coordination.k8s.io", "storageversions.internal.apiserver.k8s.io"}
    assert set(PRINTERS) <= served | off_by_default


def container(name="c", image="nginx:1", **more):
    return {"name": name, "image": image, **more}


def status(ready=False, restarts=0, **state):
    return {"name": state.pop("name", "c"), "ready": ready, "restartCount": restarts, **state}


RUNNING = {"state": {"running": {}}}
READY = [{"type": "Ready", "status": "True"}]
SIDECAR = container("side", restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "state", "ready", "word", "restarts"),
    [
        pytest.param({}, {"phase": "Pending"}, "0/1", "Pending", "0", id="pending"),
        pytest.param({}, {"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted", "0", id="a-reason"),
        pytest.param(
            {}, {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "0/1", "SchedulingGated", "0", id="gated",
        ),
        pytest.param(
            {}, {"phase": "Running", "containerStatuses": [status(True, **RUNNING)]}, "1/1", "Running", "0", id="running"
        ),
        pytest.param(
            {}, {"phase": "Running", "containerStatuses": [
                status(False, 4, state={"waiting": {"reason": "CrashLoopBackOff"}},
                       lastState={"terminated": {"finishedAt": "2026-01-01T00:58:00Z"}})]},
            "0/1", "CrashLoopBackOff", "4 (2m ago)", id="crashing",
        ),
        pytest.param(
            {}, {"containerStatuses": [status(state={"terminated": {"exitCode": 3}})]}, "0/1", "ExitCode:3", "0",
            id="an-exit-code",
        ),
        pytest.param(
            {}, {"containerStatuses": [status(state={"terminated": {"exitCode": 137, "signal": 9}})]},
            "0/1", "Signal:9", "0", id="a-signal",
        ),
        pytest.param(
            {"containers": [container("c"), container("d")]},
            {"conditions": READY, "containerStatuses": [
                status(state={"terminated": {"reason": "Completed"}}), status(True, name="d", **RUNNING)]},
            "1/2", "Running", "0", id="one-is-done-and-the-pod-ready",
        ),
        pytest.param(
            {"containers": [container("c"), container("d")]},
            {"containerStatuses": [
                status(state={"terminated": {"reason": "Completed"}}), status(True, name="d", **RUNNING)]},
            "1/2", "NotReady", "0", id="one-is-done-and-the-pod-not-ready",
        ),
        pytest.param(
            {"containers": [container("c"), container("d")]},
            {"containerStatuses": [
                status(state={"waiting": {"reason": "ImagePullBackOff"}}),
                status(name="d", state={"terminated": {"reason": "Error", "exitCode": 1}}, restarts=2)]},
            "0/2", "ImagePullBackOff", "2", id="the-reason-of-the-first-container",
        ),
        pytest.param(
            {"containers": [container("c"), container("d")]},
            {"containerStatuses": [
                status(state={"terminated": {"reason": "Error", "exitCode": 1}}),
                status(name="d", state={"waiting": {"reason": "CrashLoopBackOff"}})]},
            "0/2", "Error", "0", id="the-reason-of-the-first-container-that-has-ended",
        ),
        pytest.param(
            {"initContainers": [container("i"), container("j")]},
            {"initContainerStatuses": [status(state={"terminated": {"exitCode": 0}}), status(name="j", restarts=2)]},
            "0/1", "Init:1/2", "2", id="initializing",
        ),
        pytest.param(
            {"initContainers": [container("i")]},
            {"initContainerStatuses": [status(state={"terminated": {"exitCode": 1, "reason": "Error"}})]},
            "0/1", "Init:Error", "0", id="initializing-failed",
        ),
        pytest.param(
            {"initContainers": [container("i")]},
            {"initContainerStatuses": [status(state={"terminated": {"exitCode": 2}})]},
            "0/1", "Init:ExitCode:2", "0", id="initializing-failed-with-a-code",
        ),
        pytest.param(
            {"initContainers": [container("i")]},
            {"initContainerStatuses": [status(state={"waiting": {"reason": "ImagePullBackOff"}})]},
            "0/1", "Init:ImagePullBackOff", "0", id="initializing-waits",
        ),
        pytest.param(
            {"initContainers": [SIDECAR]},
            {"phase": "Running", "containerStatuses": [status(True, 1, **RUNNING)],
             "initContainerStatuses": [status(True, 2, name="side", started=True, **RUNNING)]},
            "2/2", "Running", "3", id="a-sidecar",
        ),
    ],
)  # fmt: skip
def test_the_state_of_a_pod(spec, state, ready, word, restarts):
    found = row("pods", spec={"containers": [container()], **spec}, status=state)
    assert (found["Ready"], found["Status"], found["Restarts"]) == (ready, word, restarts)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        pytest.param({"phase": "Running"}, "Terminating", id="terminating"),
        pytest.param({"phase": "Succeeded"}, "Succeeded", id="done-before"),
        pytest.param({"phase": "Running", "reason": "NodeLost"}, "Unknown", id="its-node-is-lost"),
    ],
)
def test_a_pod_that_is_being_deleted(state, word):
    found = printer_of("pods").cells({"metadata": {**META, "deletionTimestamp": NOW}, "status": state}, AGES)
    assert found[2] == word


def test_addresses_and_node_of_a_pod():
    spec = {"nodeName": "n", "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]}
    state = {"podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "m", "conditions": [{"type": "x", "status": "True"}]}
    found = row("pods", spec=spec, status=state)
    assert [found[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == [
        "10.0.0.1",
        "n",
        "m",
        "1/2",
    ]


@pytest.mark.parametrize(("phase", "count"), [("Succeeded", 1), ("Failed", 1), ("Running", 0)])
def test_a_terminated_pod_has_a_condition(phase, count):
    found = printer_of("pods").conditions({"metadata": META, "status": {"phase": phase}})
    assert [(one["type"], one["reason"]) for one in found] == [("Completed", phase)] * count


TEMPLATE = {
    "spec": {"containers": [container("c", "nginx:1"), container("d", "busybox:2")], "nodeSelector": {"d": "s"}}
}
SELECTOR = {"matchLabels": {"app": "web"}}
WIDE = {"Containers": "c,d", "Images": "nginx:1,busybox:2"}
TIMES = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:02:05Z"}


def conditions(*types, status="True"):
    return [{"type": type, "status": status} for type in types]


@pytest.mark.parametrize(
    ("qualified", "obj", "cells"),
    [
        pytest.param(
            "deployments.apps",
            {"spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
             "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}},
            {"Ready": "1/3", "Up-to-date": 2, "Available": 1, **WIDE, "Selector": "app=web"},
            id="deployment",
        ),
        pytest.param(
            "replicasets.apps",
            {"spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR}, "status": {"replicas": 2}},
            {"Desired": 3, "Current": 2, "Ready": 0, **WIDE, "Selector": "app=web"},
            id="replica-set",
        ),
        pytest.param(
            "replicationcontrollers",
            {"spec": {"replicas": 1, "template": TEMPLATE, "selector": {"app": "web"}}, "status": {"replicas": 1}},
            {"Desired": 1, "Current": 1, "Ready": 0, **WIDE, "Selector": "app=web"},
            id="replication-controller",
        ),
        pytest.param(
            "statefulsets.apps", {"spec": {"replicas": 2, "template": TEMPLATE}, "status": {"readyReplicas": 1}},
            {"Ready": "1/2", **WIDE}, id="stateful-set",
        ),
        pytest.param(
            "daemonsets.apps", {"spec": {"template": TEMPLATE}, "status": {"desiredNumberScheduled": 4}},
            {"Desired": 4, "Current": 0, "Ready": 0, "Up-to-date": 0, "Available": 0, "Node Selector": "d=s", **WIDE,
             "Selector": "<none>"},
            id="daemon-set",
        ),
        pytest.param(
            "jobs.batch", {"spec": {"completions": 3, "template": TEMPLATE}, "status": {**TIMES, "succeeded": 1}},
            {"Status": "Running", "Completions": "1/3", "Duration": "2m5s", **WIDE, "Selector": "<none>"}, id="job",
        ),
        pytest.param(
            "cronjobs.batch",
            {"spec": {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}},
             "status": {"active": [{}], "lastScheduleTime": "2026-01-01T00:59:00Z"}},
            {"Schedule": "* * * * *", "Timezone": "<none>", "Suspend": "True", "Active": 1, "Last Schedule": "60s",
             **WIDE, "Selector": "<none>"},
            id="cron-job",
        ),
        pytest.param(
            "controllerrevisions.apps", {"revision": 7}, {"Controller": "<none>", "Revision": 7}, id="revision"
        ),
        pytest.param(
            "services",
            {"spec": {"type": "NodePort", "clusterIPs": ["10.0.0.1"], "selector": {"a": "b"},
                      "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30001}, {"port": 53, "protocol": "UDP"}]}},
            {"Type": "NodePort", "Cluster-IP": "10.0.0.1", "External-IP": "<none>", "Port(s)": "80:30001/TCP,53/UDP",
             "Selector": "a=b"},
            id="service",
        ),
        pytest.param(
            "ingresses.networking.k8s.io",
            {"spec": {"rules": [{"host": h} for h in "abcde"], "tls": [{}]},
             "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "lb"}, {"ip": "192.0.2.9"}]}}},
            {"Class": "<none>", "Hosts": "a,b,c + 2 more...", "Address": "192.0.2.9,lb", "Ports": "80, 443"},
            id="ingress",
        ),
        pytest.param(
            "ingressclasses.networking.k8s.io",
            {"spec": {"controller": "x/y", "parameters": {"apiGroup": "g.io", "kind": "K", "name": "n"}}},
            {"Controller": "x/y", "Parameters": "K.g.io/n"}, id="ingress-class",
        ),
        pytest.param(
            "endpoints",
            {"subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 443}]}]},
            {"Endpoints": "10.0.0.1:80,[fd00::1]:80,10.0.0.1:443 + 1 more..."}, id="endpoints",
        ),
        pytest.param(
            "endpointslices.discovery.k8s.io",
            {"addressType": "IPv4", "ports": [{"port": 80}, {"name": "http"}, {}], "endpoints": [{"addresses": ["1", "2"]}]},
            {"AddressType": "IPv4", "Ports": "80,http,*", "Endpoints": "1,2"}, id="endpoint-slice",
        ),
        pytest.param(
            "ipaddresses.networking.k8s.io",
            {"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}},
            {"ParentRef": "services/n/s"}, id="ip-address",
        ),
        pytest.param("configmaps", {"data": {"a": ""}, "binaryData": {"b": ""}}, {"Data": 2}, id="config-map"),
        pytest.param("secrets", {"type": "Opaque", "data": {"a": ""}}, {"Type": "Opaque", "Data": 1}, id="secret"),
        pytest.param(
            "resourcequotas",
            {"status": {"hard": {"pods": "4", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "1"}}},
            {"Request": "cpu: 0/1, pods: 1/4", "Limit": "limits.cpu: 0/2"}, id="quota",
        ),
        pytest.param(
            "poddisruptionbudgets.policy", {"spec": {"maxUnavailable": "30%"}, "status": {"disruptionsAllowed": 2}},
            {"Min Available": "N/A", "Max Unavailable": "30%", "Allowed Disruptions": 2}, id="budget",
        ),
        pytest.param(
            "rolebindings.rbac.authorization.k8s.io",
            {"roleRef": {"kind": "Role", "name": "r"},
             "subjects": [{"kind": "User", "name": "eve"}, {"kind": "User", "name": "bob"}, {"kind": "Group", "name": "g"},
                          {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]},
            {"Role": "Role/r", "Users": "eve, bob", "Groups": "g", "ServiceAccounts": "n/s"}, id="binding",
        ),
        pytest.param(
            "certificatesigningrequests.certificates.k8s.io",
            {"spec": {"signerName": "x/y", "username": "eve", "expirationSeconds": 3600},
             "status": {"conditions": conditions("Approved", "Failed"), "certificate": "eA=="}},
            {"SignerName": "x/y", "Requestor": "eve", "RequestedDuration": "60m", "Condition": "Approved,Failed,Issued"},
            id="signing-request",
        ),
        pytest.param(
            "validatingadmissionpolicybindings.admissionregistration.k8s.io",
            {"spec": {"policyName": "p", "paramRef": {"name": "x"}}}, {"PolicyName": "p", "ParamRef": "*/x"},
            id="policy-binding",
        ),
        pytest.param(
            "horizontalpodautoscalers.autoscaling",
            {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 1, "maxReplicas": 3, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 60}}},
                {"type": "Pods", "pods": {"target": {"averageValue": "2"}}},
                {"type": "External", "external": {"target": {"value": "9"}}}]},
             "status": {"currentReplicas": 2, "currentMetrics": [
                 {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 25}}}]}},
            {"Reference": "Deployment/web", "Targets": "cpu: 25%/60%, <unknown>/2 + 1 more...", "MinPods": "1",
             "MaxPods": 3, "Replicas": 2},
            id="autoscaler",
        ),
        pytest.param(
            "nodes",
            {"metadata": {**META, "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
             "spec": {"unschedulable": True},
             "status": {"conditions": conditions("Ready"), "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "arm64"},
                        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}},
            {"Status": "Ready,SchedulingDisabled", "Roles": "edge,worker", "Version": "v1", "Internal-IP": "10.0.0.1",
             "External-IP": "<none>", "OS-Image": "<unknown>", "Kernel-Version": "6 (arm64)", "Container-Runtime": "<unknown>"},
            id="node",
        ),
        pytest.param(
            "events",
            {"involvedObject": {"kind": "Pod", "name": "p"}, "series": {"count": 4, "lastObservedTime": "2026-01-01T00:59:55.000000Z"},
             "eventTime": "2026-01-01T00:00:00.000000Z", "message": " hello\n", "reportingComponent": "me", "type": "Normal"},
            {"Last Seen": "5s", "Type": "Normal", "Reason": "", "Object": "pod/p", "Subobject": "", "Source": "me",
             "Message": "hello", "First Seen": "60m", "Count": 4},
            id="event",
        ),
        pytest.param(
            "persistentvolumeclaims",
            {"spec": {"volumeName": "v", "storageClassName": "slow", "volumeMode": "Block"},
             "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadOnlyMany", "ReadWriteOnce"]}},
            {"Status": "Bound", "Volume": "v", "Capacity": "2Gi", "Access Modes": "RWO,ROX", "StorageClass": "slow",
             "VolumeAttributesClass": "<unset>", "VolumeMode": "Block"},
            id="claim",
        ),
        pytest.param(
            "apiservices.apiregistration.k8s.io",
            {"spec": {"service": {"namespace": "n", "name": "s"}},
             "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Gone"}]}},
            {"Service": "n/s", "Available": "False (Gone)"}, id="api-service",
        ),
        pytest.param(
            "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
            {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"queuing": {"queues": 2}}}}},
            {"Type": "Limited", "NominalConcurrencyShares": 5, "Queues": 2, "HandSize": 0, "QueueLengthLimit": 0},
            id="priority-level",
        ),
        pytest.param(
            "resourceclaims.resource.k8s.io", {"status": {"allocation": {}, "reservedFor": [{}]}},
            {"State": "allocated,reserved"}, id="resource-claim",
        ),
    ],
)  # fmt: skip
def test_the_row_of_a_kind(qualified, obj, cells):
    assert row(qualified, **obj) == cells


@pytest.mark.parametrize(
    ("held", "state"),
    [
        (["Complete", "SuccessCriteriaMet"], "Complete"), (["Failed"], "Failed"), (["Suspended"], "Suspended"),
        (["FailureTarget"], "FailureTarget"), (["SuccessCriteriaMet"], "SuccessCriteriaMet"), ([], "Running"),
    ],
)  # fmt: skip
def test_the_state_of_a_job(held, state):
    assert row("jobs.batch", status={"conditions": conditions(*held)})["Status"] == state
    assert row("jobs.batch", status={"conditions": conditions(*held, status="False")})["Status"] == "Running"


@pytest.mark.parametrize(
    ("spec", "status", "address"),
    [
        pytest.param({"type": "ClusterIP", "externalIPs": ["192.0.2.1"]}, {}, "192.0.2.1", id="addresses-of-its-own"),
        pytest.param({"type": "LoadBalancer"}, {}, "<pending>", id="not-balanced-yet"),
        pytest.param(
            {"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]},
            {"loadBalancer": {"ingress": [{"hostname": "z"}, {"ip": "192.0.2.7"}]}},
            "192.0.2.7,z,192.0.2.1",
            id="balanced",
        ),
        pytest.param({"type": "ExternalName", "externalName": "db"}, {}, "db", id="a-name"),
        pytest.param({}, {}, "<unknown>", id="no-type"),
    ],
)
def test_external_addresses_of_a_service(spec, status, address):
    assert row("services", spec=spec, status=status)["External-IP"] == address


def test_flow_schemas_are_in_matching_order():
    schemas = [
        Entry(1, {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}})
        for name, precedence in (("c", 1), ("a", 9), ("b", 1))
    ]
    found = printer_of("flowschemas.flowcontrol.apiserver.k8s.io").order(schemas)
    assert [one.object["metadata"]["name"] for one in found] == ["b", "c", "a"]


def test_a_kind_without_a_printer_shows_its_creation_time():
    assert printer_of("limitranges") is DEFAULT
    assert DEFAULT.cells({"metadata": META}, AGES) == ["a", "2026-01-01T00:00:00Z"]


def test_the_row_of_a_scale():
    found = printer_of("deployments.apps", "Scale")
    assert found.cells({"metadata": META, "spec": {"replicas": 2}, "status": {"replicas": 1}}, AGES) == [
        "a",
        2,
        1,
        "60m",
    ]


def _average(kind, current, **target):
    source = {"target": target, **({"name": "cpu"} if kind == "resource" else {})}
    spec = {"metrics": [{"type": kind[0].upper() + kind[1:], kind: source}]}
    status = {"currentMetrics": [{"type": kind, kind: {"current": current}}]} if current is not None else {}
    return row("horizontalpodautoscalers.autoscaling", spec=spec, status=status)["Targets"]


@pytest.mark.parametrize(
    ("kind", "current", "target", "text"),
    [
        ("external", {"averageValue": "1"}, {"averageValue": "2"}, "1/2 (avg)"),
        ("object", {}, {"averageValue": "2"}, "<unknown>/2 (avg)"),
        ("object", {"value": "1"}, {"value": "2"}, "1/2"),
        ("resource", {"averageValue": "1"}, {"averageValue": "2"}, "cpu: 1/2"),
        ("resource", None, {"averageValue": "2"}, "cpu: <unknown>/2"),
        ("resource", None, {}, "cpu: <unknown>/<auto>"),
        ("pods", {}, {"averageValue": "2"}, "<nil>/2"),
        ("other", {}, {}, "<unknown type>"),
    ],
)
def test_targets_of_an_autoscaler(kind, current, target, text):
    assert _average(kind, current, **target) == text


@pytest.mark.parametrize(("count", "more"), [(1, ""), (2, ""), (3, " + 1 more..."), (5, " + 3 more...")])
def test_an_autoscaler_shows_two_metrics(count, more):
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    cells = row("horizontalpodautoscalers.autoscaling", spec={"metrics": [metric] * count})
    assert cells["Targets"] == ", ".join(["cpu: <unknown>/80%"] * min(count, 2)) + more


@pytest.mark.parametrize(
    ("spec", "succeeded", "shown"),
    [
        ({"completions": 3}, 1, "1/3"),
        ({"parallelism": 1}, 0, "0/1"),
        ({"parallelism": 2}, 1, "1/1 of 2"),
        ({"parallelism": 0}, 0, "0/1"),
    ],
)
def test_the_completions_of_a_job(spec, succeeded, shown):
    assert row("jobs.batch", spec=spec, status={"succeeded": succeeded})["Completions"] == shown
