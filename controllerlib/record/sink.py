"""Where Events are written to, and what is worth a second try (client-go: tools/record, tools/events: recordEvent)."""

import logging
from typing import Any, Protocol

from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError, has_status_cause, is_already_exists
from controllerlib.client.names import Object

_log = logging.getLogger(__name__)

#: How often one event is tried (maxTriesPerEvent).
TRIES = 12
#: Seconds between tries.
PAUSE = 10.0


class RequestConstructionError(Exception):
    """No request could be made of the event; the next one would not be better. The reason is its `__cause__`."""


class UnexpectedObjectError(Exception):
    """The server answered with something else than an Event."""


class RetriableError(Exception):
    """The event was not written, and should be tried again. Why is its `__cause__`."""


class EventSink(Protocol):
    """Stores events. Raises ApiError for what the server refuses, anything else for what may pass.

    Source: client-go, record.EventSink, events.EventSink.
    """

    async def create(self, event: Object) -> Object:
        """Create the event and return it as stored."""
        ...

    async def patch(self, event: Object, patch: Object) -> Object:
        """Change the stored event by a strategic merge patch and return it."""
        ...


class ClientSink:
    """Events at an API server, of either API: an event's apiVersion says which."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, event: Object) -> Object:
        """See EventSink; RequestConstructionError, UnexpectedObjectError."""
        return await _answer(self._client.create(event))

    async def patch(self, event: Object, patch: Object) -> Object:
        """See EventSink; RequestConstructionError, UnexpectedObjectError."""
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
    """Write an event once: patched when there is a `patch`, created without one, or when there is nothing to patch.

    Returns it as stored, None when it is given up. Raises Again when it is worth another try; so is, for a `series`,
    that it came to exist in between.
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
    except Exception as error:  # whatever a sink raises but a refusal may be over the next time
        _log.error("unable to write event (may retry after sleeping)", extra={"event": event, "error": str(error)})
        raise RetriableError from error
    return None
