"""Paths below objects: scale, eviction, binding, parts of pods, approval, logs."""

from datetime import timedelta

import pytest

from fakekube.apiserver.kubelet import LogRequest
from fakekube.apiserver.user import User
from tests.apiserver import certificates
from tests.apiserver.api import DEPLOYMENTS, PODS, START, Api

MERGE = {"content_type": "application/merge-patch+json"}
STRATEGIC = {"content_type": "application/strategic-merge-patch+json"}
APPLY = {"content_type": "application/apply-patch+yaml"}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NODES = "/api/v1/nodes"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
def web(api) -> Api:
    """A server with a Deployment of two replicas."""
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    spec = {"replicas": 2, "selector": selector, "template": TEMPLATE}
    api.ok("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec}, user_agent="creator/1")
    return api


def owners(api):
    """Manager and subresource -> whether it owns the replicas."""
    entries = api.ok("GET", f"{DEPLOYMENTS}/web")["metadata"]["managedFields"]
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): "f:replicas"
        in entry["fieldsV1"].get("f:spec", {})
        for entry in entries
    }


# --- scale -------------------------------------------------------------------------------------------------------------


def test_a_scale_shows_the_replicas_and_whom_they_are_for(web):
    scale = web.ok("GET", f"{DEPLOYMENTS}/web/scale")
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "app=web,!x"})
    assert "labels" not in scale["metadata"]


def test_a_scale_of_plain_labels(api):
    controllers = "/api/v1/namespaces/default/replicationcontrollers"
    spec = {"selector": {"app": "web"}, "template": TEMPLATE}
    api.ok("POST", controllers, {"metadata": {"name": "web"}, "spec": spec})
    assert api.ok("GET", f"{controllers}/web/scale")["status"]["selector"] == "app=web"


@pytest.mark.parametrize(
    ("body", "how"),
    [
        pytest.param({"spec": {"replicas": 5}}, MERGE, id="merge-patch"),
        pytest.param({"spec": {"replicas": 5}}, STRATEGIC, id="strategic-merge-patch"),
        pytest.param(b'[{"op":"replace","path":"/spec/replicas","value":5}]', {"content_type": "application/json-patch+json"}, id="json-patch"),
    ],
)  # fmt: skip
def test_scaling_by_patch(web, body, how):
    assert web.ok("PATCH", f"{DEPLOYMENTS}/web/scale", body, **how)["spec"] == {"replicas": 5}
    found = web.ok("GET", f"{DEPLOYMENTS}/web")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)


def test_scaling_takes_the_replicas_over(web):
    assert owners(web) == {("creator", "Update", ""): True}
    web.ok("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}}, user_agent="scaler/1", **MERGE)
    assert owners(web) == {("creator", "Update", ""): False, ("scaler", "Update", "scale"): True}


def test_an_apply_of_a_scale_conflicts_with_who_owns_the_replicas(web):
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 7}}
    target = f"{DEPLOYMENTS}/web/scale?fieldManager=applier"
    code, reason, message = web.refused("PATCH", target, config, **APPLY)
    assert (code, reason) == (409, "Conflict")
    assert '"creator"' in message
    assert ".spec.replicas" in message
    assert web.ok("PATCH", f"{target}&force=true", config, **APPLY)["spec"] == {"replicas": 7}
    assert owners(web)["applier", "Apply", "scale"]
    assert not owners(web)["creator", "Update", ""]


def test_what_changes_nothing_writes_nothing(web):
    web.ok("PUT", f"{DEPLOYMENTS}/web/scale", {"metadata": {"name": "web"}, "spec": {"replicas": 5}})
    before = web.revision
    no_change = {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 9}}
    web.ok("PATCH", f"{DEPLOYMENTS}/web/scale", no_change, **MERGE)
    dry = web.ok("PUT", f"{DEPLOYMENTS}/web/scale?dryRun=All", {"metadata": {"name": "web"}, "spec": {"replicas": 9}})
    assert (dry["spec"], web.revision) == ({"replicas": 9}, before)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param({"metadata": {"name": "other"}}, 400, "the name of the object (other) does not match", id="another-name"),
        pytest.param(
            {"metadata": {"name": "web"}, "spec": {"replicas": -1}}, 422,
            'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0', id="negative",
        ),
        pytest.param({"metadata": {"name": "web", "resourceVersion": "1"}}, 409, "the object has been modified", id="an-old-version"),
        pytest.param({"metadata": {"name": "web", "uid": "x"}}, 409, 'deployments.apps "web": StorageError: invalid object, Code: 4', id="another-object"),
        pytest.param({"metadata": {"name": "web"}, "spec": {"replicas": "5"}}, 400, "cannot be handled as a Scale", id="a-text"),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}, 400,
            'Deployment in version "v1" cannot be handled as a Scale: converting (v1.Deployment) to (autoscaling.Scale)', id="another-kind",
        ),
    ],
)  # fmt: skip
def test_scales_that_are_refused(web, body, code, message):
    found = web.refused("PUT", f"{DEPLOYMENTS}/web/scale", body)
    assert found[0] == code
    assert message in found[2]


