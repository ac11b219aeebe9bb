"""Empty lists and maps of a request, which decoding drops. In Go they count until the object is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.zerovalues import with_empties
from fakekube.apiserver.wire.status import FieldError


def changes_by_empties(call: Call, obj: Object) -> bool:
    """Whether the object was sent with empty lists or maps by which its kind counts a change."""
    strategy, schema, sent = call.strategy, call.registration.schema, call.sent
    if not strategy.empties_count or schema is None or sent is None:
        return False
    parts = [(schema.fields[part], sent.get(part), obj.get(part)) for part in strategy.generation]
    return any(with_empties(field, before, decoded) is not decoded for field, before, decoded in parts)


def checked(call: Call, obj: Object, validate: Callable[[Object], list[FieldError]]) -> list[FieldError]:
    """The errors of an object, whose values are shown with the empty lists and maps that were sent.

    It is validated once more for that; if this finds other errors, the first ones count.
    """
    errors = validate(obj)
    schema = call.registration.schema
    if not errors or schema is None or call.sent is None:
        return errors
    shown: Any = with_empties(schema, call.sent, obj)
    if shown is obj:
        return errors
    warnings = list(call.warnings)
    again = validate(shown)
    call.warnings[:] = warnings
    return again if list(map(_kind, again)) == list(map(_kind, errors)) else errors


def _kind(error: FieldError) -> tuple[str, str]:
    return error.field, error.reason
