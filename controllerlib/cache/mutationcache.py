"""One's own writes, until the store has seen them (client-go: tools/cache/mutation_cache.go).

The only place that compares resourceVersions as numbers, as client-go does.
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
    """The newer of the store's object and of one's own last write. At most `size` writes, each for `ttl` seconds.

    Source: client-go, cache.MutationCache.
    """

    def __init__(self, store: Indexer, *, ttl: float = 300.0, size: int = 100, include_adds: bool = False) -> None:
        """`include_adds`: answer with own writes also while the store does not have the object."""
        self._store, self._ttl, self._size, self._include_adds = store, ttl, size, include_adds
        self._writes: OrderedDict[str, _Write] = OrderedDict()

    def mutation(self, obj: Mapping[str, Any], now: float) -> None:
        """Note one's own write; ignored when that very object was seen to be deleted."""
        key = deletion_handling_key(obj)
        known = self._find(key, now)
        if known is not None and known.deleted:
            same = known.obj["metadata"].get("uid") == obj["metadata"].get("uid")
            if same or _number(obj) <= _number(known.obj):
                return
        self._put(key, _Write(obj, now))

    def get(self, key: str, now: float) -> Mapping[str, Any] | None:
        """The newest state known, or None."""
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
        """The store has seen `obj`: own writes up to it are of no use any more."""
        key = deletion_handling_key(obj)
        own = self._writes.get(key)
        if own is not None and _number(own.obj) <= _number(obj):
            del self._writes[key]

    def on_delete(self, obj: Mapping[str, Any], now: float) -> None:
        """The store has seen the end of `obj`: late notes of writes to it must not bring it back."""
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
