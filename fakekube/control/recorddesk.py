"""What clients did: requests, findings, permissions, the timeline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from typing import Any

import orjson

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.wire.status import StatusError
from fakekube.control import journal
from fakekube.control.operation import operation
from fakekube.control.requestfields import DURATION
from fakekube.control.requestfields import arguments as checked
from fakekube.control.steering import Steering
from fakekube.harness import accessreport, arguments
from fakekube.server.controldoor import Answered
from fakekube.virtualtime.durations import SECOND, Duration, microseconds

_INTEGER = {"type": "integer"}

#: The code of an expectation that is not met, which no error of a request has.
UNMET = 417


def unmet(message: str, **details: Any) -> StatusError:
    return StatusError(UNMET, "ExpectationFailed", message, details)


class RecordDesk:
    """What a test reads with `fakekube.requests`, `findings`, `access.rbac_report` and `timeline`."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._began = steering.clock.epoch.timestamp()
        self._allowed: list[tuple[str, str, str]] = []

    # --- requests

    @operation(
        "GET", "/requests",
        fields={**journal.FIELDS, "since": DURATION, "limit": _INTEGER, "watch": {"type": "boolean"}},
    )  # fmt: skip
    def requests(self, wanted: Mapping[str, Any]) -> Any:
        """The requests with these fields, oldest first; `since`: those of the last so much time, `limit`: the last so
        many, `watch`: also those that come, one a line."""
        options = dict(wanted)
        since, limit, watch = options.pop("since", None), options.pop("limit", None), options.pop("watch", False)
        found = self._matching(options)
        if since is not None:
            after = self._steering.clock.monotonic() - microseconds(since) / SECOND
            found = [one for one in found if one.at >= after]
        if limit is not None:
            if limit < 0:
                raise ValueError(f"limit={limit} must be 0 or more")
            found = found[max(0, len(found) - limit) :]
        if watch:
            return Answered(200, b"", "application/x-ndjson", self._stream(found, options))
        return {"items": [journal.shown(one, self._began) for one in found]}

    async def _stream(self, known: list[RequestRecord], wanted: Mapping[str, Any]) -> AsyncGenerator[bytes, None]:
        arrived: asyncio.Queue[RequestRecord] = asyncio.Queue(10_000)

        def add(record: RequestRecord) -> None:
            if not arrived.full():
                arrived.put_nowait(record)

        leave = self._steering.runner.on_request(add)
        try:
            for one in known:
                yield self._line(one)
            while True:
                for one in journal.matching([await arrived.get()], wanted):
                    yield self._line(one)
        finally:
            leave()

    def _line(self, record: RequestRecord) -> bytes:
        return orjson.dumps(journal.shown(record, self._began)) + b"\n"

    @operation("DELETE", "/requests", code=204)
    def forget_requests(self) -> None:
        """Forget all requests."""
        self._steering.runner.log.clear()

    @operation(
        "POST", "/requests:verify",
        fields={"match": {"type": "object", "properties": dict(journal.FIELDS)}, "atLeast": _INTEGER,
                "atMost": _INTEGER, "exactly": _INTEGER},
    )  # fmt: skip
    def verify(self, body: Mapping[str, Any]) -> Any:
        """Verify how many requests with these fields there were, by default at least one; else 417 with the count
        and the latest of them if there are too many, or else the nearest records, and how they differ."""
        wanted = checked("match", body.get("match", {}), journal.FIELDS)
        journal.check_limits(body.get("at_least"), body.get("at_most"), body.get("exactly"))
        found = self._matching(wanted)
        count = len(found)
        problem = journal.problem_of(count, body.get("at_least"), body.get("at_most"), body.get("exactly"))
        if not problem:
            return {"count": count}
        limit = body.get("exactly", body.get("at_most"))
        if limit is not None and count > limit:
            latest = [journal.shown(record, self._began) for record in found[: -journal.NEAREST - 1 : -1]]
            cut = f" (`matching` has the latest {len(latest)} of them)" if count > len(latest) else ""
            raise unmet(f"requests: {problem}{cut}", count=count, matching=latest)
        near = [
            {"request": journal.shown(record, self._began), "differs": differs}
            for record, differs in journal.nearest(self._steering.runner.log, wanted)
        ]
        raise unmet(f"requests: {problem}", count=count, nearest=near)

    def _matching(self, wanted: Mapping[str, Any]) -> list[RequestRecord]:
        journal.check(wanted)
        log = self._steering.runner.log
        found = journal.matching(log, wanted)
        if not found and ("verb" in wanted or "resource" in wanted):
            resources = self._steering.runner.apiserver.catalog.resources()
            arguments.check_requests(wanted, resources, lambda name: any(one.resource == name for one in log))
        return found

    # --- findings

    @operation("GET", "/findings")
    def findings(self, detector: str = "") -> Any:
        """Defects of clients that the requests show, oldest first; of one detector, or of all."""
        detection = self._steering.detection
        return {
            "items": [
                {"detector": one.detector, "level": detection.levels[one.detector], "who": one.who, "text": one.text,
                 "times": one.times, "at": one.at.isoformat()}
                for one in detection.so_far()
                if detector in ("", one.detector)
            ]
        }  # fmt: skip

    @operation("POST", "/findings:allow", code=204)
    def allow(self, detector: str, reason: str, match: str = "") -> None:
        """Ignore the findings of a detector whose text contains the regular expression `match`."""
        self._steering.detection.allow(detector, reason, match)
        self._allowed.append((detector, reason, match))

    @operation("DELETE", "/findings", code=204)
    def forget_findings(self) -> None:
        """Forget all findings; what is allowed stays."""
        self._steering.forget_findings()
        for one in self._allowed:
            self._steering.detection.allow(*one)

    # --- access

    @operation("GET", "/rbac")
    def rbac(self, user: str, format: str = "json") -> Any:
        """What a user did and what its roles grant: used, missing and unused permissions. With `format=yaml` the least
        roles that would do."""
        server = self._steering.runner.apiserver
        found = accessreport.report(server.store, self._steering.runner.log, self._steering.user(user))
        if format == "yaml":
            return Answered(200, found.minimal.encode(), "application/yaml")
        shown = {name: [str(one) for one in getattr(found, name)] for name in ("used", "missing", "unused")}
        return {"user": user, **shown, "minimalRoles": found.minimal_roles}

    # --- timeline

    @operation("GET", "/timeline")
    def timeline(self, since: Duration | None = None, last: int | None = None) -> Any:
        """Requests, Events, faults and changes in the order of time, with their causes; `since`: those of the last so
        much time, `last`: the last so many."""
        return Answered(200, self._timeline(since, last).encode())

    @operation("GET", "/timeline.html", content_type="text/html")
    def timeline_page(self, since: Duration | None = None) -> Any:
        """The timeline as a page that needs nothing else; `since`: that of the last so much time."""
        from fakekube.harness.records.page import LAST, page

        return Answered(200, page(self._timeline(since, LAST)).encode(), "text/html; charset=utf-8")

    def _timeline(self, since: Duration | None, last: int | None) -> str:
        timeline = self._steering.timeline
        if since is not None:
            after = self._steering.clock.now() - timedelta(microseconds=microseconds(since))
            recent = sum(row.entry.at >= after for row in timeline.joined().rows.values())
            last = recent if last is None else min(last, recent)
        return timeline.to_json(last=last)

    def reset(self) -> None:
        """Forget requests and findings, and what is allowed."""
        self._allowed.clear()
        self.forget_requests()
        self._steering.forget_findings()
