"""Claims of devices, claims that grow and legacy tokens, when writes fail and at the limits of their rules."""

from datetime import timedelta

import pytest

from tests.controllers.test_accounts import account, token_secret
from tests.controllers.test_resourceclaims import API, DEVICES, allocate, claims, finish, pod, template
from tests.controllers.volumes import claim, events_of, get_claim, volume
from tests.controllers.workloads import distinct_events_about

DEVICE_CLAIMS = pytest.mark.fakekube(controllers=["resourceclaim-controller"], rbac=True)
EXPANDER = pytest.mark.fakekube(controllers=["persistentvolume-binder", "persistentvolume-expander"], rbac=True)


# --- claims of devices


@DEVICE_CLAIMS
def test_a_device_claim_that_cannot_be_created_is_an_event_and_is_tried_again(fakekube):
    fakekube.create(template())
    fakekube.fault(verb="create", resource="resourceclaims", error=500, times=1)
    fakekube.create(pod())
    fakekube.settle()
    ((kind, reason, text),) = distinct_events_about(fakekube)
    assert (kind, reason) == ("Warning", "FailedResourceClaimCreation")
    assert text.startswith("PodResourceClaim device: create ResourceClaim : ")
    assert (
        f"pod default/p, {text}"
        in [str(one) for one in fakekube.controllers["resourceclaim-controller"].errors("pod:p default")]
        or len(claims(fakekube)) <= 1
    )
    fakekube.advance("1m")
    (one,) = claims(fakekube)
    statuses = fakekube.get("v1", "Pod", "p")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "device", "resourceClaimName": one["metadata"]["name"]}]


@DEVICE_CLAIMS
def test_a_device_claim_whose_name_could_not_be_noted_is_found_again(fakekube):
    fakekube.create(template())
    rule = fakekube.fault(verb="*", resource="pods", subresource="status", error=500, times=2)
    fakekube.create(pod())
    fakekube.advance("1m")
    assert len(fakekube.requests(verb="create", resource="resourceclaims")) == 1
    (one,) = claims(fakekube)
    statuses = fakekube.get("v1", "Pod", "p")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "device", "resourceClaimName": one["metadata"]["name"]}]
    rule.disarm()


@DEVICE_CLAIMS
def test_a_device_claim_that_the_cache_does_not_have_is_not_created_twice(fakekube):
    fakekube.create(template())
    fakekube.settle()
    fakekube.faults.disturb_watches(resource="resourceclaims", delay="30s")
    fakekube.faults.cut_watches()
    fakekube.advance("1m")
    fakekube.create(pod())
    fakekube.settle()
    fakekube.patch("v1", "Pod", "p", {"metadata": {"labels": {"again": "1"}}})
    fakekube.advance("10s")
    assert len(claims(fakekube)) == 1
    fakekube.advance("1m")
    assert len(claims(fakekube)) == 1


@DEVICE_CLAIMS
@pytest.mark.parametrize(
    "consumer",
    [
        {"resource": "pods", "apiGroup": "example.com", "name": "p", "uid": "1"},
        {"resource": "things", "name": "p", "uid": "1"},
    ],
)
def test_reservations_of_others_than_pods_stay(fakekube, consumer):
    meta = {"name": "shared", "namespace": "default", "finalizers": ["resource.kubernetes.io/delete-protection"]}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    status = {"allocation": {"devices": {}}, "reservedFor": [consumer]}
    fakekube.patch(API, "ResourceClaim", "shared", {"status": status}, subresource="status")
    fakekube.settle()
    assert claims(fakekube)[0]["status"]["reservedFor"] == [consumer]


@DEVICE_CLAIMS
@pytest.mark.parametrize("known", [True, False])
def test_a_reservation_of_a_former_pod_of_that_name_is_removed(fakekube, known):
    meta = {"name": "shared", "namespace": "default"}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    if known:
        fakekube.create(pod("gone", resourceClaimName="shared"))
    rule = fakekube.fault(verb="get", resource="pods", error=500)
    allocate(fakekube, "shared", {"metadata": {"name": "gone", "uid": "1"}})
    fakekube.settle()
    assert bool((claims(fakekube)[0].get("status") or {}).get("reservedFor")) != known
    if known:
        fakekube.findings.allow("unused-fault", reason="the cache has the pod")
    rule.disarm()
    fakekube.advance("20m")
    assert not (claims(fakekube)[0].get("status") or {}).get("reservedFor")


@DEVICE_CLAIMS
def test_a_deleted_pod_is_not_looked_for_at_the_server(fakekube):
    meta = {"name": "shared", "namespace": "default"}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    made = fakekube.create(pod(node="n1", resourceClaimName="shared"))
    allocate(fakekube, "shared", made)
    fakekube.settle()
    fakekube.delete("v1", "Pod", "p", gracePeriodSeconds=0)
    fakekube.settle()
    assert not (claims(fakekube)[0].get("status") or {}).get("reservedFor")
    assert not fakekube.requests(verb="get", resource="pods", user_agent="kube-controller-manager*")


