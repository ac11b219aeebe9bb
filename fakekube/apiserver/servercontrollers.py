"""The controllers that run within kube-apiserver, except those of CustomResourceDefinitions.

They react to each write before its request is answered, so that nothing has to be waited for: groups are registered as
APIServices, APIServices and FlowSchemas get their conditions, and the default ServiceCIDR is restored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fakekube.apiserver import aggregation, crd, flowcontrol
from fakekube.apiserver.auth import authenticationinfo
from fakekube.apiserver.call import RequestContext
from fakekube.apiserver.catalog import Catalog, RemoteVersion
from fakekube.apiserver.needs import Service
from fakekube.apiserver.registry.apiregistration import autoregister
from fakekube.apiserver.registry.core.service.allocation import SERVICE_CIDRS
from fakekube.apiserver.registry.core.service.ranges import Network
from fakekube.apiserver.registry.networking import servicecidr
from fakekube.apiserver.storage.store import Change, Store
from fakekube.apiserver.wire.status import StatusError
from fakekube.struct import Struct, field

Object = dict[str, Any]

_FLOW_CONTROL = (flowcontrol.FLOW_SCHEMAS, flowcontrol.PRIORITY_LEVELS)
_DEFAULT_SERVICE_CIDR = (SERVICE_CIDRS, servicecidr.DEFAULT_NAME)


class Server(Protocol):
    """The parts of the API server that the controllers use."""

    catalog: Catalog
    store: Store
    networks: tuple[Network, ...]

    def write(self, collection: str, path: str, obj: Object | None) -> None:
        """Create, update or delete (None) an object, without a request."""


def _ignore_name(name: str) -> None:
    """Ignores an APIService; the default of `on_unchecked`."""


def _is_never(service: Service) -> bool:
    """The default of `is_mapped`."""
    return False


class ServerControllers(Struct):
    """The state of the controllers of a server.

    `is_mapped`: whether an address is configured for a Service, which then needs no endpoints. `on_unchecked` is called
    with the name of an APIService whose server has to be tried. `aggregates`: there is an APIService with a Service.
    """

    server: Server
    is_mapped: Callable[[Service], bool] = _is_never
    on_unchecked: Callable[[str], None] = _ignore_name
    aggregates: bool = False
    _discovered: dict[str, RemoteVersion] = field(default_factory=dict)
    _registered: int = 0
    """The revision of the definitions whose groups are registered."""

    def changed(self, change: Change, context: RequestContext) -> None:
        """React to a write."""
        is_api_service = change.collection == autoregister.COLLECTION
        definitions = self.server.store.collection(crd.COLLECTION).revision
        if is_api_service:
            self._register({change.path.partition(".")[2]}, context)
        elif definitions != self._registered:
            self._register(self._changed_groups(), context)
        self._registered = definitions
        if change.collection in aggregation.OBSERVED and (is_api_service or self.aggregates):
            self._aggregate(change, context)
        if change.after is None and (change.collection, change.path) == _DEFAULT_SERVICE_CIDR:
            self._restore_service_cidr(context)
        if change.collection in _FLOW_CONTROL:
            for path, obj in flowcontrol.status_updates(self.server.store, context.now):
                self.server.write(flowcontrol.FLOW_SCHEMAS, path, obj)

    def resume(self) -> None:
        """Continue after the store was restored: its groups are registered, and the servers of APIServices unknown."""
        self._registered = self.server.store.collection(crd.COLLECTION).revision
        self.show_remote()
        if self.aggregates:
            self.check_api_services()

    def retire(self) -> None:
        """Break reference cycles. The controllers cannot be used afterwards."""
        self.is_mapped, self.on_unchecked = _is_never, _ignore_name
        del self.server

    def publish(self, data: Mapping[str, str], context: RequestContext) -> None:
        """Add data to the ConfigMap with which aggregated API servers authenticate requests."""
        entry = self.server.store.get(authenticationinfo.COLLECTION, authenticationinfo.PATH)
        present = entry.object if entry is not None else None
        obj = authenticationinfo.published(present, data, context)
        if obj is not present:
            self.server.write(authenticationinfo.COLLECTION, authenticationinfo.PATH, obj)

    def _restore_service_cidr(self, context: RequestContext) -> None:
        """Create the default ServiceCIDR again, which kube-apiserver does within seconds."""
        collection, name = _DEFAULT_SERVICE_CIDR
        cidrs = [str(network) for network in self.server.networks]
        obj = servicecidr.default_service_cidr(cidrs, uid=context.uid(f"{collection}/{name}"), now=context.now)
        self.server.write(collection, name, obj)

    # --- registration of groups --------------------------------------------------------------------------------------

    def _changed_groups(self) -> set[str]:
        """The groups of the definitions that have changed since they were registered."""
        store = self.server.store
        names: Sequence[str]
        try:
            names = [change.path for change in store.since(crd.COLLECTION, self._registered)]
        except StatusError:  # the history since then is compacted
            names = [*store.collection(crd.COLLECTION).live, *store.collection(autoregister.COLLECTION).live]
        return {name.partition(".")[2] for name in names}

    def _register(self, groups: set[str], context: RequestContext) -> None:
        """Register the groups of CustomResourceDefinitions."""
        store = self.server.store
        definitions = [entry.object for entry in store.collection(crd.COLLECTION).live.values()]
        present = store.collection(autoregister.COLLECTION).live
        for path, obj in autoregister.corrections(groups, definitions, present, context):
            self.server.write(autoregister.COLLECTION, path, obj)

    # --- availability of APIServices ---------------------------------------------------------------------------------

    def _aggregate(self, change: Change, context: RequestContext) -> None:
        """Update the availability of the APIServices that a change affects, and discovery."""
        for name in list(aggregation.affected_api_services(self.server.store, change)):
            entry = self.server.store.get(autoregister.COLLECTION, name)
            assert entry is not None, "it is affected"
            condition = self.unavailable(entry.object)
            if condition is not None:
                self.set_available(name, condition, context)
            elif change.collection != autoregister.COLLECTION or _is_changed(change):
                self.on_unchecked(name)
        if change.collection == autoregister.COLLECTION:
            self.show_remote()

    def unavailable(self, api_service: Object) -> aggregation.Condition | None:
        """The condition of an APIService whose Service has no address; None if its server must be tried."""
        if self.is_mapped(aggregation.service_of(api_service)):
            return None
        return aggregation.unavailable_condition(self.server.store, api_service)

    def check_api_services(self) -> None:
        """Try the servers of all APIServices, after the address of a Service has changed."""
        for name in aggregation.remote_services(self.server.store):
            self.on_unchecked(name)

    def set_available(self, name: str, condition: aggregation.Condition, context: RequestContext) -> None:
        """Set the Available condition of an APIService, if it exists."""
        entry = self.server.store.get(autoregister.COLLECTION, name)
        if entry is None:
            return
        obj = aggregation.with_condition(entry.object, condition, context.now)
        if obj is not entry.object:
            self.server.write(autoregister.COLLECTION, name, obj)

    def show_remote(self, found: Mapping[str, RemoteVersion] | None = None) -> None:
        """Show the groups of APIServices in discovery. `found`: what was read of them, by their names."""
        services = aggregation.remote_services(self.server.store)
        known = {**self._discovered, **(found or {})}
        self._discovered = {name: known[name] for name in services if name in known}
        if services or self.aggregates:
            self.server.catalog.set_remote(
                aggregation.discovered_version(entry.object, self._discovered.get(name))
                for name, entry in services.items()
            )
        self.aggregates = bool(services)


def _is_changed(change: Change) -> bool:
    """Whether a change of an APIService changes its spec, so that its server has to be tried again."""
    assert change.after is not None, "it is affected"
    return change.before is None or change.before.object["spec"] != change.after.object["spec"]
