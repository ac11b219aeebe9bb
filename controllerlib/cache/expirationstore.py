"""ExpirationCache, UndeltaStore and the mutation detector (client-go: tools/cache)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from controllerlib.cache.store import Indexer, KeyFunc
from controllerlib.client.names import copy_json, deletion_handling_key


class TTLStore:
    """A store whose objects expire `ttl` seconds after they were stored; checked on reading (ExpirationCache)."""

    def __init__(self, ttl: float, *, key_func: KeyFunc = deletion_handling_key) -> None:
        """With a `ttl` of zero or less objects do not expire."""
        self._ttl = ttl
        self._store = Indexer(key_func)
        self._added: dict[str, float] = {}

    def add(self, obj: Any, now: float) -> None:
        """Store `obj` and reset its age."""
        self._added[self._store.key(obj)] = now
        self._store.add(obj)

    def update(self, obj: Any, now: float) -> None:
        """Store `obj` and reset its age."""
        self.add(obj, now)

    def delete(self, obj: Any) -> None:
        """Remove `obj`."""
        self._added.pop(self._store.key(obj), None)
        self._store.delete(obj)

    def replace(self, objs: Iterable[Any], version: str, now: float) -> None:
        """Replace the whole content."""
        self._store.replace(objs, version)
        self._added = dict.fromkeys(self._store.list_keys(), now)

    def get_by_key(self, key: str, now: float) -> Any:
        """Return the object or None; an expired object is removed."""
        if self._is_expired(key, now):
            self._drop(key)
        return self._store.get_by_key(key)

    def list(self, now: float) -> Sequence[Any]:
        """Return the objects that have not expired; expired ones are removed."""
        for key in [key for key in self._added if self._is_expired(key, now)]:
            self._drop(key)
        return self._store.list()

    def list_keys(self) -> Sequence[str]:
        """Return all keys, including those of expired objects."""
        return self._store.list_keys()

    def _is_expired(self, key: str, now: float) -> bool:
        return self._ttl > 0 and key in self._added and now - self._added[key] > self._ttl

    def _drop(self, key: str) -> None:
        del self._added[key]
        self._store.store.delete(key)


class UndeltaStore:
    """A store that pushes its whole content after every change (client-go: cache.UndeltaStore)."""

    get_by_key: Callable[[str], Any]
    list: Callable[[], Sequence[Any]]

    def __init__(self, push: Callable[[Sequence[Any]], None], key_func: KeyFunc = deletion_handling_key) -> None:
        self._store, self._push = Indexer(key_func), push
        self.get_by_key, self.list = self._store.get_by_key, self._store.list

    def add(self, obj: Any) -> None:
        """Store `obj` and push."""
        self._store.add(obj)
        self._push(self._store.list())

    def update(self, obj: Any) -> None:
        """Store `obj` and push."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Remove `obj` and push."""
        self._store.delete(obj)
        self._push(self._store.list())

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Replace the whole content and push."""
        self._store.replace(objs, version)
        self._push(self._store.list())


class Mutated(Exception):
    """A shared object was modified in place."""

    key: str
    before: Any
    after: Any

    def __init__(self, key: str, before: Any, after: Any) -> None:
        super().__init__(f"cache *modified*: {key} was changed in place: {before!r} became {after!r}")
        self.key, self.before, self.after = key, before, after


class MutationDetector:
    """Detects in-place modifications of shared objects, by copies of them (client-go: CacheMutationDetector).

    Objects are checked for one to two times `rotation` seconds after they were added.
    """

    def __init__(self, rotation: float = 120.0) -> None:
        self._rotation, self._rotated = rotation, 0.0
        self._watched: list[tuple[str, Any, Any]] = []
        self._retired: list[tuple[str, Any, Any]] = []

    def add(self, obj: Any) -> None:
        """Check `obj` from now on."""
        self._watched.append((deletion_handling_key(obj), obj, copy_json(obj)))

    def check(self, now: float) -> None:
        """Raise Mutated for the first object that was modified."""
        for key, obj, copy in (*self._retired, *self._watched):
            if obj != copy:
                raise Mutated(key, copy, obj)
        if now - self._rotated > self._rotation:
            self._retired, self._watched, self._rotated = self._watched, [], now
