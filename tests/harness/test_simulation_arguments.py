"""Invalid arguments of controllers, simulated nodes and pods: the error names the argument and what is accepted."""

import pytest

from fakekube import Exit, FakeKube, Stage

PROBE = {"httpGet": {"path": "/", "port": 80}}

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {
        "containers": [
            {"name": "main", "image": "a", "readinessProbe": PROBE},
            {"name": "proxy", "image": "b"},
        ]
    },
}


@pytest.fixture
def pods(fakekube):
    fakekube.create(POD)
    fakekube.advance(20)
    return fakekube.pods("app=web")


def status(fakekube, name):
    found = fakekube.get("v1", "Pod", "web")["status"]["containerStatuses"]
    return next(one for one in found if one["name"] == name)


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    "script",
    [
        lambda pods: pods.fail(container="mian"),
        lambda pods: pods.crash(container="mian"),
        lambda pods: pods.exit_after(3, container="mian"),
        lambda pods: pods.start_after(3, container="mian"),
        lambda pods: pods.not_ready(container="mian"),
        lambda pods: pods.fail_probe("readiness", container="mian"),
        lambda pods: pods.stop_after(3, container="mian"),
        lambda pods: pods.logs("text", container="mian"),
        lambda pods: pods.exec("text", container="mian"),
    ],
)
def test_a_container_that_no_pod_has(pods, script):
    with pytest.raises(LookupError, match=r"no pod has a container 'mian' \(main, proxy\)"):
        script(pods)


@pytest.mark.fakekube(nodes=1)
def test_containers_by_pattern(fakekube, pods):
    pods.fail(container="pro*")
    assert status(fakekube, "main")["ready"]
    assert not status(fakekube, "proxy")["ready"]


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        (lambda pods: pods.crash(exit_code="1"), TypeError, "exit_code='1': pass an int"),
        (lambda pods: pods.fail(exit_code=256), ValueError, "exit_code=256: pass 0 to 255"),
        (lambda pods: pods.exit_after(1, exit_code=True), TypeError, "exit_code=True: pass an int"),
        (lambda pods: pods.stop_after(1, exit_code=-1), ValueError, "exit_code=-1: pass 0 to 255"),
        (
            lambda pods: pods.fail_probe("livenes"),
            ValueError,
            "probe='livenes': pass 'startup', 'readiness' or 'liveness'",
        ),
        (lambda pods: pods.fail_probe("liveness"), LookupError, "no container of web has a livenessProbe"),
        (lambda pods: pods.pass_probe("readiness", container="proxy"), LookupError, "web has a readinessProbe"),
        (
            lambda pods: pods.logs(3),
            TypeError,
            r"logs\(3\): pass text, bytes, a list of \(seconds, line\), or a function",
        ),
        (lambda pods: pods.exec(None), TypeError, r"exec\(None\): pass an output, an ExecResult, or a function"),
    ],
)
def test_invalid_scripts(pods, script, error, said):
    with pytest.raises(error, match=said):
        script(pods)