def test_a_patch_of_the_scale_of_another_object_is_refused(web):
    """A patch has no precondition of the storage; the scale itself is checked."""
    found = web.refused("PATCH", f"{DEPLOYMENTS}/web/scale", {"metadata": {"uid": "x"}}, **MERGE)
    assert (found[0], 'deployments/scale.apps "web": Precondition failed' in found[2]) == (409, True)


def test_a_scale_of_nothing(web):
    assert web.refused("GET", f"{DEPLOYMENTS}/none/scale")[2] == 'deployments.apps "none" not found'
    assert web.refused("PUT", f"{DEPLOYMENTS}/none/scale", {"metadata": {"name": "none"}})[0] == 404
    assert web.refused("DELETE", f"{DEPLOYMENTS}/web/scale")[0] == 405


def test_who_may_scale_needs_a_right_of_its_own():
    api = Api(authorization_mode="RBAC")
    code, _, message = api.refused("GET", f"{DEPLOYMENTS}/web/scale", user=User("alice"))
    assert (code, 'cannot get resource "deployments/scale"' in message) == (403, True)


# --- evictions ---------------------------------------------------------------------------------------------------------


def running(api, name="a", *, ready=True, phase="Running", labels=None):
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    api.ok("POST", PODS, {"metadata": {"name": name, "labels": labels or {"app": "web"}}, "spec": spec})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    api.ok("PATCH", f"{PODS}/{name}/status", {"status": {"phase": phase, "conditions": conditions}}, **MERGE)


def budget(api, name="one", *, spec=None, **status):
    selector = {"matchLabels": {"app": "web"}}
    api.ok(
        "POST", BUDGETS, {"metadata": {"name": name}, "spec": {"selector": selector, "minAvailable": 1, **(spec or {})}}
    )
    whole = {
        "observedGeneration": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "disruptionsAllowed": 1,
        "expectedPods": 2,
    }
    api.ok("PATCH", f"{BUDGETS}/{name}/status", {"status": {**whole, **status}}, **MERGE)


def evict(api, name="a", *, how="refused", query="", **more):
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}
    return getattr(api, how)("POST", f"{PODS}/{name}/eviction{query}", body)


def test_a_pod_without_a_budget_goes(api):
    running(api)
    assert evict(api, how="ok")["status"] == "Success"
    assert api.refused("GET", f"{PODS}/a")[0] == 404


def test_an_evicted_pod_knows_why(api):
    running(api)
    evict(api, how="ok", deleteOptions={"gracePeriodSeconds": 7})
    pod = api.ok("GET", f"{PODS}/a")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 7
    told = [one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert [(one["status"], one["reason"], one["message"]) for one in told] == [
        ("True", "EvictionByEvictionAPI", "Eviction API: evicting")
    ]


def test_a_budget_is_used_up(api):
    budget(api)
    running(api, "a")
    running(api, "b")
    evict(api, "a", how="ok")
    status = api.ok("GET", f"{BUDGETS}/one")["status"]
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (0, {"a": "2026-01-01T00:00:00Z"})
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("DisruptionAllowed", "False", "InsufficientPods")
    ]
    assert evict(api, "b")[:2] == (429, "TooManyRequests")


