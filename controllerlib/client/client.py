"""Reading and writing objects of any kind at an API server (controller-runtime: pkg/client)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from controllerlib.client.errors import from_status
from controllerlib.client.listoptions import ListOptions
from controllerlib.client.models import Writable, as_object
from controllerlib.client.names import Object, plain_copy
from controllerlib.client.resource import Resource, check_namespace
from controllerlib.client.restmapper import RESTMapper
from controllerlib.client.transport import NO_HEADERS, Headers, Query, Transport, WatchStream
from controllerlib.observer import NOOP_OBSERVER, Call, Observer, current_run, overrides

PatchType = Literal[
    "merge",
    "json",
    "strategic",
    "apply",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]

_PATCHES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Reader(Protocol):
    """Reads objects, from the server or a cache; raises ApiError (controller-runtime: client.Reader)."""

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return the object; raises ApiError with reason NotFound if it does not exist."""
        ...

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
    ) -> Sequence[Object]:
        """Return the objects of a namespace, or of all namespaces."""
        ...


class Client:
    """Reads and writes objects at the API server. Objects are dicts.

    Objects to write may also be models of the official client; returned objects are always dicts. Every method raises
    ApiError, OSError if there is no connection, or ValueError for one object of a namespaced kind without its namespace
    (`list`, `watch` and `delete_collection` are of all namespaces then; a cache has no such object: NotFound).

    Source: controller-runtime, client.Client.
    """

    user_agent: str
    mapper: RESTMapper

    def __init__(
        self,
        transport: Transport,
        *,
        user_agent: str = "controllerlib",
        observer: Observer = NOOP_OBSERVER,
        mapper: RESTMapper | None = None,
        reader: Reader | None = None,
        copies: bool = True,
    ) -> None:
        """`reader`: where `get` and `list` read, usually the manager's cache; None means the server.

        `copies=False`: dicts are sent without a copy; they must have JSON values only and not change afterwards.
        """
        self._transport, self.user_agent, self._observer, self._reader = transport, user_agent, observer, reader
        self._copies = copies
        self._observes_before = overrides(observer, "before_call")
        self._observes_after = overrides(observer, "after_call")
        self._observed = self._observes_before or self._observes_after or overrides(observer, "answered")
        self.mapper = mapper or RESTMapper(self.raw_get)

    def __repr__(self) -> str:
        return f"<Client {self._transport!r} as {self.user_agent!r}>"

    @property
    def transport(self) -> Transport:
        """The transport that sends the requests."""
        return self._transport

    def with_options(
        self, *, user_agent: str | None = None, observer: Observer | None = None, reader: Reader | None = None
    ) -> "Client":
        """Return a client on the same transport with another user agent, observer or reader."""
        return Client(
            self._transport,
            user_agent=self.user_agent if user_agent is None else user_agent,
            observer=self._observer if observer is None else observer,
            mapper=self.mapper,
            reader=self._reader if reader is None else reader,
            copies=self._copies,
        )

    # --- reading

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return the object; raises ApiError with reason NotFound if it does not exist."""
        if self._reader is not None:
            return await self._reader.get(api_version, kind, name, namespace)
        resource = await self.mapper.resource(api_version, kind)
        check_namespace(resource, namespace, creates=False)
        return await self._send("get", "GET", resource.path(namespace, name))

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
    ) -> Sequence[Object]:
        """Return the objects of a namespace (or of all namespaces), at most `limit` of them (0: no limit)."""
        if self._reader is not None:
            return await self._reader.list(
                api_version,
                kind,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
            )
        options = ListOptions(label_selector=label_selector, field_selector=field_selector, limit=limit)
        page = await self.list_page(api_version, kind, namespace, options)
        items: Sequence[Object] = page["items"]
        return items

    async def list_page(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        options: ListOptions | None = None,
        *,
        accept: str = "",
    ) -> Object:
        """Return the List object of the server; apiVersion and kind are set in each item."""
        resource = await self.mapper.resource(api_version, kind)
        headers = {"Accept": accept} if accept else {}
        query = (options or ListOptions()).query()
        page = await self._send("list", "GET", resource.path(namespace), query=query, headers=headers)
        page["items"] = [
            item if "kind" in item else {"apiVersion": api_version, "kind": kind, **item}
            for item in page.get("items") or ()
        ]
        return page

    async def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        options: ListOptions | None = None,
        *,
        accept: str = "",
    ) -> WatchStream:
        """Open a watch from the resourceVersion of the options. The caller must close the stream."""
        resource = await self.mapper.resource(api_version, kind)
        query = (("watch", "true"), *(options or ListOptions()).query())
        headers = {"User-Agent": self.user_agent, "Accept": accept or "application/json"}
        path = resource.path(namespace)
        call = self._call("watch", "GET", path, query, None)
        if call is not None and self._observes_before:
            await self._observer.before_call(call)
        code, _, answer = await self._transport.open_watch(path, query=query, headers=headers)
        if call is not None:
            self._observer.answered(call, code, None)
            if self._observes_after:
                await self._observer.after_call(call, code, None)
        if code != 200:
            raise from_status(answer, code)
        stream: WatchStream = answer
        return stream

    async def raw_get(self, path: str, query: Query = (), *, accept: str = "") -> Object:
        """Return the JSON document at a path (discovery, /version, metrics, ...)."""
        headers = {"Accept": accept} if accept else NO_HEADERS
        return await self._send("get", "GET", path, query=query, headers=headers)

    # --- writing

    async def create(self, obj: Writable, *, field_manager: str = "", dry_run: bool = False) -> Object:
        """Create `obj` and return it as stored; raises AlreadyExists if the name is taken."""
        body = self._object(obj)
        resource, namespace, _ = await self._locate(body, creates=True)
        query = _write_query(field_manager, dry_run)
        return await self._send("create", "POST", resource.path(namespace), query=query, body=body)

    async def update(self, obj: Writable, *, field_manager: str = "", dry_run: bool = False) -> Object:
        """Replace the stored object; raises Conflict if its resourceVersion is not the current one."""
        return await self._update(obj, "", field_manager, dry_run)

    async def update_status(self, obj: Writable, *, field_manager: str = "", dry_run: bool = False) -> Object:
        """Replace the status of the stored object."""
        return await self._update(obj, "status", field_manager, dry_run)

    async def update_subresource(self, obj: Writable, subresource: str, body: Writable | None = None) -> Object:
        """Replace a subresource of the stored object, such as "finalize" of a namespace.

        `body`: the subresource, if it has a kind of its own, such as "scale".
        """
        if body is None:
            return await self._update(obj, subresource, "", False)
        resource, namespace, name = await self._locate(self._object(obj))
        return await self._send("update", "PUT", resource.path(namespace, name, subresource), body=self._object(body))

    async def patch(
        self,
        target: Writable,
        patch: Any,
        *,
        type: PatchType = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Object:
        """Patch the object that `target` identifies by apiVersion, kind, metadata.name and metadata.namespace.

        `type` may also be a media type; ValueError if it is unknown.
        """
        media_type = _media_type(type)
        resource, namespace, name = await self._locate(target if isinstance(target, dict) else self._object(target))
        query = [*_write_query(field_manager, dry_run), *([("force", "true")] if force else [])]
        return await self._send(
            "patch",
            "PATCH",
            resource.path(namespace, name, subresource),
            query=query,
            headers={"Content-Type": media_type},
            body=patch,
        )

    async def patch_status(self, target: Writable, patch: Any, *, type: PatchType = "merge") -> Object:
        """Patch the status. `patch` is `{"status": ...}`; ValueError if it contains neither status nor metadata."""
        _check_status_patch(patch)
        return await self.patch(target, patch, type=type, subresource="status")

    async def create_subresource(
        self, target: Writable, subresource: str, body: Writable, *, field_manager: str = "", dry_run: bool = False
    ) -> Object:
        """Create a subresource (`binding`, `eviction`, `token`) of the object that `target` identifies.

        Source: controller-runtime, client.SubResourceCreator.
        """
        found = target if isinstance(target, dict) else self._object(target)
        resource, namespace, name = await self._locate(found, creates=True)
        path = resource.path(namespace, name, subresource)
        return await self._send(
            "create", "POST", path, query=_write_query(field_manager, dry_run), body=self._object(body)
        )

    async def apply(
        self, obj: Writable, *, field_manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> Object:
        """Apply `obj` (server-side apply); raises Conflict if another manager owns a field, unless `force` is set."""
        body = self._object(obj)
        return await self.patch(
            body, body, type="apply", field_manager=field_manager, force=force, subresource=subresource, dry_run=dry_run
        )

    async def delete(
        self,
        target: Writable | str,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Delete an object, given itself or as (apiVersion, kind, name, namespace); return it or the Status of the
        server.

        `uid` and `resource_version` are preconditions (Conflict). `propagation` is Background, Foreground or Orphan.
        """
        if isinstance(target, str) and kind is not None:
            resource, found = await self.mapper.resource(target, kind), name or ""
            check_namespace(resource, namespace, creates=False)
        else:
            resource, namespace, found = await self._locate(self._object(target))
        body = _delete_options(uid, resource_version, propagation, grace_period, dry_run)
        return await self._send("delete", "DELETE", resource.path(namespace, found), body=body)

    async def delete_collection(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        propagation: str = "",
    ) -> Object:
        """Delete all selected objects."""
        resource = await self.mapper.resource(api_version, kind)
        query = ListOptions(label_selector=label_selector, field_selector=field_selector).query()
        body = _delete_options("", "", propagation, None, False)
        return await self._send("deletecollection", "DELETE", resource.path(namespace), query=query, body=body)

    async def aclose(self) -> None:
        """Close the connections of the transport."""
        await self._transport.aclose()

    # --- sending

    def _object(self, value: Any) -> Object:
        """The JSON object of what is written."""
        if type(value) is not dict:
            return as_object(value)
        if not self._copies:
            return value
        copy: Object | None = plain_copy(value)
        return copy if copy is not None else as_object(value)

    async def _update(self, obj: Writable, subresource: str, field_manager: str, dry_run: bool) -> Object:
        body = self._object(obj)
        resource, namespace, name = await self._locate(body)
        path = resource.path(namespace, name, subresource)
        return await self._send("update", "PUT", path, query=_write_query(field_manager, dry_run), body=body)

    async def _locate(self, obj: Mapping[str, Any], *, creates: bool = False) -> tuple[Resource, str | None, str]:
        meta = obj.get("metadata") or {}
        resource = await self.mapper.resource(obj.get("apiVersion") or "", obj.get("kind") or "")
        check_namespace(resource, meta.get("namespace"), creates=creates)
        return resource, meta.get("namespace"), meta.get("name") or ""

    async def _send(
        self,
        verb: str,
        method: str,
        path: str,
        *,
        query: Query = (),
        headers: Headers = NO_HEADERS,
        body: Any = None,
    ) -> Object:
        sent = {"User-Agent": self.user_agent, "Accept": "application/json", **headers}
        call = self._call(verb, method, path, query, body)
        if call is not None and self._observes_before:
            await self._observer.before_call(call)
        try:
            code, _, answer = await self._transport.request(method, path, query=query, headers=sent, body=body)
        except OSError as error:
            if call is not None:
                self._observer.answered(call, 0, error)
                if self._observes_after:
                    await self._observer.after_call(call, 0, error)
            raise
        if call is not None:
            self._observer.answered(call, code, answer)
            if self._observes_after:
                await self._observer.after_call(call, code, answer)
        if code >= 400:
            raise from_status(answer, code)
        found: Object = answer if isinstance(answer, dict) else {}
        return found

    def _call(self, verb: str, method: str, path: str, query: Query, body: Any) -> Call | None:
        """What the observer is given of a request; None if it observes none."""
        return Call(current_run(), verb, method, path, tuple(query), body, self.user_agent) if self._observed else None


