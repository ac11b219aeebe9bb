"""Selects the stored objects of a cluster that a test is interested in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from fakekube.apiserver.apiserver import ApiServer
from fakekube.apiserver.registry.apiregistration import autoregister
from fakekube.apiserver.registry.core.service.allocation import ADDRESSES
from fakekube.apiserver.registry.registration import Registration
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Entry
from fakekube.server.manifests import no_kind

Object = dict[str, Any]

#: Collections that are selected only by name: what the server or a client records, and nothing depends on.
_RECORDS = frozenset({"events", "leases.coordination.k8s.io", "componentstatuses"})

#: Collections whose objects the server creates for others.
_DERIVED = frozenset({ADDRESSES, autoregister.COLLECTION})

#: These kinds come first, as others need them.
_FIRST = {"namespaces": 0, "customresourcedefinitions.apiextensions.k8s.io": 1}


class Scope(NamedTuple):
    """Which objects: of these kinds (None: all), in a namespace (None: in all, and cluster-scoped ones).

    `since`: objects that have not changed after this revision, the initial ones, are left out.
    """

    kinds: Sequence[str] | None
    namespace: str | None
    since: int


def check(caller: str, kinds: object, namespace: object) -> None:
    """Raises TypeError naming the argument."""
    if isinstance(kinds, str) or not (kinds is None or isinstance(kinds, Sequence)):
        raise TypeError(f"{caller}(kinds={kinds!r}): pass a list of kinds, like ['Deployment', 'v1 ConfigMap']")
    for kind in kinds or ():
        if not isinstance(kind, str):
            raise TypeError(f"{caller}(kinds={kinds!r}): each is text, like 'Deployment' or 'v1 ConfigMap'")
    if not isinstance(namespace, str | None):
        raise TypeError(f"{caller}(namespace={namespace!r}): pass the name of a namespace, or None for all")


def objects(server: ApiServer, scope: Scope) -> Iterator[Object]:
    """Copies of the selected objects: namespaces and definitions first, then by the order of the catalog and name.

    Raises LookupError for a kind that is not served.
    """
    for resource in _resources(server, scope.kinds):
        prefix = f"{scope.namespace}/" if scope.namespace and resource.namespaced else ""
        for path, entry in server.store.collection(resource.collection).scan(prefix, "", None):
            if _is_selected(resource, path, entry, scope):
                obj: Object = orjson.loads(_readable(server, resource, entry).view.encode(entry))
                yield obj


def _readable(server: ApiServer, resource: Resource, entry: Entry) -> Registration:
    """The registration that shows an entry: that of its stored version if a webhook would have to convert it."""
    found = server.registration(resource)
    if found.version is not None and found.version.converts and entry.version != resource.version:
        stored = server.catalog.find(resource.group, entry.version, resource.plural)
        return server.registration(stored) if stored is not None else found
    return found


def _is_selected(resource: Resource, path: str, entry: Entry, scope: Scope) -> bool:
    elsewhere = scope.namespace and not resource.namespaced and scope.kinds is None
    if elsewhere and (resource.collection != "namespaces" or path != scope.namespace):
        return False
    return entry.revision > scope.since


def _resources(server: ApiServer, kinds: Sequence[str] | None) -> list[Resource]:
    served = [one for one in server.catalog.resources() if "list" in one.verbs]
    if kinds is not None:
        found = [one for kind in kinds for one in _named(served, kind)]
    else:
        found = [one for one in served if one.collection not in _RECORDS | _DERIVED]
    preferred: dict[str, Resource] = {}
    for one in found:
        known = preferred.get(one.collection)
        if known is None or _rank(server, one) < _rank(server, known):
            preferred[one.collection] = one
    return sorted(preferred.values(), key=lambda one: _FIRST.get(one.collection, 2))


def _rank(server: ApiServer, resource: Resource) -> int:
    """The position of a version among those of its group; a shared collection belongs to the core group."""
    versions = server.catalog.versions(resource.group)
    return versions.index(resource.version) + (1000 if resource.group and resource.collection == resource.plural else 0)


def _named(served: list[Resource], text: str) -> list[Resource]:
    """The resources of `Kind` or `apiVersion Kind`."""
    api_version, _, kind = text.strip().rpartition(" ")
    found = [one for one in served if one.kind == kind and api_version in ("", one.api_version)]
    if not found:
        raise LookupError(no_kind(api_version or "any apiVersion", kind, served))
    return found