@pytest.mark.parametrize(
    ("status", "code", "cause"),
    [
        pytest.param({"disruptionsAllowed": 0}, 429, "The disruption budget one does not allow evicting pods currently", id="none-left"),
        pytest.param({"disruptionsAllowed": 0, "currentHealthy": 1}, 429, "The disruption budget one needs 1 healthy pods and has 1 currently", id="too-few-healthy"),
        pytest.param({"observedGeneration": 0}, 429, "The disruption budget one is still being processed by the server.", id="not-seen-yet"),
        pytest.param(
            {"disruptionsAllowed": 0, "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            429, "The disruption budget one does not allow evicting pods currently because it failed sync: why", id="failed",
        ),
        pytest.param(
            {"disruptionsAllowed": 0, "conditions": [{"type": "Other", "status": "False", "reason": "SyncFailed", "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                                                     {"type": "DisruptionAllowed", "status": "False", "reason": "Else", "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            429, "The disruption budget one does not allow evicting pods currently", id="other-conditions",
        ),
        pytest.param({"disruptionsAllowed": 0, "currentHealthy": 3, "desiredHealthy": 3}, 429, "The disruption budget one needs 3 healthy pods and has 3 currently", id="just-enough-healthy"),
    ],
)  # fmt: skip
def test_a_budget_that_allows_nothing(api, status, code, cause):
    budget(api, **status)
    running(api)
    before = api.revision
    response = evict(api, how="answer")
    shown = response.body.to_object()
    assert (response.status, shown["details"]["causes"]) == (code, [{"reason": "DisruptionBudget", "message": cause}])
    assert ("Retry-After" in response.headers) == ("processed" in cause)
    assert api.revision == before


@pytest.mark.parametrize("confirmed", [2000, 2001])
def test_evictions_that_wait_for_their_confirmation_are_limited(api, confirmed):
    """`MaxDisruptedPodSize` of `registry/core/pod/storage/eviction.go`: the last one of 2001 is still made."""
    budget(api, disruptedPods={f"p{i}": "2026-01-01T00:00:00Z" for i in range(confirmed)})
    running(api)
    answer = evict(api, how="call")
    assert answer[0] == (201 if confirmed <= 2000 else 403)
    if confirmed > 2000:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        assert answer[1]["message"] == f'poddisruptionbudget.policy "one" is forbidden: {why}'


def test_two_budgets_are_an_error(api):
    budget(api, "one")
    budget(api, "two")
    running(api)
    assert evict(api)[0] == 500


@pytest.mark.parametrize(
    ("pod", "spec", "status", "goes"),
    [
        pytest.param({"phase": "Pending"}, {}, {}, True, id="not-begun"),
        pytest.param({"phase": "Succeeded"}, {}, {}, True, id="ended"),
        pytest.param({"ready": False}, {}, {"currentHealthy": 1}, True, id="unhealthy-and-enough-are-healthy"),
        pytest.param({"ready": False}, {}, {"currentHealthy": 0}, False, id="unhealthy-and-too-few-are-healthy"),
        pytest.param({"ready": False}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"currentHealthy": 0}, True, id="unhealthy-ones-may-always-go"),
        pytest.param({"ready": False}, {}, {"currentHealthy": 3, "desiredHealthy": 3}, True, id="unhealthy-and-just-enough-are-healthy"),
        pytest.param({"ready": False}, {}, {"currentHealthy": 2, "desiredHealthy": 3}, False, id="unhealthy-and-one-too-few-is-healthy"),
        pytest.param({"ready": False}, {}, {"currentHealthy": 2, "desiredHealthy": 0}, False, id="unhealthy-and-none-is-desired"),
        pytest.param({"ready": False}, {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}, {"currentHealthy": 0}, False, id="unhealthy-ones-go-with-a-healthy-budget"),
        pytest.param({"labels": {"app": "other"}}, {}, {}, True, id="not-the-budgets"),
        pytest.param({}, {}, {}, False, id="healthy"),
    ],
)  # fmt: skip
def test_which_pods_a_budget_keeps(api, pod, spec, status, goes):
    budget(api, spec=spec, disruptionsAllowed=0, **status)
    running(api, **pod)
    assert (evict(api, how="call")[0] == 201) == goes


def test_a_dry_run_evicts_nothing(api):
    budget(api)
    running(api)
    before = api.revision
    for query, more in (("?dryRun=All", {}), ("", {"deleteOptions": {"dryRun": ["All"]}})):
        assert evict(api, how="call", query=query, **more)[0] == 201
    assert api.revision == before


def test_evictions_that_are_refused(api):
    running(api)
    assert evict(api, "none")[2] == 'pods "none" not found'
    wrong = api.refused("POST", f"{PODS}/a/eviction", {"metadata": {"name": "b"}})
    assert wrong == (400, "BadRequest", "name in URL does not match name in Eviction object")
    assert (
        api.refused("POST", f"{PODS}/a/eviction", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}})[0]
        == 400
    )


# --- bindings ----------------------------------------------------------------------------------------------------------


def waiting(api, name="a", **more):
    spec = {"containers": [{"name": "c", "image": "i"}], **more}
    return api.ok("POST", PODS, {"metadata": {"name": name, "labels": {"x": "own"}}, "spec": spec})


@pytest.mark.parametrize("path", [f"{PODS}/a/binding", "/api/v1/namespaces/default/bindings"])
def test_a_binding_gives_a_pod_its_node(api, path):
    waiting(api)
    meta = {"name": "a", "annotations": {"by": "me"}, "labels": {"x": "theirs", "zone": "z"}}
    assert api.ok("POST", path, {"metadata": meta, "target": {"kind": "Node", "name": "n"}})["status"] == "Success"
    pod = api.ok("GET", f"{PODS}/a")
    assert (pod["spec"]["nodeName"], pod["metadata"]["annotations"]) == ("n", {"by": "me"})
    assert pod["metadata"]["labels"] == {"x": "theirs", "zone": "z"}
    assert pod["metadata"]["generation"] == 1
    assert pod["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ]
    code, reason, message = api.refused("POST", path, {"metadata": {"name": "a"}, "target": {"name": "m"}})
    assert (code, reason) == (409, "Conflict")
    assert message.endswith('pod a is already assigned to node "n"')


@pytest.mark.parametrize(
    ("binding", "code", "message"),
    [
        pytest.param({"metadata": {"name": "b"}, "target": {"name": "n"}}, 400, "name in URL does not match name in Binding object", id="another-name"),
        pytest.param({"metadata": {"name": "a"}, "target": {"kind": "Machine"}}, 500, '[target.kind: Unsupported value: "Machine": supported values: "Node", "<empty>", target.name: Required value]', id="no-node"),
        pytest.param({"metadata": {"name": "a", "uid": "x"}, "target": {"name": "n"}}, 409, "Precondition failed: UID in precondition: x", id="another-pod"),
        pytest.param({"metadata": {"name": "a", "resourceVersion": "1"}, "target": {"name": "n"}}, 409, "Precondition failed: ResourceVersion", id="an-old-version"),
    ],
)  # fmt: skip
def test_bindings_that_are_refused(api, binding, code, message):
    waiting(api)
    found = api.refused("POST", f"{PODS}/a/binding", binding)
    assert found[0] == code
    assert message in found[2]


def test_a_pod_that_waits_at_a_gate_is_not_bound(api):
    waiting(api, schedulingGates=[{"name": "example.com/gate"}])
    binding = {"metadata": {"name": "a"}, "target": {"name": "n"}}
    assert api.refused("POST", f"{PODS}/a/binding", binding)[2].endswith("pod a has non-empty .spec.schedulingGates")


# --- parts of pods -----------------------------------------------------------------------------------------------------


def test_ephemeral_containers_are_added_and_nothing_else_changes(api):
    waiting(api)
    patch = {
        "metadata": {"labels": {"x": "other"}},
        "spec": {
            "containers": [{"name": "c", "image": "other"}],
            "ephemeralContainers": [{"name": "debug", "image": "busybox:1"}],
        },
    }
    pod = api.ok("PATCH", f"{PODS}/a/ephemeralcontainers", patch, **STRATEGIC)
    assert [one["name"] for one in pod["spec"]["ephemeralContainers"]] == ["debug"]
    assert (pod["spec"]["containers"][0]["image"], pod["metadata"]["labels"]) == ("i", {"x": "own"})
    assert pod["metadata"]["generation"] == 2
    again = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "other"}]}}
    assert "may not be changed" in api.refused("PATCH", f"{PODS}/a/ephemeralcontainers", again, **STRATEGIC)[2]
    assert (
        "may not be removed"
        in api.refused("PATCH", f"{PODS}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": []}}, **MERGE)[2]
    )


