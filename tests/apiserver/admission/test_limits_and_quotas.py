"""LimitRanges and ResourceQuotas: defaults, limits and usage."""

import pytest

from tests.apiserver.api import CONFIGMAPS, PODS, configmap

LIMITS = "/api/v1/namespaces/default/limitranges"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
SERVICES = "/api/v1/namespaces/default/services"
MERGE = {"content_type": "application/merge-patch+json"}


def limit(kind="Container", **fields):
    return {"type": kind, **fields}


def limits(api, *each, name="l"):
    api.ok("POST", LIMITS, {"metadata": {"name": name}, "spec": {"limits": list(each)}})


def container(name="a", requests=None, limits=None, **more):
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return {"name": name, "image": "i", "resources": resources, **more}


def pod(*containers, name="p", **spec):
    return {"metadata": {"name": name}, "spec": {"containers": list(containers) or [container()], **spec}}


def claim(size, name="c", **spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("each", "body", "why"),
    [
        pytest.param(
            [limit(min={"cpu": "100m"})], pod(container(requests={"cpu": "50m"})),
            "minimum cpu usage per Container is 100m, but request is 50m", id="least",
        ),
        pytest.param(
            [limit(max={"cpu": "1"})], pod(container(limits={"cpu": "2"})),
            "maximum cpu usage per Container is 1, but limit is 2", id="most",
        ),
        pytest.param(
            [limit("Pod", max={"memory": "1Gi"})], pod(),
            "maximum memory usage per Pod is 1Gi.  No limit is specified", id="no-limits",
        ),
        pytest.param(
            [limit("Pod", max={"memory": "1Gi"})],
            pod(container(limits={"memory": "800Mi"}), container("b", limits={"memory": "800Mi"})),
            "maximum memory usage per Pod is 1Gi, but limit is 1600Mi", id="sum-in-the-containers-spelling",
        ),
        pytest.param(
            [limit("Pod", max={"cpu": "1"})],
            pod(container(limits={"cpu": "1"}), resources={"limits": {"cpu": "1500m"}}),
            "maximum cpu usage per Pod is 1, but limit is 1500m", id="the-pod-says-itself",
        ),
        pytest.param(
            [limit(maxLimitRequestRatio={"cpu": "2"})],
            pod(container(requests={"cpu": "300m"}, limits={"cpu": "1"})),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.333333", id="ratio",
        ),
        pytest.param(
            [limit(maxLimitRequestRatio={"memory": "2"})], pod(),
            "memory max limit to request ratio per Container is 2, but no request is specified or request is 0",
            id="ratio-of-nothing",
        ),
        pytest.param(
            [limit("Pod", maxLimitRequestRatio={"memory": "2"})], pod(container(requests={"memory": "1Gi"})),
            "memory max limit to request ratio per Pod is 2, but no limit is specified or limit is 0",
            id="ratio-to-nothing",
        ),
        pytest.param(
            [limit("Pod", min={"cpu": "1"})], pod(),
            "minimum cpu usage per Pod is 1.  No request is specified", id="no-requests",
        ),
        pytest.param(
            [limit("Pod", min={"cpu": "2"})],
            pod(container(limits={"cpu": "1"}), container("b", requests={"cpu": "5"})),
            "minimum cpu usage per Pod is 2, but limit is 1", id="least-of-the-limits",
        ),
        pytest.param(
            [limit("Pod", max={"cpu": "2"})],
            pod(container(limits={"cpu": "1"}), container("b", requests={"cpu": "5"})),
            "maximum cpu usage per Pod is 2, but request is 6", id="most-of-the-requests",
        ),
        pytest.param(
            [limit("Pod", max={"cpu": "1"}), limit(max={"cpu": "1"})], pod(container(limits={"cpu": "2"})),
            "[maximum cpu usage per Pod is 1, but limit is 2, maximum cpu usage per Container is 1, but limit is 2]",
            id="in-the-order-of-the-limits",
        ),
    ],
)  # fmt: skip
def test_pods_out_of_bounds(api, each, body, why):
    limits(api, *each)
    assert api.refused("POST", PODS, body) == (403, "Forbidden", f'pods "p" is forbidden: {why}')


