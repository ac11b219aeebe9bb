"""Kinds and the resources they are served as: what discovery says, and the paths that follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the server serves it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The API group; "" is core."""
        return split_api_version(self.api_version)[0]

    @property
    def qualified(self) -> str:
        """The resource with its group, as messages name it: "pods", "jobs.batch"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The URL path; a namespace given for a cluster-scoped kind is ignored."""
        path = root(self.api_version)
        if namespace and self.namespaced:
            path += f"/namespaces/{namespace}"
        path += f"/{self.plural}"
        if name:
            path += f"/{name}"
        return f"{path}/{subresource}" if subresource else path


def split_api_version(api_version: str) -> tuple[str, str]:
    """(group, version) of an apiVersion; the core group is ""."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def root(api_version: str) -> str:
    """The path under which a group and version are served."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def read_discovery(api_version: str, document: Mapping[str, Any]) -> Sequence[Resource]:
    """The resources of an APIResourceList."""
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
