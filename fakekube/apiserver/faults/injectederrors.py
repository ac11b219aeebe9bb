"""The errors that are injected, as a real server or the proxy before it sends them."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import (
    StatusError,
    bad_request,
    conflict,
    forbidden,
    internal_error,
    invalid,
    not_found,
    too_many_requests,
    unauthorized,
)

#: The page with which nginx answers for a server that it cannot reach.
BAD_GATEWAY = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)

#: The page with which a proxy answers for a client that has not sent its request in time.
REQUEST_TIMEOUT = (
    "<html><body><h1>408 Request Time-out</h1>\nYour browser didn't send a complete request in time.\n</body></html>\n"
)

HTML = "text/html"


class ProxyAnswer(Exception):
    """An answer in HTML, which a proxy before the server sends."""

    code: int
    text: str

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def _unavailable(info: RequestInfo) -> StatusError:
    message = "the server is currently unable to handle the request"
    return StatusError(503, "ServiceUnavailable", message, {"retryAfterSeconds": 1})


def _timeout(info: RequestInfo) -> StatusError:
    return StatusError(504, "Timeout", "the server was unable to return a response in the time allotted", {})


#: HTTP code of an injected error -> the error. 410 is none of them: the history is compacted instead.
ERRORS: dict[int, Callable[[RequestInfo], Exception]] = {
    401: lambda info: unauthorized(),
    403: lambda info: forbidden(info.qualified, info.name, "injected fault"),
    408: lambda info: ProxyAnswer(408, REQUEST_TIMEOUT),
    409: lambda info: conflict(info.qualified, info.name),
    429: lambda info: too_many_requests(
        "the server has received too many requests and has asked us to try again later"
    ),
    500: lambda info: internal_error("injected fault"),
    502: lambda info: ProxyAnswer(502, BAD_GATEWAY),
    503: _unavailable,
    504: _timeout,
}

#: Errors that follow from the request and the stored objects: a server never answers a correct request with them.
UNREALISTIC: dict[int, Callable[[RequestInfo], Exception]] = {
    400: lambda info: bad_request("injected fault"),
    404: lambda info: not_found(info.qualified, info.name),
    422: lambda info: invalid(info.group, info.resource, info.name, []),
}


def error_of(code: int, info: RequestInfo) -> Exception:
    """The injected error."""
    return (ERRORS.get(code) or UNREALISTIC[code])(info)
