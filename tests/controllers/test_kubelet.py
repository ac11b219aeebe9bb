"""The kubelet: what its writes say, and exactly when. Times are virtual seconds since the start of the test."""

import pytest

from fakekube import FakeKube

WEB = {"app": "web"}


def pod(name="web", labels=WEB, **spec):
    spec.setdefault("containers", [{"name": "c", "image": "nginx:1"}])
    meta = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def owned_by_job(made, name="job"):
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "1", "controller": True}
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [reference]}}


def history(kube, name="web"):
    """The phases of a pod and the seconds at which they changed; None: deleted."""
    found = []
    for time, version in kube.state.versions("v1", "Pod", name):
        phase = None if version is None else version["status"]["phase"]
        if not found or found[-1][1] != phase:
            found.append(((time - kube.clock.epoch).total_seconds(), phase))
    return found


def states(kube, name="web", field="containerStatuses", index=0):
    """The states of a container and the seconds at which they changed."""
    found = []
    for time, version in kube.state.versions("v1", "Pod", name):
        statuses = (version or {}).get("status", {}).get(field)
        if statuses:
            ((kind, state),) = statuses[index]["state"].items()
            what = state.get("reason", kind)
            if not found or found[-1][1] != what:
                found.append(((time - kube.clock.epoch).total_seconds(), what))
    return found


def status(kube, name="web"):
    return kube.get("v1", "Pod", name)["status"]


def conditions(kube, name="web"):
    return {one["type"]: one["status"] for one in status(kube, name)["conditions"]}


def reasons(kube):
    return [one["reason"] for one in kube.events() if one["involvedObject"]["kind"] == "Pod"]


# --- from Pending to deleted -----------------------------------------------------------------------------------------


@pytest.mark.fakekube(nodes=1, rbac=True)
def test_a_pod_runs_and_is_ready_one_second_after_it_is_bound(fakekube):
    fakekube.create(pod())
    fakekube.advance(5)
    assert history(fakekube) == [(0, "Pending"), (1, "Running")]
    assert states(fakekube) == [(0, "ContainerCreating"), (1, "running")]
    found = status(fakekube)
    assert found["podIP"] == "10.244.0.2"
    assert found["podIPs"] == [{"ip": "10.244.0.2"}]
    assert found["hostIP"] == "172.18.0.2"
    assert found["startTime"] == "2026-01-01T00:00:00Z"
    assert set(conditions(fakekube).values()) == {"True"}
    ready = next(one for one in found["conditions"] if one["type"] == "Ready")
    assert "reason" not in ready
    assert reasons(fakekube) == ["Scheduled", "Pulling", "Pulled", "Created", "Started"]
    written = fakekube.requests(resource="pods", user="system:node:node-1")
    assert [(one.verb, one.subresource, one.at) for one in written] == [("patch", "status", 0), ("patch", "status", 1)]
    assert fakekube.requests(code=403) == []


@pytest.mark.fakekube(nodes=1)
def test_the_second_pod_finds_the_image_on_the_node(fakekube):
    for name in ("a", "b"):
        fakekube.create(pod(name))
        fakekube.advance(2)
    messages = [one["message"] for one in fakekube.events(reason="Pulled")]
    assert messages == [
        'Successfully pulled image "nginx:1" in 1s (1s including waiting). Image size: 50000000 bytes.',
        'Container image "nginx:1" already present on machine and can be accessed by the pod',
    ]


@pytest.mark.fakekube(nodes=1, rbac=True)
def test_a_deleted_pod_stops_within_a_second_and_is_removed_with_its_uid(fakekube):
    fakekube.create(pod())
    fakekube.advance(5)
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(0.5)
    assert fakekube.get("v1", "Pod", "web")["metadata"]["deletionGracePeriodSeconds"] == 30
    fakekube.advance(0.5)
    assert history(fakekube) == [(0, "Pending"), (1, "Running"), (6, "Succeeded"), (6, None)]
    assert reasons(fakekube)[-1] == "Killing"
    (removed,) = fakekube.requests(verb="delete", resource="pods")
    assert removed.user == "system:node:node-1"


