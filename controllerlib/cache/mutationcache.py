"""A cache of own writes that the store has not received yet (client-go: tools/cache/mutation_cache.go).

This is the only module that compares resourceVersions as numbers, as client-go does.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controllerlib.cache.store import Indexer
from controllerlib.client.names import deletion_handling_key, resource_version


@dataclass(frozen=True, slots=True)
class _Write:
    obj: Mapping[str, Any]
    at: float
    deleted: bool = False


def _number(obj: Any) -> int:
    version = resource_version(obj)
    return int(version) if version.isdigit() else 0


class MutationCache:
    """Returns the newer of the stored object and the last own write; keeps at most `size` writes for `ttl` seconds
    each.

    Source: client-go, cache.MutationCache.
    """

    def __init__(self, store: Indexer, *, ttl: float = 300.0, size: int = 100, include_adds: bool = False) -> None:
        """`include_adds`: also return own writes of objects that the store does not have."""
        self._store, self._ttl, self._size, self._include_adds = store, ttl, size, include_adds
        self._writes: OrderedDict[str, _Write] = OrderedDict()

    def mutation(self, obj: Mapping[str, Any], now: float) -> None:
        """Record an own write; ignored if the deletion of that object was received."""
        key = deletion_handling_key(obj)
        known = self._find(key, now)
        if known is not None and known.deleted:
            same = known.obj["metadata"].get("uid") == obj["metadata"].get("uid")
            if same or _number(obj) <= _number(known.obj):
                return
        self._put(key, _Write(obj, now))

    def get(self, key: str, now: float) -> Mapping[str, Any] | None:
        """Return the newest known state, or None."""
        stored = self._store.get_by_key(key)
        own = self._find(key, now)
        if own is not None and own.deleted:
            own = None
        if stored is None:
            return own.obj if own is not None and self._include_adds else None
        if own is None:
            return stored  # type: ignore[no-any-return]
        if _number(own.obj) <= _number(stored):
            del self._writes[key]
            return stored  # type: ignore[no-any-return]
        return own.obj

    def on_add_or_update(self, obj: Mapping[str, Any]) -> None:
        """Drop own writes up to `obj`, because the store has received it."""
        key = deletion_handling_key(obj)
        own = self._writes.get(key)
        if own is not None and _number(own.obj) <= _number(obj):
            del self._writes[key]

    def on_delete(self, obj: Mapping[str, Any], now: float) -> None:
        """Record the deletion of `obj`, so that a write recorded later does not restore it."""
        self._put(deletion_handling_key(obj), _Write(obj, now, deleted=True))

    def _find(self, key: str, now: float) -> _Write | None:
        own = self._writes.get(key)
        if own is not None and now - own.at > self._ttl:
            del self._writes[key]
            return None
        return own

    def _put(self, key: str, write: _Write) -> None:
        self._writes[key] = write
        self._writes.move_to_end(key)
        if len(self._writes) > self._size:
            self._writes.popitem(last=False)