@pytest.mark.parametrize(
    ("each", "body"),
    [
        pytest.param([limit(min={"cpu": "100m"})], pod(container(requests={"cpu": "0.1"}, limits={"cpu": "100m"})), id="least"),
        pytest.param([limit(max={"cpu": "1"})], pod(container(requests={"cpu": "1"}, limits={"cpu": "1000m"})), id="most"),
        pytest.param(
            [limit("Pod", max={"memory": "2Gi"})],
            pod(container(limits={"memory": "1Gi"}), container("b", limits={"memory": "1024Mi"})), id="sum",
        ),
        pytest.param(
            [limit(maxLimitRequestRatio={"cpu": "2"})],
            pod(container(requests={"cpu": "500m"}, limits={"cpu": "1"})), id="ratio",
        ),
    ],
)  # fmt: skip
def test_code_1_pods_exactly_at_the_bounds_are_admitted(api, each, body):
    """Every bound is inclusive (`plugin/pkg/admission/limitranger/admission.go`)."""
    limits(api, *each)
    assert api.call("POST", PODS, body)[0] == 201


def test_the_first_limit_range_that_rejects_is_reported(api):
    limits(api, limit(max={"cpu": "1"}), name="b")
    limits(api, limit(max={"memory": "1Gi"}), name="a")
    body = pod(container(limits={"cpu": "2", "memory": "2Gi"}))
    assert api.refused("POST", PODS, body)[2].endswith("maximum memory usage per Container is 1Gi, but limit is 2Gi")


def test_errors_before_name_generation_show_generate_name(api):
    body = pod(container(), priorityClassName="none") | {"metadata": {"generateName": "p-"}}
    assert api.refused("POST", PODS, body)[2] == 'pods "p-" is forbidden: no PriorityClass with name none was found'


def test_a_resize_is_limited_an_update_is_not(api):
    made = pod(container(requests={"cpu": "1"}, limits={"cpu": "1"}))
    api.ok("POST", PODS, made)
    limits(api, limit(max={"cpu": "500m"}))
    api.ok("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    bigger = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}]}}
    _, _, message = api.refused(
        "PATCH", f"{PODS}/p/resize", bigger, content_type="application/strategic-merge-patch+json"
    )
    assert message.endswith("maximum cpu usage per Container is 500m, but limit is 2")


@pytest.mark.parametrize(
    ("size", "why"),
    [
        ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
        ("3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
    ],
)
def test_claims_out_of_bounds(api, size, why):
    limits(api, limit("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"}))
    assert api.refused("POST", CLAIMS, claim(size))[2] == f'persistentvolumeclaims "c" is forbidden: {why}'
    api.ok("POST", CLAIMS, claim("1Gi"))


# --- quotas ----------------------------------------------------------------------------------------------------------


def quota(api, hard, used=None, name="q", **spec):
    api.ok("POST", QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
    status = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
    api.ok("PATCH", f"{QUOTAS}/{name}/status", {"status": status}, **MERGE)


def used(api, name="q"):
    return api.ok("GET", f"{QUOTAS}/{name}")["status"]["used"]


def test_a_quota_without_a_status_covers_nothing(api):
    api.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "0"}}})
    api.ok("POST", CONFIGMAPS, configmap())


def test_a_quota_without_usage_rejects_writes(api):
    quota(api, {"configmaps": "5", "count/configmaps": "5", "secrets": "1"}, used={"configmaps": "0"})
    assert api.refused("POST", CONFIGMAPS, configmap())[2] == (
        'configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps,count/configmaps'
    )


def test_counted_resources(api):
    quota(api, {"configmaps": "1", "count/configmaps": "9"})
    api.ok("POST", f"{CONFIGMAPS}?dryRun=All", configmap())
    assert used(api) == {"configmaps": "0", "count/configmaps": "0"}
    api.ok("POST", CONFIGMAPS, configmap())
    assert used(api) == {"configmaps": "1", "count/configmaps": "1"}
    assert api.refused("POST", CONFIGMAPS, configmap("b"))[2] == (
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, '
        "limited: configmaps=1"
    )
    api.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": "1"}}, **MERGE)