@pytest.mark.fakekube(nodes=1)
def test_a_pod_that_hangs_is_killed_at_the_end_of_its_grace_period(fakekube):
    fakekube.create(pod(terminationGracePeriodSeconds=12))
    fakekube.advance(3)
    fakekube.pods("app=web").hang_on_termination()
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(60)
    assert history(fakekube)[2:] == [(15, "Failed"), (15, None)]


@pytest.mark.fakekube(nodes=1)
def test_a_shorter_grace_period_of_a_second_deletion_counts(fakekube):
    fakekube.create(pod())
    fakekube.advance(3)
    fakekube.pods("app=web").hang_on_termination()
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(2)
    fakekube.delete("v1", "Pod", "web", gracePeriodSeconds=4)
    fakekube.advance(60)
    assert history(fakekube)[2:] == [(9, "Failed"), (9, None)]


@pytest.mark.fakekube(nodes=1)
def test_addresses_are_unique_and_used_again_only_later(fakekube):
    for name in ("a", "b"):
        fakekube.create(pod(name))
    fakekube.advance(2)
    first = {status(fakekube, name)["podIP"] for name in ("a", "b")}
    assert len(first) == 2
    fakekube.delete("v1", "Pod", "a")
    fakekube.advance(2)
    fakekube.create(pod("c"))
    fakekube.advance(2)
    assert status(fakekube, "c")["podIP"] not in first


@pytest.mark.fakekube(nodes=1)
def test_a_pod_of_the_host_network_has_the_address_of_its_node(fakekube):
    fakekube.create(pod(hostNetwork=True))
    fakekube.advance(2)
    assert status(fakekube)["podIP"] == status(fakekube)["hostIP"] == "172.18.0.2"


@pytest.mark.fakekube(nodes=1)
def test_a_pod_with_a_finalizer_ends_and_waits_for_it(fakekube):
    made = pod()
    made["metadata"]["finalizers"] = ["example.com/keep"]
    fakekube.create(made)
    fakekube.advance(2)
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(20)
    assert history(fakekube)[-1] == (3, "Succeeded")
    assert len(fakekube.requests(verb="delete", resource="pods")) == 2
    fakekube.patch("v1", "Pod", "web", {"metadata": {"finalizers": None}})
    assert not fakekube.exists("v1", "Pod", "web")


@pytest.mark.fakekube(controllers=["kubelet"])
def test_a_pod_that_was_bound_before_its_node_was_added(fakekube):
    fakekube.create(pod(nodeName="late"))
    fakekube.advance(5)
    assert history(fakekube) == [(0, "Pending")]
    fakekube.nodes.add("late")
    fakekube.advance(5)
    assert history(fakekube) == [(0, "Pending"), (6, "Running")]


def on_port(name, port=8080, address=None, **fields):
    ports = [{"containerPort": 80, "hostPort": port, **({"hostIP": address} if address else {}), **fields}]
    return pod(name, nodeName="node-1", containers=[{"name": "c", "image": "a", "ports": ports}])


@pytest.mark.fakekube(nodes=1, controllers=["kubelet"])
@pytest.mark.parametrize(
    ("second", "phase"),
    [
        pytest.param(on_port("two"), "Failed", id="same"),
        pytest.param(on_port("two", 8081), "Running", id="another-port"),
        pytest.param(on_port("two", address="10.0.0.1"), "Failed", id="one-address-of-all"),
        pytest.param(on_port("two", protocol="UDP"), "Running", id="another-protocol"),
    ],
)
def test_k_a_port_of_the_host_is_used_once(fakekube, second, phase):
    fakekube.create(on_port("one"))
    fakekube.settle()
    fakekube.create(second)
    fakekube.advance(2)
    assert status(fakekube, "two")["phase"] == phase
    if phase == "Failed":
        text = "node(s) didn't have free ports for the requested pod ports"
        assert status(fakekube, "two")["reason"] == "NodePorts"
        assert status(fakekube, "two")["message"] == f"Pod was rejected: Predicate NodePorts failed: {text}"


