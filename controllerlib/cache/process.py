"""What deltas do to a store, and whom to tell (client-go: tools/cache/controller.go, processDeltas).

What is told depends on the store only: a known key gives an update, an unknown one an add, whatever the delta says.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from controllerlib import namedtuples
from controllerlib.cache.delta import Batch, Delta, ReplacedAll
from controllerlib.cache.realfifo import BATCHABLE
from controllerlib.cache.store import Indexer, StoreOp, TransactionError
from controllerlib.client.names import DeletedFinalStateUnknown, resource_version

#: How the informer came to know: a watch event, a list, or its own resync.
Origin = Literal["watch", "list", "resync"]


class Notification(NamedTuple):
    """What handlers are told (a tuple, not a dataclass: one is made for every change)."""

    kind: Literal["added", "updated", "deleted"]
    #: the object after the change; of a deletion the last one known, or a DeletedFinalStateUnknown
    obj: Any
    old: Any
    initial: bool
    origin: Origin
    #: nothing changed: both have the same resourceVersion
    sync: bool


_ORIGINS: dict[str, Origin] = {"Replaced": "list", "Sync": "resync"}


def process_deltas(store: Indexer, batch: Batch) -> tuple[Sequence[Notification], Exception | None]:
    """Bring `batch` into the store; returns what to tell, in order, and what went wrong with the rest of it."""
    deltas, told = batch.deltas, list[Notification]()
    if len(deltas) > 1:
        keys = _distinct_keys(store, deltas)
        if keys is not None:
            return _apply_keyed(store, deltas, keys, batch.initial), None
        if _is_transaction(store, deltas):
            return _apply_at_once(store, deltas, batch.initial)
    for delta in deltas:
        try:
            told.extend(_apply_one(store, delta, batch.initial))
        except Exception as error:  # the store's refusal is reported with what was told before it
            return told, error
    return told, None


def _distinct_keys(store: Indexer, deltas: Sequence[Delta]) -> Sequence[str] | None:
    """The keys of a batch that is a transaction, each computed once; None where one is broken, or it is none."""
    key_func, keys = store.key_func, list[str]()
    try:
        for kind, obj in deltas:
            if kind not in BATCHABLE:
                return None
            keys.append(key_func(obj))
    except Exception:  # a broken key is the transaction's affair: it reports it
        return None
    return keys if len(set(keys)) == len(keys) else None


def _apply_keyed(store: Indexer, deltas: Sequence[Delta], keys: Sequence[str], initial: bool) -> Sequence[Notification]:
    """A transaction in which nothing can go wrong."""
    told: list[Notification] = []
    get, put = store.get_by_key, store.put
    for (kind, obj), key in zip(deltas, keys, strict=True):
        if kind == "Deleted":
            store.store.delete(key, obj)
            told.append(namedtuples.new(Notification, ("deleted", obj, None, False, "watch", False)))
        else:
            old = get(key)
            put(key, obj)
            told.append(_seen(old, obj, initial, _ORIGINS.get(kind, "watch")))
    return told


def _is_transaction(store: Indexer, deltas: Sequence[Delta]) -> bool:
    keys = set()
    for delta in deltas:
        if delta.type not in BATCHABLE:
            return False
        try:
            keys.add(store.key_func(delta.object))
        except Exception:  # a broken key is the transaction's affair: it reports it
            keys.add(f"\0{len(keys)}")
    return len(keys) == len(deltas)


def _apply_one(store: Indexer, delta: Delta, initial: bool) -> Sequence[Notification]:
    kind, obj = delta
    if kind == "ReplacedAll":
        return _replace(store, obj, initial)
    if kind == "SyncAll":
        return [Notification("updated", o, o, False, "resync", True) for o in store.list()]
    if kind == "Bookmark":
        store.bookmark(obj.resource_version)
        return ()
    if kind == "Deleted":
        store.delete(obj)
        return (namedtuples.new(Notification, ("deleted", obj, None, False, "watch", False)),)
    old = store.get(obj)
    store.add(obj)
    return (_seen(old, obj, initial, _ORIGINS.get(kind, "watch")),)


def _seen(old: Any, new: Any, initial: bool, origin: Origin) -> Notification:
    if old is None:
        return namedtuples.new(Notification, ("added", new, None, initial, origin, False))
    same = resource_version(old) == resource_version(new)
    return namedtuples.new(Notification, ("updated", new, old, False, origin, same))


def _replace(store: Indexer, listing: ReplacedAll, initial: bool) -> Sequence[Notification]:
    """The whole list first, then what it means: deletions, then updates and adds in list order."""
    listed = {store.key(obj): obj for obj in listing.objects}
    gone = [DeletedFinalStateUnknown(key, store.get_by_key(key)) for key in store.list_keys() if key not in listed]
    before = [(store.get_by_key(store.key(obj)), obj) for obj in listing.objects]
    store.replace(listing.objects, listing.resource_version)
    told = [Notification("deleted", tombstone, None, False, "list", False) for tombstone in gone]
    told.extend(_seen(old, new, initial, "list") for old, new in before)
    return told


def _apply_at_once(
    store: Indexer, deltas: Sequence[Delta], initial: bool
) -> tuple[Sequence[Notification], Exception | None]:
    """One transaction; handlers are told afterwards, and only of what succeeded."""
    olds: list[Any] = []
    ops: list[StoreOp] = []
    for delta in deltas:
        try:
            olds.append(store.get(delta.object))
        except Exception:  # a broken key is the transaction's affair: it reports it
            olds.append(None)
        ops.append(namedtuples.new(StoreOp, ("delete" if delta.type == "Deleted" else "add", delta.object)))
    error: TransactionError | None = None
    successful: Sequence[int] = range(len(ops))
    try:
        store.transaction(ops)
    except TransactionError as failure:
        error, successful = failure, failure.successful
    told = []
    for number in successful:
        kind, obj = deltas[number]
        if kind == "Deleted":
            told.append(namedtuples.new(Notification, ("deleted", obj, None, False, "watch", False)))
        else:
            told.append(_seen(olds[number], obj, initial, _ORIGINS.get(kind, "watch")))
    return told, error