@DEVICE_CLAIMS
@pytest.mark.parametrize("verb", ["update", "delete"])
def test_the_release_of_a_device_claim_is_tried_again(fakekube, verb):
    fakekube.create(template())
    made = fakekube.create(pod(node="n1"))
    fakekube.settle()
    allocate(fakekube, claims(fakekube)[0]["metadata"]["name"], made)
    fakekube.settle()
    fakekube.fault(verb=verb, resource="resourceclaims", error=409, times=1)
    finish(fakekube)
    fakekube.advance("1m")
    assert claims(fakekube) == []


# --- claims that grow


def growing(fakekube, **source):
    """A bound claim whose StorageClass allows it to grow."""
    fakekube.create(volume(**source))
    fakekube.create(claim())
    fakekube.settle()
    allowed = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "manual"}}
    fakekube.create({**allowed, "provisioner": "d.example.com", "allowVolumeExpansion": True})


def grow(fakekube, size="2Gi"):
    fakekube.patch("v1", "PersistentVolumeClaim", "data", {"spec": {"resources": {"requests": {"storage": size}}}})
    fakekube.settle()


CSI = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}}
EBS = {"awsElasticBlockStore": {"volumeID": "v"}, "hostPath": None}


@EXPANDER
def test_a_volume_that_cannot_be_read_is_read_again(fakekube):
    growing(fakekube, **CSI)
    rule = fakekube.fault(verb="get", resource="persistentvolumes", error=500, times=1)
    grow(fakekube)
    errors = fakekube.controllers["persistentvolume-expander"].errors("default/data")
    assert str(errors[0]).startswith('failed to get PV "')
    rule.disarm()
    fakekube.advance("1m")
    assert [reason for _, reason, _ in distinct_events_about(fakekube)] == ["ExternalExpanding"]


@EXPANDER
def test_a_resizer_that_cannot_be_named_is_an_event_and_is_tried_again(fakekube):
    growing(fakekube, **EBS)
    fakekube.fault(verb="patch", resource="persistentvolumeclaims", subresource="status", error=500, times=1)
    grow(fakekube)
    fakekube.advance("1m")
    warning = [text for kind, _, text in events_of_all(fakekube) if kind == "Warning"]
    assert warning[0].startswith(
        'error setting resizer annotation to pvc default/data, with error patchPVCStatus failed to patch PVC "data": '
    )
    resizer = "volume.kubernetes.io/storage-resizer"
    assert get_claim(fakekube)["metadata"]["annotations"][resizer] == "ebs.csi.aws.com"


def events_of_all(fakekube):
    return [one for one in distinct_events_about(fakekube) if one[1] == "ExternalExpanding"]


@EXPANDER
@pytest.mark.parametrize(("field", "value"), [("uid", "another"), ("namespace", "other")])
def test_a_volume_of_another_claim_does_not_grow(fakekube, field, value):
    growing(fakekube, **CSI)
    for controller in ("persistentvolume-expander", "persistentvolume-binder"):
        fakekube.controllers[controller].suspend()
    name = get_claim(fakekube)["spec"]["volumeName"]
    fakekube.patch("v1", "PersistentVolume", name, {"spec": {"claimRef": {field: value}}})
    grow(fakekube)
    fakekube.controllers["persistentvolume-expander"].reconcile_next()
    errors = fakekube.controllers["persistentvolume-expander"].errors("default/data")
    assert [str(one) for one in errors] == [
        "persistent Volume is not bound to PVC being updated : default/data",
    ]
    assert "ExternalExpanding" not in [reason for _, reason, _ in events_of(fakekube, "data")]


@EXPANDER
def test_which_changes_of_a_claim_are_looked_at(fakekube):
    growing(fakekube, **CSI)
    seen = fakekube.controllers["persistentvolume-expander"].reconciles

    def count(patch, **options):
        before = seen()
        fakekube.patch("v1", "PersistentVolumeClaim", "data", patch, **options)
        fakekube.settle()
        return seen() - before

    status = lambda size: {"status": {"capacity": {"storage": size}}}  # noqa: E731
    request = lambda size: {"spec": {"resources": {"requests": {"storage": size}}}}  # noqa: E731
    assert count({"metadata": {"labels": {"a": "1"}}}) == 0
    assert count(request("20Gi")) == 1
    assert count({"metadata": {"labels": {"a": "2"}}}) == 0
    assert count(request("19Gi")) == 0  # less than before
    assert count(status("18Gi"), subresource="status") == 1
    assert count(status("17Gi"), subresource="status") == 0
    assert count(status("19Gi"), subresource="status") == 1
    assert len(fakekube.events(reason="ExternalExpanding")) == 1


# --- legacy tokens


TOKENS = pytest.mark.fakekube(controllers=["legacy-service-account-token-cleaner"])
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
INVALID, LAST_USED = "kubernetes.io/legacy-token-invalid-since", "kubernetes.io/legacy-token-last-used"


def tracked(fakekube, since=None):
    """Note since when the use of tokens is recorded: the present day, or `since`."""
    data = {"since": since if since is not None else fakekube.clock.now().date().isoformat()}
    if fakekube.exists("v1", "ConfigMap", TRACKING, "kube-system"):
        fakekube.patch("v1", "ConfigMap", TRACKING, {"data": data}, "kube-system")
    else:
        meta = {"name": TRACKING, "namespace": "kube-system"}
        fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})


