"""Resources as discovery describes them, and their URL paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Resource:
    """A served resource type, as discovery lists it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return split_api_version(self.api_version)[0]

    @property
    def qualified(self) -> str:
        """The resource with its group, as in messages: "pods", "jobs.batch"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Return the URL path; the namespace is ignored for a cluster-scoped kind."""
        path = root(self.api_version)
        if namespace and self.namespaced:
            path += f"/namespaces/{namespace}"
        path += f"/{self.plural}"
        if name:
            path += f"/{name}"
        return f"{path}/{subresource}" if subresource else path


def check_namespace(resource: Resource, namespace: str | None, *, creates: bool) -> None:
    """ValueError for a request for one object of a namespaced kind without its namespace.

    Source: client-go, rest/request.go, requestPreflightCheck, which leaves a patch to the server.
    """
    if resource.namespaced and not namespace:
        when = "during creation" if creates else "when a resource name is provided"
        raise ValueError(f"an empty namespace may not be set {when}: {resource.kind} is a namespaced kind")


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split an apiVersion into (group, version); the core group is ""."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def root(api_version: str) -> str:
    """Return the path of a group and version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def read_discovery(api_version: str, document: Mapping[str, Any]) -> Sequence[Resource]:
    """Return the resources of an APIResourceList."""
    rows = document.get("resources") or ()
    below: dict[str, list[str]] = {}
    for row in rows:
        plural, slash, subresource = row["name"].partition("/")
        if slash:
            below.setdefault(plural, []).append(subresource)
    return [
        Resource(api_version, row["kind"], row["name"], bool(row["namespaced"]), tuple(below.get(row["name"], ())))
        for row in rows
        if "/" not in row["name"]
    ]
