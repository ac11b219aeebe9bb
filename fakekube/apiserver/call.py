"""One request on its way through the server: what every verb needs at hand."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from fakekube.apiserver.apply.updater import Updater
from fakekube.apiserver.auth.authentication import User
from fakekube.apiserver.auth.rbac import Decision
from fakekube.apiserver.crd.custom import CustomVersion
from fakekube.apiserver.endpoints.discovery import Catalog
from fakekube.apiserver.kubelet import Kubelet
from fakekube.apiserver.needs import Need
from fakekube.apiserver.registry.core.service.allocation import Allocator, ServiceAllocations
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.builtin import BuiltinSchemas
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.storage.store import Change, Entry, Store, path_of
from fakekube.apiserver.storage.watch import View
from fakekube.apiserver.wire.negotiation import PLAIN, Representation
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.response import Response
from fakekube.apiserver.wire.status import FieldError, StatusError, invalid

Object = dict[str, Any]


Step = Generator[Need, Any, Response]


class RequestContext(Protocol):
    """What the core may not know of itself: the time, and chance.

    `now` and `micro` are the moment of the request (seconds and microseconds, RFC 3339). `uid`, `suffix` and `fraction`
    are drawn for a purpose and a key.
    """

    @property
    def now(self) -> str: ...

    @property
    def micro(self) -> str: ...

    def after(self, seconds: float) -> str:
        """The time `seconds` from now, in whole seconds."""

    def uid(self, key: str) -> str: ...

    def suffix(self, key: str) -> str:
        """Five characters for a generated name."""

    def fraction(self, purpose: str, key: str) -> float:
        """A number in [0, 1)."""


class Server(Protocol):
    """What a request may ask of the server that it came to (`apiserver.ApiServer` is the one there is)."""

    catalog: Catalog
    store: Store
    version: Object
    schemas: BuiltinSchemas
    kubelet: Kubelet
    allocations: ServiceAllocations
    address: str
    updaters: dict[tuple[str, str, str, str], Updater]

    @property
    def on_commit(self) -> Callable[[Change], None]:
        """Called with each change, after it stands in the store."""

    def user_of_token(self, token: str, now: str, audiences: list[str] | None = None) -> tuple[User, list[str]]:
        """Whose token it is, and for which of the audiences. Raises 401 for one that is not valid."""

    def rules_for(self, user: User, namespace: str) -> tuple[list[Object], str]:
        """The rules that hold for a user in a namespace, and what stood in the way of finding more ("": nothing)."""

    def decide(self, user: User, info: RequestInfo) -> Decision:
        """May they?"""

    def strategy(self, resource: Resource) -> Strategy:
        """The rules of a kind."""

    def schema(self, resource: Resource) -> Schema | None:
        """The fields of a built-in kind; None for a custom one."""

    def apply_schema(self, resource: Resource) -> Schema:
        """The schema that server-side apply goes by, of a built-in kind or of a custom one."""

    def custom(self, resource: Resource) -> CustomVersion | None:
        """The version of a definition that a custom resource is of; None where it is gone."""

    def empty(self, resource: Resource) -> Object:
        """What even an object without anything shows, beside its metadata."""

    def view(self, resource: Resource) -> View:
        """How a resource's stored objects are shown, themselves."""

    def printer(self, resource: Resource, kind: str = "") -> Printer:
        """How the resource is shown as a table; `kind` is that of a subresource which speaks another one."""

    def committed(self, change: Change, context: RequestContext) -> Change:
        """Every write passes here once it stands."""

    def stop_serving(self, collection: str) -> None:
        """Forget the resources that a definition made, and what was made for them."""

    def openapi(self, request: Request) -> Response | None:
        """The OpenAPI document of a path, where it has one."""


@dataclass(slots=True)
class Call:
    """A request for a resource that exists."""

    server: Server
    request: Request
    info: RequestInfo
    user: User
    resource: Resource
    strategy: Strategy
    context: RequestContext
    representation: Representation = PLAIN
    custom: CustomVersion | None = None
    """The version of a definition that the resource is of, as it was when the request came."""
    warnings: list[str] = field(default_factory=list)
    namespace: str = field(init=False)
    path: str = field(init=False)
    """The stored key of the object that the request names."""

    def __post_init__(self) -> None:
        self.namespace = self.info.namespace if self.resource.namespaced else ""
        self.path = path_of(self.namespace, self.info.name)

    def shown(self, entry: Entry) -> Object:
        """A stored object in the version of the request."""
        if not self.resource.custom:
            return self.strategy.read(entry.object) if self.strategy.read is not None else entry.object
        custom = self.custom
        return entry.object if custom is None or custom.reads_as_stored else custom.read(entry.object)

    def as_stored(self, obj: Object) -> Object:
        """An object of the request's version in the version that is stored."""
        if not self.resource.custom:
            return self.strategy.write(obj) if self.strategy.write is not None else obj
        return obj if self.custom is None else self.custom.write(obj)

    def in_version(self, obj: Object, resource: Resource, source: Resource | None = None) -> Object:
        """An object of the request's version, or of `source`'s, in another version of the same kind."""
        origin = self if source is None else self.of_kind(source)
        return self.of_kind(resource).shown(Entry(0, origin.as_stored(obj)))

    def of_kind(self, resource: Resource) -> Call:
        """The same request, for another resource."""
        custom = self.server.custom(resource) if resource.custom else None
        return replace(self, resource=resource, strategy=self.server.strategy(resource), custom=custom)

    def invalid(self, name: str, errors: Sequence[FieldError]) -> StatusError:
        """422 of the kind, with one cause for each error."""
        group = self.strategy.named_group
        return invalid(self.resource.group if group is None else group, self.resource.kind, name, errors)

    def stored(self) -> Entry | None:
        return self.server.store.get(self.resource.collection, self.path)

    def allocator(self, *, dry_run: bool) -> Allocator:
        """What gives this request its share of the server's ranges."""
        return Allocator(self.server.allocations.current(), self.context.fraction, dry_run)

    def commit_create(self, path: str, obj: Object) -> Change:
        stored = self.as_stored(obj)
        return self.server.committed(self.server.store.create(self.resource.collection, path, stored), self.context)

    def commit_update(self, path: str, before: Entry, obj: Object) -> Change:
        return self.commit_stored(path, before, self.as_stored(obj))

    def commit_stored(self, path: str, before: Entry, obj: Object) -> Change:
        """The same with an object that is in the stored version."""
        change = self.server.store.update(self.resource.collection, path, before, obj)
        return self.server.committed(change, self.context)

    def commit_delete(self, path: str, before: Entry) -> Change:
        return self.server.committed(self.server.store.delete(self.resource.collection, path, before), self.context)
