"""PUT of an object or of a part of it (`endpoints/handlers/update.go`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.part import WHOLE, Part
from fakekube.apiserver.endpoints.write import Write, parsed_version, write
from fakekube.apiserver.schema.objectmeta import without_version
from fakekube.apiserver.wire.options import WriteOptions, parse_write_options
from fakekube.apiserver.wire.status import StatusError, bad_request

Object = dict[str, Any]


def update(call: Call, part: Part = WHOLE) -> Step:
    """Replace the object, or the part of it that the path writes; create it if its kind allows that."""
    options = parse_write_options(call.request, "UpdateOptions")
    body = part.body(call)
    obj = check_place(body, _decoded(call, body, part, options), naming=True)
    creates = call.strategy.create_on_update and (part.is_whole or call.info.subresource == "status")
    uid = obj["metadata"].get("uid") or ""
    produce = partial(_produced, body, obj, options)
    return (yield from write(call, Write(options, produce, part, creates=creates, uid=uid)))


def _decoded(call: Call, body: Call, part: Part, options: WriteOptions) -> Object:
    """The decoded body. If kube-apiserver has not registered its kind, all errors have one message (`ObjectKinds`)."""
    entry = call.stored() if body is call else None
    stored = entry.object if entry is not None else None
    try:
        return decode_object(body, field_validation=options.field_validation, stored=stored)
    except StatusError as error:
        if error.code != 400 or not part.unregistered_in:
            raise
        why = f"no kind is registered for the type v1.{body.resource.kind} in scheme"
        raise bad_request(f'{why} "{part.unregistered_in}"') from None


def _produced(call: Call, obj: Object, options: WriteOptions, current: Object | None) -> Object:
    if current is not None:
        return ownership.changed(call, obj, current, options)
    parsed_version(obj["metadata"].get("resourceVersion") or "")
    return ownership.created(call, obj if options.dry_run else without_version(obj), options)
