"""Warnings about pods and about workloads with pod templates."""

import pytest

from tests.apiserver.validation.support import as_new, complete, strategy

APPARMOR = "container.apparmor.security.beta.kubernetes.io/c"


def pod(annotations=None, **spec):
    meta = {"annotations": annotations} if annotations else {}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container(**fields):
    return pod(containers=[{"name": "c", "image": "i", **fields}])


def preferred(term):
    terms = [{"weight": 1, "preference": {"matchExpressions": [term]}}]
    return pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}})


def projected(*sources):
    return pod(volumes=[{"name": "v", "projected": {"sources": list(sources)}}])


def files(*paths):
    return [{"key": "k", "path": path} for path in paths]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), []),
        (
            {**pod(), "metadata": {"name": "a.b"}},
            [
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label "
                "is recommended: [must not contain dots]"
            ],
        ),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
        ),
        (
            preferred({"key": "beta.kubernetes.io/arch", "operator": "Exists"}),
            [
                "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
                'matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" '
                "instead"
            ],
        ),
        (
            pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "x", "whenUnsatisfiable": "DoNotSchedule"}]),
            ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
        ),
        (
            pod({"scheduler.alpha.kubernetes.io/critical-pod": ""}),
            [
                "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "
                '"priorityClassName" field instead'
            ],
        ),
        (
            pod({"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}),
            [
                "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "
                '"seccompProfile" field instead'
            ],
        ),
        (
            pod({APPARMOR: "unconfined"}),
            [f'metadata.annotations[{APPARMOR}]: deprecated since v1.30; use the "appArmorProfile" field instead'],
        ),
        (
            pod(volumes=[{"name": "v", "gitRepo": {"repository": "r"}}]),
            ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
        ),
        (
            pod(volumes=[{"name": "v", "configMap": {"name": "m", "items": files("a", "a/b", "c")}}]),
            ['volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"'],
        ),
        (
            projected(
                {"serviceAccountToken": {"path": "a/b"}},
                {"secret": {"name": "s", "items": files("a")}},
                {"downwardAPI": {"items": [{"path": "ab"}]}},
            ),
            ['volume "v" (Projected): overlapping paths: "a" (Secret "s") with "a/b" (ServiceAccountToken)'],
        ),
        (
            pod(dnsConfig={"nameservers": ["1.2.3.4", "1.2.3.010"]}, hostAliases=[{"ip": "::ffff:1.2.3.4"}]),
            [
                'spec.dnsConfig.nameservers[1]: non-standard IP address "1.2.3.010" is invalid: use "1.2.3.10"',
                'spec.hostAliases[0].ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
            ],
        ),
        (pod(hostAliases=[{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]), ['spec.hostAliases[1].ip: duplicate ip "1.2.3.4"']),
        (
            pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}]),
            [
                'spec.imagePullSecrets[1].name: duplicate name "a"',
                'spec.imagePullSecrets[2].name: invalid empty name ""',
            ],
        ),
        (
            container(resources={"requests": {"memory": "1500m"}}),
            [
                'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an '
                "integer"
            ],
        ),
        (container(resources={"requests": {"memory": "1000m"}, "limits": {"memory": "3000m"}}), []),
        (container(resources={"requests": {"memory": "2000m"}, "limits": {"memory": "2000m", "cpu": "1500m"}}), []),
        (
            container(resources={"limits": {"memory": "2500m", "ephemeral-storage": "5m"}}),
            [
                f'spec.containers[0].resources.{of}[{name}]: fractional byte value "{value}" is invalid, must be an integer'
                for name, value in (("memory", "2500m"), ("ephemeral-storage", "5m"))
                for of in ("limits", "requests")  # whose defaults are the limits
            ],
        ),
        (pod(terminationGracePeriodSeconds=0), []),
        (container(env=[{"name": "a", "value": "1"}, {"name": "b", "value": "$(a)"}]), []),
        (
            container(ports=[{"containerPort": 1, "hostPort": 1, "hostIP": f"1.2.3.{n}"} for n in (4, 5)]),
            [],  # other addresses
        ),
        (container(ports=[{"containerPort": 1, "hostPort": n} for n in (1, 2)]), []),
        (container(ports=[{"containerPort": 1, "hostPort": 1, "protocol": name} for name in ("TCP", "UDP")]), []),
        (
            pod(volumes=[{"name": "v", "secret": {"secretName": "s", "items": files("a/", "a")}}]),
            ['volume "v" (Secret "s"): overlapping paths: "a" with "a"'],
        ),
        (pod(volumes=[{"name": "v", "configMap": {"name": "m", "items": files("a", "ab", "b/a")}}]), []),
        (projected({"secret": {"name": "s", "items": files("a")}}), []),
        (projected({}), ['volume "v" (Projected) has no sources provided']),
        (
            container(env=[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}, {"name": "a", "value": "$(a)3"}]),
            [
                'spec.containers[0].env[1]: hides previous definition of "a", which may be dropped when using apply',
            ],
        ),
        (
            container(
                ports=[
                    {"containerPort": 80},
                    {"containerPort": 80},
                    {"containerPort": 80, "hostPort": 8080},
                    {"containerPort": 81, "hostPort": 1, "hostIP": "1.2.3.4"},
                    {"containerPort": 81, "hostPort": 1},
                    {"containerPort": 82, "hostIP": "1.2.3.4"},
                ]
            ),
            [
                "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
                "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]",
                "spec.containers[0].ports[4]: dangerously ambiguous port definition with spec.containers[0].ports[3]",
                "spec.containers[0].ports[5]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:82 "
                "Protocol:TCP HostIP:1.2.3.4}",
            ],
        ),
        (
            pod(
                containers=[
                    {"name": name, "image": "i", "ports": [{"containerPort": port, "name": "web"}]}
                    for name, port in (("a", 80), ("b", 81))
                ]
            ),
            [
                'spec.containers[1].ports[0]: duplicate port name "web" with spec.containers[0].ports[0], services and '
                "probes that select ports by name will use spec.containers[0].ports[0]"
            ],
        ),
        (
            pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "x"}]}}),
            [
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null "
                "labelSelector results in matching no pod"
            ],
        ),
    ],
)
def test_pods(obj, expected):
    assert strategy("Pod").warnings(as_new("Pod", obj)) == expected


