"""Applying deltas to a store, and the resulting notifications (client-go: tools/cache/controller.go, processDeltas).

Notifications depend on the store only: a known key results in an update, an unknown one in an add, whatever the type of
the delta.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from controllerlib.cache.delta import Batch, Delta, ReplacedAll
from controllerlib.cache.realfifo import BATCHABLE
from controllerlib.cache.store import Indexer, StoreOp, TransactionError
from controllerlib.client.names import DeletedFinalStateUnknown, resource_version
from controllerlib.namedtuples import new_tuple

#: The source of a notification: a watch event, a list, or a resync.
Origin = Literal["watch", "list", "resync"]


class Notification(NamedTuple):
    """A change delivered to handlers. A named tuple because one is created for every change."""

    kind: Literal["added", "updated", "deleted"]
    #: The object after the change; for a deletion its last known state, or a DeletedFinalStateUnknown.
    obj: Any
    old: Any
    initial: bool
    origin: Origin
    #: Whether the object is unchanged: both have the same resourceVersion.
    sync: bool


_ORIGINS: dict[str, Origin] = {"Replaced": "list", "Sync": "resync"}


def process_deltas(store: Indexer, batch: Batch) -> tuple[Sequence[Notification], Exception | None]:
    """Apply `batch` to the store; return the notifications in order, and the error that ended the batch early, if
    any.
    """
    deltas, notifications = batch.deltas, list[Notification]()
    if len(deltas) > 1:
        keys = _distinct_keys(store, deltas)
        if keys is not None:
            return _apply_keyed(store, deltas, keys, batch.initial), None
        if _is_transaction(store, deltas):
            return _apply_at_once(store, deltas, batch.initial)
    for delta in deltas:
        try:
            notifications.extend(_apply_one(store, delta, batch.initial))
        except Exception as error:  # returned with the notifications before it
            return notifications, error
    return notifications, None


def _distinct_keys(store: Indexer, deltas: Sequence[Delta]) -> Sequence[str] | None:
    """Return the keys of a batch that can be applied as a transaction without errors; None for any other batch."""
    key_func, keys = store.key_func, list[str]()
    try:
        for kind, obj in deltas:
            if kind not in BATCHABLE:
                return None
            keys.append(key_func(obj))
    except Exception:  # reported by the transaction
        return None
    return keys if len(set(keys)) == len(keys) else None


def _apply_keyed(store: Indexer, deltas: Sequence[Delta], keys: Sequence[str], initial: bool) -> Sequence[Notification]:
    """Apply a transaction whose keys are known to be valid and distinct."""
    notifications: list[Notification] = []
    get, put = store.get_by_key, store.put
    for (kind, obj), key in zip(deltas, keys, strict=True):
        if kind == "Deleted":
            store.store.delete(key, obj)
            notifications.append(new_tuple(Notification, ("deleted", obj, None, False, "watch", False)))
        else:
            old = get(key)
            put(key, obj)
            notifications.append(_seen(old, obj, initial, _ORIGINS.get(kind, "watch")))
    return notifications


def _is_transaction(store: Indexer, deltas: Sequence[Delta]) -> bool:
    keys = set()
    for delta in deltas:
        if delta.type not in BATCHABLE:
            return False
        try:
            keys.add(store.key_func(delta.object))
        except Exception:  # reported by the transaction
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
        return (new_tuple(Notification, ("deleted", obj, None, False, "watch", False)),)
    old = store.get(obj)
    store.add(obj)
    return (_seen(old, obj, initial, _ORIGINS.get(kind, "watch")),)


def _seen(old: Any, new: Any, initial: bool, origin: Origin) -> Notification:
    if old is None:
        return new_tuple(Notification, ("added", new, None, initial, origin, False))
    same = resource_version(old) == resource_version(new)
    return new_tuple(Notification, ("updated", new, old, False, origin, same))


def _replace(store: Indexer, listing: ReplacedAll, initial: bool) -> Sequence[Notification]:
    """Store a complete list and return its notifications: deletions first, then updates and adds in list order."""
    listed = {store.key(obj): obj for obj in listing.objects}
    gone = [DeletedFinalStateUnknown(key, store.get_by_key(key)) for key in store.list_keys() if key not in listed]
    before = [(store.get_by_key(store.key(obj)), obj) for obj in listing.objects]
    store.replace(listing.objects, listing.resource_version)
    notifications = [Notification("deleted", tombstone, None, False, "list", False) for tombstone in gone]
    notifications.extend(_seen(old, new, initial, "list") for old, new in before)
    return notifications


def _apply_at_once(
    store: Indexer, deltas: Sequence[Delta], initial: bool
) -> tuple[Sequence[Notification], Exception | None]:
    """Apply a transaction, and return the notifications of the operations that succeeded."""
    olds: list[Any] = []
    ops: list[StoreOp] = []
    for delta in deltas:
        try:
            olds.append(store.get(delta.object))
        except Exception:  # reported by the transaction
            olds.append(None)
        ops.append(new_tuple(StoreOp, ("delete" if delta.type == "Deleted" else "add", delta.object)))
    error: TransactionError | None = None
    successful: Sequence[int] = range(len(ops))
    try:
        store.transaction(ops)
    except TransactionError as failure:
        error, successful = failure, failure.successful
    notifications = []
    for number in successful:
        kind, obj = deltas[number]
        if kind == "Deleted":
            notifications.append(new_tuple(Notification, ("deleted", obj, None, False, "watch", False)))
        else:
            notifications.append(_seen(olds[number], obj, initial, _ORIGINS.get(kind, "watch")))
    return notifications, error