@pytest.mark.fakekube(nodes=1, controllers=["kubelet"])
@pytest.mark.parametrize(
    ("spec", "labels", "reason"),
    [
        pytest.param({"os": {"name": "windows"}}, WEB, "PodOSNotSupported", id="field"),
        pytest.param({}, {"kubernetes.io/os": "windows"}, "PodOSSelectorNodeLabelDoesNotMatch", id="label"),
        pytest.param({"nodeSelector": {"no": "such"}}, WEB, "NodeAffinity", id="affinity"),
        pytest.param({"os": {"name": "linux"}}, {"kubernetes.io/os": "linux"}, None, id="linux"),
    ],
)
def test_k_a_pod_that_does_not_suit_the_node(fakekube, spec, labels, reason):
    fakekube.create(pod(labels=labels, nodeName="node-1", **spec))
    fakekube.advance(2)
    assert status(fakekube).get("reason") == reason
    assert status(fakekube)["phase"] == ("Running" if reason is None else "Failed")


@pytest.mark.fakekube(nodes=0, controllers=["kubelet"])
@pytest.mark.parametrize(("tolerations", "phase"), [([], "Failed"), ([{"operator": "Exists"}], "Running")])
def test_k_a_taint_that_executes_rejects_a_pod(fakekube, tolerations, phase):
    fakekube.nodes.add("tainted", taints=["a=b:NoExecute"])
    fakekube.create(pod(nodeName="tainted", tolerations=tolerations))
    fakekube.advance(2)
    assert status(fakekube)["phase"] == phase


def wanting(name, resource):
    container = {"name": "c", "image": "a", "resources": {"requests": {resource: "2"}, "limits": {resource: "2"}}}
    return pod(name, nodeName="node-1", containers=[container])


@pytest.mark.fakekube(nodes=1, controllers=["kubelet"])
def test_f3_extended_resources_that_are_patched_onto_a_node(fakekube):
    """F3: the kubelet copies them to allocatable; those that a node lacks reject no pod."""
    fakekube.create(wanting("before", "example.com/foo"))
    fakekube.advance(2)
    assert status(fakekube, "before")["phase"] == "Running"
    for amount in ("3", "4"):
        patch = {"status": {"capacity": {"example.com/foo": amount}}}
        fakekube.patch("v1", "Node", "node-1", patch, subresource="status")
        fakekube.settle()
        assert fakekube.get("v1", "Node", "node-1")["status"]["allocatable"]["example.com/foo"] == amount
    fakekube.create(wanting("fits", "example.com/foo"))
    fakekube.create(wanting("over", "example.com/foo"))
    fakekube.advance(2)
    assert status(fakekube, "fits")["phase"] == "Running"
    assert status(fakekube, "over")["reason"] == "OutOfexample.com/foo"
    patch = {"status": {"capacity": {"example.com/foo": None}}}
    fakekube.patch("v1", "Node", "node-1", patch, subresource="status")
    fakekube.settle()
    assert "example.com/foo" not in fakekube.get("v1", "Node", "node-1")["status"]["allocatable"]


@pytest.mark.fakekube(nodes=1, controllers=["kubelet"])
@pytest.mark.parametrize(
    ("sleep", "grace", "seconds"),
    [
        pytest.param(5, 30, 6, id="waits"),
        pytest.param(None, 30, 1, id="no-hook"),
        pytest.param(25, 10, 11, id="longer-than-the-grace-period"),
    ],
)
def test_k_a_hook_before_the_stop_sleeps(fakekube, sleep, grace, seconds):
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": sleep}}}} if sleep else {}
    fakekube.create(pod(nodeName="node-1", containers=[{"name": "c", "image": "a", **hook}]))
    fakekube.advance(10)
    fakekube.delete("v1", "Pod", "web", gracePeriodSeconds=grace)
    fakekube.advance(seconds - 0.5)
    assert fakekube.exists("v1", "Pod", "web")
    fakekube.advance(1)
    assert not fakekube.exists("v1", "Pod", "web")


@pytest.mark.fakekube(nodes=1, controllers=["kubelet"])
def test_k_a_container_that_hangs_has_two_seconds_after_its_hook(fakekube):
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 10}}}}
    made = pod(nodeName="node-1", containers=[{"name": "c", "image": "a", **hook}], terminationGracePeriodSeconds=10)
    fakekube.create(made)
    fakekube.advance(10)
    fakekube.pods(name="web").hang_on_termination()
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(11.5)
    assert fakekube.exists("v1", "Pod", "web")
    fakekube.advance(1)
    assert not fakekube.exists("v1", "Pod", "web")


