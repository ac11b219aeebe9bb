"""Detects objects of an operator's cache that the operator has modified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from controllerlib.controller import Outcome
from fakekube.apiserver.resource import Resource
from fakekube.harness.detectors.detector import Doing, Observed, Scene, shown_path, version_of

#: Fields that are added to the objects of a list.
_TYPE = ("apiVersion", "kind")


class CacheMutations:
    """Compares cached objects with what the server stores at their resourceVersion.

    After each reconcile those with its key, at the end all. Metadata and transformed objects are not compared.
    """

    names = ("cache-mutation",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._reported: set[tuple[str, str]] = set()

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        for resource, store in self._stores(doing.operator):
            obj = store.get_by_key(doing.key)
            if obj is not None:
                self._check(resource, doing.key, obj, str(doing))

    def finish(self) -> None:
        for operator in self._scene.operators:
            for resource, store in self._stores(operator):
                for obj in store.list():
                    self._check(resource, store.key(obj), obj, operator.name or "a reconcile, handler or predicate")

    def _stores(self, operator: Observed) -> Iterator[tuple[Resource, Any]]:
        """The resource and the indexer of each informer whose objects are stored as the server sent them."""
        if operator.manager is None:
            return
        catalog = self._scene.runner.apiserver.catalog
        for informer in operator.manager.cache.informers.all():
            found = informer.resource
            resource = catalog.find_kind(found.api_version, found.kind)
            if informer.form == "metadata" or resource is None:
                continue
            for held, shared in informer.informers.items():
                if informer.selections[held].transform is None:
                    yield resource, shared.indexer

    def _check(self, resource: Resource, key: str, obj: Any, who: str) -> None:
        version = version_of(obj)
        if not version.isdigit() or (resource.collection, key) in self._reported:
            return
        entry = self._scene.store.collection(resource.collection).live.get(key)
        if entry is None or str(entry.revision) != version:
            entry = self._scene.store.collection(resource.collection).at(key, int(version))
            if entry is None or str(entry.revision) != version:
                return  # compacted
        if _same(obj, entry.object):
            return
        view = self._scene.runner.apiserver.registration(resource).view
        difference = first_difference(orjson.loads(view.encode(entry)), obj)
        if difference is not None:
            self._reported.add((resource.collection, key))
            path, stored, cached = difference
            self._scene.report(
                "cache-mutation",
                f"{who} has modified the cached {resource.kind} {key}: {shown_path(path)} is {cached!r} in the cache "
                f"and {stored!r} in the cluster at resourceVersion {version}; copy an object before you change it",
            )


def _same(obj: Any, stored: Any) -> bool:
    return all(stored.get(key) == value for key, value in obj.items() if key not in _TYPE) and all(
        key in obj for key in stored
    )


def first_difference(
    stored: Any, cached: Any, path: tuple[str | int, ...] = ()
) -> tuple[tuple[str | int, ...], Any, Any] | None:
    """The path of the first difference, with the values there (None: absent)."""
    if isinstance(stored, dict) and isinstance(cached, dict):
        for key in dict.fromkeys([*stored, *cached]):
            if not path and key in _TYPE:
                continue
            found = first_difference(stored.get(key), cached.get(key), (*path, key))
            if found is not None:
                return found
        return None
    if isinstance(stored, list) and isinstance(cached, list) and len(stored) == len(cached):
        for number, (one, other) in enumerate(zip(stored, cached, strict=True)):
            found = first_difference(one, other, (*path, number))
            if found is not None:
                return found
        return None
    return None if stored == cached else (path, stored, cached)
