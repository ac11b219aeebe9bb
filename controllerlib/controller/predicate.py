"""Predicates: filters of events before they are handled (controller-runtime: pkg/predicate)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.selector import Selector, parse_selector
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent

#: Returns whether an event is to be handled.
Predicate = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class PredicateFuncs:
    """One function per type of event; omitted ones accept every event.

    Source: controller-runtime, predicate.Funcs.
    """

    create: Callable[[CreateEvent], bool] | None = None
    update: Callable[[UpdateEvent], bool] | None = None
    delete: Callable[[DeleteEvent], bool] | None = None
    generic: Callable[[GenericEvent], bool] | None = None

    def __call__(self, event: Event) -> bool:
        if isinstance(event, CreateEvent):
            return self.create is None or self.create(event)
        if isinstance(event, UpdateEvent):
            return self.update is None or self.update(event)
        if isinstance(event, DeleteEvent):
            return self.delete is None or self.delete(event)
        return self.generic is None or self.generic(event)


def of_object(test: Callable[[Mapping[str, Any]], bool]) -> Predicate:
    """Apply `test` to the object, for updates to the new one (predicate.NewPredicateFuncs)."""

    def predicate(event: Event) -> bool:
        obj = event.new if isinstance(event, UpdateEvent) else event.obj
        return obj is not None and test(obj)

    return predicate


def _changed(what: Callable[[Mapping[str, Any]], Any]) -> Predicate:
    """Return a predicate that accepts updates only if `what` differs; it rejects updates without an old or new
    object.
    """

    def predicate(event: Event) -> bool:
        """Accept updates with that change, and all other events."""
        if not isinstance(event, UpdateEvent):
            return True
        if event.old is None or event.new is None:
            return False
        return bool(what(event.old) != what(event.new))

    return predicate


def _meta(obj: Mapping[str, Any], name: str) -> Any:
    return (obj.get("metadata") or {}).get(name)


#: Accepts updates with another resourceVersion: no resyncs and relists.
resource_version_changed: Predicate = _changed(lambda obj: _meta(obj, "resourceVersion"))
#: Accepts updates of the spec: no resyncs, no updates of status or metadata.
generation_changed: Predicate = _changed(lambda obj: _meta(obj, "generation"))
#: Accepts updates of annotations; missing and empty are equal.
annotations_changed: Predicate = _changed(lambda obj: _meta(obj, "annotations") or {})
#: Accepts updates of labels; missing and empty are equal.
labels_changed: Predicate = _changed(lambda obj: _meta(obj, "labels") or {})


def label_selector(selector: str | Selector) -> Predicate:
    """Accept objects with these labels; for updates the labels of the new object count."""
    wanted = parse_selector(selector) if isinstance(selector, str) else selector
    return of_object(lambda obj: wanted.matches(_meta(obj, "labels")))


def all_of(*predicates: Predicate) -> Predicate:
    """Accept events that all predicates accept, evaluated in order; without predicates every event (predicate.And)."""
    return lambda event: all(predicate(event) for predicate in predicates)


def any_of(*predicates: Predicate) -> Predicate:
    """Accept events that any predicate accepts, evaluated in order; without predicates no event (predicate.Or)."""
    return lambda event: any(predicate(event) for predicate in predicates)


def negated(predicate: Predicate) -> Predicate:
    """Accept events that `predicate` rejects, of every type (predicate.Not)."""
    return lambda event: not predicate(event)


def passes(event: Event, predicates: Sequence[Predicate]) -> bool:
    """Return whether all predicates accept the event; evaluated in order until one rejects it."""
    for predicate in predicates:  # noqa: SIM110 - a generator that is left early ends by an exception, event for event
        if not predicate(event):
            return False
    return True
