"""Which methods a path of a built-in resource has: 404 for paths that do not exist, 405 for methods that they lack."""

import pytest

from tests.apiserver.api import Api

API = Api()
ONE = {"metadata": {"name": "x"}}
SPACE = "/api/v1/namespaces/default"

#: Path -> the methods that it has (`endpoints/installer.go`); None: it does not exist.
ROUTES = {
    "/api/v1/pods": "GET",
    f"{SPACE}/pods": "GET POST DELETE",
    f"{SPACE}/pods/x": "GET PUT PATCH DELETE",
    f"{SPACE}/pods/x/status": "GET PUT PATCH",
    f"{SPACE}/pods/x/log": "GET",
    f"{SPACE}/pods/x/binding": "POST",
    f"{SPACE}/pods/x/eviction": "POST",
    f"{SPACE}/pods/x/exec": "GET POST",
    f"{SPACE}/pods/x/attach": "GET POST",
    f"{SPACE}/pods/x/portforward": "GET POST",
    f"{SPACE}/pods/x/nothing": None,
    f"{SPACE}/pods/x/status/more": None,
    "/api/v1/pods/x": None,
    "/api/v1/pods/x/status": None,
    "/api/v1/nodes": "GET POST DELETE",
    "/api/v1/nodes/x": "GET PUT PATCH DELETE",
    f"{SPACE}/nodes": None,
    f"{SPACE}/nodes/x": None,
    "/api/v1/namespaces": "GET POST",
    "/api/v1/namespaces/x": "GET PUT PATCH DELETE",
    "/api/v1/namespaces/x/status": "GET PUT PATCH",
    "/api/v1/namespaces/x/finalize": "PUT",
    f"{SPACE}/bindings": "POST",
    f"{SPACE}/bindings/x": None,
    "/api/v1/bindings": "",
    "/api/v1/componentstatuses": "GET",
    "/api/v1/componentstatuses/x": "GET",
    f"{SPACE}/serviceaccounts/x/token": "POST",
    "/apis/apps/v1/namespaces/default/deployments/x/scale": "GET PUT PATCH",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": "POST",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews/x": None,
    "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews": "POST",
    # deprecated paths of watches
    "/api/v1/watch/pods": "GET",
    f"/api/v1/watch{SPACE.removeprefix('/api/v1')}/pods": "GET",
    f"/api/v1/watch{SPACE.removeprefix('/api/v1')}/pods/x": "GET",
    f"/api/v1/watch{SPACE.removeprefix('/api/v1')}/pods/x/status": None,
    "/api/v1/watch/pods/x": None,
    "/api/v1/watch/nodes": "GET",
    "/api/v1/watch/nodes/x": "GET",
    "/api/v1/watch/nodes/x/status": None,
    f"/api/v1/watch{SPACE.removeprefix('/api/v1')}/nodes": None,
    f"/api/v1/watch{SPACE.removeprefix('/api/v1')}/bindings": None,
    "/api/v1/watch/componentstatuses": None,
    "/apis/apps/v1/watch/deployments": "GET",
    "/apis/apps/v1/watch/namespaces/default/deployments/x": "GET",
}


def outcome(method, path):
    """404 without details or 405, else an answer of the resource."""
    code, shown = API.call(method, f"{path}?dryRun=All" if method != "GET" else path, ONE if method in ("POST", "PUT") else b"{}" if method == "PATCH" else b"", content_type="application/merge-patch+json" if method == "PATCH" else "application/json")  # fmt: skip
    message = shown.get("message", "") if isinstance(shown, dict) else ""
    if code == 404 and message == "the server could not find the requested resource":
        return None
    return code != 405


@pytest.mark.parametrize("path", ROUTES)
def test_the_methods_of_a_path(path):
    found = {method: outcome(method, path) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")}
    if ROUTES[path] is None:
        assert set(found.values()) == {None}
    else:
        assert [method for method, has in found.items() if has] == ROUTES[path].split()
        assert None not in found.values()
