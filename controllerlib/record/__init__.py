"""Recording Events of both APIs (client-go: tools/record, tools/events)."""

from controllerlib.record.corev1 import CoreEventBroadcaster, CoreEventRecorder, CoreFakeRecorder
from controllerlib.record.correlator import Correlator, CorrelatorOptions
from controllerlib.record.eventobject import reference
from controllerlib.record.eventsv1 import EventBroadcaster, EventRecorder, EventRecorderAdapter, FakeRecorder
from controllerlib.record.sink import ClientSink, EventSink, RequestConstructionError, UnexpectedObjectError

__all__ = [
    "ClientSink",
    "CoreEventBroadcaster",
    "CoreEventRecorder",
    "CoreFakeRecorder",
    "Correlator",
    "CorrelatorOptions",
    "EventBroadcaster",
    "EventRecorder",
    "EventRecorderAdapter",
    "EventSink",
    "FakeRecorder",
    "RequestConstructionError",
    "UnexpectedObjectError",
    "reference",
]