TEMPLATE = {"spec": {**pod()["spec"], "terminationGracePeriodSeconds": -1}}
GRACE = "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
NAMES = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is "
    "recommended: [must not contain dots]"
)


@pytest.mark.parametrize(
    ("kind", "obj", "of_create", "of_update"),
    [
        *(
            (kind, {"spec": {"template": TEMPLATE}}, [NAMES, f"spec.template.{GRACE}"], [f"spec.template.{GRACE}"])
            for kind in ("Deployment", "ReplicaSet", "ReplicationController", "Job")
        ),
        ("DaemonSet", {"spec": {"template": TEMPLATE}}, [f"spec.template.{GRACE}"], [f"spec.template.{GRACE}"]),
        ("PodTemplate", {"template": TEMPLATE}, [f"template.{GRACE}"], [f"template.{GRACE}"]),
        (
            "CronJob",
            {"spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}}},
            [NAMES, f"spec.jobTemplate.spec.template.{GRACE}"],
            [f"spec.jobTemplate.spec.template.{GRACE}"],
        ),
        (
            "StatefulSet",
            {
                "spec": {
                    "revisionHistoryLimit": -1,
                    "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "500m"}}}}],
                }
            },
            *[
                [
                    'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "500m" is '
                    "invalid, must be an integer",
                    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
                    "recommended",
                ]
            ]
            * 2,
        ),
    ],
)
def test_workloads(kind, obj, of_create, of_update):
    rules, old = strategy(kind), complete(kind, {**obj, "metadata": {"name": "a.b", "generation": 1}})
    assert rules.warnings(old) == of_create
    assert rules.update_warnings(old, old) == []
    new = {**old, "metadata": {**old["metadata"], "generation": 2}}
    assert rules.update_warnings(new, old) == of_update


def test_a_stateful_set_may_keep_no_revisions_and_claim_whole_bytes():
    claim = {"spec": {"resources": {"requests": {"storage": "2000m"}, "limits": {"storage": "1Gi"}}}}
    spec = {"revisionHistoryLimit": 0, "volumeClaimTemplates": [claim]}
    assert strategy("StatefulSet").warnings(complete("StatefulSet", {"spec": spec})) == []


@pytest.mark.parametrize(
    ("completions", "parallelism", "mode", "warned"),
    [
        (100_001, 10_001, "Indexed", True),
        (100_000, 10_001, "Indexed", False),
        (100_001, 10_000, "Indexed", False),
        (100_001, 10_001, "NonIndexed", False),
    ],
)
def test_large_indexed_jobs(completions, parallelism, mode, warned):
    spec = {"completions": completions, "parallelism": parallelism, "completionMode": mode}
    found = strategy("Job").warnings(complete("Job", {"spec": {**spec, "template": pod()}}))
    assert [text[:15] for text in found] == (["In Indexed Jobs"] if warned else [])


@pytest.mark.parametrize(("size", "warned"), [("1Gi", False), ("1", False), ("500m", True), ("1500m", True)])
@pytest.mark.parametrize("field", ["requests", "limits"])
def test_claims_of_fractions_of_bytes(field, size, warned):
    claim = complete("PersistentVolumeClaim", {"spec": {"resources": {field: {"storage": size}}}})
    why = f'spec.resources.{field}[storage]: fractional byte value "{size}" is invalid, must be an integer'
    assert strategy("PersistentVolumeClaim").warnings(claim) == ([why] if warned else [])


def test_pods_of_fractions_of_bytes():
    obj = as_new("Pod", container(resources={"requests": {"memory": "500m"}}))
    why = 'fractional byte value "500m" is invalid, must be an integer'
    assert strategy("Pod").warnings(obj) == [f"spec.containers[0].resources.requests[memory]: {why}"]
