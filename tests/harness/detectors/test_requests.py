"""Lists, watches and writes of operators, as the server sees them."""

from datetime import UTC, datetime

from fakekube import FakeKube
from tests.harness.detectors.scenes import read, run, texts

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "lists"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "lists"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lists"},
    "subjects": [{"kind": "ServiceAccount", "name": "op", "namespace": "default"}],
}


async def nothing(request):
    return None


def test_a_watch_that_is_denied_is_no_polling():
    with FakeKube(rbac=True, detect={"all": "warn", "writes-at-rest": "off"}) as kube:
        kube.apply(ROLE, BINDING)
        kube.start(
            lambda manager: manager.controller("c").for_("v1", "ConfigMap").complete(nothing),
            service_account="default/op",
        )
        kube.advance(600)
        assert len(kube.requests(verb="list", resource="configmaps")) > 10
        (text,) = texts(kube)
        assert text.startswith("[missing-permission] ")
        assert "may not watch configmaps" in text


def test_a_stamp_that_is_the_same_only_because_time_stands_still_is_no_write_without_a_change(kube):
    async def reconcile(request, client):
        found = await read(client, request)
        if not (found.get("status") or {}).get("done"):
            stamp = {"status": {"at": datetime.now(UTC).isoformat()}}
            await client.patch_status(found, stamp)
            await client.patch_status(found, stamp)
            await client.patch_status(found, {"status": {"done": True}})

    run(kube, reconcile)
    assert texts(kube) == []
