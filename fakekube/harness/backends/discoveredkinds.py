"""The kinds that a real server serves, as its discovery lists them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from fakekube.apiserver.catalog import Catalog, builtin_resources
from fakekube.apiserver.resource import Resource
from fakekube.server.systemclock import SystemClock

Request = Callable[..., tuple[int, Any, Any]]

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

#: Real seconds until a new definition is served, and the interval in which that is checked.
_PATIENCE = 10.0
_INTERVAL = 0.05


class DiscoveredKinds:
    """Reads discovery when a kind is not known, and waits for one whose definition exists already."""

    def __init__(self, request: Request) -> None:
        self._request, self._clock = request, SystemClock()
        self._catalog = Catalog()

    @property
    def catalog(self) -> DiscoveredKinds:
        """Itself: the place of the catalog in an ApiServer."""
        return self

    def resources(self) -> Collection[Resource]:
        return list(self._catalog.resources())

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        found = self._catalog.find_kind(api_version, kind)
        deadline = self._clock.monotonic() + _PATIENCE
        while found is None:
            self.refresh()
            found = self._catalog.find_kind(api_version, kind)
            if found is None:
                if self._clock.monotonic() > deadline or not self._is_defined(api_version, kind):
                    return None
                self._clock.pause(_INTERVAL)
        return found

    def find_remote_kind(self, api_version: str, kind: str) -> Resource | None:
        """None: discovery of the server has the kinds of aggregated API servers."""
        return None

    def refresh(self) -> None:
        """Read discovery again. Raises RuntimeError if the server is older than Kubernetes 1.30."""
        found = {}
        for name, path in (("core", "/api"), ("groups", "/apis")):
            code, _, body = self._request("GET", path, headers={"Accept": _ACCEPT})
            if code != 200 or not isinstance(body, dict) or body.get("kind") != "APIGroupDiscoveryList":
                raise RuntimeError(f"GET {path}: the server has no aggregated discovery (v2): {code} {body}")
            found[name] = body["items"]
        self._catalog = Catalog(builtin_resources(_known(found)))

    def _is_defined(self, api_version: str, kind: str) -> bool:
        """Whether there is a definition of a version of a kind, which is about to be served."""
        code, _, body = self._request("GET", _DEFINITIONS)
        group, _, version = api_version.rpartition("/")
        for one in body["items"] if code == 200 else ():
            spec = one["spec"]
            if (spec["group"], spec["names"]["kind"]) == (group, kind):
                return any(served["name"] == version and served["served"] for served in spec["versions"])
        return False


def _known(document: dict[str, Any]) -> dict[str, Any]:
    """Discovery without the versions of API servers that do not answer, and resources without a kind."""
    return {name: [{**group, "versions": _versions(group)} for group in groups] for name, groups in document.items()}


def _versions(group: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**version, "resources": [_complete(row) for row in version["resources"] if row.get("responseKind")]}
        for version in group["versions"]
        if version.get("resources")
    ]


def _complete(row: dict[str, Any]) -> dict[str, Any]:
    subresources = [one for one in row.get("subresources") or () if one.get("responseKind")]
    return {**row, "singularResource": row.get("singularResource", ""), "subresources": subresources}
