"""Event sinks, and which errors are retried (client-go: tools/record, tools/events: recordEvent)."""

import logging
from typing import Any, Protocol

from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError, has_status_cause, is_already_exists
from controllerlib.client.names import Object

_log = logging.getLogger(__name__)

#: Maximum number of attempts per event (maxTriesPerEvent).
TRIES = 12
#: Seconds between attempts.
PAUSE = 10.0


class RequestConstructionError(Exception):
    """No request can be constructed from the event, so it is not retried; `__cause__` is the reason."""


class UnexpectedObjectError(Exception):
    """The server answered with an object that is not an Event."""


class RetriableError(Exception):
    """The event was not written and should be retried; `__cause__` is the reason."""


class EventSink(Protocol):
    """Stores events. Raises ApiError if the server rejects an event; other exceptions are retried.

    Source: client-go, record.EventSink, events.EventSink.
    """

    async def create(self, event: Object) -> Object:
        """Create the event and return it as stored."""
        ...

    async def patch(self, event: Object, patch: Object) -> Object:
        """Patch the stored event by a strategic merge patch and return it."""
        ...


class ClientSink:
    """Writes events of either API, by their apiVersion, to an API server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, event: Object) -> Object:
        """See EventSink; also raises RequestConstructionError and UnexpectedObjectError."""
        return await _answer(self._client.create(event))

    async def patch(self, event: Object, patch: Object) -> Object:
        """See EventSink; also raises RequestConstructionError and UnexpectedObjectError."""
        return await _answer(self._client.patch(event, patch, type="strategic"))


async def _answer(request: Any) -> Object:
    try:
        answer: Object = await request
    except (TypeError, ValueError, LookupError) as error:
        raise RequestConstructionError(str(error)) from error
    if answer.get("kind") != "Event":
        raise UnexpectedObjectError(f"unexpected object: {answer}")
    return answer


async def record(sink: EventSink, event: Object, patch: Object | None, *, series: bool = False) -> Object | None:
    """Make one attempt to write an event: patch it if `patch` is given, otherwise or if it does not exist create it.

    Returns the stored event, or None if the error is final. Raises RetriableError for other errors; for a `series` also
    if the event was created meanwhile.
    """
    try:
        if patch is not None:
            try:
                return await sink.patch(event, patch)
            except ApiError as error:
                if error.code != 404:
                    raise
        meta = {name: value for name, value in event["metadata"].items() if name != "resourceVersion"}
        return await sink.create({**event, "metadata": meta})
    except RequestConstructionError as error:
        _log.error("unable to construct event (will not retry!)", extra={"event": event, "error": str(error)})
    except ApiError as error:
        if series and is_already_exists(error):
            raise RetriableError from error
        expected = is_already_exists(error) or has_status_cause(error, "NamespaceTerminating")
        level = logging.DEBUG if expected else logging.ERROR
        _log.log(level, "server rejected event (will not retry!)", extra={"event": event, "error": error.message})
    except Exception as error:  # all errors other than rejections may be temporary
        _log.error("unable to write event (may retry after sleeping)", extra={"event": event, "error": str(error)})
        raise RetriableError from error
    return None