@pytest.mark.fakekube(nodes=0, controllers=["kubelet"])
def test_a_node_without_room_rejects_a_pod_that_is_bound_to_it(fakekube):
    fakekube.nodes.add("small", cpu=1)
    container = {"name": "c", "image": "a", "resources": {"requests": {"cpu": "800m"}}}
    fakekube.create(pod("one", nodeName="small", containers=[container]))
    fakekube.create(pod("two", nodeName="small", containers=[container]))
    rest = {**container, "resources": {"requests": {"cpu": "200m"}}}
    fakekube.create(pod("rest", nodeName="small", containers=[rest]))
    fakekube.advance(2)
    assert history(fakekube, "one")[-1] == history(fakekube, "rest")[-1] == (1, "Running")
    found = status(fakekube, "two")
    assert (found["phase"], found["reason"]) == ("Failed", "OutOfcpu")
    expected = "Pod was rejected: Node didn't have enough resource: cpu, requested: 800, used: 800, capacity: 1000"
    assert found["message"] == expected
    assert found["observedGeneration"] == 1  # K
    (event,) = fakekube.events(reason="OutOfcpu")
    assert f"Pod was rejected: {event['message']}" == expected
    fakekube.delete("v1", "Pod", "one")
    fakekube.advance(2)
    fakekube.create(pod("three", nodeName="small", containers=[container]))
    fakekube.advance(2)
    assert status(fakekube, "three")["phase"] == "Running"


# --- containers that end ---------------------------------------------------------------------------------------------


@pytest.mark.fakekube(nodes=1)
def test_crash_loop_back_off_doubles_from_10_s_to_5_min(fakekube):
    fakekube.pods("app=web").always().crash()
    fakekube.create(pod())
    fakekube.advance(1500)
    starts = [time for time, state in states(fakekube) if state == "Error"]
    assert starts == [1.0]  # the first restart does not wait
    assert crashes(fakekube) == {
        1: "",
        2: "back-off 10s",
        12: "back-off 20s",
        32: "back-off 40s",
        72: "back-off 1m20s",
        152: "back-off 2m40s",
        312: "back-off 5m0s",
        612: "back-off 5m0s",
        912: "back-off 5m0s",
        1212: "back-off 5m0s",
    }
    assert history(fakekube) == [(0, "Pending"), (1, "Running")]


def crashes(kube):
    """When the container ended, and the back-off that the status shows."""
    found = {}
    for time, version in kube.state.versions("v1", "Pod", "web"):
        for one in version["status"].get("containerStatuses", ()):
            message = one["state"].get("waiting", {}).get("message", "")
            if "terminated" in one["state"] or "terminated" in one["lastState"]:
                at = (time - kube.clock.epoch).total_seconds()
                found[at] = " ".join(message.split()[:2])
    return found


@pytest.mark.fakekube(nodes=1)
def test_the_back_off_is_forgotten_after_ten_minutes(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    web = fakekube.pods("app=web")
    for _ in range(3):
        web.fail()
        fakekube.advance(30)
    assert status(fakekube)["containerStatuses"][0]["restartCount"] == 3
    fakekube.advance(700)
    web.fail()
    assert states(fakekube)[-1] == (fakekube.clock.monotonic(), "Error")
    fakekube.advance(1)
    assert status(fakekube)["containerStatuses"][0]["restartCount"] == 4


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Always", 0, "Running", 1),
        ("Always", 1, "Running", 1),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 1, "Running", 1),
        ("Never", 0, "Succeeded", 0),
        ("Never", 1, "Failed", 0),
    ],
)
def test_restart_policies(policy, code, phase, restarts):
    with FakeKube(nodes=1) as kube:
        kube.create(pod(restartPolicy=policy))
        kube.advance(2)
        kube.pods("app=web").fail(exit_code=code)
        kube.advance(2)
        found = status(kube)
        assert (found["phase"], found["containerStatuses"][0]["restartCount"]) == (phase, restarts)
        if phase in ("Succeeded", "Failed"):
            ready = next(one for one in found["conditions"] if one["type"] == "Ready")
            assert (ready["status"], ready["reason"]) == ("False", f"Pod{'Completed' if code == 0 else 'Failed'}")


