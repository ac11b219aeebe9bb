"""The log of processed requests, similar to an audit log, for assertions in tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from fakekube.apiserver.wire.request import RequestInfo


class RequestRecord(NamedTuple):
    """A processed request (a tuple, because one is made for every request).

    `at` is in seconds of the server's clock; `revision` is the store's revision after the request.
    """

    at: float
    verb: str
    resource: str
    group: str
    namespace: str
    name: str
    subresource: str
    user: str
    user_agent: str
    code: int
    reason: str
    path: str
    revision: int
    trace: str = ""
    """The reconcile that made the request, if the client sends its ID."""

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace and self.name else self.namespace or self.name
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource or self.path
        text = f"{self.verb} {what} {where} -> {self.code}".lstrip()  # the verb is empty for other HTTP methods
        return f"{text} {self.reason}" if self.reason else text


class RequestLog:
    """The most recent `limit` records, oldest first."""

    def __init__(self, limit: int = 100_000) -> None:
        self._records: deque[RequestRecord] = deque(maxlen=limit)

    def __iter__(self) -> Iterator[RequestRecord]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def append(self, record: RequestRecord) -> None:
        self._records.append(record)

    def clear(self) -> None:
        self._records.clear()


def record(
    at: float, info: RequestInfo, user: str, user_agent: str, code: int, reason: str, revision: int, trace: str = ""
) -> RequestRecord:
    return RequestRecord(
        at, info.verb, info.resource, info.group, info.namespace, info.name, info.subresource,
        user, user_agent, code, reason, info.path, revision, trace,
    )  # fmt: skip
