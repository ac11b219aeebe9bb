"""Rules of the kubelet: phases, conditions, restarts, back-off, probes, needs, addresses, selectors, patches."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network

import pytest

from controllerlib.client import selector_from_set
from fakekube.controllers.kubelet import podneeds
from fakekube.controllers.kubelet.imagenames import container_id, image_id, normalized
from fakekube.controllers.kubelet.podaddresses import NodeRanges, PodAddresses
from fakekube.controllers.kubelet.podconditions import kubelet_conditions
from fakekube.controllers.kubelet.podmachine import go_duration
from fakekube.controllers.kubelet.podphase import phase_of
from fakekube.controllers.kubelet.podreport import patch_of
from fakekube.controllers.kubelet.podrun import Backoff, Container, Ended, PodRun, new_run
from fakekube.controllers.kubelet.restartpolicy import restarts_after
from fakekube.controllers.kubelet.stage import Exit, FieldMatch, PodSelector, Stage
from fakekube.controllers.kubelet.stagedocument import stages_of
from tests.controllers.test_kubelet import HTTP, conditions, history, pod, probed, readiness, states, status

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE_NODE = pytest.mark.fakekube(nodes=1)


def container(name="c", role="main", state="waiting", code=None, *, started=False, ready=False, **spec):
    """A container; `code`: how it ended last."""
    ended = None if code is None else Ended(code, "Error")
    return Container(name, {"name": name, **spec}, role, state, ended=ended, started=started, ready=ready)


def run(*containers, **more):
    return PodRun("u", "ns", "p", "n", {one.name: one for one in containers}, NOW, **more)


# --- restarts


@pytest.mark.parametrize(
    ("own", "pod_policy", "code", "restarts"),
    [
        (None, "Always", 0, True),
        (None, None, 0, True),
        (None, "OnFailure", 0, False),
        (None, "OnFailure", 1, True),
        (None, "Never", 1, False),
        ("Always", "Never", 0, True),
        ("Never", "Always", 1, False),
        ("OnFailure", "Never", 3, True),
    ],
)
def test_restart_policies_of_containers_and_pods(own, pod_policy, code, restarts):
    assert restarts_after({"restartPolicy": own}, {"restartPolicy": pod_policy}, code) is restarts


@pytest.mark.parametrize(
    ("own", "operator", "code", "restarts"),
    [
        ("Never", "In", 42, True),
        ("Never", "In", 1, False),
        ("Never", "NotIn", 42, False),
        ("Never", "NotIn", 1, True),
        ("Always", "In", 1, True),
        (None, "In", 42, False),  # rules need a policy of the container
        ("Never", "Other", 1, False),
    ],
)
def test_restart_rules(own, operator, code, restarts):
    rules = [{"exitCodes": {"operator": operator, "values": [42]}}]
    found = restarts_after({"restartPolicy": own, "restartPolicyRules": rules}, {"restartPolicy": "Never"}, code)
    assert found is restarts


def test_the_back_off_of_containers():
    backoff = Backoff()
    assert backoff.until(NOW) == 0.0
    found = []
    for _ in range(7):
        backoff.next(NOW, NOW)
        found.append(backoff.seconds)
    assert found == [10, 20, 40, 80, 160, 300, 300]
    assert backoff.until(NOW + timedelta(seconds=600)) == 300
    assert backoff.until(NOW + timedelta(seconds=601)) == 0.0
    backoff.next(NOW + timedelta(seconds=600), NOW)
    assert backoff.seconds == 300
    backoff.next(NOW + timedelta(seconds=601), NOW)
    assert backoff.seconds == 10


@pytest.mark.parametrize(("seconds", "text"), [(10, "10s"), (59, "59s"), (60, "1m0s"), (80, "1m20s"), (300, "5m0s")])
def test_durations_as_go_prints_them(seconds, text):
    assert go_duration(seconds) == text


# --- phases

NEVER, ALWAYS, ON_FAILURE = ({"restartPolicy": policy} for policy in ("Never", "Always", "OnFailure"))


@pytest.mark.parametrize(
    ("containers", "spec", "terminal", "phase"),
    [
        ([container()], ALWAYS, False, "Pending"),
        ([container(state="running")], ALWAYS, False, "Running"),
        ([container(state="running"), container("d")], ALWAYS, False, "Pending"),
        ([container(state="running"), container("d", state="waiting", code=1)], ALWAYS, False, "Running"),
        ([container(state="ended", code=0)], NEVER, False, "Succeeded"),
        ([container(state="ended", code=1)], NEVER, False, "Failed"),
        ([container(state="ended", code=0), container("d", state="ended", code=2)], NEVER, False, "Failed"),
        ([container(state="ended", code=1)], ON_FAILURE, False, "Running"),
        ([container(state="ended", code=1)], ON_FAILURE, True, "Failed"),
        ([container(state="ended", code=0)], ALWAYS, True, "Succeeded"),
        ([container(state="waiting", code=1)], ALWAYS, False, "Running"),
        # init containers
        ([container("i", "init"), container()], NEVER, False, "Pending"),
        ([container("i", "init", "running"), container(state="running")], NEVER, False, "Pending"),
        ([container("i", "init", "ended", code=0), container(state="running")], NEVER, False, "Running"),
        ([container("i", "init", "ended", code=1), container()], NEVER, False, "Failed"),
        ([container("i", "init", "ended", code=1), container()], ALWAYS, False, "Pending"),
        ([container("i", "init", "waiting", code=1), container()], ON_FAILURE, False, "Pending"),
        # sidecars
        ([container("s", "sidecar", "running"), container()], NEVER, False, "Pending"),
        ([container("s", "sidecar"), container(state="running")], NEVER, False, "Pending"),
        ([container("s", "sidecar", "running", started=True), container(state="running")], NEVER, False, "Running"),
        ([container("s", "sidecar", "running"), container(state="running")], NEVER, False, "Running"),
        (
            [container("s", "sidecar", "running", started=True), container(state="ended", code=0)],
            NEVER,
            False,
            "Running",
        ),
        ([container("s", "sidecar", "ended", code=1), container(state="ended", code=0)], NEVER, True, "Succeeded"),
    ],
)
def test_phases(containers, spec, terminal, phase):
    assert phase_of(run(*containers), spec, terminal=terminal) == phase


# --- conditions


def conditions_of(*containers, phase="Running", gates=(), foreign=(), **more):
    return {one["type"]: one for one in kubelet_conditions(run(*containers, **more), phase, gates, foreign)}


def test_conditions_of_a_ready_pod():
    found = conditions_of(container(state="running", ready=True), sandbox=True)
    assert {kind: one["status"] for kind, one in found.items()} == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    assert conditions_of(container(), sandbox=True, finished=True)["PodReadyToStartContainers"]["status"] == "False"
    assert conditions_of(container())["PodReadyToStartContainers"]["status"] == "False"


def test_unready_containers_are_named():
    listed = [container("i", "init", "ended", code=0), container("s", "sidecar", "running", started=True)]
    listed += [container("a", state="running", ready=True), container("b", state="running")]
    found = conditions_of(*listed)
    assert found["ContainersReady"] == {
        "type": "ContainersReady",
        "status": "False",
        "reason": "ContainersNotReady",
        "message": "containers with unready status: [s b]",
    }
    assert found["Ready"]["reason"] == "ContainersNotReady"
    assert found["Initialized"]["status"] == "True"


@pytest.mark.parametrize(("phase", "reason"), [("Succeeded", "PodCompleted"), ("Failed", "PodFailed")])
def test_conditions_of_pods_that_have_ended(phase, reason):
    found = conditions_of(container(state="ended", code=0, ready=True), phase=phase)
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", reason)
    assert found["Initialized"].get("reason") == ("PodCompleted" if phase == "Succeeded" else None)


@pytest.mark.parametrize(
    ("one", "incomplete"),
    [
        (container("i", "init"), True),
        (container("i", "init", "ended", code=1), True),
        (container("i", "init", "ended", code=0), False),
        (container("i", "sidecar", "running"), True),
        (container("i", "sidecar", "running", started=True), False),
    ],
)
def test_initialization(one, incomplete):
    found = conditions_of(one, container())["Initialized"]
    assert found["status"] == ("False" if incomplete else "True")
    if incomplete:
        assert found["message"] == "containers with incomplete status: [i]"
    assert conditions_of(one, container(state="running"))["Initialized"]["status"] == "True"


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        ([], 'corresponding condition of pod readiness gate "g" does not exist.'),
        ([{"type": "g", "status": "False"}], 'the status of pod readiness gate "g" is not "True", but False'),
        ([{"type": "g", "status": "True"}], None),
    ],
)
def test_readiness_gates(foreign, message):
    ready = container(state="running", ready=True)
    found = conditions_of(ready, gates=["g"], foreign=foreign)["Ready"]
    assert (found.get("message"), found["status"]) == (message, "False" if message else "True")
    assert conditions_of(container(state="running"), gates=["g"])["Ready"]["reason"] == "ContainersNotReady"


# --- patches of the status


def test_patches_have_only_what_has_changed():
    one = {"type": "A", "status": "True", "reason": "R"}
    old = {"phase": "Running", "reason": "x", "podIP": "1", "conditions": [one, {"type": "B", "status": "True"}]}
    assert patch_of(old, dict(old), "u") is None
    new = {
        "phase": "Failed",
        "conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True", "reason": None}],
    }
    assert patch_of(old, new, "u") == {
        "metadata": {"uid": "u"},
        "status": {
            "phase": "Failed",
            "$setElementOrder/conditions": [{"type": "A"}, {"type": "B"}],
            "conditions": [{"type": "A", "status": "False", "reason": None}],
            "reason": None,
            "podIP": None,
        },
    }


# --- a pod that another kubelet has run


def test_the_state_of_a_pod_that_runs_already():
    listed = [
        {"name": "a", "state": {"running": {"startedAt": "2026-01-01T11:00:00Z"}}, "ready": True, "started": True},
        {"name": "b", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}, "restartCount": 2},
        {"name": "c", "state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 4}}, "containerID": "x"},
        {"name": "unknown", "state": {}},
    ]
    spec = {"nodeName": "n", "containers": [{"name": name} for name in "abc"], "hostNetwork": True}
    spec["initContainers"] = [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]
    before = {"startTime": "2026-01-01T10:00:00Z", "podIP": "1.1.1.1", "containerStatuses": listed}
    meta = {"uid": "u", "namespace": "ns", "name": "p"}
    found = new_run({"metadata": meta, "spec": spec, "status": before}, NOW)
    assert [(one.name, one.role) for one in found.containers.values()][:2] == [("i", "init"), ("s", "sidecar")]
    a, b, c = (found.containers[name] for name in "abc")
    assert (a.state, a.ready, a.started, a.pulled, a.started_at.hour) == ("running", True, True, True, 11)
    assert (b.state, b.ended.code, b.restarts, b.ready) == ("ended", 3, 2, False)
    assert (c.state, c.ended.code, c.last, c.container_id) == ("waiting", 4, None, "x")
    assert (found.started_at.hour, found.ip, found.sandbox, found.host_network) == (10, "1.1.1.1", True, True)
    assert found.written is before
    fresh = new_run({"metadata": meta, "spec": spec}, NOW)
    assert (fresh.started_at, fresh.written, fresh.sandbox) == (NOW, None, False)
    assert fresh.containers["a"].waiting == ("PodInitializing", "")


def test_when_something_happens_next():
    one = run(container("a"), container("b"), deadline=NOW + timedelta(seconds=9))
    assert one.next_due() == NOW + timedelta(seconds=9)
    one.containers["b"].plan(Exit(), NOW + timedelta(seconds=5))
    assert one.next_due() == NOW + timedelta(seconds=5)
    one.finished = True
    one.containers["b"].plan(None, None)
    assert one.next_due() is None


# --- what a pod needs


class Present:
    """The objects of a namespace; implements `podneeds.Objects`."""

    def __init__(self, **objects):
        self._objects = objects

    def get(self, kind, name):
        return self._objects.get(f"{kind}_{name}")


def volumes(**source):
    return {"metadata": {"namespace": "ns"}, "spec": {"volumes": [{"name": "v", **source}], "containers": []}}


FAILED = 'MountVolume.SetUp failed for volume "v" : '


@pytest.mark.parametrize(
    ("source", "objects", "problem"),
    [
        ({"emptyDir": {}}, {}, ""),
        ({"configMap": {"name": "a"}}, {}, f'{FAILED}configmap "a" not found'),
        ({"configMap": {"name": "a", "optional": True}}, {}, ""),
        ({"configMap": {"name": "a"}}, {"ConfigMap_a": {}}, ""),
        ({"secret": {"secretName": "a"}}, {}, f'{FAILED}secret "a" not found'),
        (
            {"secret": {"secretName": "a", "items": [{"key": "k"}]}},
            {"Secret_a": {}},
            f"{FAILED}references non-existent secret key: k",
        ),
        ({"secret": {"secretName": "a", "items": [{"key": "k"}]}}, {"Secret_a": {"data": {"k": ""}}}, ""),
        ({"configMap": {"name": "a", "items": [{"key": "k"}]}}, {"ConfigMap_a": {"binaryData": {"k": ""}}}, ""),
        ({"projected": {"sources": [{"secret": {"name": "a"}}]}}, {}, f'{FAILED}secret "a" not found'),
        ({"persistentVolumeClaim": {"claimName": "a"}}, {}, f"{FAILED}error processing PVC ns/a: not found"),
        (
            {"persistentVolumeClaim": {"claimName": "a"}},
            {"PersistentVolumeClaim_a": {"status": {"phase": "Pending"}}},
            f"{FAILED}error processing PVC ns/a: PVC is not bound",
        ),
        (
            {"persistentVolumeClaim": {"claimName": "a"}},
            {"PersistentVolumeClaim_a": {"status": {"phase": "Bound"}}},
            "",
        ),
    ],
)
def test_volumes_that_cannot_be_mounted(source, objects, problem):
    assert podneeds.volume_problem(volumes(**source), Present(**objects)) == problem


def env(kind, name="a", key="k", **more):
    return {"env": [{"name": "X", "valueFrom": {kind: {"name": name, "key": key, **more}}}]}


@pytest.mark.parametrize(
    ("one", "objects", "problem"),
    [
        ({"env": [{"name": "X", "value": "1"}]}, {}, ""),
        (env("configMapKeyRef"), {}, 'configmap "a" not found'),
        (env("configMapKeyRef", optional=True), {}, ""),
        (env("configMapKeyRef"), {"ConfigMap_a": {"data": {}}}, "couldn't find key k in ConfigMap ns/a"),
        (env("configMapKeyRef"), {"ConfigMap_a": {"data": {"k": "1"}}}, ""),
        (env("secretKeyRef"), {"ConfigMap_a": {"data": {"k": "1"}}}, 'secret "a" not found'),
        ({"envFrom": [{"secretRef": {"name": "a"}}]}, {}, 'secret "a" not found'),
        ({"envFrom": [{"secretRef": {"name": "a", "optional": True}}]}, {}, ""),
        ({"envFrom": [{"configMapRef": {"name": "a"}}]}, {"ConfigMap_a": {}}, ""),
    ],
)
def test_environments_that_cannot_be_made(one, objects, problem):
    assert podneeds.config_problem(one, "ns", Present(**objects)) == problem


def test_what_a_pod_refers_to():
    one = volumes(secret={"secretName": "s"})
    one["spec"]["initContainers"] = [env("configMapKeyRef", "i")]
    one["spec"]["containers"] = [env("secretKeyRef", "m"), env("secretKeyRef", "o", optional=True)]
    assert list(podneeds.references(one)) == [("Secret", "s"), ("ConfigMap", "i"), ("Secret", "m")]


# --- names and addresses


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1", "docker.io/library/nginx:1"),
        ("me/app", "docker.io/me/app:latest"),
        ("ghcr.io/me/app:2", "ghcr.io/me/app:2"),
        ("localhost/app", "localhost/app:latest"),
        ("host:5000/app", "host:5000/app:latest"),
        ("nginx@sha256:1", "docker.io/library/nginx@sha256:1"),
        ("ghcr.io/app@sha256:1", "ghcr.io/app@sha256:1"),
    ],
)
def test_names_of_images(image, full):
    assert normalized(image) == full


def test_identities():
    assert image_id("nginx@sha256:1") == "docker.io/library/nginx@sha256:1"
    assert image_id("nginx:1").startswith("docker.io/library/nginx@sha256:")
    assert image_id("nginx:1") != image_id("nginx:2")
    assert (
        len(
            {container_id("u", "c", 0), container_id("u", "c", 1), container_id("u", "d", 0), container_id("v", "c", 0)}
        )
        == 4
    )


def test_ranges_of_nodes():
    ranges = NodeRanges()
    assert [(a, str(net)) for a, net in (ranges.take(pods) for pods in (110, 128, 129, 110))] == [
        ("172.18.0.2", "10.244.0.0/24"),
        ("172.18.0.3", "10.244.1.0/24"),
        ("172.18.0.4", "10.244.2.0/23"),
        ("172.18.0.5", "10.244.4.0/24"),
    ]
    ranges = NodeRanges()
    ranges.take(110)
    assert str(ranges.take(300)[1]) == "10.244.4.0/22"


def test_addresses_of_pods_are_used_again_after_all_others():
    pool = PodAddresses(IPv4Network("10.0.0.0/29"))
    assert [pool.take("uid") for _ in range(5)] == [f"10.0.0.{number}" for number in (2, 3, 4, 5, 6)]
    with pytest.raises(ValueError, match=r"no address of 10\.0\.0\.0/29 is free"):
        pool.take("uid")
    pool.free("10.0.0.4", "uid")
    pool.free("10.0.0.2", "uid")
    pool.keep("10.0.0.2", "uid")
    assert pool.take("uid") == "10.0.0.4"


# --- stages

POD = {
    "metadata": {
        "uid": "u",
        "namespace": "ns",
        "name": "web-1",
        "labels": {"app": "web"},
        "annotations": {"a": "1"},
        "ownerReferences": [{"kind": "Job", "controller": True}, {"kind": "Other"}],
    },
    "spec": {"nodeName": "n", "hostNetwork": True, "containers": [{"name": "a"}, {"name": "b"}]},
}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (PodSelector(), True),
        (PodSelector(uids=frozenset("u")), True),
        (PodSelector(uids=frozenset("v")), False),
        (PodSelector(namespace="ns"), True),
        (PodSelector(namespace="other"), False),
        (PodSelector(name="web-*"), True),
        (PodSelector(name="db-*"), False),
        (PodSelector(selector_from_set({"app": "web"})), True),
        (PodSelector(selector_from_set({"app": "db"})), False),
        (PodSelector(owner="Job"), True),
        (PodSelector(owner="Other"), False),
        (PodSelector(annotations={"a": "1"}), True),
        (PodSelector(annotations={"a": "1", "b": "1"}), False),
        (PodSelector(fields=(FieldMatch(("spec", "nodeName"), "In", ("n",)),)), True),
        (PodSelector(fields=(FieldMatch(("spec", "nodeName"), "NotIn", ("n",)),)), False),
        (PodSelector(fields=(FieldMatch(("spec", "containers", "[]", "name"), "In", ("b",)),)), True),
        (PodSelector(fields=(FieldMatch(("spec", "containers", "[]", "name"), "In", ("c",)),)), False),
        (PodSelector(fields=(FieldMatch(("spec", "missing"), "Exists"),)), False),
        (PodSelector(fields=(FieldMatch(("spec", "missing"), "DoesNotExist"),)), True),
        (PodSelector(fields=(FieldMatch(("spec", "nodeName"), "Exists"), FieldMatch(("spec", "x"), "Exists"))), False),
        (PodSelector(fields=(FieldMatch(("spec", "hostNetwork"), "In", ("true",)),)), True),
    ],
)
def test_which_pods_a_stage_concerns(selector, expected):
    assert selector.matches(POD) is expected


@pytest.mark.parametrize(
    ("options", "name", "role", "expected"),
    [
        ({}, "c", "main", True),
        ({"container": "c*"}, "c1", "main", True),
        ({"container": "d"}, "c", "main", False),
        ({"init_only": True}, "c", "main", False),
        ({"init_only": True}, "c", "init", True),
        ({"main_only": True}, "c", "sidecar", False),
        ({"main_only": True}, "c", "main", True),
        ({"selector": PodSelector(namespace="other")}, "c", "main", False),
    ],
)
def test_which_containers_a_stage_concerns(options, name, role, expected):
    stage = Stage("s", "running", Exit(), **options)
    assert stage.applies("running", POD, name, role) is expected
    assert stage.applies("creating", POD, name, role) is False


def of_kwok(template):
    """A stage of kwok that writes a status."""
    return f'{{statusTemplate: "{template}"}}'


def of_container(state, statuses="containerStatuses"):
    return of_kwok(f"{statuses}: [{{state: {{{state}}}}}]")


def of_condition(type, value, phase):
    return of_kwok(f"{{phase: {phase}, conditions: [{{type: {type}, status: '{value}'}}]}}")


@pytest.mark.parametrize(
    ("text", "at", "action"),
    [
        ("{exit: {code: 3}}", "running", "Exit(code=3, reason='', message='')"),
        ("{run: null}", "running", "Run()"),
        ("{hang: null}", "terminating", "Hang()"),
        ("{start: null}", "creating", "Start()"),
        ("{pullError: {message: m}}", "creating", "PullError(message='m')"),
        ("{createError: {reason: R}}", "creating", "CreateError(reason='R', message='', retry=10.0)"),
        ("{ready: false}", "probing", "Readiness(ready=False)"),
        ("{probe: {probe: liveness, passes: false}}", "probing", "ProbeResult(probe='liveness', passes=False)"),
        ("{delete: true}", "terminating", "Exit(code=0, reason='', message='')"),
        ("{statusTemplate: 'phase: Failed'}", "running", "Exit(code=1, reason='', message='')"),
        ("{statusTemplate: 'phase: Succeeded'}", "running", "Exit(code=0, reason='', message='')"),
        ("{statusTemplate: 'phase: Running'}", "creating", "Start()"),
        (
            of_kwok("{phase: Failed, reason: Evicted, message: m}"),
            "running",
            "Exit(code=1, reason='Evicted', message='m')",
        ),
        (of_kwok("{phase: Succeeded, reason: Done}"), "running", "Exit(code=0, reason='Done', message='')"),
        (of_container("terminated: {reason: R, message: m}"), "running", "Exit(code=0, reason='R', message='m')"),
        (
            of_container("terminated: {exitCode: 3}", "initContainerStatuses"),
            "running",
            "Exit(code=3, reason='', message='')",
        ),
        (of_container("waiting: {reason: ErrImagePull, message: m}"), "creating", "PullError(message='m')"),
        (of_container("waiting: {reason: ImagePullBackOff}"), "creating", "PullError(message='')"),
        (
            of_container("waiting: {reason: Bad, message: m}"),
            "creating",
            "CreateError(reason='Bad', message='m', retry=10.0)",
        ),
        (of_container("waiting: {reason: ContainerCreating}"), "creating", "Start()"),
        (of_container("waiting: {reason: PodInitializing}"), "creating", "Start()"),
        (of_container("running: {}"), "creating", "Start()"),
        (of_condition("Ready", "False", "Running"), "probing", "Readiness(ready=False)"),
        (of_condition("Ready", "False", "Pending"), "creating", "Start()"),
        (of_condition("Ready", "True", "Running"), "creating", "Start()"),
        (of_condition("Initialized", "False", "Running"), "creating", "Start()"),
    ],
)
def test_stages_in_yaml(text, at, action):
    (found,) = stages_of(
        f"kind: Stage\nmetadata: {{name: s}}\nspec:\n  delay: {{durationMilliseconds: 1500, jitterDurationMilliseconds: 2000}}\n  next: {text}\n"
    )
    assert (found.at, repr(found.action), found.delay, found.jitter) == (at, action, 1.5, 0.5)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("kind: Pod\n", "expected documents of kind Stage"),
        ("kind: Stage\nspec: {next: {exit: {}, run: {}}}\n", "it has exactly one action"),
        ("kind: Stage\nspec: {next: {fly: {}}}\n", "next has the action 'fly'"),
        ("kind: Stage\nspec: {at: noon, next: {run: {}}}\n", "at is 'noon'"),
        ("kind: Stage\nspec: {next: {patches: []}}\n", "neither statusTemplate nor delete"),
        (
            "kind: Stage\nspec: {next: {run: {}}, selector: {matchExpressions: [{key: .a, operator: Gt}]}}\n",
            "operator 'Gt'",
        ),
        (
            "kind: Stage\nspec: {next: {run: {}}, selector: {matchExpressions: [{key: a b, operator: In}]}}\n",
            "key 'a b'",
        ),
    ],
)
def test_documents_that_are_no_stages(document, problem):
    with pytest.raises(ValueError, match=problem):
        stages_of(document)
    assert stages_of("kind: Stage\nspec: {resourceRef: {kind: Node}, next: {run: {}}}\n") == []


# --- probes under virtual time


@ONE_NODE
def test_only_consecutive_failures_of_a_probe_count(fakekube):
    """Failures at 5 and 15, a success at 25, failures from 30 on: unready at the third in a row, at 50."""
    fakekube.create(probed(readinessProbe={**HTTP, "periodSeconds": 10, "failureThreshold": 3}))
    web = fakekube.pods("app=web")
    fakekube.advance(5)
    web.fail_probe("readiness")
    fakekube.advance(11)
    web.pass_probe("readiness")
    fakekube.advance(14)
    web.fail_probe("readiness")
    fakekube.advance(30)
    assert readiness(fakekube) == [(0, "False"), (1, "True"), (50, "False")]


@ONE_NODE
def test_only_consecutive_successes_of_a_probe_count(fakekube):
    fakekube.create(probed(readinessProbe={**HTTP, "periodSeconds": 10, "failureThreshold": 1, "successThreshold": 3}))
    web = fakekube.pods("app=web")
    fakekube.advance(30)
    web.fail_probe("readiness")
    fakekube.advance(10)
    web.pass_probe("readiness")  # successes at 40 and 50
    fakekube.advance(11)
    web.fail_probe("readiness")  # a failure at 60
    fakekube.advance(14)
    web.pass_probe("readiness")  # successes at 65, 75, 85
    fakekube.advance(30)
    assert readiness(fakekube) == [(0, "False"), (21, "True"), (30, "False"), (85, "True")]


@ONE_NODE
def test_probes_have_thresholds_and_periods_by_default(fakekube):
    probe = {"tcpSocket": {"port": 80}}
    fakekube.create(probed(readinessProbe=probe))
    fakekube.advance(10)
    fakekube.pods("app=web").fail_probe("readiness")
    fakekube.advance(50)
    assert readiness(fakekube) == [(0, "False"), (1, "True"), (30, "False")]
    (event,) = fakekube.events(reason="Unhealthy")
    assert event["message"] == "Readiness probe failed: dial tcp 10.244.0.2:80: connect: connection refused"


@ONE_NODE
def test_a_container_that_ignores_sigterm_is_killed_after_its_liveness_probe_fails(fakekube):
    fakekube.pods("app=web").always().hang_on_termination()
    fakekube.create(
        pod(
            terminationGracePeriodSeconds=7,
            containers=[
                {
                    "name": "c",
                    "image": "a",
                    "livenessProbe": {"grpc": {"port": 1}, "periodSeconds": 5, "failureThreshold": 1},
                }
            ],
        )
    )
    fakekube.advance(10)
    fakekube.pods("app=web").fail_probe("liveness")
    fakekube.advance(6)
    assert states(fakekube)[1:] == [(1, "running")]
    fakekube.advance(1)
    assert states(fakekube)[1:] == [(1, "running"), (17, "Error")]
    assert status(fakekube)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    assert fakekube.events(reason="Unhealthy")[0]["message"] == (
        'Liveness probe failed: service unhealthy (responded with "NOT_SERVING")'
    )


@ONE_NODE
def test_readiness_and_liveness_are_probed_only_after_the_startup_probe(fakekube):
    fakekube.pods("app=web").always().fail_probe("startup")
    startup = {**HTTP, "failureThreshold": 100}
    fakekube.create(probed(startupProbe=startup, readinessProbe=HTTP, livenessProbe=HTTP))
    fakekube.pods("app=web").always().fail_probe("liveness")
    fakekube.advance(60)
    assert status(fakekube)["containerStatuses"][0]["started"] is False
    assert states(fakekube)[-1] == (1, "running")
    fakekube.pods("app=web").pass_probe("startup")
    fakekube.advance(5)
    assert status(fakekube)["containerStatuses"][0]["started"] is True


# --- the end of a pod


@pytest.mark.slow
@ONE_NODE
def test_a_pod_fails_at_its_active_deadline(fakekube):
    fakekube.create(pod(activeDeadlineSeconds=10, terminationGracePeriodSeconds=5))
    fakekube.advance(9)
    assert history(fakekube)[-1] == (1, "Running")
    fakekube.advance(3)
    assert history(fakekube)[-1] == (11, "Failed")
    found = status(fakekube)
    assert (found["reason"], found["message"]) == (
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    )
    assert conditions(fakekube)["Ready"] == "False"


@ONE_NODE
def test_a_second_deletion_shortens_the_grace_period_but_never_extends_it(fakekube):
    fakekube.pods("app=web").always().hang_on_termination()
    fakekube.create(pod(terminationGracePeriodSeconds=60))
    fakekube.advance(5)
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(10)
    fakekube.delete("v1", "Pod", "web", gracePeriodSeconds=20)
    fakekube.advance(19)
    assert fakekube.exists("v1", "Pod", "web")
    fakekube.advance(1)
    assert not fakekube.exists("v1", "Pod", "web")


@ONE_NODE
def test_sidecars_stop_after_the_regular_containers_in_reverse_order(fakekube):
    sidecars = [{"name": name, "image": "a", "restartPolicy": "Always"} for name in ("s1", "s2")]
    fakekube.create(pod(initContainers=sidecars))
    fakekube.advance(10)
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(10)
    killed = [one["message"] for one in fakekube.events(reason="Killing")]
    assert killed == ["Stopping container c", "Stopping container s2", "Stopping container s1"]


@ONE_NODE
def test_init_containers_run_one_after_the_other(fakekube):
    fakekube.create(pod(initContainers=[{"name": "i1", "image": "a"}, {"name": "i2", "image": "a"}]))
    fakekube.advance(10)
    firsts = [states(fakekube, field="initContainerStatuses", index=index) for index in (0, 1)]
    assert [next(time for time, what in found if what == "running") for found in firsts] == [1, 3]
    assert [found[-1][1] for found in firsts] == ["Completed", "Completed"]
    assert states(fakekube)[-1] == (5, "running")


@ONE_NODE
def test_a_failed_init_container_is_the_end_of_a_pod_that_never_restarts(fakekube):
    fakekube.pods("app=web").always().crash(container="i")
    fakekube.create(pod(initContainers=[{"name": "i", "image": "a"}], restartPolicy="Never"))
    fakekube.advance(10)
    assert history(fakekube)[-1][1] == "Failed"
    assert conditions(fakekube)["Initialized"] == "False"


@ONE_NODE
def test_the_script_that_was_added_last_decides_about_a_probe(fakekube):
    once = {**HTTP, "failureThreshold": 1}
    fakekube.create(probed(readinessProbe=once, livenessProbe={**HTTP, "failureThreshold": 1000}))
    web = fakekube.pods("app=web")
    fakekube.advance(10)
    web.fail_probe("liveness")  # another probe
    fakekube.advance(10)
    assert readiness(fakekube) == [(0, "False"), (1, "True")]
    web.not_ready()
    fakekube.advance(5)
    web.fail_probe("readiness")
    fakekube.advance(5)
    web.ready()
    fakekube.advance(5)
    web.fail_probe("readiness")
    fakekube.advance(5)
    assert readiness(fakekube)[2:] == [(20, "False"), (30, "True"), (35, "False")]


@ONE_NODE
def test_a_container_that_starts_again_is_probed_again(fakekube):
    fakekube.create(probed(readinessProbe={**HTTP, "initialDelaySeconds": 5}, startupProbe=HTTP))
    fakekube.advance(10)
    assert conditions(fakekube)["Ready"] == "True"
    fakekube.pods("app=web").fail()
    fakekube.advance(2)
    found = status(fakekube)["containerStatuses"][0]
    assert (found["restartCount"], found["ready"], found["started"]) == (1, False, True)
    fakekube.advance(5)
    assert status(fakekube)["containerStatuses"][0]["ready"] is True
