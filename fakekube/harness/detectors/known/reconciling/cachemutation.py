"""Detects objects of an operator's cache that the operator has modified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from controllerlib.cache import CacheInformer, Indexer
from controllerlib.controller import Outcome
from fakekube.apiserver.resource import Resource
from fakekube.harness.detectors.detector import Doing, Observed, Scene, shown_path, shown_value
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.texts.places import defined_at
from fakekube.harness.records.reconciles import version_of

Compared = tuple[Resource, Indexer]

#: Fields that are added to the objects of a list.
_TYPE = ("apiVersion", "kind")


class CacheMutations:
    """Compares cached objects with what the server stores at their resourceVersion.

    Those with the key of a reconcile, after it has made requests, and after the first, second, fourth, eighth one and
    so on that has made none; at the end all. Metadata and transformed objects are not compared.
    """

    levels: Mapping[str, Level] = {"cache-mutation": "error"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._reported: set[tuple[str, str]] = set()
        #: how many reconciles of each key have made no request
        self._idle: dict[tuple[int, str, str], int] = {}
        #: by the identity of the operator: the number of its informers, and what `_compared` returns for them
        self._known: dict[int, tuple[int, Sequence[Compared]]] = {}

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        if not doing.has_asked:
            times = self._idle[doing.who] = self._idle.get(doing.who, 0) + 1
            if times & (times - 1):
                return
        key = doing.key
        for resource, store in self._compared(doing.operator):
            obj = store.get_by_key(key)
            if obj is not None:
                self._check(resource, key, obj, doing)

    def finish(self) -> None:
        for operator in self._scene.operators:
            for resource, store in self._compared(operator):
                for key in store.list_keys():
                    self._check(
                        resource, key, store.get_by_key(key), operator.name or "a reconcile, handler or predicate"
                    )

    def _compared(self, operator: Observed) -> Sequence[Compared]:
        """The resource and the indexer of each informer whose objects are stored as the server sent them."""
        if operator.manager is None:
            return ()
        informers = operator.manager.cache.informers.all()
        known = self._known.get(id(operator))
        if known is not None and known[0] == len(informers):
            return known[1]
        found = [one for informer in informers for one in self._stores(informer)]
        self._known[id(operator)] = (len(informers), found)
        return found

    def _stores(self, informer: CacheInformer) -> Iterator[Compared]:
        catalog, of = self._scene.runner.apiserver.catalog, informer.resource
        resource = catalog.find_kind(of.api_version, of.kind)
        if informer.form == "metadata" or resource is None:
            return
        for held, shared in informer.informers.items():
            if informer.selections[held].transform is None:
                yield resource, shared.indexer

    def retire(self) -> None:
        self._known.clear()

    def _check(self, resource: Resource, key: str, obj: Any, who: object) -> None:
        version = version_of(obj)
        if not version:
            self._report_missing_version(resource, key, who)
        if not version.isdigit():
            return
        revision, collection = int(version), self._scene.store.collection(resource.collection)
        entry = collection.live.get(key)
        if entry is None or entry.revision != revision:
            entry = collection.at(key, revision)
            if entry is None or entry.revision != revision:
                return  # compacted
        if orjson.dumps(obj).endswith(entry.json[1:]) or (resource.collection, key) in self._reported:
            return  # the encoded object begins with its apiVersion and kind
        view = self._scene.runner.apiserver.registration(resource).view
        difference = first_difference(orjson.loads(view.encode(entry)), obj)
        if difference is not None:
            self._reported.add((resource.collection, key))
            path, stored, cached = difference
            self._scene.report(
                "cache-mutation",
                f"{_by(who)} has modified the cached {resource.kind} {key}: {shown_path(path)} is "
                f"{shown_value(cached)} in the cache and {shown_value(stored)} in the cluster at resourceVersion "
                f"{version}; copy it before you change it",
            )

    def _report_missing_version(self, resource: Resource, key: str, who: object) -> None:
        """The server sends every stored object with a resourceVersion."""
        place = (resource.collection, key)
        if place not in self._reported and key in self._scene.store.collection(resource.collection).live:
            self._reported.add(place)
            self._scene.report(
                "cache-mutation",
                f"{_by(who)} has modified the cached {resource.kind} {key}: .metadata.resourceVersion is missing in "
                "the cache; copy it before you change it",
            )


def _by(who: object) -> str:
    if isinstance(who, Doing):
        return f"{who}{defined_at(who.reconciler)}, or a handler or predicate before it,"
    return str(who)


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


DETECTORS = (CacheMutations,)