def resize(api, how="ok", name="c", **resources):
    patch = {"spec": {"containers": [{"name": name, "image": "other", "resources": resources}]}}
    return getattr(api, how)("PATCH", f"{PODS}/a/resize", patch, **STRATEGIC)


def test_a_resize_changes_resources_and_nothing_else(api):
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    api.ok("POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    pod = resize(api, requests={"cpu": "2"})
    assert (pod["spec"]["containers"][0]["resources"]["requests"], pod["spec"]["containers"][0]["image"]) == (
        {"cpu": "2"},
        "i",
    )
    assert pod["metadata"]["generation"] == 2
    everything = {"cpu": "2", "memory": "1Gi"}
    assert "Pod QOS Class may not change" in resize(api, "refused", requests=everything, limits=everything)[2]
    assert (
        "only cpu and memory resources are mutable"
        in resize(api, "refused", requests={"cpu": "2", "ephemeral-storage": "1Gi"})[2]
    )


# --- approvals ---------------------------------------------------------------------------------------------------------

PEM = certificates.request()


def asked(api, **spec):
    whole = {"request": PEM, "signerName": "example.com/signer", "usages": ["client auth"], "username": "eve", **spec}
    return {"metadata": {"name": "r"}, "spec": whole}


def test_a_request_is_made_by_who_makes_it(api):
    made = api.ok("POST", REQUESTS, asked(api, groups=["x"]), user=User("alice", "1", ("dev",), {"k": ("v",)}))
    assert {key: made["spec"][key] for key in ("username", "uid", "groups", "extra")} == {
        "username": "alice", "uid": "1", "groups": ["dev"], "extra": {"k": ["v"]},
    }  # fmt: skip
    patched = api.ok("PATCH", f"{REQUESTS}/r", {"spec": {"usages": ["server auth"]}}, **MERGE)
    assert patched["spec"] == made["spec"]


def decide(api, *types, path="/approval", how="ok", **more):
    conditions = [{"type": type, "status": "True", "reason": "R"} for type in types]
    return getattr(api, how)("PATCH", f"{REQUESTS}/r{path}", {"status": {"conditions": conditions}}, **MERGE, **more)


def test_a_decision_is_made_by_approval_only_and_stays(api):
    api.ok("POST", REQUESTS, asked(api))
    assert decide(api, "Approved", path="")["status"] == {}
    assert 'may not add a condition of type "Approved"' in decide(api, "Approved", path="/status", how="refused")[2]
    api.context.time = START + timedelta(seconds=5)
    condition = decide(api, "Approved")["status"]["conditions"][0]
    assert (condition["lastUpdateTime"], condition["lastTransitionTime"]) == ("2026-01-01T00:00:05Z",) * 2
    assert 'may not remove a condition of type "Approved"' in decide(api, "Denied", how="refused")[2]
    assert "mutually exclusive" in decide(api, "Approved", "Denied", how="refused")[2]
    assert "may not remove" in decide(api, "Failed", path="/status", how="refused")[2]
    kept = decide(api, "Approved", "Failed", path="/status")["status"]["conditions"]
    assert kept[0] == condition
    assert kept[1]["type"] == "Failed"


@pytest.mark.parametrize("signers", [["example.com/signer"], ["example.com/*"], ["other.com/*"], []])
def test_who_may_decide_needs_a_right_on_the_signer(signers):
    api = Api(authorization_mode="RBAC")
    api.ok("POST", REQUESTS, asked(api))
    below = [f"certificatesigningrequests/{part}" for part in ("approval", "status")]
    rules = [{"apiGroups": ["certificates.k8s.io"], "resources": below, "verbs": ["patch"]}]
    if signers:
        rules.append(
            {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": signers,
             "verbs": ["approve", "sign"]}
        )  # fmt: skip
    roles = "/apis/rbac.authorization.k8s.io/v1"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "decider"}
    api.ok("POST", f"{roles}/clusterroles", {"metadata": {"name": "decider"}, "rules": rules})
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    api.ok(
        "POST", f"{roles}/clusterrolebindings",
        {"metadata": {"name": "decider"}, "roleRef": reference, "subjects": [subject]},
    )  # fmt: skip
    alice = User("alice")
    if signers and signers[0].startswith("example.com"):
        assert decide(api, "Approved", user=alice)["status"]["conditions"][0]["type"] == "Approved"
        assert (
            decide(api, "Approved", "Failed", path="/status", user=alice)["status"]["conditions"][1]["type"] == "Failed"
        )
        return
    subject = 'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to'
    signer = 'requests with signerName "example.com/signer"'
    refused = (403, "Forbidden", f"{subject} approve {signer}")
    assert decide(api, "Approved", how="refused", user=alice) == refused
    refused = (403, "Forbidden", f"{subject} sign {signer}")
    assert decide(api, "Failed", path="/status", how="refused", user=alice) == refused


