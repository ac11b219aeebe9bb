"""The cache: reads served from informers instead of the server (controller-runtime: pkg/cache)."""

from collections.abc import Callable, Sequence
from typing import Any

from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.informermap import CacheInformer, Form, Informers, NewInformer, NotCached
from controllerlib.cache.options import CacheOptions
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.cache.store import NAMESPACE_INDEX, Indexer
from controllerlib.client.errors import not_found
from controllerlib.client.names import Object, copy_json
from controllerlib.client.selector import parse_field_selector, parse_selector
from controllerlib.clock import Clock
from controllerlib.observer import NOOP_OBSERVER, Observer
from controllerlib.random import Random

__all__ = ["Cache", "CacheNotStarted"]

#: Represents all namespaces in the values of field indices.
_ALL = "__all_namespaces"


class CacheNotStarted(RuntimeError):
    """The cache was read before it was started (controller-runtime: cache.ErrCacheNotStarted)."""

    def __init__(self) -> None:
        super().__init__("the cache is not started, can not read objects")


class Cache:
    """Reads objects from the stores of informers; returns deep copies, which may be slightly out of date.

    The first read of a kind starts its informer and waits until that has synced.

    Source: controller-runtime, cache.Cache.
    """

    informers: Informers

    def __init__(
        self,
        client: Any,
        options: CacheOptions | None = None,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        observer: Observer = NOOP_OBSERVER,
        informer_options: InformerOptions | None = None,
        new_informer: NewInformer = SharedIndexInformer,
        skip_handler_failures: bool = False,
        poll: bool = False,
    ) -> None:
        """`client` reads from the server. For `poll` see Informers."""
        self.informers = Informers(
            client,
            options,
            clock=clock,
            random=random,
            observer=observer,
            informer_options=informer_options,
            new_informer=new_informer,
            skip_handler_failures=skip_handler_failures,
            poll=poll,
        )

    async def run(self) -> None:
        """Run until cancelled; RuntimeError the second time."""
        await self.informers.run()

    async def get_informer(
        self, api_version: str, kind: str, *, form: Form = "structured", block_until_synced: bool = True
    ) -> CacheInformer:
        """Return the informer of a kind: see Informers.get_informer."""
        return await self.informers.get_informer(api_version, kind, form=form, block_until_synced=block_until_synced)

    def remove_informer(self, api_version: str, kind: str, form: Form = "structured") -> None:
        """Stop and forget the informer of a kind; a later read creates another."""
        self.informers.remove_informer(api_version, kind, form)

    async def wait_synced(self) -> None:
        """Wait until the existing informers have synced."""
        for informer in self.informers.all():
            await self.informers.wait_synced(informer)

    def index_field(self, api_version: str, kind: str, path: str, values: Callable[[Object], Sequence[str]]) -> None:
        """Index a kind so that `field_selector="path=value"` works; `values` returns an object's values. May be
        called at any time.
        """

        def index(obj: Object) -> Sequence[str]:
            namespace = (obj.get("metadata") or {}).get("namespace") or ""
            found = list(values(obj))
            own = [_indexed(namespace, value) for value in found] if namespace else []
            return [*own, *(_indexed(_ALL, value) for value in found)]

        self.informers.add_indexer(api_version, kind, f"field:{path}", index)

    async def get(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        form: Form = "structured",
        share: bool | None = None,
    ) -> Object:
        """Return a copy of the object (`share`: the object itself).

        Raises ApiError, UnknownNamespace, CacheNotStarted and NotCached.
        """
        informer = await self._informer(api_version, kind, form)
        where = namespace or "" if informer.resource.namespaced else ""
        key = f"{where}/{name}" if where else name
        for held, shared in informer.holding(where, name).items():
            obj = shared.indexer.get_by_key(key)
            if obj is not None:
                found: Object = obj if _is_shared(informer, held, share) else copy_json(obj)
                return found
        raise not_found(kind, name)

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        form: Form = "structured",
        share: bool | None = None,
    ) -> Sequence[Object]:
        """Return copies of the objects. Field selectors need an index (LookupError) and support equality only
        (ValueError).
        """
        if continue_token:
            raise ValueError("continue list option is not supported by the cache")
        informer = await self._informer(api_version, kind, form)
        where = namespace or "" if informer.resource.namespaced else ""
        labels, fields = parse_selector(label_selector), parse_field_selector(field_selector)
        found: list[Object] = []
        for held, shared in informer.holding(where).items():
            copies = not _is_shared(informer, held, share)
            for obj in _select(shared.indexer, where, fields):
                if limit and len(found) >= limit:
                    return found
                if labels.matches((obj.get("metadata") or {}).get("labels")):
                    found.append(copy_json(obj) if copies else obj)
        return found

    async def _informer(self, api_version: str, kind: str, form: Form) -> CacheInformer:
        if not self.informers.is_started:
            raise CacheNotStarted
        if self.informers.options.fail_on_missing_informer and not self.informers.has(api_version, kind, form):
            raise NotCached(api_version, kind)
        return await self.informers.get_informer(api_version, kind, form=form)


def _is_shared(informer: CacheInformer, held: str, share: bool | None) -> bool:
    return bool(informer.selections[held].share if share is None else share)


def _indexed(namespace: str, value: str) -> str:
    return f"{namespace}/{value}"


def _select(store: Indexer, namespace: str, fields: Sequence[tuple[str, str, bool]]) -> Sequence[Object]:
    """Return the objects of a namespace ("": all) that satisfy the field selectors, by index, in key order."""
    if not fields:
        return store.by_index(NAMESPACE_INDEX, namespace) if namespace else store.list()
    keys: dict[str, None] | None = None
    for path, value, equal in fields:
        if not equal:
            raise ValueError(f"non-exact field matches are not supported by the cache: {path}!={value}")
        found = store.index_keys(f"field:{path}", _indexed(namespace or _ALL, value))
        keys = dict.fromkeys(found) if keys is None else {key: None for key in found if key in keys}
    return [store.get_by_key(key) for key in keys or ()]
