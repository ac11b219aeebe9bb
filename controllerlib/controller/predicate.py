"""Which events are worth a reconcile (controller-runtime: pkg/predicate). The cache sees all of them anyway."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.selector import Selector, parse_selector
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent

#: A predicate is a function of an event.
Predicate = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class PredicateFuncs:
    """One function for each kind of event; the ones left out let everything pass.

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
    """`test` on the object, of updates on the new one (NewPredicateFuncs)."""

    def predicate(event: Event) -> bool:
        obj = event.new if isinstance(event, UpdateEvent) else event.obj
        return obj is not None and test(obj)

    return predicate


def _changed(what: Callable[[Mapping[str, Any]], Any]) -> Predicate:
    """Restricts updates only: to those in which `what` differs; without an old or new object nothing passes."""

    def predicate(event: Event) -> bool:
        """Passes updates in which that changed, and all that is no update."""
        if not isinstance(event, UpdateEvent):
            return True
        if event.old is None or event.new is None:
            return False
        return bool(what(event.old) != what(event.new))

    return predicate


def _meta(obj: Mapping[str, Any], name: str) -> Any:
    return (obj.get("metadata") or {}).get(name)


#: Updates that changed anything: no resyncs, no repetitions after a new list.
resource_version_changed: Predicate = _changed(lambda obj: _meta(obj, "resourceVersion"))
#: Updates that changed the spec: no resyncs, no writes of status or metadata.
generation_changed: Predicate = _changed(lambda obj: _meta(obj, "generation"))
#: Updates that changed annotations; none and no entries are the same.
annotations_changed: Predicate = _changed(lambda obj: _meta(obj, "annotations") or {})
#: Updates that changed labels; none and no entries are the same.
labels_changed: Predicate = _changed(lambda obj: _meta(obj, "labels") or {})


def label_selector(selector: str | Selector) -> Predicate:
    """Objects with these labels. Of updates the new labels count: an object that leaves the selection is not told."""
    wanted = parse_selector(selector) if isinstance(selector, str) else selector
    return of_object(lambda obj: wanted.matches(_meta(obj, "labels")))


def all_of(*predicates: Predicate) -> Predicate:
    """Passes what every predicate passes, asked in order until one says no; without any: everything (And)."""
    return lambda event: all(predicate(event) for predicate in predicates)


def any_of(*predicates: Predicate) -> Predicate:
    """Passes what one predicate passes, asked in order until one says yes; without any: nothing (Or)."""
    return lambda event: any(predicate(event) for predicate in predicates)


def negated(predicate: Predicate) -> Predicate:
    """Passes what `predicate` does not, for every kind of event (Not)."""
    return lambda event: not predicate(event)


def passes(event: Event, predicates: Sequence[Predicate]) -> bool:
    """Whether all let it pass; the first no ends the asking."""
    for predicate in predicates:  # noqa: SIM110 - a generator that is left early ends by an exception, event for event
        if not predicate(event):
            return False
    return True