@pytest.mark.fakekube(nodes=1)
def test_later_pods_may_have_other_containers_and_probes(fakekube):
    fakekube.pods("app=web").always().fail_probe("readiness")
    fakekube.pods("app=web").always().not_ready(container="other")
    fakekube.create(POD)
    fakekube.advance(40)
    assert not status(fakekube, "main")["ready"]
    assert status(fakekube, "proxy")["ready"]


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("A B", {}, ValueError, r"nodes\.add\('A B'\): a lowercase RFC 1123 subdomain"),
        ("", {}, ValueError, r"nodes\.add\(''\): a lowercase RFC 1123 subdomain"),
        (3, {}, TypeError, r"nodes\.add\(3\): pass the name"),
        ("a", {"cpuu": 3}, TypeError, r"nodes\.add\(\) has no argument cpuu: did you mean 'cpu'\? \(accepted: "),
        ("a", {"cpu": "lots"}, ValueError, "cpu='lots': it is no quantity"),
        ("a", {"cpu": -1}, ValueError, "cpu=-1: it must not be negative"),
        ("a", {"memory": None}, TypeError, "memory=None: pass a number, or a quantity"),
        ("a", {"resources": {"gpu": "x"}}, ValueError, "gpu='x': it is no quantity"),
        ("a", {"pods": "5"}, TypeError, "pods='5': pass an int"),
        ("a", {"pods": -5}, ValueError, "pods=-5: it must not be negative"),
        ("a", {"lease_duration": -3}, ValueError, "lease_duration=-3: it must not be negative"),
        ("a", {"labels": ["a"]}, TypeError, r"labels=\['a'\]: pass a mapping"),
        ("a", {"labels": {"zone": 1}}, TypeError, "labels={'zone': 1}: names and values are text"),
        ("a", {"labels": {"a b": "c"}}, ValueError, "labels={'a b': 'c'}: name part must consist of"),
        ("a", {"taints": "a=b:NoSchedule"}, TypeError, "taints='a=b:NoSchedule': pass a list"),
        ("a", {"taints": ["x"]}, ValueError, "taints='x': expected 'key=value:Effect'"),
        ("a", {"taints": [{"key": "x"}]}, ValueError, "expected 'key=value:Effect'"),
    ],
)
def test_an_invalid_node(fakekube, name, options, error, said):
    with pytest.raises(error, match=said):
        fakekube.nodes.add(name, **options)
    fakekube.nodes.add("next")
    assert [one["metadata"]["name"] for one in fakekube.list("v1", "Node")] == ["next", "node-1"]


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda kube: kube.pods(name=3), TypeError, "name=3: pass the name of a pod"),
        (lambda kube: kube.pods(namespace=3), TypeError, "namespace=3: pass a name, or None"),
        (lambda kube: kube.pods.add_stages(3), TypeError, r"add_stages\(3\): pass a Stage, YAML"),
        (
            lambda kube: kube.pods.add_stages(Stage("a", "nowhere", Exit())),
            ValueError,
            "at='nowhere': pass 'creating', ",
        ),
        (
            lambda kube: kube.pods.add_stages("kind: Stage\nspec: {at: nowhere, next: {start: {}}}"),
            ValueError,
            "Stage 'stage': at is 'nowhere': it is one of creating, running, ",
        ),
        (
            lambda kube: kube.nodes["node-1"].pressure("mem"),
            ValueError,
            "kind='mem': pass 'memory', 'disk' or 'pid'",
        ),
        (
            lambda kube: kube.controllers["job"],
            KeyError,
            r"'job' of the cluster runs; select it with controllers=\['job",
        ),
    ],
)
def test_invalid_calls(fakekube, call, error, said):
    with pytest.raises(error, match=said):
        call(fakekube)


def test_an_unknown_controller_of_a_cluster_without_controllers(fakekube):
    with pytest.raises(KeyError, match=r"there is no controller 'deploymnt' \(known: .*deployment"):
        fakekube.controllers["deploymnt"]


def test_names_of_controllers_are_text():
    with pytest.raises(TypeError, match=r"controllers=\[3\]: names are text"):
        FakeKube(controllers=[3])


@pytest.mark.fakekube(controllers=["-scheduler"], nodes=1)
def test_nodes_without_the_scheduler(fakekube):
    fakekube.create(POD)
    fakekube.advance(10)
    assert "nodeName" not in fakekube.get("v1", "Pod", "web")["spec"]
    with pytest.raises(KeyError, match="running: kubelet, kubelet-node"):
        fakekube.controllers["scheduler"]


@pytest.mark.fakekube(controllers=["deployment"])
def test_a_controller_of_the_cluster_is_shown_with_its_state(fakekube):
    found = fakekube.controllers["deployment"]
    assert repr(found) == "<ClusterController deployment-controller reconciles=0>"
    found.suspend()
    assert repr(found) == "<ClusterController deployment-controller reconciles=0 suspended>"
