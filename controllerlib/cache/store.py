"""Stores and indices (client-go: tools/cache/store.go, thread_safe_store.go).

A store belongs to one event loop and needs no lock; threads may read, and see the state between two changes. Objects
are shared, not copied, and must not be modified. Unlike Go's maps, lists are in key order. An index remembers the
values of each stored object, so it stays correct if an object is modified nevertheless.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from controllerlib.client.names import KeyFailure, deletion_handling_key, key_with, resource_version

IndexFunc = Callable[[Any], Sequence[str]]
KeyFunc = Callable[[Any], str]
#: Returns the object to store instead; may raise. Must be idempotent, because initial objects may pass through it
#: twice.
TransformFunc = Callable[[Any], Any]

#: The name of the index by namespace (client-go: cache.NamespaceIndex).
NAMESPACE_INDEX = "namespace"


def meta_namespace_index(obj: Any) -> Sequence[str]:
    """Return the object's namespace ("" for cluster-scoped objects)."""
    return (obj["metadata"].get("namespace") or "",)


class UnknownIndex(LookupError):
    """There is no index of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Index with name {name} does not exist")


@dataclass(slots=True)
class _Index:
    values_of: IndexFunc
    #: The values under which each key is indexed.
    filed: dict[str, Sequence[str]] = field(default_factory=dict)
    keys: dict[str, dict[str, None]] = field(default_factory=dict)

    def file(self, key: str, values: Sequence[str]) -> None:
        before = self.filed.get(key, ())
        if before == values:
            return
        self.drop(key)
        self.filed[key] = values
        for value in values:
            self.keys.setdefault(value, {})[key] = None

    def drop(self, key: str) -> None:
        for value in self.filed.pop(key, ()):
            keys = self.keys.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self.keys[value]


class StoreOp(NamedTuple):
    """An operation of a transaction."""

    verb: Literal["add", "update", "delete"]
    obj: Any


class TransactionError(Exception):
    """Some operations of a transaction had no valid key; the others were applied."""

    successful: Sequence[int]
    total: int
    errors: Sequence[Exception]

    def __init__(self, successful: Sequence[int], total: int, errors: Sequence[Exception]) -> None:
        failed = total - len(successful)
        super().__init__(f"failed to execute ({failed}/{total}) transactions: {'; '.join(map(str, errors))}")
        self.successful, self.total, self.errors = successful, total, errors


class ThreadSafeStore:
    """Objects by key, with named indices, and the resourceVersion of the content.

    Source: client-go, cache.ThreadSafeStore.
    """

    resource_version: str

    def __init__(self, indexers: Mapping[str, IndexFunc] | None = None) -> None:
        self._items: dict[str, Any] = {}
        self._sorted: Sequence[str] | None = ()
        self._indices: dict[str, _Index] = {name: _Index(f) for name, f in (indexers or {}).items()}
        self.resource_version = ""

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def put(self, key: str, obj: Any) -> None:
        """Add or update an object. If an index function raises, nothing is changed."""
        if self._indices:
            filed = [(index, index.values_of(obj)) for index in self._indices.values()]
            for index, values in filed:
                index.file(key, values)
        if key not in self._items:
            self._sorted = None
        self._items[key] = obj
        if version := resource_version(obj):
            self.resource_version = version

    def delete(self, key: str, obj: Any = None) -> None:
        """Remove `key`; `obj`, if given, sets the resourceVersion."""
        if self._items.pop(key, None) is not None:
            self._sorted = None
        for index in self._indices.values():
            index.drop(key)
        if version := resource_version(obj):
            self.resource_version = version

    def replace(self, items: Mapping[str, Any], version: str) -> None:
        """Replace the whole content and rebuild the indices; `version` is stored even if it is ""."""
        fresh = {name: _Index(index.values_of) for name, index in self._indices.items()}
        for index in fresh.values():
            for key, obj in items.items():
                index.file(key, index.values_of(obj))
        self._items, self._indices, self._sorted = dict(items), fresh, None
        self.resource_version = version

    def bookmark(self, version: str) -> None:
        """Set the resourceVersion of the content."""
        self.resource_version = version

    def get(self, key: str) -> Any:
        """Return the object, or None."""
        return self._items.get(key)

    def list(self) -> Sequence[Any]:
        """Return all objects in key order."""
        items = self._items
        return [items[key] for key in self.list_keys()]

    def list_keys(self) -> Sequence[str]:
        """Return all keys, sorted."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self._items))
        return self._sorted

    def index(self, name: str, obj: Any) -> Sequence[Any]:
        """Return the objects that share a value of the index with `obj`; raises UnknownIndex."""
        index = self._index(name)
        keys: dict[str, None] = {}
        for value in index.values_of(obj):
            keys.update(index.keys.get(value, {}))
        return [self._items[key] for key in sorted(keys)]

    def by_index(self, name: str, value: str) -> Sequence[Any]:
        """Return the objects indexed under `value`; raises UnknownIndex."""
        return [self._items[key] for key in self.index_keys(name, value)]

    def index_keys(self, name: str, value: str) -> Sequence[str]:
        """Return the keys indexed under `value`, sorted; raises UnknownIndex."""
        return sorted(self._index(name).keys.get(value, ()))

    def list_index_values(self, name: str) -> Sequence[str]:
        """Return the values of the index that have objects; none for an unknown index."""
        index = self._indices.get(name)
        return sorted(index.keys) if index else []

    def indexers(self) -> Mapping[str, IndexFunc]:
        """Return the index functions by name."""
        return {name: index.values_of for name, index in self._indices.items()}

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Add indices of the existing objects; ValueError, and nothing added, if a name is in use."""
        if taken := sorted(set(indexers) & set(self._indices)):
            raise ValueError(f"indexer conflict: {', '.join(taken)}")
        fresh = {name: _Index(values_of) for name, values_of in indexers.items()}
        for index in fresh.values():
            for key, obj in self._items.items():
                index.file(key, index.values_of(obj))
        self._indices.update(fresh)

    def _index(self, name: str) -> _Index:
        try:
            return self._indices[name]
        except KeyError:
            raise UnknownIndex(name) from None


class Indexer:
    """A ThreadSafeStore with a key function; a tombstone has its own key (client-go: cache.Indexer).

    KeyFailure is raised if a key cannot be computed. `transform` is applied to added, updated and replaced objects,
    after their keys were computed.
    """

    get_by_key: Callable[[str], Any]
    list: Callable[[], Sequence[Any]]
    list_keys: Callable[[], Sequence[str]]
    index: Callable[[str, Any], Sequence[Any]]
    by_index: Callable[[str, str], Sequence[Any]]
    index_keys: Callable[[str, str], Sequence[str]]
    list_index_values: Callable[[str], Sequence[str]]
    indexers: Callable[[], Mapping[str, IndexFunc]]
    add_indexers: Callable[[Mapping[str, IndexFunc]], None]
    bookmark: Callable[[str], None]

    key_func: KeyFunc
    store: ThreadSafeStore

    def __init__(
        self,
        key_func: KeyFunc = deletion_handling_key,
        indexers: Mapping[str, IndexFunc] | None = None,
        *,
        transform: TransformFunc | None = None,
    ) -> None:
        self.key_func, self._transform = key_func, transform
        store = self.store = ThreadSafeStore(indexers)
        self.get_by_key = store.get
        self.list, self.list_keys = store.list, store.list_keys
        self.index, self.by_index, self.index_keys = store.index, store.by_index, store.index_keys
        self.list_index_values, self.indexers = store.list_index_values, store.indexers
        self.add_indexers, self.bookmark = store.add_indexers, store.bookmark

    def __repr__(self) -> str:
        return f"<Indexer objects={len(self.store)} rv={self.store.resource_version or '-'}>"

    def __len__(self) -> int:
        return len(self.store)

    @property
    def resource_version(self) -> str:
        """The resourceVersion of the content; "" initially."""
        return self.store.resource_version

    def key(self, obj: Any) -> str:
        """Return the key of `obj`; raises KeyFailure."""
        return key_with(self.key_func, obj)

    def add(self, obj: Any) -> None:
        """Store `obj`."""
        self.put(self.key(obj), obj)

    def put(self, key: str, obj: Any) -> None:
        """Store `obj` under `key`, which must be its key."""
        self.store.put(key, self._transform(obj) if self._transform else obj)

    def update(self, obj: Any) -> None:
        """Store `obj`."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Remove `obj`, or the object of a tombstone."""
        self.store.delete(self.key(obj), obj)

    def get(self, obj: Any) -> Any:
        """Return the stored object with the key of `obj`, or None."""
        return self.store.get(self.key(obj))

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Replace the whole content; of two objects with one key the last is stored."""
        transform = self._transform
        self.store.replace({self.key(obj): transform(obj) if transform else obj for obj in objs}, version)

    def resync(self) -> None:
        """Do nothing: a plain store has no handlers."""

    def transaction(self, ops: Sequence[StoreOp]) -> None:
        """Apply all operations; those without a valid key are skipped and reported by TransactionError."""
        errors: list[Exception] = []
        successful: list[int] = []
        for number, op in enumerate(ops):
            try:
                if op.verb == "delete":
                    self.delete(op.obj)
                else:
                    self.add(op.obj)
                successful.append(number)
            except KeyFailure as error:
                errors.append(error)
        if errors:
            raise TransactionError(successful, len(ops), errors)
