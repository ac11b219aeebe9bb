"""The defaults of pods, and the fields that the server sets in a new pod."""

import copy

import pytest

from fakekube.apiserver.registry.core.pod.apparmor import profile_of
from fakekube.apiserver.registry.core.pod.resources import qos_class
from fakekube.apiserver.registry.core.pod.strategy import prepare_pod
from tests.apiserver.validation.support import as_new, complete


def pod(**spec):
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container(**fields):
    return pod(containers=[{"name": "c", "image": "i", **fields}])


def found(obj, path):
    for key in path.split("."):
        obj = obj[int(key)] if isinstance(obj, list) else obj.get(key)
    return obj


@pytest.mark.parametrize(
    ("obj", "path", "expected"),
    [
        (pod(terminationGracePeriodSeconds=-5), "spec.terminationGracePeriodSeconds", 1),
        (pod(serviceAccountName="a", serviceAccount="b"), "spec.serviceAccount", "a"),
        (pod(serviceAccount="b"), "spec.serviceAccountName", "b"),
        (container(ports=[{"containerPort": 80}]), "spec.containers.0.ports.0.hostPort", None),
        (container(resources={"limits": {"cpu": "1"}}), "spec.containers.0.resources.requests", {"cpu": "1"}),
        (
            container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "100u", "memory": "1Gi"}}),
            "spec.containers.0.resources.requests",
            {"cpu": "1m", "memory": "1Gi"},
        ),
        (
            container(env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
            "spec.containers.0.env.0.valueFrom.fieldRef.apiVersion",
            "v1",
        ),
        (
            container(env=[{"name": "a", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}}]),
            "spec.containers.0.env.0.valueFrom.fileKeyRef.optional",
            False,
        ),
        (pod(volumes=[{"name": "v"}]), "spec.volumes.0.emptyDir", {}),
        (pod(volumes=[{"name": "v", "image": {"reference": "r"}}]), "spec.volumes.0.image.pullPolicy", "Always"),
        (
            pod(volumes=[{"name": "v", "azureDisk": {"diskName": "d", "diskURI": "u"}}]),
            "spec.volumes.0.azureDisk.cachingMode",
            "ReadWrite",
        ),
        (
            pod(resources={"limits": {"cpu": "2", "memory": "1Gi"}}),
            "spec.resources.requests",
            {"cpu": "2", "memory": "1Gi"},
        ),
        (
            {
                "spec": {
                    "resources": {"limits": {"cpu": "2"}},
                    "containers": [
                        {"name": name, "image": "i", "resources": {"requests": {"cpu": "500m"}}} for name in "ab"
                    ],
                }
            },
            "spec.resources.requests",
            {"cpu": "1"},
        ),
        (
            {**pod(), "metadata": {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]", "a": "b"}}},
            "metadata.annotations",
            {"a": "b"},
        ),
        ({**pod(), "status": {"podIP": "1.2.3.4"}}, "status.podIPs", [{"ip": "1.2.3.4"}]),
        ({**pod(), "status": {"podIPs": [{"ip": "1.2.3.4"}]}}, "status.podIP", "1.2.3.4"),
    ],
)
def test_defaults(obj, path, expected):
    assert found(complete("Pod", obj), path) == expected


def test_host_ports_default_to_container_ports_on_the_host_network():
    spec = complete("Pod", {**container(ports=[{"containerPort": 80}])})["spec"]
    assert "hostPort" not in spec["containers"][0]["ports"][0]
    given = pod(hostNetwork=True, containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}])
    assert complete("Pod", given)["spec"]["containers"][0]["ports"][0]["hostPort"] == 80
    template = complete("PodTemplate", {"template": given})["template"]
    assert "hostPort" not in template["spec"]["containers"][0]["ports"][0]


def test_a_gated_pod_has_a_condition():
    made = as_new("Pod", {**pod(schedulingGates=[{"name": "a"}]), "metadata": {"creationTimestamp": None}})
    (condition,) = made["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")


def resources(**kinds):
    return {"resources": kinds}


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{}]}, "BestEffort"),
        ({"containers": [resources(requests=BOTH, limits=BOTH)]}, "Guaranteed"),
        ({"containers": [resources(requests=BOTH, limits=BOTH), {}]}, "Burstable"),
        ({"containers": [resources(requests={"cpu": "1"})]}, "Burstable"),
        ({"containers": [resources(requests={"example.com/gpu": "1"})]}, "BestEffort"),
        ({"containers": [{}], **resources(requests=BOTH, limits=BOTH)}, "Guaranteed"),
        ({"containers": [{}], **resources(limits={"cpu": "1"})}, "Burstable"),
    ],
)
def test_qos_classes(spec, expected):
    assert qos_class(spec) == expected


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}),
        ("localhost/", None),
        ("localhost/ a", None),
        ("other", None),
    ],
)
def test_profiles_in_annotations(annotation, profile):
    assert profile_of(annotation) == profile
    made = as_new(
        "Pod",
        {**pod(), "metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": annotation}}},
    )
    assert (made["spec"]["containers"][0].get("securityContext") or {}).get("appArmorProfile") == profile


