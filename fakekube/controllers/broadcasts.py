"""Recorders of Events for components that are programs of their own: each writes as its own user, and drops none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client
from controllerlib.record import ClientSink, CoreEventBroadcaster, CoreEventRecorder, EventBroadcaster, EventRecorder
from fakekube.controllers.context import ControllerContext

#: Number of Events that may wait to be written.
CAPACITY = 1_000_000


class HostRecorder:
    """Records core/v1 Events of a component on a host. The broadcaster starts with the first of them."""

    def __init__(self, context: ControllerContext, client: Client, component: str, host: str) -> None:
        self._context, self._client, self._component, self._host = context, client, component, host
        self._recorder: CoreEventRecorder | None = None

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        self._started().event(obj, event_type, reason, message)

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: Any) -> None:
        self._started().eventf(obj, event_type, reason, message, *args)

    def annotated_eventf(
        self, obj: Any, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: Any
    ) -> None:
        self._started().annotated_eventf(obj, annotations, event_type, reason, message, *args)

    def _started(self) -> CoreEventRecorder:
        if self._recorder is None:
            manager = self._context.manager
            made = CoreEventBroadcaster(
                clock=manager.clock, random=manager.random, timestamps=manager.event_timestamps, capacity=CAPACITY
            )
            made.start_recording_to_sink(ClientSink(self._client))
            manager.at_end(made.shutdown)
            self._recorder = made.new_recorder(self._component, self._host)
        return self._recorder


class SeriesRecorder:
    """Records events.k8s.io/v1 Events of a component. The broadcaster starts with the first of them."""

    def __init__(self, context: ControllerContext, client: Client, controller: str) -> None:
        self._context, self._client, self._controller = context, client, controller
        self._recorder: EventRecorder | None = None

    def eventf(
        self, regarding: Any, related: Any, event_type: str, reason: str, action: str, note: str, *args: Any
    ) -> None:
        self.annotated_eventf(regarding, related, {}, event_type, reason, action, note, *args)

    def annotated_eventf(
        self,
        regarding: Any,
        related: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: Any,
    ) -> None:
        if self._recorder is None:
            manager = self._context.manager
            made = EventBroadcaster(
                ClientSink(self._client),
                clock=manager.clock,
                random=manager.random,
                timestamps=manager.event_timestamps,
                capacity=CAPACITY,
            )
            made.start_recording_to_sink()
            manager.at_end(made.shutdown)
            self._recorder = made.new_recorder(self._controller)
        self._recorder.annotated_eventf(regarding, related, annotations, event_type, reason, action, note, *args)