@pytest.mark.parametrize(
    ("names", "signer", "allowed"),
    [
        pytest.param(("", ("system:masters",)), "kube-apiserver-client", False, id="alone"),
        pytest.param(
            ("a", ("dev", "system:masters")), "kube-apiserver-client",
            False, id="among-others",
        ),
        pytest.param(("system:masters", ()), "kube-apiserver-client", True, id="as-a-name"),
        pytest.param(("", ("system:masters",)), "kubelet-serving", True, id="of-another-signer"),
        pytest.param(("", ()), "kube-apiserver-client", True, id="no-subject"),
    ],
)  # fmt: skip
def test_no_certificate_makes_administrators(api, names, signer, allowed):
    body = asked(api, request=certificates.request(*names), signerName=f"kubernetes.io/{signer}")
    if allowed:
        api.ok("POST", REQUESTS, body)
        return
    assert api.refused("POST", REQUESTS, body) == (
        403, "Forbidden",
        'certificatesigningrequests.certificates.k8s.io "r" is forbidden: use of kubernetes.io/kube-apiserver-client '
        "signer with system:masters group is not allowed",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"request": "bm8="}, "spec.request", id="no-request"),
        pytest.param({"usages": []}, "spec.usages", id="no-usages"),
        pytest.param({"usages": ["fun"]}, "spec.usages[0]", id="an-unknown-usage"),
        pytest.param({"usages": ["any", "any"]}, "spec.usages[1]", id="a-usage-twice"),
        pytest.param({"signerName": "signer"}, "spec.signerName", id="a-signer-without-a-domain"),
        pytest.param({"signerName": "kubernetes.io/legacy-unknown"}, "spec.signerName", id="the-old-signer"),
        pytest.param({"expirationSeconds": 599}, "spec.expirationSeconds", id="too-short"),
    ],
)
def test_requests_that_are_refused(api, spec, field):
    code, shown = api.call("POST", REQUESTS, asked(api, **spec))
    assert (code, shown["details"]["causes"][0]["field"]) == (422, field)


