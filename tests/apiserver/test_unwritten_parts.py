"""What a write does not change is taken from the stored object, which never changes itself."""

import pytest

from fakekube.apiserver.wire import gojson
from tests.apiserver.api import Api

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
LIMITS = {
    "metadata": {"name": "l"},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "64Mi"}}]},
}
POD = {
    "metadata": {"name": "p"},
    "spec": {"resources": {"limits": {"cpu": "2"}}, "containers": [{"name": "c", "image": "i"}]},
}


@pytest.mark.parametrize(
    ("path", "patch", "code"),
    [
        ("/status?dryRun=All", {"status": {"phase": "Running"}}, 200),
        ("/status", {"status": {"phase": "Running"}}, 200),
        ("/status", {"status": {"phase": 5}}, 422),
        ("", {"metadata": {"labels": {"a": "b c"}}}, 422),
    ],
)
def test_defaults_that_come_later_do_not_change_what_is_stored(path, patch, code):
    """A LimitRange sets requests of the containers, from which those of the pod follow when it is stored."""
    api = Api()
    api.ok("POST", "/api/v1/namespaces/default/limitranges", LIMITS)
    api.ok("POST", PODS, POD)
    entry = api.apiserver.store.get("pods", "default/p")
    before = gojson.encode(entry.object, sorted_keys=True)
    found, _ = api.call("PATCH", f"{PODS}/p{path}", patch, content_type=MERGE)
    assert found == code
    assert gojson.encode(entry.object, sorted_keys=True) == before
    if path:
        requests = {"cpu": "2", "memory": "64Mi"}
        assert api.ok("GET", f"{PODS}/p")["spec"]["resources"] == {"limits": {"cpu": "2"}, "requests": requests}