def merged_labels(labels, **spec):
    pod = {"metadata": {"name": "p", "labels": labels}, "spec": {"containers": [], **spec}}
    before = copy.deepcopy(pod)
    made = prepare_pod(pod)["spec"]
    assert pod == before
    return made


def keyed(*expressions, **more):
    selector = {"matchExpressions": list(expressions)} if expressions else {}
    return {
        "topologyKey": "z",
        "matchLabelKeys": ["a", "gone"],
        "mismatchLabelKeys": ["b"],
        "labelSelector": {**selector, **more},
    }


A_IN, B_NOT_IN = {"key": "a", "operator": "In", "values": ["1"]}, {"key": "b", "operator": "NotIn", "values": ["2"]}
GIVEN = {"key": "x", "operator": "Exists"}


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_label_keys_are_merged_into_all_terms_of_an_affinity(kind):
    """`mutatePodAffinity`, after the expressions that a term has."""
    required, preferred = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
    given = {
        required: [keyed(), keyed(GIVEN)],
        preferred: [{"weight": 1, "podAffinityTerm": keyed(matchLabels={"m": "n"})}],
    }
    found = merged_labels({"a": "1", "b": "2"}, affinity={kind: given, "nodeAffinity": {"kept": 1}})["affinity"]
    assert found == {
        "nodeAffinity": {"kept": 1},
        kind: {
            required: [keyed(A_IN, B_NOT_IN), keyed(GIVEN, A_IN, B_NOT_IN)],
            preferred: [{"weight": 1, "podAffinityTerm": keyed(A_IN, B_NOT_IN, matchLabels={"m": "n"})}],
        },
    }
    assert merged_labels({"a": "1"}, affinity={kind: {required: [keyed()]}})["affinity"][kind][required] == [
        keyed(A_IN)
    ]
    for labels, term in (({}, keyed()), ({"a": "1"}, {"matchLabelKeys": ["a"]}), ({"a": "1"}, {"labelSelector": {}})):
        assert merged_labels(labels, affinity={kind: {required: [term]}})["affinity"] == {kind: {required: [term]}}


def test_label_keys_are_merged_into_constraints_of_topologies():
    without = {"topologyKey": "z", "matchLabelKeys": ["a"]}
    made = merged_labels({"a": "1"}, topologySpreadConstraints=[keyed(), without])
    assert made["topologySpreadConstraints"] == [keyed(A_IN), without]
    assert "affinity" not in made


LIMIT = {field: {"cpu": "0.1m"} for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")}


@pytest.mark.parametrize(
    ("kind", "obj", "path", "fields"),
    [
        ("LimitRange", {"spec": {"limits": [{"type": "Pod", **LIMIT}]}}, ("spec", "limits", 0), tuple(LIMIT)),
        ("LimitRange", {"spec": {"limits": [{"type": "Container", **LIMIT}]}}, ("spec", "limits", 0), tuple(LIMIT)),
        ("PersistentVolume", {"spec": {"capacity": {"cpu": "0.1m"}}}, ("spec",), ("capacity",)),
        (
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"cpu": "0.1m"}, "limits": {"cpu": "0.1m"}}}},
            ("spec", "resources"), ("requests", "limits"),
        ),
        (
            "PersistentVolumeClaim", {"status": {"capacity": {"cpu": "0.1m"}, "allocatedResources": {"cpu": "0.1m"}}},
            ("status",), ("capacity", "allocatedResources"),
        ),
        (
            "Pod", {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "0.1m"}, "limits": {"cpu": "0.1m"}}}]}},
            ("spec", "containers", 0, "resources"), ("requests", "limits"),
        ),
        ("Pod", {"spec": {"containers": [], "overhead": {"cpu": "0.1m"}}}, ("spec",), ("overhead",)),
    ],
)  # fmt: skip
def test_quantities_are_rounded_up_to_thousandths(kind, obj, path, fields):
    """`SetDefaults_ResourceList`."""
    found = complete(kind, obj)
    for step in path:
        found = found[step]
    assert {field: found[field]["cpu"] for field in fields} == dict.fromkeys(fields, "1m")
