"""Admission at its limits: claims, quotas, pods that are checked, logs and tokens."""

import pytest

from tests.apiserver.api import PODS, Api
from tests.apiserver.validation.test_pods import POD

DEFAULT = "/api/v1/namespaces/default"
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}


@pytest.mark.parametrize(
    ("least", "most", "why"),
    [
        ("2Gi", "2Gi", ""),
        ("1Gi", "3Gi", ""),
        ("1Gi", "2047Mi", "maximum storage usage per PersistentVolumeClaim is 2047Mi, but request is 2Gi"),
        ("2049Mi", "3Gi", "minimum storage usage per PersistentVolumeClaim is 2049Mi, but request is 2Gi"),
    ],
)
def test_the_limits_of_claims(least, most, why):
    api = Api()
    limit = {"type": "PersistentVolumeClaim", "min": {"storage": least}, "max": {"storage": most}}
    api.ok("POST", f"{DEFAULT}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    code, shown = api.call("POST", f"{DEFAULT}/persistentvolumeclaims", {"metadata": {"name": "c"}, **CLAIM})
    assert code == (403 if why else 201)
    if why:
        assert shown["message"].endswith(f"is forbidden: {why}")


def test_a_quota_that_is_used_up():
    api = Api()
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "3"}}}
    api.ok("POST", f"{DEFAULT}/resourcequotas", quota)
    store = api.apiserver.store
    entry = store.get("resourcequotas", "default/q")
    status = {"hard": {"count/configmaps": "3"}, "used": {"count/configmaps": "1"}}
    store.update("resourcequotas", "default/q", entry, {**entry.object, "status": status})
    for name in ("a", "b"):
        api.ok("POST", f"{DEFAULT}/configmaps", {"metadata": {"name": name}})
    code, _, message = api.refused("POST", f"{DEFAULT}/configmaps", {"metadata": {"name": "c"}})
    assert code == 403
    assert message.endswith(
        "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=3"
    )
    api.ok("PUT", f"{DEFAULT}/configmaps/a", {"metadata": {"name": "a"}, "data": {"x": "1"}})


ENFORCE = "pod-security.kubernetes.io/enforce"


def enforced(api, level):
    body = {"metadata": {"labels": {ENFORCE: level}}}
    return list(api.answer("PATCH", DEFAULT, body, content_type="application/merge-patch+json").warnings)


def test_pods_that_violate_a_new_standard_are_sorted_and_counted():
    api = Api()
    for name in ("b", "c", "a", "d"):
        more = {"hostNetwork": True} if name == "d" else {}
        api.ok("POST", PODS, {"metadata": {"name": name}, "spec": {**POD["spec"], **more}})
    assert enforced(api, "privileged") == []
    found = enforced(api, "restricted")
    assert (
        found[0] == 'existing pods in namespace "default" violate the new PodSecurity enforce level "restricted:latest"'
    )
    assert [one.partition(":")[0] for one in found[1:]] == ["a (and 2 other pods)", "d"]
    assert enforced(api, "baseline") == [], "a weaker level is not checked"
    assert len(enforced(api, "restricted")) == 3
    assert enforced(api, "restricted") == []
    enforced(api, "privileged")


@pytest.mark.parametrize(("count", "is_partial"), [(3000, False), (3001, True)])
def test_only_the_first_pods_of_a_namespace_are_checked(count, is_partial):
    api = Api()
    spec = {**POD["spec"], "hostNetwork": True}
    for number in range(count):
        meta = {"name": f"p{number}", "namespace": "default", "uid": f"u{number}"}
        api.apiserver.store.create("pods", f"default/p{number}", {"metadata": meta, "spec": spec})
    found = enforced(api, "baseline")
    text = "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods"
    assert (found[0] == text) is is_partial
    assert found[-1].startswith("p0 (and 2999 other pods): host namespaces")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("tailLines=0", ""),
        ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=1", ""),
        ("limitBytes=0", "limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=1", ""),
        ("sinceSeconds=0", "sinceSeconds: Invalid value: 0: must be greater than 0"),
    ],
)
def test_the_numbers_of_a_log_request(query, problem):
    api = Api()
    api.ok("POST", PODS, {"metadata": {"name": "p"}, **POD})
    code, shown = api.call("GET", f"{PODS}/p/log?{query}")
    assert (problem in str(shown)) if problem else (code != 422)
    assert (code == 422) is bool(problem)


@pytest.mark.parametrize(("seconds", "good"), [(600, True), (599, False), (2**32, True), (2**32 + 1, False)])
def test_the_duration_of_a_token(seconds, good):
    api = Api()
    api.ok("POST", f"{DEFAULT}/serviceaccounts", {"metadata": {"name": "s"}})
    code, _ = api.call(
        "POST", f"{DEFAULT}/serviceaccounts/s/token", {"spec": {"expirationSeconds": seconds, "audiences": ["a"]}}
    )
    assert code == (201 if good else 422)
