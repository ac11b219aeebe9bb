"""A write that skips admission, validation and all rules of updates, as a direct write to etcd does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.apply import managedfieldsentry
from fakekube.apiserver.apply.managedfieldsentry import ManagedFieldsEntry, Undecodable
from fakekube.apiserver.call import Call, RequestContext, Server
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.objectmeta import tidy
from fakekube.apiserver.storage.store import Entry, path_of
from fakekube.apiserver.user import ADMIN
from fakekube.apiserver.wire.gojson import with_go_numbers
from fakekube.apiserver.wire.options import WriteOptions
from fakekube.apiserver.wire.request import Request, parse
from fakekube.apiserver.wire.status import bad_request

Object = dict[str, Any]

#: The field manager of the fields that such a write changes.
MANAGER = "unchecked-write"

_OPTIONS = WriteOptions(dry_run=False, field_manager=MANAGER, field_validation="Strict", force=False)


def write(server: Server, resource: Resource, obj: Object, context: RequestContext) -> Entry:
    """Store an object that has a name, with its status, in place of the existing one if any.

    It is decoded as objects that are read from etcd are: with defaults, and only with fields of its schema. It gets a
    uid, a creationTimestamp and managedFields if it has none. Watches receive the change.
    Raises WrongType, StatusError.
    """
    call = _call(server, resource, obj["metadata"], context)
    existing = call.stored()
    unknown: list[str] = []
    draft = call.registration.decode(obj, unknown)
    if unknown:
        raise bad_request(", ".join(f"unknown field {path}" for path in unknown))
    old = call.shown(existing) if existing is not None and call.converted is None else None
    draft = {**draft, "metadata": _completed(call, draft["metadata"], existing)}
    if entries := draft["metadata"].get("managedFields"):
        draft["metadata"]["managedFields"] = _in_own_form(entries)
    else:
        draft = (
            ownership.created(call, draft, _OPTIONS) if old is None else ownership.changed(call, draft, old, _OPTIONS)
        )
    version = "" if call.registration.version is None else resource.version
    if version:
        draft = with_go_numbers(draft)
    elif call.registration.write is not None:
        draft = call.registration.write(draft)
    store, name = server.store, resource.collection
    if existing is None:
        change = store.create(name, call.path, draft, version)
    else:
        change = store.update(name, call.path, existing, draft, version)
    entry = server.committed(change, context).after
    assert entry is not None, "it was written"
    return entry


def _in_own_form(entries: Sequence[ManagedFieldsEntry]) -> Sequence[ManagedFieldsEntry]:
    """The entries as this server writes them: the next write reads no others. Raises 400 for invalid ones."""
    try:
        return managedfieldsentry.encode(managedfieldsentry.decode(entries))
    except Undecodable as problem:
        raise bad_request(f"metadata.managedFields: {problem}") from None


def _call(server: Server, resource: Resource, meta: Object, context: RequestContext) -> Call:
    """The call of an update of the object, without a client."""
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    inside = f"/namespaces/{meta.get('namespace') or 'default'}" if resource.namespaced else ""
    request = Request("PUT", f"{root}{inside}/{resource.plural}/{meta['name']}", user=ADMIN)
    return Call(server, request, parse(request), ADMIN, server.registration(resource), context)


def _completed(call: Call, meta: Object, existing: Entry | None) -> Object:
    """The metadata with what every stored object has: the given values, else those of the existing object."""
    old = existing.object["metadata"] if existing is not None else {}
    made = {key: value for key, value in meta.items() if key not in ("resourceVersion", "namespace")}
    if call.namespace:
        made["namespace"] = call.namespace
    made["uid"] = meta.get("uid") or old.get("uid") or _uid(call)
    made["creationTimestamp"] = meta.get("creationTimestamp") or old.get("creationTimestamp") or call.context.now
    first = call.strategy.first_generation if call.strategy.counts_generations else 0
    made["generation"] = meta.get("generation") or old.get("generation") or first
    return tidy(made)


def _uid(call: Call) -> str:
    return call.context.uid(f"{call.resource.collection}/{path_of(call.namespace, call.info.name)}")
