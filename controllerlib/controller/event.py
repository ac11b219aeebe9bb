"""Events of watched objects, for predicates and event handlers (controller-runtime: pkg/event)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controllerlib.client.names import resource_version


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """An object was created, or existed when the watch started (controller-runtime: event.CreateEvent)."""

    obj: Mapping[str, Any] | None
    is_in_initial_list: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEvent:
    """An object was updated, or is delivered again by a resync (controller-runtime: event.UpdateEvent)."""

    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class DeleteEvent:
    """An object was deleted. `delete_state_unknown`: the deletion was missed, and `obj` is the last known state.

    Source: controller-runtime, event.DeleteEvent.
    """

    obj: Mapping[str, Any] | None
    delete_state_unknown: bool = False


@dataclass(frozen=True, slots=True)
class GenericEvent:
    """An event from outside the API that concerns an object (controller-runtime: event.GenericEvent)."""

    obj: Mapping[str, Any] | None


Event = CreateEvent | UpdateEvent | DeleteEvent | GenericEvent


def is_unchanged(event: Event) -> bool:
    """Return whether the event is part of an initial list, or an update without a new resourceVersion."""
    if isinstance(event, CreateEvent):
        return event.is_in_initial_list
    if isinstance(event, UpdateEvent):
        return resource_version(event.old) == resource_version(event.new)
    return False
