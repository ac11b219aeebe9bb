"""Discovery documents: groups, versions and resources (`/api`, `/apis`, ..., aggregated discovery)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from fakekube.apiserver.catalog import Catalog
from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Object, Resource, Subresource

#: Resources that are not stored.
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


def api_versions(catalog: Catalog, server_address: str) -> Object:
    """`/api`: the versions of the core group."""
    return {
        "kind": "APIVersions",
        "versions": catalog.versions(""),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def api_group_list(catalog: Catalog) -> Object:
    """`/apis`: every named group."""
    groups = [_group(catalog, name) for name in catalog.group_names()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(catalog: Catalog, group: str) -> Object | None:
    """`/apis/GROUP`."""
    if not group or not catalog.shown_versions(group):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalog, group)}


def api_resource_list(catalog: Catalog, group: str, version: str) -> Object | None:
    """`/api/v1`, `/apis/GROUP/VERSION`: the resources, each followed by its subresources."""
    if not catalog.serves_version(group, version):
        return None
    rows: list[Object] = []
    found = [r for r in catalog.resources() if (r.group, r.version) == (group, version)]
    for resource in sorted(found, key=lambda r: r.plural) if not catalog.is_custom_group(group) else found:
        rows.append(_resource_row(resource))
        rows += [_subresource_row(resource, sub) for sub in resource.subresources.values()]
    api_version = f"{group}/{version}" if group else version
    document: Object = {"kind": "APIResourceList", "groupVersion": api_version, "resources": rows}
    if group:
        document["apiVersion"] = "v1"
    return document


def aggregated(catalog: Catalog, groups: Iterable[str], api_version: str = "apidiscovery.k8s.io/v2") -> Object:
    """Aggregated discovery of these groups (APIGroupDiscoveryList)."""
    items = [_aggregated_group(catalog, group) for group in groups if catalog.shown_versions(group)]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def _group(catalog: Catalog, group: str) -> Object:
    versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in catalog.shown_versions(group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _aggregated_group(catalog: Catalog, group: str) -> Object:
    versions = []
    for version in catalog.shown_versions(group):
        remote = catalog.remote(group, version)
        if remote is not None:
            known = {} if not remote.resources else {"resources": list(remote.resources)}
            versions.append({"version": version, **known, "freshness": "Current" if remote.fresh else "Stale"})
            continue
        found = [r for r in catalog.resources() if (r.group, r.version) == (group, version)]
        rows = [_aggregated_row(resource) for resource in sorted(found, key=lambda r: r.plural)]
        versions.append({"version": version, "resources": rows, "freshness": "Current"})
    unset = {} if since(34) else {"creationTimestamp": None}
    return {"metadata": {**({"name": group} if group else {}), **unset}, "versions": versions}


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
        group, version = stored_in(resource)
        if version:
            row["storageVersionHash"] = storage_version_hash(group, version, resource.kind)
    return row


def _subresource_row(resource: Resource, sub: Subresource) -> Object:
    row: Object = {"name": f"{resource.plural}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
    if sub.version and (sub.group, sub.version) != (resource.group, resource.version):
        row |= {"group": sub.group, "version": sub.version}
    return row | {"kind": sub.kind, "verbs": sorted(sub.verbs)}


def _verbs(resource: Resource) -> list[str]:
    return list(resource.listed_verbs) or sorted(resource.verbs)


def _response_kind(resource: Resource, kind: str, group: str = "", version: str = "") -> Object:
    """The group, version and kind of responses; built-in kinds of the list's group and version leave both empty."""
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


#: Resource -> the group and version in which kube-apiserver stores it, if another one.
_STORED_IN = {
    "events.events.k8s.io": ("", "v1"),
    "horizontalpodautoscalers.autoscaling": ("autoscaling", "v2"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": ("admissionregistration.k8s.io", "v1beta1"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": ("admissionregistration.k8s.io", "v1beta1"),
    "customresourcedefinitions.apiextensions.k8s.io": ("apiextensions.k8s.io", "v1beta1"),
}


def stored_in(resource: Resource) -> tuple[str, str]:
    """The group and version in which a resource is stored; no version if the stored version is not served."""
    if resource.stored_version is not None:
        return resource.group, resource.stored_version
    return _STORED_IN.get(resource.qualified, (resource.group, resource.version))


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """The hash from which a client detects a change of the storage version (`discovery.StorageVersionHash`)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
