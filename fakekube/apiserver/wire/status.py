"""Status errors and field errors with the messages of the real server (apimachinery `api/errors`,
`util/validation/field`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Object, qualify
from fakekube.apiserver.wire.gojson import go_json
from fakekube.apiserver.wire.goprint import go_quote, quoted
from fakekube.struct import Struct


class StatusError(Exception):
    """The error of a rejected request. Branch on `reason`, never on `message`.

    `code` is the HTTP status; `details` is omitted if it is None, but not if it is empty; `headers` are sent with the
    response (Retry-After).
    """

    metadata: dict[str, Any]
    headers: dict[str, str]
    details: dict[str, Any] | None
    message: str
    reason: str
    code: int

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Object | None = None,
        *,
        headers: dict[str, str] | None = None,
        metadata: Object | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details, self.headers, self.metadata = details, headers or {}, metadata or {}
        self.warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<StatusError {self.code} {self.reason} {self.message!r}>"

    def to_object(self) -> Object:
        """The Status that the client receives."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


class PlainAnswer(Exception):
    """A plain text error of Go's HTTP mux, for a path that the API machinery does not handle."""

    text: str
    code: int

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class FieldError(Struct, frozen=True):
    """An invalid field (`field.Error`): its path, the reason of the Status cause, and the message."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def _detailed(message: str, detail: str) -> str:
    return f"{message}: {detail}" if detail else message


def field_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(field, "FieldValueInvalid", _detailed(f"Invalid value: {quoted(value)}", detail))


def field_required(field: str, detail: str = "") -> FieldError:
    return FieldError(field, "FieldValueRequired", _detailed("Required value", detail))


def field_forbidden(field: str, detail: str) -> FieldError:
    return FieldError(field, "FieldValueForbidden", f"Forbidden: {detail}")


def field_duplicate(field: str, value: Any) -> FieldError:
    return FieldError(field, "FieldValueDuplicate", f"Duplicate value: {quoted(value)}")


def field_not_found(field: str, value: Any) -> FieldError:
    return FieldError(field, "FieldValueNotFound", f"Not found: {quoted(value)}")


def field_too_many(field: str, count: int, limit: int) -> FieldError:
    unit = "item" if limit == 1 and since(34) else "items"
    return FieldError(field, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} {unit}")


def field_too_long(field: str, limit: int, unit: str = "bytes") -> FieldError:
    if not since(32):
        return FieldError(field, "FieldValueTooLong", f"Too long: may not be longer than {limit}")
    return FieldError(field, "FieldValueTooLong", f"Too long: may not be more than {limit} {unit}")


def field_not_supported(field: str, value: Any, supported: Sequence[str], *, plain: bool = False) -> FieldError:
    """`plain`: the field is a Go string; the value of a named type is shown as JSON."""
    choices = ", ".join(go_quote(one) for one in supported)
    shown = go_json(value) if isinstance(value, list | str) and since(34) and not plain else quoted(value)
    return FieldError(field, "FieldValueNotSupported", f"Unsupported value: {shown}: supported values: {choices}")


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422 of an invalid object or of invalid options, with one cause for each field."""
    texts = list(dict.fromkeys(map(str, errors)))
    text = "" if not texts else f": {texts[0]}" if len(texts) == 1 else f": [{', '.join(texts)}]"
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    if errors:
        details["causes"] = [_cause(error) for error in errors]
    return StatusError(422, "Invalid", f'{qualify(kind, group)} "{name}" is invalid{text}', details)


def _cause(error: FieldError) -> Object:
    cause = {"reason": error.reason, "message": error.message}
    return {**cause, "field": error.field} if error.field else cause


def _of(qualified: str, name: str) -> Object:
    plural, _, group = qualified.partition(".")
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = plural
    return details


def invalid_patch(shown: str, why: str) -> StatusError:
    """422 of an invalid patch or of an invalid result of one; `shown` is the value as Go prints it."""
    return invalid("", "", "", [FieldError("patch", "FieldValueInvalid", f"Invalid value: {go_quote(shown)}: {why}")])


def patch_rejected() -> StatusError:
    """422 of a patch that does not apply, without details as in the real server."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def not_found(qualified: str, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{qualified} "{name}" not found', _of(qualified, name))


def already_exists(qualified: str, name: str) -> StatusError:
    return StatusError(409, "AlreadyExists", f'{qualified} "{name}" already exists', _of(qualified, name))


def generate_name_conflict(qualified: str, name: str, retry_after: int = 1) -> StatusError:
    """409 of a generated name that is taken."""
    error = already_exists(qualified, name)
    message = f"{error.message}, the server was not able to generate a unique name for the object"
    details = {**(error.details or {}), "retryAfterSeconds": retry_after}
    return StatusError(409, "AlreadyExists", message, details, headers={"Retry-After": str(retry_after)})


def conflict(qualified: str, name: str, why: str = "") -> StatusError:
    why = why or ("the object has been modified; please apply your changes to the latest version and try again")
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    return StatusError(409, "Conflict", message, _of(qualified, name))


def forbidden(qualified: str, name: str, why: str) -> StatusError:
    """403; `qualified` is empty for a non-resource path."""
    if not qualified:
        return StatusError(403, "Forbidden", f"forbidden: {why}", {})
    subject = f'{qualified} "{name}" is forbidden' if name else f"{qualified} is forbidden"
    return StatusError(403, "Forbidden", f"{subject}: {why}", _of(qualified, name))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def internal_error(message: str) -> StatusError:
    details = {"causes": [{"message": message}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", details)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def no_such_resource() -> StatusError:
    """404 of an unknown resource of a served group, or of an unknown subresource."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def not_acceptable(message: str, details: Object | None = None) -> StatusError:
    return StatusError(406, "NotAcceptable", message, details)


def unsupported_media_type(message: str, details: Object | None = None) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message, details)


def too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", message)


def expired(message: str, *, metadata: Object | None = None) -> StatusError:
    """410 of a resourceVersion that is too old."""
    return StatusError(410, "Expired", message, metadata=metadata)


def too_large_resource_version(asked: int, current: int, *, cached: bool = True) -> StatusError:
    """504 of a read of a resourceVersion in the future. `cached`: the kind has a watch cache, which may catch up."""
    details: Object = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    if not cached:
        return StatusError(504, "Timeout", message, details)
    return StatusError(504, "Timeout", message, {**details, "retryAfterSeconds": 1}, headers={"Retry-After": "1"})


def is_routing_error(error: StatusError) -> bool:
    """Whether go-restful rejects the request before its handler, which adds the warnings of a deprecated kind."""
    return error.message.startswith(("406: ", "415: "))


def too_many_requests(message: str, retry_after: int = 1) -> StatusError:
    details = {"retryAfterSeconds": retry_after}
    return StatusError(429, "TooManyRequests", message, details, headers={"Retry-After": str(retry_after)})


def service_unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def not_implemented(what: str) -> StatusError:
    """501 of a part of the API that this server does not implement."""
    return StatusError(501, "NotImplemented", f"fakekube does not implement {what}", {})


def together(problems: Iterable[str]) -> str:
    """The message of several errors, without duplicates; "" if there are none (`utilerrors.Aggregate`)."""
    unique = list(dict.fromkeys(problems))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""
