"""Queries of a test for requests and Events, whose arguments are checked against the kinds of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness import arguments
from fakekube.harness.audit import Audit
from fakekube.harness.keywords import EventFields, RequestFields, check_event_fields
from fakekube.harness.objects import Objects
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]


class RequestQueries:
    """The answered requests of a server."""

    def __init__(self, runner: ServerRunner, audit: Audit) -> None:
        self._runner, self._audit = runner, audit

    def requests(self, wanted: RequestFields) -> Sequence[RequestRecord]:
        """Those with these fields. Raises TypeError, ValueError."""
        found = self._audit.requests(wanted)  # checks the types
        if not found and ("verb" in wanted or "resource" in wanted):
            log = self._runner.log
            resources = self._runner.apiserver.catalog.resources()
            arguments.check_requests(wanted, resources, lambda name: any(one.resource == name for one in log))
        return found


def events(objects: Objects, namespace: str | None, wanted: EventFields) -> Sequence[Object]:
    """The Events with these fields, in the order in which they were written. Raises TypeError."""
    check_event_fields(wanted)
    found = sorted(objects.list("v1", "Event", namespace), key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [event for event in found if all(event.get(key) == value for key, value in wanted.items())]
