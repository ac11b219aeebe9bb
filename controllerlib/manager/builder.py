"""The builder of controllers (controller-runtime: pkg/builder)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, get_origin

from controllerlib.cache.cache import Cache
from controllerlib.cache.informermap import Form
from controllerlib.client.client import Client
from controllerlib.client.resource import split_api_version
from controllerlib.clock import Clock
from controllerlib.controller.controller import Controller, ControllerOptions, Log
from controllerlib.controller.handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMapFunc,
    EventHandler,
)
from controllerlib.controller.invocation import Reconciler
from controllerlib.controller.predicate import Predicate
from controllerlib.controller.reconcile import Request
from controllerlib.controller.source import KindSource, Source
from controllerlib.metrics.registry import Registry
from controllerlib.observer import Observer
from controllerlib.random import Random
from controllerlib.workqueue.queue import Gate


class BuilderContext(Protocol):
    """The attributes of a manager that a controller needs; see Manager."""

    client: Client
    cache: Cache
    clock: Clock
    random: Random
    gate: Gate | None
    observer: Observer
    registry: Registry
    user_agent: str
    controller_names: set[str]
    controller_defaults: ControllerOptions
    group_kind_concurrency: dict[str, int]
    handlers_after_sync: bool

    def add_controller(self, controller: Controller) -> None:
        """Run the controller and register it by its name."""


@dataclass(frozen=True, slots=True)
class _Watch:
    api_version: str
    kind: str
    predicates: tuple[Predicate, ...]
    form: Form
    handler: EventHandler | None = None
    #: For `owns`: request every owner instead of the controlling one.
    every_owner: bool = False


class Builder:
    """Collects the settings of a controller; `complete` creates it and adds it to the manager.

    Every method except `build` and `complete` returns the builder. Arguments of a wrong type raise TypeError at once;
    other errors are raised by `build` as ValueError.

    Source: controller-runtime, builder.Builder.
    """

    def __init__(self, manager: BuilderContext | None) -> None:
        self._manager, self._name = manager, ""
        self._for: list[_Watch] = []
        self._owns: list[_Watch] = []
        self._watches: list[_Watch] = []
        self._raw: list[Source] = []
        self._filters: tuple[Predicate, ...] = ()
        self._options = ControllerOptions()
        self._user_agent: str | None = None
        self._request_type: type | None = None
        self._gate: Gate | None = None
        self._log: Log | None = None

    def named(self, name: str) -> "Builder":
        """Set the name; the default is the kind in lower case."""
        self._name = name
        return self

    def for_(
        self, api_version: str, kind: str, *, predicates: Sequence[Predicate] = (), only_metadata: bool = False
    ) -> "Builder":
        """Reconcile each object of this kind; may be called once."""
        self._for.append(_Watch(api_version, kind, tuple(predicates), _form(only_metadata)))
        return self

    def owns(
        self,
        api_version: str,
        kind: str,
        *,
        predicates: Sequence[Predicate] = (),
        only_metadata: bool = False,
        match_every_owner: bool = False,
    ) -> "Builder":
        """Reconcile the owners, of the `for_` kind, of each object of this kind: the controlling owner, or every
        one.
        """
        form = _form(only_metadata)
        self._owns.append(_Watch(api_version, kind, tuple(predicates), form, every_owner=match_every_owner))
        return self

    def watches(
        self,
        api_version: str,
        kind: str,
        handler: EventHandler,
        *,
        predicates: Sequence[Predicate] = (),
        only_metadata: bool = False,
    ) -> "Builder":
        """Reconcile the requests of `handler` for each event of this kind; TypeError if it is not an event handler."""
        if isinstance(handler, type) or not callable(getattr(handler, "handle", None)):
            what = "wrap a function in EnqueueRequestsFromMapFunc" if callable(handler) else "it has no method handle"
            raise TypeError(f"watches({api_version!r}, {kind!r}, ...) needs an event handler, not {handler!r}: {what}")
        self._watches.append(_Watch(api_version, kind, tuple(predicates), _form(only_metadata), handler))
        return self

    def watches_raw_source(self, source: Source) -> "Builder":
        """Reconcile the requests of `source`; event filters do not apply to it."""
        self._raw.append(source)
        return self

    def with_event_filter(self, predicate: Predicate) -> "Builder":
        """Filter the events of every watch; several predicates must all accept an event."""
        self._filters = (*self._filters, predicate)
        return self

    def with_options(self, options: ControllerOptions | None = None, **settings: Any) -> "Builder":
        """Set all options, or single ones by name."""
        self._options = replace(options or self._options, **settings)
        return self

    def with_user_agent(self, user_agent: str) -> "Builder":
        """Set the user agent of the reconciler's client; the default is the manager's, a slash and the name."""
        self._user_agent = user_agent
        return self

    def with_request_type(self, request: type) -> "Builder":
        """Use another type of request than Request; only `watches` and raw sources can produce it."""
        self._request_type = request
        return self

    def with_gate(self, gate: Gate) -> "Builder":
        """Take items from the queue only while `gate` is open; the default is the manager's gate."""
        self._gate = gate
        return self

    def with_log(self, log: Log) -> "Builder":
        """Log the reconciles that fail to this logger or adapter (controller-runtime: WithLogConstructor)."""
        self._log = log
        return self

    def complete(self, reconcile: Reconciler) -> Controller:
        """Create the controller and add it to the manager; see `build`."""
        return self.build(reconcile)

    def build(self, reconcile: Reconciler) -> Controller:
        """Create the controller and add it to the manager. Raises ValueError, and TypeError for an invalid
        reconciler.
        """
        if reconcile is None:
            raise ValueError("must provide a non-nil Reconciler")
        if self._manager is None:
            raise ValueError("must provide a non-nil Manager")
        manager, name = self._manager, self._find_name()
        self._check()
        controller = Controller(
            name,
            reconcile,
            client=manager.client.with_options(user_agent=self._user_agent or f"{manager.user_agent}/{name}"),
            options=self._find_options(manager),
            clock=manager.clock,
            random=manager.random,
            gate=manager.gate if self._gate is None else self._gate,
            observer=manager.observer,
            registry=manager.registry,
            taken=manager.controller_names,
            log=self._log,
        )
        if self._for:
            controller.reconciled_kind = self._for[0].api_version, self._for[0].kind
        for source in self._sources(manager):
            controller.add_source(source)
        manager.add_controller(controller)
        return controller

    def _find_name(self) -> str:
        if self._name:
            return self._name
        if not self._for:
            raise ValueError("one of For() or Named() must be called")
        return self._for[0].kind.lower()

    def _check(self) -> None:
        if len(self._for) > 1:
            raise ValueError(
                "For(...) should only be called once, could not assign multiple objects for reconciliation"
            )
        if self._owns and not self._for:
            raise ValueError("Owns() can only be used together with For()")
        if self._for and self._request_type is not None:
            raise ValueError(f"For() can only be used with reconcile.Request, got {self._request_type.__name__}")
        if not (self._for or self._owns or self._watches or self._raw):
            raise ValueError(
                "there are no watches configured, controller will never get triggered. Use For(), Owns(), Watches() or "
                "WatchesRawSource() to set them up"
            )

    def _find_options(self, manager: BuilderContext) -> ControllerOptions:
        """Merge the controller's options, those of its kind, and the manager's."""
        wider = manager.controller_defaults
        if self._for:
            group, _ = split_api_version(self._for[0].api_version)
            workers = manager.group_kind_concurrency.get(f"{self._for[0].kind}.{group}" if group else self._for[0].kind)
            if workers:
                wider = replace(wider, max_concurrent_reconciles=workers)
        return self._options.over(wider)

    def _sources(self, manager: BuilderContext) -> Sequence[Source]:
        sources: list[Source] = [self._kind(manager, watch, EnqueueRequestForObject()) for watch in self._for]
        for watch in self._owns:
            owner = self._for[0]
            handler = EnqueueRequestForOwner(owner.api_version, owner.kind, only_controller=not watch.every_owner)
            sources.append(self._kind(manager, watch, handler))
        for watch in self._watches:
            assert watch.handler is not None
            sources.append(self._kind(manager, watch, self._checking(watch.handler)))
        return [*sources, *self._raw]

    def _checking(self, handler: EventHandler) -> EventHandler:
        """Return the handler, restricted to requests of the reconciler's type."""
        wanted: Any = Request if self._request_type is None else self._request_type
        if isinstance(handler, EnqueueRequestsFromMapFunc) and isinstance(wanted, type) and get_origin(wanted) is None:
            return handler.of_type(wanted)
        return handler

    def _kind(self, manager: BuilderContext, watch: _Watch, handler: EventHandler) -> Source:
        return KindSource(
            manager.cache.informers,
            watch.api_version,
            watch.kind,
            handler,
            (*self._filters, *watch.predicates),
            form=watch.form,
            after_sync=manager.handlers_after_sync,
            clock=manager.clock,
        )


def _form(only_metadata: bool) -> Form:
    return "metadata" if only_metadata else "structured"
