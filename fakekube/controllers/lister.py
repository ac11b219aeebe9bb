"""Synchronous reads from the shared informers (client-go: listers and indexers)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib.cache import NAMESPACE_INDEX, Form, Indexer, Informers
from controllerlib.client import Selector


class StaleCache(Exception):
    """The informers have not seen a write yet, so that a reconcile would work with an old state."""


class CachedKind:
    """The objects of one kind in the shared informers. They are shared and must not be modified.

    Before the informer runs, there are none.
    """

    api_version: str
    kind: str

    def __init__(self, informers: Informers, api_version: str, kind: str, form: Form = "structured") -> None:
        self.api_version, self.kind = api_version, kind
        self._informers, self._form = informers, form
        self._store: Indexer | None = None

    def __repr__(self) -> str:
        return f"<CachedKind {self.api_version} {self.kind}>"

    @property
    def resource_version(self) -> str:
        """The latest resourceVersion that the store has seen; "" before the informer runs."""
        store = self._indexer()
        return "" if store is None else store.resource_version

    def get(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The object, or None. `namespace` is "" for cluster-scoped kinds."""
        store = self._indexer()
        return None if store is None else store.get_by_key(f"{namespace}/{name}" if namespace else name)

    def list(self, namespace: str = "", selector: Selector | None = None) -> Sequence[Mapping[str, Any]]:
        """The selected objects of a namespace ("": of all), in the order of their keys."""
        store = self._indexer()
        if store is None:
            return ()
        found: Sequence[Any] = store.by_index(NAMESPACE_INDEX, namespace) if namespace else store.list()
        if selector is None:
            return found
        return [obj for obj in found if selector.matches(obj["metadata"].get("labels"))]

    def by_index(self, index: str, value: str) -> Sequence[Mapping[str, Any]]:
        """The objects that an index has for `value`; see ControllerContext.index."""
        store = self._indexer()
        return () if store is None else store.by_index(index, value)

    def _indexer(self) -> Indexer | None:
        if self._store is None:
            informer = self._informers.find(self.api_version, self.kind, form=self._form)
            if informer is not None:
                self._store = informer.informers[""].indexer
        return self._store
