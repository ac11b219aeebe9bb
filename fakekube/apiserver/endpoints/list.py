"""GET of a collection: selectors, resource versions and pages (`apiserver/pkg/storage/etcd3.store.GetList`)."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Generator
from itertools import islice
from typing import Any

import orjson

from fakekube.apiserver import conversion
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import representation
from fakekube.apiserver.features import since
from fakekube.apiserver.needs import Need
from fakekube.apiserver.registry.generic.strategy import check_fields, field_reader
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.storage.watch import Selection
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.gobase64 import URL_SAFE, illegal_byte
from fakekube.apiserver.wire.options import ListOptions, parse_list_options, parse_resource_version
from fakekube.apiserver.wire.status import StatusError, bad_request, expired, too_large_resource_version
from fakekube.struct import Struct

Object = dict[str, Any]

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
LIST_EXPIRED = "The resourceVersion for the provided list is too old."


def list(call: Call) -> Step:
    """List the selected objects, or one page of them."""
    options = parse_list_options(call.request, watch=False)
    page = yield from read_page(call, options)
    if call.converted is not None:
        yield from conversion.read(call, page.entries)
    return shown_page(call, page)


def shown_page(call: Call, page: Page) -> Response:
    """The response with a page as a list."""
    metadata: Object = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
    elif call.registration.unstructured and not call.representation.shape:
        metadata["continue"] = ""
    return Response(body=representation.listed(call, metadata, page.entries))


def selection_of(call: Call, options: ListOptions) -> Selection:
    """The selectors of the request. Raises 400 for a field that the kind does not support in selectors."""
    check_fields(call.strategy, call.resource, [term.field for term in options.fields.terms])
    in_version = call.registration.read is not None and any(
        not term.field.startswith("metadata.") for term in options.fields.terms
    )
    # labels, too, may differ after the conversion by a webhook
    converted = call.converted is not None and (options.labels or options.fields)
    shown = call.shown if in_version or converted else None
    is_one = bool(call.namespace) or not call.resource.namespaced
    name = (options.fields.required("metadata.name") if is_one else None) or ""
    return Selection(call.namespace, options.labels, options.fields, field_reader(call.strategy), shown, name)


class Page(Struct, frozen=True):
    """Entries in key order, the revision that was read, and the continue token ("": this is the last page)."""

    entries: tuple[Entry, ...]
    revision: int
    token: str
    remaining: int | None


def read_page(call: Call, options: ListOptions) -> Generator[Need, Any, Page]:
    """The selected objects, or one page of them."""
    selection, store = selection_of(call, options), call.server.store
    single = bool(selection.name) and not options.continue_token  # one object is read, not a page (`MatchesSingle`)
    limit = 0 if single else options.limit
    start, revision = _begin(call, options, single=single)
    if call.stale is not None and not options.continue_token and not revision:
        revision = store.cached(call.stale)
    cached = call.strategy.watch_cached and (since(34) or not options.continue_token)
    if cached and options.resource_version == "0":
        limit = 0
    exact = revision if revision else None
    shown = revision or store.revision
    collection = store.collection(call.resource.collection)
    scan = collection.scan(selection.prefix, start, exact)
    if call.converted is not None and selection.shown is not None:
        every = tuple(scan)
        yield from conversion.read(call, [entry for _, entry in every])
        scan = iter(every)
    chosen = scan if selection.by_key_alone else (pair for pair in scan if selection.matches(pair[1]))
    found = [*islice(chosen, limit or None)]
    entries = tuple([entry for _, entry in found])
    if not limit or len(found) < limit or next(scan, None) is None:
        return Page(entries, shown, "", None)
    following = _following(found[-1][0])
    remaining = collection.count(selection.prefix, following, exact) if selection.by_key_alone else None
    shown = store.revision_of_token(shown)
    return Page(entries, shown, continue_token(following, selection.prefix, shown), remaining)


def _begin(call: Call, options: ListOptions, *, single: bool) -> tuple[str, int]:
    """The first key of the page ("": the first page), and the revision to read (0: the current one)."""
    store = call.server.store
    if options.continue_token:
        prefix = selection_prefix(call)
        start, revision = parse_continue(options.continue_token, prefix)
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        if revision > 0 and not store.continues(revision):
            token = continue_token(start, prefix, -1)
            raise expired(CONTINUE_EXPIRED, metadata={"continue": token, "resourceVersion": str(store.revision)})
        if revision > store.revision:
            raise too_large_resource_version(revision, store.revision)
        return start, max(revision, 0)
    try:
        revision = parse_resource_version(options.resource_version)
    except ValueError as error:
        if since(33) or not _from_cache(call, options):
            raise bad_request(f"invalid resource version: {error}") from None
        raise StatusError(500, "", str(error)) from None
    match = options.resource_version_match
    is_exact = match == "Exact" or bool(not match and revision and options.limit and not single)
    if revision > store.revision:
        if is_exact and not since(34):
            raise StatusError(500, "", FUTURE)
        cached = _from_cache(call, options) if single else call.strategy.watch_cached
        raise too_large_resource_version(revision, store.revision, cached=cached)
    if is_exact:
        if not store.readable(revision):
            raise expired(LIST_EXPIRED)
        return "", revision
    return "", 0


#: What etcd says of a revision that it has not reached.
FUTURE = "etcdserver: mvcc: required revision is a future revision"


def _from_cache(call: Call, options: ListOptions) -> bool:
    """Whether the watch cache answers a list of a given version (`shouldDelegateList`)."""
    exact = options.resource_version_match == "Exact" or (not options.resource_version_match and options.limit)
    return call.strategy.watch_cached and not exact


def selection_prefix(call: Call) -> str:
    return f"{call.namespace}/" if call.namespace else ""


def _following(path: str) -> str:
    """The first possible key after `path`."""
    return path + "\0"


def continue_token(start: str, prefix: str, revision: int) -> str:
    """A continue token: the first key of the next page, without the prefix of the list, and the revision of the first
    page (-1: any)."""
    raw = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": "/" + start.removeprefix(prefix)})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def parse_continue(token: str, prefix: str) -> tuple[str, int]:
    """The first key and the revision of a continue token, for a list of the keys with `prefix`. Raises 400."""
    illegal = illegal_byte(token, URL_SAFE, padded=False)
    if illegal is not None:
        raise _bad_token(f"continue key is not valid: illegal base64 data at input byte {illegal}")
    raw = base64.urlsafe_b64decode(token + "==")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        why = gojson.syntax_problem(raw) or "invalid UTF-8"
        raise _bad_token(f"continue key is not valid: {why}") from None
    if not isinstance(value, dict) or value.get("v") != "meta.k8s.io/v1":
        raise _bad_token(
            "continue key is not valid: server does not recognize this encoded version "
            f'"{value.get("v", "") if isinstance(value, dict) else ""}"'
        )
    revision, start = value.get("rv"), value.get("start")
    if not isinstance(revision, int) or revision == 0 or revision < -1:
        raise _bad_token("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise _bad_token("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    start = start if start.startswith("/") else f"/{start}"
    if "//" in start or posixpath.normpath(start) != start:
        raise _bad_token(f"continue key is not valid: {value['start']}")
    return prefix + start[1:], revision


def _bad_token(why: str) -> Exception:
    return bad_request(f"invalid continue token: {why}")
