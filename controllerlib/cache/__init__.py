"""Stores, queues of deltas, reflectors and informers (client-go: tools/cache; controller-runtime: pkg/cache)."""

from typing import TYPE_CHECKING, Any

from controllerlib.cache.cache import Cache, CacheNotStarted
from controllerlib.cache.delta import Batch, Bookmark, Delta, DeltaType, QueueClosed, ReplacedAll, SyncAll
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.deltaqueue import DeltaQueue, PopQueue
from controllerlib.cache.factory import (
    DoneChecker,
    NotSynced,
    SharedInformerFactory,
    named_checker,
    wait_for,
    wait_for_cache_sync,
)
from controllerlib.cache.identity import InformerMetrics, InformerName
from controllerlib.cache.informercontroller import Config, InformerController, InformerOptions, new_informer
from controllerlib.cache.informermap import (
    CacheInformer,
    Form,
    HandlerRegistrations,
    Informers,
    NotCached,
    UnknownNamespace,
)
from controllerlib.cache.listers import Lister, list_all, list_all_by_namespace
from controllerlib.cache.listwatch import ClientListWatch, ListerWatcher, Listing, ListWatch, list_pages
from controllerlib.cache.options import ALL_NAMESPACES, ByObject, CacheOptions, Selection
from controllerlib.cache.process import Notification
from controllerlib.cache.processorlistener import ResourceEventHandlerRegistration
from controllerlib.cache.realfifo import KnownObjects, RealFIFO, RealFIFOOptions
from controllerlib.cache.reflector import Reflector, ReflectorOptions, ReflectorStore, default_watch_error_handler
from controllerlib.cache.resourceeventhandler import (
    FilteringResourceEventHandler,
    InformerHandler,
    NotificationHandler,
    ResourceEventHandler,
    ResourceEventHandlerFuncs,
    last_state,
)
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.cache.store import (
    NAMESPACE_INDEX,
    Indexer,
    IndexFunc,
    KeyFunc,
    StoreOp,
    ThreadSafeStore,
    TransactionError,
    TransformFunc,
    UnknownIndex,
    meta_namespace_index,
)
from controllerlib.cache.synctrack import AsyncTracker, SingleFileTracker

if TYPE_CHECKING:
    from controllerlib.cache.expirationstore import Mutated, MutationDetector, TTLStore, UndeltaStore
    from controllerlib.cache.fifo import FIFO
    from controllerlib.cache.heap import KeyedHeap
    from controllerlib.cache.mutationcache import MutationCache

__all__ = [
    "ALL_NAMESPACES",
    "FIFO",
    "NAMESPACE_INDEX",
    "AsyncTracker",
    "Batch",
    "Bookmark",
    "ByObject",
    "Cache",
    "CacheInformer",
    "CacheNotStarted",
    "CacheOptions",
    "ClientListWatch",
    "Config",
    "Delta",
    "DeltaFIFO",
    "DeltaQueue",
    "DeltaType",
    "DoneChecker",
    "FilteringResourceEventHandler",
    "Form",
    "HandlerRegistrations",
    "IndexFunc",
    "Indexer",
    "InformerController",
    "InformerHandler",
    "InformerMetrics",
    "InformerName",
    "InformerOptions",
    "Informers",
    "KeyFunc",
    "KeyedHeap",
    "KnownObjects",
    "ListWatch",
    "Lister",
    "ListerWatcher",
    "Listing",
    "Mutated",
    "MutationCache",
    "MutationDetector",
    "NotCached",
    "NotSynced",
    "Notification",
    "NotificationHandler",
    "PopQueue",
    "QueueClosed",
    "RealFIFO",
    "RealFIFOOptions",
    "Reflector",
    "ReflectorOptions",
    "ReflectorStore",
    "ReplacedAll",
    "ResourceEventHandler",
    "ResourceEventHandlerFuncs",
    "ResourceEventHandlerRegistration",
    "Selection",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "SingleFileTracker",
    "StoreOp",
    "SyncAll",
    "TTLStore",
    "ThreadSafeStore",
    "TransactionError",
    "TransformFunc",
    "UndeltaStore",
    "UnknownIndex",
    "UnknownNamespace",
    "default_watch_error_handler",
    "last_state",
    "list_all",
    "list_all_by_namespace",
    "list_pages",
    "meta_namespace_index",
    "named_checker",
    "new_informer",
    "wait_for",
    "wait_for_cache_sync",
]

#: Imported on first use: what informers do not need.
_LAZY = {
    "FIFO": "fifo",
    "KeyedHeap": "heap",
    "Mutated": "expirationstore",
    "MutationCache": "mutationcache",
    "MutationDetector": "expirationstore",
    "TTLStore": "expirationstore",
    "UndeltaStore": "expirationstore",
}


if not TYPE_CHECKING:  # type checkers must report names that do not exist

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _LAZY:
            return getattr(import_module(f"controllerlib.cache.{_LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