@pytest.mark.parametrize(
    ("hard", "body", "why"),
    [
        pytest.param(
            {"requests.cpu": "1", "limits.memory": "1Gi"},
            pod(container(limits={"memory": "1Mi"}), container("b", requests={"cpu": "1"})),
            "failed quota: q: must specify limits.memory for: b; requests.cpu for: a", id="must-say",
        ),
        pytest.param(
            {"memory": "1Gi"}, pod(container(requests={"memory": "2Gi"})),
            "exceeded quota: q, requested: memory=2Gi, used: memory=0, limited: memory=1Gi", id="too-much",
        ),
        pytest.param(
            {"cpu": "1", "requests.cpu": "1"},
            pod(container(requests={"cpu": "800m"}), container("b", requests={"cpu": "300m"})),
            "exceeded quota: q, requested: cpu=1100m,requests.cpu=1100m, used: cpu=0,requests.cpu=0, "
            "limited: cpu=1,requests.cpu=1",
            id="sum",
        ),
        pytest.param(
            {"requests.example.com/gpu": "1"},
            pod(container(limits={"example.com/gpu": "2"}, requests={"example.com/gpu": "2"})),
            "exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, "
            "limited: requests.example.com/gpu=1",
            id="extended",
        ),
        pytest.param(
            {"pods": "0"}, pod(), "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0", id="pods"
        ),
    ],
)  # fmt: skip
def test_pods_and_quotas(api, hard, body, why):
    quota(api, hard)
    assert api.refused("POST", PODS, body) == (403, "Forbidden", f'pods "p" is forbidden: {why}')


def test_usage_keeps_the_format_of_quantities(api):
    quota(api, {"requests.memory": "2Gi", "requests.cpu": "2"})
    api.ok("POST", PODS, pod(container(requests={"memory": "512Mi", "cpu": "100m"})))
    api.ok("POST", PODS, pod(container(requests={"memory": "512Mi", "cpu": "1"}), name="other"))
    assert used(api) == {"requests.memory": "1Gi", "requests.cpu": "1100m"}


@pytest.mark.parametrize(
    ("scope", "spec", "covered"),
    [
        pytest.param({"scopes": ["BestEffort"]}, {}, True, id="best-effort"),
        pytest.param({"scopes": ["NotBestEffort"]}, {}, False, id="not-best-effort"),
        pytest.param({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True, id="terminating"),
        pytest.param({"scopes": ["NotTerminating"]}, {"activeDeadlineSeconds": 5}, False, id="not-terminating"),
        pytest.param(
            {"scopeSelector": {"matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}]}},
            {"priorityClassName": "system-node-critical"}, True, id="class",
        ),
        pytest.param(
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}},
            {}, False, id="no-class",
        ),
        pytest.param(
            {"scopes": ["CrossNamespacePodAffinity"]},
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "namespaces": ["x"], "labelSelector": {}}]}}},
            True, id="affinity",
        ),
    ],
)  # fmt: skip
def test_scopes(api, scope, spec, covered):
    quota(api, {"pods": "0"}, **scope)
    assert api.call("POST", PODS, pod(**spec))[0] == (403 if covered else 201)


def service(kind, ports=1, **spec):
    listed = [{"port": 80 + i, "name": f"p{i}"} for i in range(ports)]
    return {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": listed, **spec}}


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (service("ClusterIP"), ("1", "0", "0")),
        (service("NodePort", 2), ("1", "2", "0")),
        (service("LoadBalancer", 2), ("1", "2", "1")),
        (service("LoadBalancer", 2, allocateLoadBalancerNodePorts=False), ("1", "0", "1")),
    ],
)
def test_services(api, body, counts):
    names = ("services", "services.nodeports", "services.loadbalancers")
    quota(api, dict.fromkeys(names, "9"))
    api.ok("POST", SERVICES, body)
    assert tuple(used(api)[name] for name in names) == counts


