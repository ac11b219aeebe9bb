"""What happened to a watched object, as predicates and event handlers see it (controller-runtime: pkg/event)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controllerlib.client.names import resource_version


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """An object appeared, or was there when watching began (controller-runtime: event.CreateEvent)."""

    obj: Mapping[str, Any] | None
    is_in_initial_list: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEvent:
    """An object changed, or is told once more unchanged (controller-runtime: event.UpdateEvent)."""

    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class DeleteEvent:
    """An object went; `delete_state_unknown`: its end was missed, `obj` is the last state that was seen.

    Source: controller-runtime, event.DeleteEvent.
    """

    obj: Mapping[str, Any] | None
    delete_state_unknown: bool = False


@dataclass(frozen=True, slots=True)
class GenericEvent:
    """Something outside the API happened that concerns an object (controller-runtime: event.GenericEvent)."""

    obj: Mapping[str, Any] | None


Event = CreateEvent | UpdateEvent | DeleteEvent | GenericEvent


def is_unchanged(event: Event) -> bool:
    """Whether nothing new is known: an initial list, or an update with one and the same resourceVersion."""
    if isinstance(event, CreateEvent):
        return event.is_in_initial_list
    if isinstance(event, UpdateEvent):
        return resource_version(event.old) == resource_version(event.new)
    return False
