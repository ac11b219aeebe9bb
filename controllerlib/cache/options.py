"""What a cache holds of each kind: namespaces, selectors, transforms; and which setting wins (pkg/cache)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controllerlib.cache.store import TransformFunc

#: The key that stands for all namespaces not listed beside it.
ALL_NAMESPACES = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is cached; None: as the next wider setting says (controller-runtime: cache.Config).

    `share`: hand out cached objects themselves, not deep copies (UnsafeDisableDeepCopy). `bookmarks`: ask for them.
    """

    label_selector: str | None = None
    field_selector: str | None = None
    transform: TransformFunc | None = None
    share: bool | None = None
    bookmarks: bool | None = None

    def over(self, wider: "Selection") -> "Selection":
        """These settings, and where they are None those of `wider`."""
        mine = {name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) is not None}
        return replace(wider, **mine)


@dataclass(frozen=True, slots=True)
class ByObject:
    """Settings of one kind; `namespaces` None: those of the cache (controller-runtime: cache.ByObject)."""

    selection: Selection = field(default_factory=Selection)
    namespaces: Mapping[str, Selection] | None = None
    sync_period: float | None = None


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Settings of a cache. Times in seconds (controller-runtime: cache.Options).

    `sync_period` (10 h) is stretched for each informer by a factor of 1 ± `sync_period_jitter`, drawn when the informer
    is made; it repeats what is known and never asks the server. `namespaces` empty: all. `fail_on_missing_informer`:
    reading a kind that nobody watches is an error instead of the beginning of a watch.
    """

    sync_period: float = 36_000.0
    sync_period_jitter: float = 0.1
    namespaces: Mapping[str, Selection] = field(default_factory=dict)
    default: Selection = field(default_factory=Selection)
    by_object: Mapping[tuple[str, str], ByObject] = field(default_factory=dict)
    fail_on_missing_informer: bool = False
    on_watch_error: Callable[[BaseException], None] | None = None

    def resync_period(self, api_version: str, kind: str, fraction: float) -> float:
        """The period of one informer, for a draw in [0, 1)."""
        own = self.by_object.get((api_version, kind), ByObject()).sync_period
        period = self.sync_period if own is None else own
        return period * (1.0 - self.sync_period_jitter + 2.0 * self.sync_period_jitter * fraction)

    def selections(self, api_version: str, kind: str, *, namespaced: bool) -> Mapping[str, Selection]:
        """What to watch, by namespace.

        Per kind and namespace goes before per kind, before per namespace, before the default. Cluster-scoped kinds are
        watched as a whole. All namespaces beside listed ones leave those out.
        """
        own = self.by_object.get((api_version, kind), ByObject())
        if not namespaced:
            return {ALL_NAMESPACES: own.selection.over(self.default)}
        if own.namespaces is not None:
            found = {name: each.over(own.selection).over(self.default) for name, each in own.namespaces.items()}
        else:
            found = {name: own.selection.over(each).over(self.default) for name, each in self.namespaces.items()}
        if not found:
            return {ALL_NAMESPACES: own.selection.over(self.default)}
        if ALL_NAMESPACES in found and len(found) > 1:
            rest = found[ALL_NAMESPACES]
            others = [f"metadata.namespace!={name}" for name in found if name != ALL_NAMESPACES]
            conditions = [*([rest.field_selector] if rest.field_selector else []), *others]
            found[ALL_NAMESPACES] = replace(rest, field_selector=",".join(conditions))
        return found