def a_token(fakekube, labels=None):
    fakekube.create(account(secrets=[{"name": "t"}]))
    made = token_secret()
    fakekube.create({**made, "metadata": {**made["metadata"], "labels": labels or {}}})
    tracked(fakekube)


def marked(fakekube):
    return INVALID in (fakekube.get("v1", "Secret", "t")["metadata"].get("labels") or {})


def day(fakekube, days):
    return (fakekube.clock.now() + timedelta(days=days)).date().isoformat()


@TOKENS
def test_what_becomes_of_tokens_in_a_year(fakekube):
    """At day 367 a token is unused that was used last before day 2, and is deleted if it was marked before day 2."""
    used = {"never": None, "on-day-0": 0, "on-day-1": 1, "on-day-2": 2, "on-day-300": 300}
    used |= {"yesterday": "yesterday", "short": "2026-1-1", "empty": ""}
    since = {"marked-on-0": 0, "marked-on-1": 1, "marked-on-2": 2, "marked-on-300": 300, "marked-badly": "bad"}
    kept = ["opaque", "of-missing-account", "of-another", "unlisted", "in-a-pod", "deleted"]
    names = [*used, *since, *kept]
    fakekube.create(account(secrets=[{"name": name} for name in names if name != "unlisted"]))
    for name in names:
        made = token_secret(name)
        values = {LAST_USED: used.get(name), INVALID: since.get(name)}
        labels = {key: day(fakekube, one) if isinstance(one, int) else one for key, one in values.items()}
        made["metadata"]["labels"] = {key: one for key, one in labels.items() if one is not None}
        fakekube.create({**made, "type": "Opaque"} if name == "opaque" else made)
    for name, key, value in (("of-missing-account", "name", "missing"), ("of-another", "uid", "another")):
        patch = {"annotations": {f"kubernetes.io/service-account.{key}": value}}
        fakekube.patch("v1", "Secret", name, {"metadata": patch})
    fakekube.patch("v1", "Secret", "deleted", {"metadata": {"finalizers": ["example.com/hold"]}})
    fakekube.delete("v1", "Secret", "deleted")
    user = pod()
    volumes = [{"name": "v", "secret": {"secretName": "in-a-pod"}}]
    fakekube.create({**user, "spec": {"containers": user["spec"]["containers"], "volumes": volumes}})
    tracked(fakekube)
    fakekube.advance(days=367, hours=1)
    left = {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in fakekube.list("v1", "Secret")}
    assert set(names) - set(left) == {"marked-on-0", "marked-on-1"}
    marks = {name: labels[INVALID] for name, labels in left.items() if INVALID in labels}
    assert {name: mark for name, mark in marks.items() if name not in ("marked-on-2", "marked-on-300")} == {
        "never": day(fakekube, -1),  # the first check after a year
        "on-day-0": day(fakekube, -1),
        "on-day-1": day(fakekube, 0),
        "marked-badly": day(fakekube, -1),
    }


@pytest.mark.slow
@TOKENS
@pytest.mark.parametrize("reason", ["untracked", "not a day", "unreadable", "conflict"])
def test_tokens_that_are_not_marked(fakekube, reason):
    a_token(fakekube)
    rule = None
    match reason:
        case "untracked":
            fakekube.delete("v1", "ConfigMap", TRACKING, "kube-system")
        case "not a day":
            tracked(fakekube, "long ago")
        case "unreadable":
            rule = fakekube.fault(verb="get", resource="configmaps", error=500)
        case "conflict":
            rule = fakekube.fault(verb="patch", resource="secrets", error=500)
    fakekube.advance(days=368)
    assert not marked(fakekube)
    assert fakekube.controllers["legacy-service-account-token-cleaner"].errors("legacy tokens") == []
    if rule is not None:
        rule.disarm()
        fakekube.advance(days=1)
        assert marked(fakekube)


@pytest.mark.slow
@TOKENS
@pytest.mark.parametrize(("days", "expected"), [(0, True), (1, True), (2, False), (100, False)])
def test_the_use_of_tokens_must_be_recorded_for_a_year(fakekube, days, expected):
    """At day 367 it is recorded for a year if it began on day 1 (the first whole day is the next one)."""
    a_token(fakekube)
    tracked(fakekube, day(fakekube, days))
    fakekube.advance(days=367, hours=1)
    assert marked(fakekube) == expected


@pytest.mark.slow
@TOKENS
@pytest.mark.parametrize("error", [409, 500])
def test_a_marked_token_that_cannot_be_deleted_waits_for_the_next_day(fakekube, error):
    a_token(fakekube, {INVALID: day(fakekube, 0)})
    rule = fakekube.fault(verb="delete", resource="secrets", error=error)
    fakekube.advance(days=368)
    assert fakekube.exists("v1", "Secret", "t")
    rule.disarm()
    fakekube.advance(days=1)
    assert not fakekube.exists("v1", "Secret", "t")