# --- logs --------------------------------------------------------------------------------------------------------------


def test_without_a_kubelet_there_is_no_log(api):
    waiting(api)
    assert api.call("GET", f"{PODS}/a/log") == (204, None)
    running(api, "b")
    assert api.refused("GET", f"{PODS}/b/log")[2] == 'pods "n" not found'
    addresses = [{"type": "InternalIP", "address": "192.0.2.1"}]
    api.ok("POST", NODES, {"metadata": {"name": "n"}, "status": {"addresses": addresses}})
    code, _, message = api.refused("GET", f"{PODS}/b/log")
    assert (code, "on_logs()" in message) == (501, True)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("?tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("?limitBytes=0", 422, "limitBytes: Invalid value: 0: must be greater than 0"),
        ("?sinceSeconds=0", 422, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            "?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
            422,
            "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds`",
        ),
        ("?sinceTime=x", 400, 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ("?stream=Stdout", 422, "stream: Forbidden: may not be specified"),
        ("?container=z", 400, "container z is not valid for pod a"),
    ],
)
def test_logs_that_are_refused(api, query, code, message):
    waiting(api)
    found = api.refused("GET", f"{PODS}/a/log{query}")
    assert found[0] == code
    assert message in found[2]


def test_a_container_must_be_named_where_there_are_several(api):
    containers = [{"name": name, "image": "i"} for name in "ab"]
    waiting(api, containers=containers, initContainers=[{"name": "i", "image": "i"}])
    assert api.refused("GET", f"{PODS}/a/log")[2] == (
        "a container name must be specified for pod a, choose one of: [i a b]"
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "one\ntwo\nthree\n"),
        ("?tailLines=2", "two\nthree\n"),
        ("?tailLines=0", ""),
        ("?tailLines=9", "one\ntwo\nthree\n"),
        ("?limitBytes=5", "one\nt"),
        ("?tailLines=2&limitBytes=2", "tw"),
    ],
)
def test_a_log_that_somebody_gives(api, query, text):
    waiting(api)
    asked_for: list[LogRequest] = []

    def logs(request):
        asked_for.append(request)
        return "one\ntwo\nthree\n"

    api.apiserver.kubelet.logs = logs
    response = api.answer("GET", f"{PODS}/a/log{query}")
    assert (response.body.to_object(), response.content_type) == (text, "text/plain")
    assert (asked_for[0].container, asked_for[0].pod["metadata"]["name"], asked_for[0].previous) == ("c", "a", False)


