"""Reading from an informer's store by name, namespace and label (client-go: tools/cache/listers.go)."""

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
    """Call `found` with every selected object; labels are not looked at when all or nothing is selected."""
    if selector.nothing:
        return
    for obj in store.list():
        if selector.is_everything or selector.matches(obj["metadata"].get("labels")):
            found(obj)


def list_all_by_namespace(store: Indexer, namespace: str, selector: Selector, found: Found) -> None:
    """As `list_all` in one namespace ("": all): by the namespace index, or by looking at everything."""
    if not namespace:
        list_all(store, selector, found)
        return
    if selector.nothing:
        return
    try:
        objs: Sequence[Any] = store.by_index(NAMESPACE_INDEX, namespace)
    except UnknownIndex as error:
        _log.warning("no namespace index, looking at every object", extra={"error": str(error)})
        objs = [obj for obj in store.list() if obj["metadata"].get("namespace") == namespace]
    for obj in objs:
        if selector.is_everything or selector.matches(obj["metadata"].get("labels")):
            found(obj)


class Lister:
    """What an informer knows of one resource. Objects are the cached ones: do not change them.

    Source: client-go, cache.GenericLister.
    """

    def __init__(self, store: Indexer, resource: str, namespace: str = "") -> None:
        """`resource`: as messages name it, "pods" or "jobs.batch"."""
        self._store, self._resource, self._namespace = store, resource, namespace

    def by_namespace(self, namespace: str) -> "Lister":
        """The objects of one namespace."""
        return Lister(self._store, self._resource, namespace)

    def get(self, name: str) -> Mapping[str, Any]:
        """The object; ApiError NotFound with resource and name."""
        key = f"{self._namespace}/{name}" if self._namespace else name
        obj: Mapping[str, Any] | None = self._store.get_by_key(key)
        if obj is None:
            raise not_found(self._resource, name)
        return obj

    def list(self, selector: Selector | str = EVERYTHING) -> Sequence[Mapping[str, Any]]:
        """The selected objects, in the order of their keys."""
        found: list[Object] = []
        wanted = parse_selector(selector) if isinstance(selector, str) else selector
        list_all_by_namespace(self._store, self._namespace, wanted, found.append)
        return found
