"""Options of a cache: namespaces, selectors and transforms by kind, and their precedence (controller-runtime:
pkg/cache).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controllerlib.cache.store import TransformFunc

#: The key for all namespaces that are not listed beside it.
ALL_NAMESPACES = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Settings of cached objects; None means the value of the next wider setting (controller-runtime: cache.Config).

    `share`: return cached objects without a deep copy (UnsafeDisableDeepCopy). `bookmarks`: request bookmarks.
    """

    label_selector: str | None = None
    field_selector: str | None = None
    transform: TransformFunc | None = None
    share: bool | None = None
    bookmarks: bool | None = None

    def over(self, wider: "Selection") -> "Selection":
        """Return these settings, completed by those of `wider` where they are None."""
        mine = {name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) is not None}
        return replace(wider, **mine)


@dataclass(frozen=True, slots=True)
class ByObject:
    """Settings of one kind; `namespaces` None means those of the cache (controller-runtime: cache.ByObject)."""

    selection: Selection = field(default_factory=Selection)
    namespaces: Mapping[str, Selection] | None = None
    sync_period: float | None = None


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Options of a cache; times are seconds (controller-runtime: cache.Options).

    `sync_period` (10 h) is the resync period. It is multiplied for each informer by a random factor of 1 ±
    `sync_period_jitter`. A resync delivers the stored objects again without a request to the server. `namespaces` empty
    means all. `min_watch_timeout`: see ReflectorOptions. `fail_on_missing_informer`: reading a kind without an informer
    raises NotCached instead of starting one.
    """

    sync_period: float = 36_000.0
    sync_period_jitter: float = 0.1
    namespaces: Mapping[str, Selection] = field(default_factory=dict)
    default: Selection = field(default_factory=Selection)
    by_object: Mapping[tuple[str, str], ByObject] = field(default_factory=dict)
    fail_on_missing_informer: bool = False
    on_watch_error: Callable[[BaseException], None] | None = None
    min_watch_timeout: float = 300.0

    def resync_period(self, api_version: str, kind: str, fraction: float) -> float:
        """Return the resync period of an informer for a random `fraction` in [0, 1)."""
        own = self.by_object.get((api_version, kind), ByObject()).sync_period
        period = self.sync_period if own is None else own
        return period * (1.0 - self.sync_period_jitter + 2.0 * self.sync_period_jitter * fraction)

    def selections(self, api_version: str, kind: str, *, namespaced: bool) -> Mapping[str, Selection]:
        """Return the settings of a kind by namespace.

        The order of precedence is: kind and namespace, kind, namespace, default. Cluster-scoped kinds have one entry.
        The entry for all namespaces excludes the namespaces listed beside it.
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