@pytest.mark.fakekube(nodes=1)
def test_a_rule_of_the_container_restarts_it_for_one_exit_code(fakekube):
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    container = {"name": "c", "image": "a", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    fakekube.create(pod(restartPolicy="Never", containers=[container]))
    fakekube.advance(2)
    fakekube.pods("app=web").fail(exit_code=42)
    fakekube.advance(2)
    assert status(fakekube)["containerStatuses"][0]["restartCount"] == 1
    fakekube.pods("app=web").fail(exit_code=1)
    fakekube.advance(2)
    assert status(fakekube)["phase"] == "Failed"


@pytest.mark.fakekube(nodes=1)
def test_out_of_memory(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    fakekube.pods("app=web").oom()
    state = status(fakekube)["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (137, "OOMKilled")


@pytest.mark.fakekube(nodes=1)
def test_a_pod_of_a_job_succeeds_one_second_after_it_has_started(fakekube):
    fakekube.create(owned_by_job(pod(restartPolicy="Never")))
    fakekube.advance(10)
    assert history(fakekube) == [(0, "Pending"), (1, "Running"), (2, "Succeeded")]


@pytest.mark.fakekube(nodes=1)
def test_a_pod_fails_at_its_active_deadline(fakekube):
    fakekube.create(pod(activeDeadlineSeconds=60))
    fakekube.advance(100)
    assert history(fakekube) == [(0, "Pending"), (1, "Running"), (61, "Failed")]
    found = status(fakekube)
    assert found["reason"] == "DeadlineExceeded"
    assert found["message"] == "Pod was active on the node longer than the specified deadline"


@pytest.mark.fakekube(nodes=1)
def test_an_evicted_pod_fails_with_the_reason(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    fakekube.pods("app=web").evict()
    fakekube.advance(2)
    assert (status(fakekube)["phase"], status(fakekube)["reason"]) == ("Failed", "Evicted")


# --- init containers and sidecars ------------------------------------------------------------------------------------


@pytest.mark.fakekube(nodes=1)
def test_init_containers_run_one_after_the_other(fakekube):
    initial = [{"name": name, "image": "busybox"} for name in ("one", "two")]
    fakekube.create(pod(initContainers=initial))
    fakekube.advance(10)
    field = "initContainerStatuses"
    assert states(fakekube, field=field)[1:] == [(1, "running"), (2, "Completed")]
    assert states(fakekube, field=field, index=1)[1:] == [(3, "running"), (4, "Completed")]
    assert states(fakekube) == [(0, "PodInitializing"), (5, "running")]
    assert history(fakekube) == [(0, "Pending"), (5, "Running")]
    initialized = next(one for one in status(fakekube)["conditions"] if one["type"] == "Initialized")
    assert initialized["lastTransitionTime"] == "2026-01-01T00:00:04Z"


@pytest.mark.parametrize(("policy", "phase"), [("Never", "Failed"), ("Always", "Pending")])
def test_an_init_container_that_fails(policy, phase):
    with FakeKube(nodes=1) as kube:
        kube.pods("app=web").always().crash(container="on*")
        kube.create(pod(initContainers=[{"name": "one", "image": "busybox"}], restartPolicy=policy))
        kube.advance(30)
        assert status(kube)["phase"] == phase
        assert "ContainersNotInitialized" in [one.get("reason") for one in status(kube)["conditions"]]


@pytest.mark.fakekube(nodes=1)
def test_a_sidecar_starts_first_and_ends_after_the_containers(fakekube):
    sidecar = {"name": "proxy", "image": "envoy", "restartPolicy": "Always"}
    fakekube.create(owned_by_job(pod(initContainers=[sidecar], restartPolicy="Never")))
    fakekube.advance(20)
    assert states(fakekube, field="initContainerStatuses")[1:] == [(1, "running"), (4, "Completed")]
    assert states(fakekube)[1:] == [(2, "running"), (3, "Completed")]
    assert history(fakekube) == [(0, "Pending"), (2, "Running"), (4, "Succeeded")]


@pytest.mark.fakekube(nodes=1)
def test_an_ephemeral_container_runs_in_the_pod(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    added = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}}
    fakekube.patch("v1", "Pod", "web", added, subresource="ephemeralcontainers")
    fakekube.advance(2)
    assert states(fakekube, field="ephemeralContainerStatuses") == [(2, "ContainerCreating"), (3, "running")]
    assert conditions(fakekube)["Ready"] == "True"
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(2)
    assert not fakekube.exists("v1", "Pod", "web")


# --- probes ----------------------------------------------------------------------------------------------------------

HTTP = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5, "failureThreshold": 2}


def probed(**probes):
    return pod(containers=[{"name": "c", "image": "nginx:1", **probes}])


def readiness(kube):
    """When the pod was ready or not."""
    found = []
    for time, version in kube.state.versions("v1", "Pod", "web"):
        for one in version["status"].get("conditions", ()):
            if one["type"] == "Ready" and (not found or found[-1][1] != one["status"]):
                found.append(((time - kube.clock.epoch).total_seconds(), one["status"]))
    return found


@pytest.mark.fakekube(nodes=1)
def test_a_readiness_probe_passes_after_its_initial_delay_and_successes(fakekube):
    fakekube.create(probed(readinessProbe={**HTTP, "initialDelaySeconds": 7, "successThreshold": 3}))
    fakekube.advance(60)
    assert readiness(fakekube) == [(0, "False"), (18, "True")]


@pytest.mark.fakekube(nodes=1)
def test_a_readiness_probe_that_fails(fakekube):
    fakekube.create(probed(readinessProbe=HTTP))
    fakekube.advance(10)
    fakekube.pods("app=web").fail_probe("readiness")
    fakekube.advance(20)
    fakekube.pods("app=web").pass_probe("readiness")
    fakekube.advance(20)
    assert readiness(fakekube) == [(0, "False"), (1, "True"), (15, "False"), (30, "True")]
    (event,) = fakekube.events(reason="Unhealthy")
    assert event["message"] == "Readiness probe failed: HTTP probe failed with statuscode: 503"
    assert event["count"] == 2


@pytest.mark.fakekube(nodes=1)
def test_a_liveness_probe_that_fails_restarts_the_container(fakekube):
    fakekube.create(probed(livenessProbe=HTTP))
    fakekube.advance(10)
    fakekube.pods("app=web").fail_probe("liveness")
    fakekube.advance(5)
    fakekube.pods("app=web").pass_probe("liveness")
    fakekube.advance(30)
    assert states(fakekube)[1:] == [(1, "running"), (16, "Completed"), (17, "running")]
    assert "Container c failed liveness probe, will be restarted" in [one["message"] for one in fakekube.events()]
    assert status(fakekube)["containerStatuses"][0]["restartCount"] == 1


@pytest.mark.fakekube(nodes=1)
def test_a_startup_probe_delays_the_others(fakekube):
    fakekube.create(probed(startupProbe={**HTTP, "initialDelaySeconds": 20}, readinessProbe=HTTP))
    fakekube.advance(60)
    assert readiness(fakekube) == [(0, "False"), (21, "True")]


@pytest.mark.fakekube(nodes=1)
def test_a_startup_probe_that_fails_restarts_the_container(fakekube):
    fakekube.pods("app=web").always().fail_probe("startup")
    fakekube.create(probed(startupProbe=HTTP))
    fakekube.advance(9)
    assert states(fakekube)[1:] == [(1, "running"), (7, "Completed"), (8, "running")]


@pytest.mark.fakekube(nodes=1)
def test_not_ready_and_ready_take_effect_at_once(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    fakekube.pods("app=web").not_ready()
    assert conditions(fakekube)["Ready"] == conditions(fakekube)["ContainersReady"] == "False"
    fakekube.pods("app=web").ready()
    assert conditions(fakekube)["Ready"] == "True"


@pytest.mark.fakekube(nodes=1)
def test_a_readiness_gate_waits_for_its_condition(fakekube):
    fakekube.create(pod(readinessGates=[{"conditionType": "example.com/lb"}]))
    fakekube.advance(2)
    ready = next(one for one in status(fakekube)["conditions"] if one["type"] == "Ready")
    assert ready["message"] == 'corresponding condition of pod readiness gate "example.com/lb" does not exist.'
    assert conditions(fakekube)["ContainersReady"] == "True"
    present = status(fakekube)["conditions"]
    given = {"type": "example.com/lb", "status": "True"}
    fakekube.patch("v1", "Pod", "web", {"status": {"conditions": [*present, given]}}, subresource="status")
    fakekube.settle()
    assert conditions(fakekube)["Ready"] == "True"


# --- what a pod needs ------------------------------------------------------------------------------------------------

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf", "namespace": "default"}}


@pytest.mark.fakekube(nodes=1)
def test_a_missing_config_map_of_the_environment(fakekube):
    value = {"valueFrom": {"configMapKeyRef": {"name": "conf", "key": "mode"}}}
    fakekube.create(pod(containers=[{"name": "c", "image": "a", "env": [{"name": "MODE", **value}]}]))
    fakekube.advance(30)
    waiting = status(fakekube)["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": 'configmap "conf" not found'}
    fakekube.create({**CONFIG, "data": {"other": "x"}})
    fakekube.settle()
    waiting = status(fakekube)["containerStatuses"][0]["state"]["waiting"]
    assert waiting["message"] == "couldn't find key mode in ConfigMap default/conf"
    fakekube.patch("v1", "ConfigMap", "conf", {"data": {"mode": "fast"}})
    fakekube.advance(1)
    assert states(fakekube)[-1] == (31, "running")


@pytest.mark.fakekube(nodes=1)
def test_a_missing_secret_of_a_volume(fakekube):
    fakekube.create(pod(volumes=[{"name": "keys", "secret": {"secretName": "keys"}}]))
    fakekube.advance(30)
    assert states(fakekube) == [(0, "ContainerCreating")]
    (event,) = fakekube.events(reason="FailedMount")
    assert event["message"] == 'MountVolume.SetUp failed for volume "keys" : secret "keys" not found'
    fakekube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "default"}})
    fakekube.advance(1)
    assert states(fakekube)[-1] == (31, "running")