def _check_status_patch(patch: Any) -> None:
    if isinstance(patch, Mapping) and patch and "status" not in patch and "metadata" not in patch:
        raise ValueError(
            f'the patch of a status must be {{"status": {{...}}}}, but its keys are {", ".join(map(str, patch))}'
        )


def _media_type(type: str) -> str:
    if type in _PATCHES.values():
        return type
    if type not in _PATCHES:
        raise ValueError(f"unknown type of patch {type!r}: it is one of {', '.join([*_PATCHES, *_PATCHES.values()])}")
    return _PATCHES[type]


def _write_query(field_manager: str, dry_run: bool) -> Sequence[tuple[str, str]]:
    pairs = (("fieldManager", field_manager), ("dryRun", "All" if dry_run else ""))
    return [(name, value) for name, value in pairs if value]


def _delete_options(uid: str, version: str, propagation: str, grace_period: int | None, dry_run: bool) -> Object | None:
    preconditions = {k: v for k, v in (("uid", uid), ("resourceVersion", version)) if v}
    options: Object = {
        **({"preconditions": preconditions} if preconditions else {}),
        **({"propagationPolicy": propagation} if propagation else {}),
        **({"gracePeriodSeconds": grace_period} if grace_period is not None else {}),
        **({"dryRun": ["All"]} if dry_run else {}),
    }
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