@pytest.mark.parametrize("path", ["exec", "attach", "portforward"])
def test_streams_need_somebody_who_answers(api, path):
    waiting(api)
    assert api.refused("POST", f"{PODS}/a/{path}") == (400, "BadRequest", "pod a does not have a host assigned")
    assert api.refused("GET", f"{PODS}/none/{path}")[0] == 404


def test_streams_are_web_sockets(api):
    waiting(api)
    api.apiserver.kubelet.exec = lambda request: "hello"
    assert api.refused("GET", f"{PODS}/a/exec?command=ls")[2] == "Upgrade request required"
    spdy = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
    assert "WebSocket only" in api.refused("POST", f"{PODS}/a/exec?command=ls", **spdy)[2]
    other = {"connection": "Upgrade", "upgrade": "websocket", "sec_websocket_protocol": "chat"}
    assert "no subprotocol of chat" in api.refused("GET", f"{PODS}/a/exec?command=ls", **other)[2]
    upgrade = api.answer(
        "GET", f"{PODS}/a/exec?command=ls", connection="keep-alive, Upgrade", upgrade="websocket"
    ).upgrade
    assert upgrade.session.opened()[0] == b"\x01hello"


WEBSOCKET = {"connection": "Upgrade", "upgrade": "websocket"}


@pytest.mark.parametrize(
    ("query", "ports"),
    [
        ("", []),
        ("?ports=1", [1]),
        ("?ports=65535", [65535]),
        ("?ports=80,443", [80, 443]),
        ("?ports=80&ports=443,9", [80, 443, 9]),
    ],
)
def test_each_forwarded_port_has_two_channels_which_begin_with_its_number(api, query, ports):
    waiting(api)
    api.apiserver.kubelet.forward = lambda request: request.data + bytes([request.port % 256])
    session = api.answer("GET", f"{PODS}/a/portforward{query}", **WEBSOCKET).upgrade.session
    numbered = [bytes([2 * i + part]) + port.to_bytes(2, "little") for i, port in enumerate(ports) for part in (0, 1)]
    assert session.opened() == numbered
    for i, port in enumerate(ports):
        assert session.received(bytes([2 * i]) + b"x") == [bytes([2 * i]) + b"x" + bytes([port % 256])]
        assert session.received(bytes([2 * i + 1]) + b"x") == []
    assert session.received(b"") == session.received(bytes([2 * len(ports)]) + b"x") == []


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "", "1.5", "٣", "080808"])
def test_ports_that_cannot_be_forwarded(api, port):
    waiting(api)
    api.apiserver.kubelet.forward = lambda request: b""
    found = api.refused("GET", f"{PODS}/a/portforward?ports=80,{port}", **WEBSOCKET)
    assert found == (400, "BadRequest", f'unable to parse "{port}" as a port: it must be between 1 and 65535')