def test_a_service_that_changes_uses_more(api):
    quota(api, {"services.nodeports": "1"})
    api.ok("POST", SERVICES, service("ClusterIP", 2))
    assert (
        "requested: services.nodeports=2"
        in api.refused("PATCH", f"{SERVICES}/s", {"spec": {"type": "NodePort"}}, **MERGE)[2]
    )


def test_claims_by_their_class(api):
    names = ("requests.storage", "fast.storageclass.storage.k8s.io/requests.storage",
             "slow.storageclass.storage.k8s.io/persistentvolumeclaims")  # fmt: skip
    quota(api, dict.fromkeys(names, "10Gi"))
    api.ok("POST", CLAIMS, claim("2Gi", storageClassName="fast"))
    assert [used(api)[name] for name in names] == ["2Gi", "2Gi", "0"]


def test_an_update_is_charged_with_what_it_adds(api):
    hard = {"requests.storage": "5Gi", "persistentvolumeclaims": "1"}
    api.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    zero = dict.fromkeys(hard, "0")
    api.ok("PATCH", f"{QUOTAS}/q/status", {"status": {"hard": hard, "used": zero}}, **MERGE)
    api.ok("POST", "/apis/storage.k8s.io/v1/storageclasses",
           {"metadata": {"name": "s"}, "provisioner": "p", "allowVolumeExpansion": True})  # fmt: skip
    api.ok("POST", CLAIMS, claim("1Gi", storageClassName="s"))
    api.ok("PATCH", f"{CLAIMS}/c/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}, **MERGE)
    api.ok("PATCH", f"{CLAIMS}/c", {"spec": {"volumeName": "v"}}, **MERGE)

    def resize(size):
        return {"spec": {"resources": {"requests": {"storage": size}}}}

    api.ok("PATCH", f"{CLAIMS}/c", resize("4Gi"), **MERGE)
    assert api.ok("GET", f"{QUOTAS}/q")["status"]["used"] == {"persistentvolumeclaims": "1", "requests.storage": "4Gi"}
    api.ok("PATCH", f"{CLAIMS}/c", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    assert api.ok("GET", f"{QUOTAS}/q")["status"]["used"]["requests.storage"] == "4Gi"
    code, _, message = api.refused("PATCH", f"{CLAIMS}/c", resize("6Gi"), **MERGE)
    assert (code, "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=4Gi" in message) == (
        403,
        True,
    )


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}),
        ("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}),
        ("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "b"}}),
        ("PATCH", f"{SERVICES}/s/status", {"status": {"conditions": []}}),
        ("DELETE", f"{CONFIGMAPS}/a", b""),
        ("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}),
        ("POST", "/api/v1/namespaces/default/events", {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}),
        ("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}}),
    ],
)  # fmt: skip
def test_writes_that_no_quota_concerns(api, method, path, body):
    """Updates of what is only counted, status and cluster-scoped kinds: although the quota is used up and the pod does not
    specify what it demands."""
    api.ok("POST", PODS, pod())
    api.ok("POST", CONFIGMAPS, configmap())
    api.ok("POST", SERVICES, service("ClusterIP"))
    hard = {"requests.cpu": "0", "pods": "0", "count/configmaps": "0", "count/events": "0", "services": "0"}
    quota(api, {**hard, "count/namespaces": "0"})
    before = api.ok("GET", f"{QUOTAS}/q")
    api.ok(method, path, body, **(MERGE if method == "PATCH" else {}))
    assert api.ok("GET", f"{QUOTAS}/q") == before


def test_an_update_that_changes_no_usage_writes_no_quota(api):
    quota(api, {"services": "1", "services.nodeports": "5"})
    api.ok("POST", SERVICES, service("NodePort", 2))
    before = api.ok("GET", f"{QUOTAS}/q")
    assert before["status"]["used"] == {"services": "1", "services.nodeports": "2"}
    api.ok("PATCH", f"{SERVICES}/s", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    assert api.ok("GET", f"{QUOTAS}/q") == before
    api.ok("PATCH", f"{SERVICES}/s", {"spec": {"type": "ClusterIP"}}, **MERGE)
    assert api.ok("GET", f"{QUOTAS}/q") == before  # less usage is the controller's to count
