"""Listers: reads from an informer's store by name, namespace and label (client-go: tools/cache/listers.go)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllerlib.cache.store import NAMESPACE_INDEX, Indexer, UnknownIndex
from controllerlib.client.errors import not_found
from controllerlib.client.names import Object
from controllerlib.client.selector import EVERYTHING, Selector, parse_selector

_log = logging.getLogger(__name__)

Found = Callable[[Object], None]


def list_all(store: Indexer, selector: Selector, found: Found) -> None:
    """Call `found` with every selected object."""
    if selector.nothing:
        return
    for obj in store.list():
        if selector.is_everything or selector.matches(obj["metadata"].get("labels")):
            found(obj)


def list_all_by_namespace(store: Indexer, namespace: str, selector: Selector, found: Found) -> None:
    """As `list_all` for one namespace ("": all), using the namespace index if there is one."""
    if not namespace:
        list_all(store, selector, found)
        return
    if selector.nothing:
        return
    try:
        objs: Sequence[Any] = store.by_index(NAMESPACE_INDEX, namespace)
    except UnknownIndex as error:
        _log.warning("no namespace index, scanning all objects", extra={"error": str(error)})
        objs = [obj for obj in store.list() if obj["metadata"].get("namespace") == namespace]
    for obj in objs:
        if selector.is_everything or selector.matches(obj["metadata"].get("labels")):
            found(obj)


class Lister:
    """Reads one resource from an informer's store. The objects are shared and must not be modified.

    Source: client-go, cache.GenericLister.
    """

    def __init__(self, store: Indexer, resource: str, namespace: str = "") -> None:
        """`resource` is the name in messages: "pods" or "jobs.batch"."""
        self._store, self._resource, self._namespace = store, resource, namespace

    def by_namespace(self, namespace: str) -> "Lister":
        """Return a lister of one namespace."""
        return Lister(self._store, self._resource, namespace)

    def get(self, name: str) -> Mapping[str, Any]:
        """Return the object; raises ApiError with reason NotFound."""
        key = f"{self._namespace}/{name}" if self._namespace else name
        obj: Mapping[str, Any] | None = self._store.get_by_key(key)
        if obj is None:
            raise not_found(self._resource, name)
        return obj

    def list(self, selector: Selector | str = EVERYTHING) -> Sequence[Mapping[str, Any]]:
        """Return the selected objects in key order."""
        found: list[Object] = []
        wanted = parse_selector(selector) if isinstance(selector, str) else selector
        list_all_by_namespace(self._store, self._namespace, wanted, found.append)
        return found
