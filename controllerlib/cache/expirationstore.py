"""Stores with a twist: one whose objects expire, one that tells its whole content (client-go: tools/cache)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from controllerlib.cache.store import Indexer, KeyFunc
from controllerlib.client.names import copy_json, deletion_handling_key


class TTLStore:
    """Objects older than `ttl` seconds are gone; they are looked for when read (ExpirationCache)."""

    def __init__(self, ttl: float, *, key_func: KeyFunc = deletion_handling_key) -> None:
        """A `ttl` of zero or less never expires."""
        self._ttl = ttl
        self._store = Indexer(key_func)
        self._added: dict[str, float] = {}

    def add(self, obj: Any, now: float) -> None:
        """Store `obj`; its age begins anew."""
        self._added[self._store.key(obj)] = now
        self._store.add(obj)

    def update(self, obj: Any, now: float) -> None:
        """The same as `add`."""
        self.add(obj, now)

    def delete(self, obj: Any) -> None:
        """Remove `obj`."""
        self._added.pop(self._store.key(obj), None)
        self._store.delete(obj)

    def replace(self, objs: Iterable[Any], version: str, now: float) -> None:
        """Hold exactly `objs`."""
        self._store.replace(objs, version)
        self._added = dict.fromkeys(self._store.list_keys(), now)

    def get_by_key(self, key: str, now: float) -> Any:
        """The object, or None; an expired one is removed."""
        if self._is_expired(key, now):
            self._drop(key)
        return self._store.get_by_key(key)

    def list(self, now: float) -> Sequence[Any]:
        """All objects that have not expired; the others are removed."""
        for key in [key for key in self._added if self._is_expired(key, now)]:
            self._drop(key)
        return self._store.list()

    def list_keys(self) -> Sequence[str]:
        """All keys, those of expired objects too."""
        return self._store.list_keys()

    def _is_expired(self, key: str, now: float) -> bool:
        return self._ttl > 0 and key in self._added and now - self._added[key] > self._ttl

    def _drop(self, key: str) -> None:
        del self._added[key]
        self._store.store.delete(key)


class UndeltaStore:
    """Pushes its whole content after every change (client-go: cache.UndeltaStore)."""

    get_by_key: Callable[[str], Any]
    list: Callable[[], Sequence[Any]]

    def __init__(self, push: Callable[[Sequence[Any]], None], key_func: KeyFunc = deletion_handling_key) -> None:
        self._store, self._push = Indexer(key_func), push
        self.get_by_key, self.list = self._store.get_by_key, self._store.list

    def add(self, obj: Any) -> None:
        """Store `obj` and tell."""
        self._store.add(obj)
        self._push(self._store.list())

    def update(self, obj: Any) -> None:
        """Store `obj` and tell."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Remove `obj` and tell."""
        self._store.delete(obj)
        self._push(self._store.list())

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Hold exactly `objs` and tell."""
        self._store.replace(objs, version)
        self._push(self._store.list())


class Mutated(Exception):
    """An object that is shared was changed in place."""

    key: str
    before: Any
    after: Any

    def __init__(self, key: str, before: Any, after: Any) -> None:
        super().__init__(f"cache *modified*: {key} was changed in place: {before!r} became {after!r}")
        self.key, self.before, self.after = key, before, after


class MutationDetector:
    """Remembers copies of shared objects and says when one was changed in place (CacheMutationDetector).

    Keeps what was added in the last one to two `rotation`s (seconds).
    """

    def __init__(self, rotation: float = 120.0) -> None:
        self._rotation, self._rotated = rotation, 0.0
        self._watched: list[tuple[str, Any, Any]] = []
        self._retired: list[tuple[str, Any, Any]] = []

    def add(self, obj: Any) -> None:
        """Watch `obj` from now on."""
        self._watched.append((deletion_handling_key(obj), obj, copy_json(obj)))

    def check(self, now: float) -> None:
        """Raise Mutated for the first object that differs from what it was."""
        for key, obj, copy in (*self._retired, *self._watched):
            if obj != copy:
                raise Mutated(key, copy, obj)
        if now - self._rotated > self._rotation:
            self._retired, self._watched, self._rotated = self._watched, [], now