@pytest.mark.slow
@pytest.mark.fakekube(nodes=1)
def test_an_image_that_cannot_be_pulled(fakekube):
    web = fakekube.pods("app=web").always()
    web.image_pull_error("no such host")
    fakekube.create(pod())
    fakekube.advance(35)
    assert states(fakekube) == [
        (0, "ContainerCreating"),
        (1, "ErrImagePull"),
        (2, "ImagePullBackOff"),
        (11, "ErrImagePull"),
        (12, "ImagePullBackOff"),
        (31, "ErrImagePull"),
        (32, "ImagePullBackOff"),
    ]
    texts = {reason: {one["message"] for one in fakekube.events(reason=reason)} for reason in ("BackOff", "Failed")}
    assert texts == {
        "BackOff": {'Back-off pulling image "nginx:1"'},
        "Failed": {'Failed to pull image "nginx:1": no such host', "Error: ErrImagePull", "Error: ImagePullBackOff"},
    }
    web.recover()
    fakekube.advance(60)
    assert states(fakekube)[-1] == (71, "running")
    assert fakekube.events(reason="Failed")[0]["message"] == 'Failed to pull image "nginx:1": no such host'


# --- scripts ---------------------------------------------------------------------------------------------------------


@pytest.mark.fakekube(nodes=1)
def test_a_script_without_a_pod_is_an_error_that_names_the_pods(fakekube):
    fakekube.create(pod("other", {"app": "other"}))
    fakekube.advance(2)
    with pytest.raises(LookupError, match=r"matches pods\('app=web'\) \(pods: default/other\).*always"):
        fakekube.pods("app=web").fail()
    with pytest.raises(LookupError, match=r"this is a label selector: use pods\(name='other'\) for the pod"):
        fakekube.pods("other").fail()
    with pytest.raises(LookupError, match=r"matches pods\('other'\).*always"):
        fakekube.pods(name="other", namespace="elsewhere").fail()


