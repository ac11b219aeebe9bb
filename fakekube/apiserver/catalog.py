"""The resources that a server serves, with a cache of the documents that are derived from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

import orjson

from fakekube.apiserver.registry.apiregistration import autoregister
from fakekube.apiserver.resource import Resource, Subresource, qualify, version_priority
from fakekube.struct import Struct, field

T = TypeVar("T")

#: (group, plural) -> the collection of another group, for resources that share their objects with it.
SHARED_COLLECTIONS = {("events.k8s.io", "events"): "events"}


class Document(Struct, frozen=True):
    """A document as JSON, with its hash, which is the ETag."""

    json: bytes
    hash: str


class RemoteVersion(Struct, frozen=True):
    """A version of a group that another server serves, as an APIService describes it.

    `resources` are rows of aggregated discovery (None: they are not known). `fresh`: they are current. `openapi` has
    the known OpenAPI documents of versions 2 and 3.
    """

    group: str
    version: str
    group_priority: int
    version_priority: int
    resources: tuple[Any, ...] | None = None
    fresh: bool = False
    openapi: Mapping[int, Any] = field(default_factory=dict)


class Catalog:
    """The served resources, by (group, version, plural). Groups keep the order in which kube-apiserver lists them."""

    def __init__(self, builtin: Iterable[Resource] = ()) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self._groups: dict[str, list[str]] = {}
        self._builtin_groups: frozenset[str] = frozenset()
        self._documents: dict[Hashable, Document] = {}
        self._of_group: dict[Hashable, str] = {}
        self._encodings: dict[Hashable, bytes] = {}
        self._parts: dict[Hashable, tuple[str, Any]] = {}
        self.changes: int = 0
        """The number of changes of the served resources."""
        self.built: int = 0
        """The number of documents and parts of documents that have been made."""
        self._remote: dict[tuple[str, str], RemoteVersion] = {}
        builtin = tuple(builtin)
        self._builtin_groups = frozenset(resource.group for resource in builtin)
        for resource in builtin:
            self._enter(resource)

    def copy(self) -> Catalog:
        """A catalog of the same resources; neither sees the changes of the other."""
        copied = Catalog()
        copied._resources = self._resources.copy()
        copied._groups = {group: versions.copy() for group, versions in self._groups.items()}
        copied._builtin_groups, copied._remote = self._builtin_groups, self._remote.copy()
        return copied

    def add(self, resource: Resource) -> None:
        """Serve a resource; it replaces one of the same group, version and plural."""
        if self._enter(resource) and resource.group not in self._builtin_groups:
            self._groups[resource.group].sort(key=version_priority)
        self._forget_documents(resource)

    def _enter(self, resource: Resource) -> bool:
        """Note a resource. Whether its version is new in its group."""
        self._resources[(resource.group, resource.version, resource.plural)] = resource
        versions = self._groups.setdefault(resource.group, [])
        if resource.version in versions:
            return False
        versions.append(resource.version)
        return True

    def remove(self, resource: Resource) -> None:
        """Stop serving a resource, and its version and group if they become empty."""
        self._resources.pop((resource.group, resource.version, resource.plural), None)
        if not any(key[:2] == (resource.group, resource.version) for key in self._resources):
            versions = self._groups.get(resource.group, [])
            if resource.version in versions:
                versions.remove(resource.version)
            if not versions:
                self._groups.pop(resource.group, None)
        self._forget_documents(resource)

    def set_remote(self, versions: Iterable[RemoteVersion]) -> None:
        """Set the versions that other servers serve; discovery shows them among our own."""
        remote = {(one.group, one.version): one for one in versions}
        if remote == self._remote:
            return
        groups = {group for group, _ in (*remote, *self._remote)}
        self._remote = remote
        self.changes += 1
        for key in [key for key in self._documents if self._of_group.get(key) in (None, *groups)]:
            del self._documents[key]
        self._encodings.clear()

    def remote_documents(self, version: int) -> dict[str, Any]:
        """The OpenAPI documents of other servers in a version of OpenAPI, by their paths (`apis/GROUP/VERSION`)."""
        return {
            f"apis/{group}/{name}" if group else f"api/{name}": one.openapi[version]
            for (group, name), one in self._remote.items()
            if version in one.openapi
        }

    def remote(self, group: str, version: str) -> RemoteVersion | None:
        """The version of a group that another server serves, if any."""
        return self._remote.get((group, version))

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def find_remote_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of an apiVersion and kind that another server serves, if discovery knows it."""
        group, _, version = api_version.rpartition("/")
        remote = self.remote(group, version)
        rows = (remote.resources or ()) if remote is not None else ()
        row = next((one for one in rows if one["responseKind"]["kind"] == kind), None)
        return _from_row(group, version, row) if row is not None else None

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """The served resource of an apiVersion and kind, if any."""
        group, _, version = api_version.rpartition("/")
        for resource in self._resources.values():
            if resource.kind == kind and resource.version == version and resource.group == group:
                return resource
        return None

    def serves_group(self, group: str) -> bool:
        return group in self._groups

    def serves_version(self, group: str, version: str) -> bool:
        return version in self._groups.get(group, ())

    def is_custom_group(self, group: str) -> bool:
        """Whether all resources of the group come from CustomResourceDefinitions (apiextensions-apiserver answers)."""
        return group not in self._builtin_groups

    def resources(self) -> Iterable[Resource]:
        return self._resources.values()

    def versions(self, group: str) -> list[str]:
        """The group's versions, the preferred one first."""
        return list(self._groups.get(group, ()))

    # --- documents -------------------------------------------------------------------------------------------------

    def shown_versions(self, group: str) -> list[str]:
        """The group's versions in discovery: those of other servers first, by priority, then our own."""
        remote = [one for key, one in self._remote.items() if key[0] == group]
        remote.sort(key=lambda one: (-one.version_priority, version_priority(one.version)))
        names = [one.version for one in remote]
        return [*names, *(version for version in self.versions(group) if version not in names)]

    def group_names(self) -> list[str]:
        """The named groups: the built-in ones in kube-apiserver's order, then the custom ones by name. Those of other
        servers are placed by their priority."""
        custom = sorted(name for name in self._groups if self.is_custom_group(name))
        names = [name for name in self._groups if name and name not in custom] + custom
        priorities: dict[str, int] = {}
        for one in self._remote.values():
            priorities[one.group] = max(priorities.get(one.group, 0), one.group_priority)
        for group, priority in priorities.items():
            if group and group not in names:
                before = [name for name in names if (-priority, group) > (-self._priority(name, priorities), name)]
                names.insert(len(before), group)
        return names

    def _priority(self, group: str, remote: Mapping[str, int]) -> int:
        """The groupPriorityMinimum of a group."""
        if group in remote:
            return remote[group]
        if group == autoregister.GROUP:
            return autoregister.MOST_PRIORITY
        return autoregister.CUSTOM_PRIORITY[0] if self.is_custom_group(group) else autoregister.priority(group, "v1")[0]

    def _forget_documents(self, changed: Resource) -> None:
        self.changes += 1
        stale = [key for key in self._documents if self._of_group.get(key, changed.group) == changed.group]
        for key in stale:
            del self._documents[key]
            self._encodings.pop(key, None)
        for key in [key for key, (group, _) in self._parts.items() if group == changed.group]:
            del self._parts[key]

    def part(self, key: Hashable, build: Callable[[], T], *, group: str) -> T:
        """A part of documents; cached until a resource of its group changes."""
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = (group, build())
            self.built += 1
        made: T = found[1]
        return made

    def has_document(self, key: Hashable) -> bool:
        """Whether a document is cached."""
        return key in self._documents

    def document(self, key: Hashable, build: Callable[[], Any], *, group: str | None = None) -> Document:
        """The document that `build` returns; cached until the resources change that it depends on.

        `group`: the document depends on the resources of a group only.
        """
        found = self._documents.get(key)
        if found is None:
            json = orjson.dumps(build())
            self.built += 1
            found = self._documents[key] = Document(json, hashlib.sha512(json).hexdigest().upper())
            if group is not None:
                self._of_group[key] = group
        return found

    def encoding(self, key: Hashable, encode: Callable[[], bytes]) -> bytes:
        """Another encoding of a document; cached as long as the document."""
        found = self._encodings.get(key)
        if found is None:
            found = self._encodings[key] = encode()
        return found


def builtin_resources(recorded: Mapping[str, Any]) -> list[Resource]:
    """The resources in a recorded aggregated discovery document."""
    found = []
    for group in [*recorded["core"], *recorded["groups"]]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            found += [_from_row(name, version["version"], row) for row in version["resources"]]
    return found


def _from_row(group: str, version: str, row: Mapping[str, Any]) -> Resource:
    plural, kind = row["resource"], row["responseKind"]["kind"]
    qualified = qualify(plural, group)
    return Resource(
        group=group,
        version=version,
        plural=plural,
        singular=row["singularResource"],
        kind=kind,
        list_kind=kind + "List",
        namespaced=row["scope"] == "Namespaced",
        verbs=frozenset(row["verbs"]),
        collection=SHARED_COLLECTIONS.get((group, plural), qualified),
        short_names=tuple(row.get("shortNames", ())),
        categories=tuple(row.get("categories", ())),
        subresources={
            sub["subresource"]: Subresource(
                name=sub["subresource"],
                kind=sub["responseKind"]["kind"],
                group=sub["responseKind"]["group"],
                version=sub["responseKind"]["version"],
                verbs=frozenset(sub["verbs"]),
            )
            for sub in row.get("subresources", ())
        },
    )
