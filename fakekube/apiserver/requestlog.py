"""The log of processed requests, similar to an audit log, for assertions in tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from fakekube.apiserver.wire.request import RequestInfo


def namespace_of_object(group: str, resource: str, namespace: str) -> str:
    """The namespace of the object of a request: "" for a Namespace, whose requests have its own name as namespace."""
    return "" if (group, resource) == ("", "namespaces") else namespace


class RequestRecord(NamedTuple):
    """A processed request (a tuple, because one is made for every request).

    `at` is in seconds of the server's clock; `revision` is the store's revision after the request. `name` is that of
    the object, also where the request creates it. `serial` orders it among everything that the server's user records.
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
    """The operator and the reconcile that made the request, if the client sends them."""
    message: str = ""
    """Why the request failed."""
    serial: int = 0

    @property
    def object_namespace(self) -> str:
        """The namespace of the object ("": none)."""
        return namespace_of_object(self.group, self.resource, self.namespace)

    def __str__(self) -> str:
        where = "/".join(part for part in (self.object_namespace, self.name) if part)
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource or self.path
        text = f"{self.verb} {what} {where} -> {self.code}".lstrip()  # the verb is empty for other HTTP methods
        return f"{text} {self.reason}" if self.reason else text


def is_of_lease(record: RequestRecord) -> bool:
    """Whether a request that succeeded read or renewed a lease, which clients do every few seconds."""
    return record.resource == "leases" and record.code == 200 and record.verb in ("get", "update", "patch")


class Signature(NamedTuple):
    """The fields of dropped records that are still known."""

    verb: str
    resource: str
    group: str
    subresource: str
    user: str
    user_agent: str
    code: int
    reason: str


class RequestLog:
    """The most recent records, oldest first: at least `limit` of them, and at most an eighth more.

    Of the requests that read and renewed leases, it keeps the last `leases`, and at most an eighth more.
    """

    def __init__(self, limit: int = 100_000, leases: int = 10_000) -> None:
        self._limit, self._leases = limit, leases
        self._of_leases = 0
        self._records: list[RequestRecord] = []
        self._dropped: Counter[Signature] = Counter()

    def __iter__(self) -> Iterator[RequestRecord]:
        return iter(self._records)

    def __reversed__(self) -> Iterator[RequestRecord]:
        return reversed(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def append(self, record: RequestRecord) -> None:
        self._records.append(record)
        if record.resource == "leases" and is_of_lease(record):
            self._of_leases += 1
            if self._of_leases > self._leases + self._leases // 8:
                self._shrink()
        if len(self._records) > self._limit + self._limit // 8:
            self._shrink()

    def clear(self) -> None:
        """Forget all records."""
        self._records.clear()
        self._dropped.clear()
        self._of_leases = 0

    def dropped(self, wanted: Mapping[str, object], matches: Callable[[object, object], bool]) -> int:
        """How many dropped records may have had these fields, as far as their signatures tell."""
        known = [(name, value) for name, value in wanted.items() if name in Signature._fields]
        return sum(
            times
            for signature, times in self._dropped.items()
            if all(matches(getattr(signature, name), value) for name, value in known)
        )

    def _shrink(self) -> None:
        of_leases = [i for i, record in enumerate(self._records) if is_of_lease(record)]
        gone = set(of_leases[: max(0, len(of_leases) - self._leases)])
        kept = [record for i, record in enumerate(self._records) if i not in gone]
        old = max(0, len(kept) - self._limit)
        self._dropped.update(_signature(record) for record in (*(self._records[i] for i in gone), *kept[:old]))
        self._records = kept[old:]
        self._of_leases = sum(map(is_of_lease, self._records))


def _signature(record: RequestRecord) -> Signature:
    return Signature(*(getattr(record, name) for name in Signature._fields))


def name_in(body: Any) -> str:
    """The name of the object in the body of a creation that has failed; empty if it cannot be read."""
    if isinstance(body, bytes):
        try:
            body = orjson.loads(body)
        except orjson.JSONDecodeError:
            return ""
    meta = body.get("metadata") if isinstance(body, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else ""


def record(
    at: float,
    info: RequestInfo,
    user: str,
    user_agent: str,
    code: int,
    revision: int,
    *,
    name: str = "",
    reason: str = "",
    message: str = "",
    trace: str = "",
    serial: int = 0,
) -> RequestRecord:
    return RequestRecord(
        at, info.verb, info.resource, info.group, info.namespace, info.name or name, info.subresource,
        user, user_agent, code, reason, info.path, revision, trace, message, serial,
    )  # fmt: skip