@pytest.mark.fakekube(nodes=1)
def test_a_script_concerns_only_the_pods_that_exist(fakekube):
    fakekube.create(pod("a"))
    fakekube.advance(2)
    fakekube.pods("app=web").not_ready()
    fakekube.create(pod("b"))
    fakekube.advance(2)
    assert (conditions(fakekube, "a")["Ready"], conditions(fakekube, "b")["Ready"]) == ("False", "True")


@pytest.mark.fakekube(nodes=1)
def test_a_handle_shows_its_pods(fakekube):
    for name in ("b", "a"):
        fakekube.create(pod(name))
    fakekube.advance(2)
    web = fakekube.pods("app=web")
    assert (len(web), web.names) == (2, ["a", "b"])
    assert {one["metadata"]["name"] for one in web} == {"a", "b"}
    assert len(fakekube.pods(name="a*")) == 1


def test_scripts_need_a_kubelet(fakekube):
    with pytest.raises(RuntimeError, match="no kubelet runs; pass nodes=1"):
        fakekube.pods("app=web")


@pytest.mark.fakekube(nodes=1)
async def test_scripts_are_awaited_in_an_async_test(fakekube):
    fakekube.create(pod())
    await fakekube.advance(2)
    await fakekube.pods("app=web").fail()
    assert states(fakekube)[-1] == (2, "Error")