SERVICES = "/api/v1/namespaces/default/services"


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        pytest.param(f"{PODS}/none/proxy/x", 404, 'pods "none" not found', id="no-pod"),
        pytest.param(f"{PODS}/a/proxy", 400, "address not allowed", id="a-pod-without-address"),
        pytest.param(f"{PODS}/http:a:80/proxy/x/y", 400, "address not allowed", id="scheme-and-port"),
        pytest.param(f"{PODS}/ftp:a:80/proxy", 400, 'invalid pod request "ftp:a:80"', id="another-scheme"),
        pytest.param(f"{SERVICES}/none/proxy", 404, 'services "none" not found', id="no-endpoints"),
        pytest.param(f"{SERVICES}/none:80/proxy", 404, 'services "none" not found', id="no-service"),
        pytest.param(f"{SERVICES}/s:81/proxy", 503, 'no service port 81 found for service "s"', id="no-such-port"),
        pytest.param(f"{SERVICES}/s:web/proxy", 503, 'no endpoints available for service "s"', id="no-addresses"),
        pytest.param(f"{SERVICES}/a:b:c:d/proxy", 400, 'invalid service request "a:b:c:d"', id="too-many-parts"),
        pytest.param("/api/v1/nodes/none/proxy/metrics", 404, 'nodes "none" not found', id="no-node"),
    ],
)
def test_a_proxy_resolves_its_target(api, path, status, message):
    waiting(api)
    ports = [{"name": "web", "port": 80}]
    api.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    api.ok("POST", "/api/v1/namespaces/default/endpoints", {"metadata": {"name": "s"}})
    for method in ("GET", "POST", "DELETE"):
        code, _, text = api.refused(method, path)
        assert (code, text) == (status, message)


def test_a_proxy_has_nothing_behind_it(api):
    ports = [{"name": "web", "port": 80}]
    api.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    subsets = [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "web", "port": 8080}]}]
    api.ok("POST", "/api/v1/namespaces/default/endpoints", {"metadata": {"name": "s"}, "subsets": subsets})
    assert api.refused("GET", f"{SERVICES}/s:80/proxy/") == (
        501, "NotImplemented", "fakekube does not implement proxying: nothing runs behind services"
    )  # fmt: skip


READY = [{"ip": "10.1.0.1"}]


@pytest.mark.parametrize(
    ("subsets", "target", "code"),
    [
        pytest.param([], "s:web", 503, id="no-subsets"),
        pytest.param([{"addresses": READY, "ports": [{"name": "web", "port": 1}]}], "s:web", 501, id="a-port"),
        pytest.param([{"addresses": READY, "ports": [{"name": "web", "port": 1}]}], "s:80", 501, id="its-number"),
        pytest.param([{"addresses": READY, "ports": [{"name": "web", "port": 1}]}], "s:+80", 501, id="a-sign"),
        pytest.param([{"addresses": READY, "ports": [{"name": "web", "port": 1}]}], "s", 503, id="no-name"),
        pytest.param([{"addresses": READY, "ports": [{"port": 1}]}], "s", 501, id="a-port-without-a-name"),
        pytest.param(
            [{"addresses": READY, "ports": [{"name": "web", "port": 1}, {"name": "more", "port": 2}]}], "s:web", 501,
            id="one-of-several-ports",
        ),
        pytest.param(
            [{"addresses": READY, "ports": [{"name": "a", "port": 1}]}, {"addresses": READY, "ports": [{"name": "web", "port": 2}]}],
            "s:web", 501, id="one-of-several-subsets",
        ),
        pytest.param(
            [{"notReadyAddresses": READY, "ports": [{"name": "web", "port": 1}]}], "s:web", 503, id="not-ready"
        ),
    ],
)  # fmt: skip
def test_the_endpoints_of_a_proxy_to_a_service(api, subsets, target, code):
    ports = [{"name": "web", "port": 80}, {"name": "more", "port": 81}]
    api.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    api.ok("POST", SERVICES.replace("services", "endpoints"), {"metadata": {"name": "s"}, "subsets": subsets})
    found = api.refused("GET", f"{SERVICES}/{target}/proxy/")
    assert found[0] == code
    if code == 503:
        assert found[2] == f'no endpoints available for service "{target if subsets else "s"}"'


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("10.1.0.1", 501),
        ("192.168.0.1", 501),
        ("fd00::1", 501),
        ("127.0.0.1", 400),
        ("169.254.0.1", 400),
        ("224.0.0.1", 400),
        ("0.0.0.0", 400),
        ("::1", 400),
        ("fe80::1", 400),
    ],
)
def test_the_address_of_a_proxy_to_a_pod(api, address, code):
    waiting(api)
    stored = api.ok("GET", f"{PODS}/a")
    status = {**stored["status"], "podIP": address, "podIPs": [{"ip": address}]}
    api.ok("PUT", f"{PODS}/a/status", {**stored, "status": status})
    assert api.refused("GET", f"{PODS}/a/proxy/")[0] == code
