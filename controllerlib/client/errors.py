"""Errors of API servers, distinguished by reason."""

from collections.abc import Mapping
from typing import Any

#: Default reasons by status code (apimachinery: pkg/api/errors, NewGenericServerResponse).
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class ApiError(Exception):
    """An error answered by the server. Decide by `reason`; `message` is for people.

    Source: apimachinery, errors.StatusError.
    """

    code: int
    reason: str
    message: str

    def __init__(self, code: int, reason: str, message: str, status: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.status: Mapping[str, Any] = status or {
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }

    def __repr__(self) -> str:
        return f"<ApiError {self.code} {self.reason}: {self.message}>"

    @property
    def retry_after(self) -> float | None:
        """The seconds after which the server allows a retry; None if it does not say."""
        seconds = (self.status.get("details") or {}).get("retryAfterSeconds")
        return float(seconds) if seconds else None


#: The exceptions of a failed request. Other exceptions are bugs of a ListerWatcher or transport and are not caught.
REQUEST_ERRORS = (ApiError, OSError, EOFError)


def from_status(status: Any, code: int = 0) -> ApiError:
    """Return the error for a Status object, or for any other body with an error code."""
    if not isinstance(status, Mapping):
        status = {"message": str(status) if status else "", "code": code}
    code = int(status.get("code") or code or 500)
    reason = status.get("reason") or _REASONS.get(code, "Unknown")
    message = status.get("message") or f"the server responded with the status code {code}"
    return ApiError(code, reason, message, status)


def not_found(resource: str, name: str) -> ApiError:
    """Return the NotFound error of a lister ("pods", "jobs.batch") or of a cache (which names the kind)."""
    message = f'{resource} "{name}" not found'
    details = {"name": name, "kind": resource}
    status = {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "NotFound",
        "details": details,
        "code": 404,
    }
    return ApiError(404, "NotFound", message, status)


def is_not_found(error: BaseException) -> bool:
    """Return whether the object does not exist."""
    return isinstance(error, ApiError) and error.reason == "NotFound"


def is_conflict(error: BaseException) -> bool:
    """Return whether the object was modified since it was read."""
    return isinstance(error, ApiError) and error.reason == "Conflict"


def is_already_exists(error: BaseException) -> bool:
    """Return whether an object of that name exists."""
    return isinstance(error, ApiError) and error.reason == "AlreadyExists"


def is_expired(error: BaseException) -> bool:
    """Return whether the resourceVersion is too old for the server (410: Expired or Gone)."""
    return isinstance(error, ApiError) and (error.reason in ("Expired", "Gone") or error.code == 410)


def is_too_many_requests(error: BaseException) -> bool:
    """Return whether the server rejects the request because of too many requests (429)."""
    return isinstance(error, ApiError) and (error.reason == "TooManyRequests" or error.code == 429)


def is_internal(error: BaseException) -> bool:
    """Return whether the server failed (500 InternalError)."""
    return isinstance(error, ApiError) and error.reason == "InternalError"


def is_invalid(error: BaseException) -> bool:
    """Return whether the server rejected the object as invalid (422 Invalid)."""
    return isinstance(error, ApiError) and error.reason == "Invalid"


def is_too_large_resource_version(error: BaseException) -> bool:
    """Return whether the resourceVersion is newer than the server's: by its cause, or by two older forms of the
    message.
    """
    if not isinstance(error, ApiError):
        return False
    causes = (error.status.get("details") or {}).get("causes") or ()
    if any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes):
        return error.reason == "Timeout"
    if error.reason != "Timeout":
        return False
    if any(cause.get("message") == "Too large resource version" for cause in causes):
        return True
    return "Too large resource version" in error.message


def has_status_cause(error: BaseException, cause: str) -> bool:
    """Return whether one of the causes in the Status has that reason (apimachinery: HasStatusCause)."""
    if not isinstance(error, ApiError):
        return False
    causes = (error.status.get("details") or {}).get("causes") or ()
    return any(found.get("reason") == cause for found in causes)


def is_connection_refused(error: BaseException) -> bool:
    """Return whether the connection was refused."""
    return isinstance(error, ConnectionRefusedError)