# --- logs and commands -----------------------------------------------------------------------------------------------


def log_of(kube, name="web", query=""):
    from kubernetes.client import CoreV1Api

    return CoreV1Api(kube.access.api_client()).read_namespaced_pod_log(name, "default", **dict(query or {}))


@pytest.mark.fakekube(nodes=1)
def test_logs_are_what_the_test_scripts(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    assert log_of(fakekube) == ""
    fakekube.pods("app=web").logs("one\ntwo\n")
    assert log_of(fakekube, query={"tail_lines": 1}) == "two\n"


@pytest.mark.fakekube(nodes=1)
def test_a_container_that_has_not_started_has_no_log(fakekube):
    from kubernetes.client import ApiException

    fakekube.create(pod())
    fakekube.settle()
    with pytest.raises(ApiException, match="is waiting to start: ContainerCreating"):
        log_of(fakekube)


# --- the whole -------------------------------------------------------------------------------------------------------


def test_a_pod_that_another_kubelet_has_started_goes_on():
    """The state is restored from the status, as after a restart of the kubelet."""
    from fakekube.controllers.kubelet.podrun import new_run

    with FakeKube(nodes=1) as kube:
        kube.create(pod())
        kube.advance(2)
        kube.pods("app=web").fail()
        kube.advance(5)
        found = kube.get("v1", "Pod", "web")
        run = new_run(found, kube.clock.now())
    one = run.containers["c"]
    assert (one.state, one.restarts, one.ready, run.ip) == ("running", 1, True, "10.244.0.2")
    assert one.last.reason == "Error"
    assert run.next_due() is None


@pytest.mark.slow
@pytest.mark.fakekube(nodes=2)
def test_an_idle_cluster_writes_only_leases_and_node_statuses(fakekube):
    fakekube.create(pod())
    fakekube.advance(60)
    before = len(fakekube.requests())
    fakekube.advance(hours=1)
    later = [one for one in fakekube.requests()[before:] if one.verb != "watch"]
    found = {(one.verb, one.resource, one.subresource) for one in later}
    assert found == {("update", "leases", ""), ("patch", "nodes", "status")}
    assert len(later) == 2 * (360 + 12)


def scenario(seed):
    with FakeKube(controllers=["replicaset"], nodes=3, seed=seed) as kube:
        spec = {"replicas": 6, "selector": {"matchLabels": WEB}, "template": {"metadata": {"labels": WEB}}}
        spec["template"]["spec"] = {"containers": [{"name": "c", "image": "nginx:1"}]}
        meta = {"name": "web", "namespace": "default"}
        kube.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec})
        kube.advance(3)
        kube.pods(name=kube.pods("app=web").names[0]).crash()
        kube.nodes["node-2"].lose()
        kube.advance(60)
        return kube.log()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_log():
    assert scenario(7) == scenario(7)
    assert scenario(7) != scenario(8)


@pytest.mark.slow
@pytest.mark.fakekube(nodes=1)
def test_the_address_of_a_pod_that_has_ended_is_free(fakekube):
    """It stays in its status, as on a real node; the range of the node has room for 253."""
    for number in range(3):
        for other in range(100):
            fakekube.create(owned_by_job(pod(f"pod-{number}-{other}", restartPolicy="Never")))
        fakekube.advance(10)
    found = [one["status"] for one in fakekube.list("v1", "Pod")]
    assert {one["phase"] for one in found} == {"Succeeded"}
    assert all(one["podIP"] for one in found)
    fakekube.delete("v1", "Pod", "pod-0-0")
    fakekube.create(pod("web"))
    fakekube.create(pod("other"))
    fakekube.advance(5)
    assert status(fakekube, "web")["podIP"] != status(fakekube, "other")["podIP"]
