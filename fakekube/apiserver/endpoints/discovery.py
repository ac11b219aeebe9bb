"""Which resources exist: a catalog to look them up in, and the documents that tell clients (`/api`, `/apis`, ...).

The built-in rows are data, recorded from a real server (`fakekube/data`); custom kinds come and go with their
CustomResourceDefinitions.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from fakekube.apiserver.resource import Resource, Subresource, qualify, version_priority

Object = dict[str, Any]

#: Two groups, one kind, one collection: what is written as one can be read as the other.
SHARED_COLLECTIONS = {("events.k8s.io", "events"): "events"}

#: Kinds that nobody stores: a request is answered by what the server knows.
UNSTORED = frozenset(
    {
        "bindings",
        "componentstatuses",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "selfsubjectreviews.authentication.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        "tokenreviews.authentication.k8s.io",
    }
)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as JSON, and its hash: what an ETag says."""

    json: bytes
    hash: str


class Catalog:
    """The resources that are served now.

    `find` is by (group, version, plural); `groups` keeps the order in which the real server lists them.
    """

    def __init__(self, builtin: Iterable[Resource] = ()) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self._groups: dict[str, list[str]] = {}
        self._builtin_groups: frozenset[str] = frozenset()
        self._documents: dict[Hashable, Document] = {}
        self._encodings: dict[Hashable, bytes] = {}
        builtin = tuple(builtin)
        self._builtin_groups = frozenset(resource.group for resource in builtin)
        for resource in builtin:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve `resource` from now on (replacing one of the same group, version and plural)."""
        self._resources[(resource.group, resource.version, resource.plural)] = resource
        versions = self._groups.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
            if resource.group not in self._builtin_groups:
                versions.sort(key=version_priority)
        self._documents.clear()
        self._encodings.clear()

    def remove(self, resource: Resource) -> None:
        """Serve it no longer; a version and a group that are empty go with it."""
        self._resources.pop((resource.group, resource.version, resource.plural), None)
        if not any(key[:2] == (resource.group, resource.version) for key in self._resources):
            versions = self._groups.get(resource.group, [])
            if resource.version in versions:
                versions.remove(resource.version)
            if not versions:
                self._groups.pop(resource.group, None)
        self._documents.clear()
        self._encodings.clear()

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of an object's apiVersion and kind, where one is served."""
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

    def api_versions(self, server_address: str) -> Object:
        """`/api`: the versions of the group that has no name."""
        return {
            "kind": "APIVersions",
            "versions": self.versions(""),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
        }

    def api_group_list(self) -> Object:
        """`/apis`: every named group."""
        groups = [self._group(name) for name in self.group_names()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def api_group(self, group: str) -> Object | None:
        """`/apis/GROUP`."""
        if not group or group not in self._groups:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}

    def _group(self, group: str) -> Object:
        versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in self._groups[group]]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def api_resource_list(self, group: str, version: str) -> Object | None:
        """`/api/v1`, `/apis/GROUP/VERSION`: each resource, and after it its subresources."""
        if not self.serves_version(group, version):
            return None
        rows: list[Object] = []
        found = [r for r in self._resources.values() if (r.group, r.version) == (group, version)]
        for resource in sorted(found, key=lambda r: r.plural) if group in self._builtin_groups else found:
            rows.append(_resource_row(resource))
            rows += [_subresource_row(resource, sub) for sub in resource.subresources.values()]
        api_version = f"{group}/{version}" if group else version
        document: Object = {"kind": "APIResourceList", "groupVersion": api_version, "resources": rows}
        if group:
            document["apiVersion"] = "v1"
        return document

    def aggregated(self, groups: Iterable[str], api_version: str = "apidiscovery.k8s.io/v2") -> Object:
        """Aggregated discovery of these groups (APIGroupDiscoveryList)."""
        items = [self._aggregated_group(group) for group in groups if group in self._groups]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}

    def group_names(self) -> list[str]:
        """The named groups: the built-in ones in the real server's order, then the custom ones by name."""
        custom = sorted(name for name in self._groups if self.is_custom_group(name))
        return [name for name in self._groups if name and name not in custom] + custom

    def document(self, key: Hashable, build: Callable[[], Any]) -> Document:
        """What `build` makes; kept, as text and with its hash, until another resource is served."""
        found = self._documents.get(key)
        if found is None:
            json = orjson.dumps(build())
            found = self._documents[key] = Document(json, hashlib.sha512(json).hexdigest().upper())
        return found

    def encoding(self, key: Hashable, encode: Callable[[], bytes]) -> bytes:
        """Another form of a document; kept as long."""
        found = self._encodings.get(key)
        if found is None:
            found = self._encodings[key] = encode()
        return found

    def _aggregated_group(self, group: str) -> Object:
        versions = []
        for version in self._groups[group]:
            found = [r for r in self._resources.values() if (r.group, r.version) == (group, version)]
            rows = [_aggregated_row(resource) for resource in sorted(found, key=lambda r: r.plural)]
            versions.append({"version": version, "resources": rows, "freshness": "Current"})
        return {"metadata": {"name": group} if group else {}, "versions": versions}


def _resource_row(resource: Resource) -> Object:
    row: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if "list" in resource.verbs and resource.qualified not in UNSTORED:
        row["storageVersionHash"] = storage_version_hash(resource.group, resource.version, resource.kind)
    return row


def _subresource_row(resource: Resource, sub: Subresource) -> Object:
    row: Object = {"name": f"{resource.plural}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
    if sub.version and (sub.group, sub.version) != (resource.group, resource.version):
        row |= {"group": sub.group, "version": sub.version}
    return row | {"kind": sub.kind, "verbs": sorted(sub.verbs)}


def _verbs(resource: Resource) -> list[str]:
    return list(resource.listed_verbs) or sorted(resource.verbs)


def _response_kind(resource: Resource, kind: str, group: str = "", version: str = "") -> Object:
    """A built-in kind of the list's own group and version names neither."""
    if resource.names_group and not version:
        group, version = resource.group, resource.version
    return {"group": group, "version": version, "kind": kind}


def _aggregated_row(resource: Resource) -> Object:
    row: Object = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.subresources:
        row["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(resource, sub.kind, sub.group, sub.version),
                "verbs": sorted(sub.verbs),
            }
            for sub in resource.subresources.values()
        ]
    return row


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """What a client may compare to see that the stored version changed (`discovery.StorageVersionHash`)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def builtin_resources(recorded: Mapping[str, Any]) -> list[Resource]:
    """The resources of a recorded aggregated discovery."""
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
