"""ListerWatchers: lists in pages, and watches (client-go: listwatch.go, pager.go)."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from controllerlib.client.client import Client
from controllerlib.client.errors import is_expired
from controllerlib.client.listoptions import ListOptions
from controllerlib.client.names import Object
from controllerlib.client.transport import WatchStream

#: Default number of objects per page (client-go: defaultPageSize).
PAGE_SIZE = 500
#: The Accept header of lists and watches of metadata only.
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


class ListerWatcher(Protocol):
    """Lists and watches a kind of object; raises ApiError, or OSError without a connection.

    Source: client-go, cache.ListerWatcher.
    """

    async def list(self, options: ListOptions) -> Object:
        """Return the List object: `metadata.resourceVersion`, `metadata.continue`, `items`."""
        ...

    async def watch(self, options: ListOptions) -> WatchStream:
        """Open a watch from the resourceVersion of the options."""
        ...


def supports_streaming(source: object) -> bool:
    """Return whether the initial list may be requested as a watch: unless `source.watch_list_unsupported` is true.

    Source: client-go, IsWatchListSemanticsUnSupported.
    """
    return not getattr(source, "watch_list_unsupported", False)


class ListWatch:
    """A ListerWatcher made from two functions, which may be coroutine functions (client-go: cache.ListWatch)."""

    def __init__(
        self,
        list_func: Callable[[ListOptions], Awaitable[Object] | Object],
        watch_func: Callable[[ListOptions], Awaitable[WatchStream] | WatchStream],
        *,
        watch_list_unsupported: bool = False,
    ) -> None:
        """`watch_list_unsupported`: the initial list cannot be requested as a watch."""
        self._list, self._watch = list_func, watch_func
        self.watch_list_unsupported = watch_list_unsupported

    async def list(self, options: ListOptions) -> Object:
        """Call the list function."""
        answer = self._list(options)
        return await answer if inspect.isawaitable(answer) else answer

    async def watch(self, options: ListOptions) -> WatchStream:
        """Call the watch function."""
        answer = self._watch(options)
        return await answer if inspect.isawaitable(answer) else answer


class ClientListWatch:
    """Lists and watches one kind through a client, with a fixed namespace and default selectors.

    Source: client-go, cache.NewListWatchFromClient.
    """

    watch_list_unsupported: bool

    def __init__(
        self,
        client: Client,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        bookmarks: bool = True,
    ) -> None:
        """`metadata_only`: request PartialObjectMetadata. `bookmarks` False: request no bookmarks."""
        self._client, self._api_version, self._kind, self._namespace = client, api_version, kind, namespace
        self._labels, self._fields, self._bookmarks = label_selector, field_selector, bookmarks
        self._accept = METADATA_LIST if metadata_only else ""
        self._accept_watch = METADATA if metadata_only else ""
        #: without bookmarks the end of a streamed list is unknown
        self.watch_list_unsupported = not bookmarks

    async def list(self, options: ListOptions) -> Object:
        """Return a page."""
        return await self._client.list_page(
            self._api_version, self._kind, self._namespace, self._select(options), accept=self._accept
        )

    async def watch(self, options: ListOptions) -> WatchStream:
        """Open a watch."""
        options = self._select(options)
        if not self._bookmarks:
            options = replace(options, allow_watch_bookmarks=False)
        return await self._client.watch(
            self._api_version, self._kind, self._namespace, options, accept=self._accept_watch
        )

    def _select(self, options: ListOptions) -> ListOptions:
        if not self._labels and not self._fields:
            return options
        return replace(
            options,
            label_selector=options.label_selector or self._labels,
            field_selector=options.field_selector or self._fields,
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """All pages of a list: the resourceVersion of the first page, and whether there was more than one page."""

    items: Sequence[Object]
    resource_version: str
    paginated: bool
    #: The kind of the List object; "Table" if the server returned one.
    kind: str = ""


async def list_pages(
    list_page: Callable[[ListOptions], Awaitable[Object]], options: ListOptions, *, page_size: int = PAGE_SIZE
) -> Listing:
    """Read a list page by page (client-go: tools/pager).

    Later pages are requested without a resourceVersion. If the continue token expires (410), the whole list is
    requested once at the original version. `page_size` 0 requests one page. Other errors are raised.
    """
    request = replace(options, limit=options.limit or page_size)
    items: list[Object] = []
    first: Object | None = None
    while True:
        try:
            page = await list_page(request)
        except Exception as error:
            if not is_expired(error) or not request.continue_token:
                raise
            whole = await list_page(replace(options, limit=0, continue_token=""))
            return _listing(whole, whole.get("items") or (), paginated=True)
        items.extend(page.get("items") or ())
        token = (page.get("metadata") or {}).get("continue") or ""
        if first is None:
            if not token:
                return _listing(page, page.get("items") or (), paginated=False)
            first = page
        if not token:
            return _listing(first, items, paginated=True)
        request = replace(request, continue_token=token, resource_version="", resource_version_match="")


def _listing(head: Object, items: Sequence[Object], *, paginated: bool) -> Listing:
    version = (head.get("metadata") or {}).get("resourceVersion") or ""
    return Listing(items, version, paginated, head.get("kind") or "")
