"""A request for a served resource (`Call`), and the part of the server that endpoints use (`Server`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from fakekube.apiserver.apply.updater import Updater
from fakekube.apiserver.auth.authorizer import Rules
from fakekube.apiserver.auth.rbac import Decision
from fakekube.apiserver.auth.serviceaccounttoken import Issuer
from fakekube.apiserver.catalog import Catalog
from fakekube.apiserver.features import Features
from fakekube.apiserver.kubelet import Kubelet
from fakekube.apiserver.names import path_segment_problems
from fakekube.apiserver.needs import Delay, Need, Waiting
from fakekube.apiserver.registry.core.service.allocation import Allocator, ServiceAllocations
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.registration import Registration
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.response import Response
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.storage.store import Change, Entry, Store, path_of
from fakekube.apiserver.storage.watch import View
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.negotiation import PLAIN, Representation
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import FieldError, StatusError, bad_request, invalid

Object = dict[str, Any]

#: The bytes of a body from which other requests have their turn between the stages of a request.
LARGE = 256 * 1024

Step = Generator[Need, Any, Response]


class RequestContext(Protocol):
    """Time and randomness, injected per request.

    `now` and `micro` are the time of the request (RFC 3339, in seconds and in microseconds). `uid`, `suffix` and
    `fraction` are drawn per purpose and key.
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
    """The part of the server that endpoints and admission use; `apiserver.ApiServer` implements it."""

    catalog: Catalog
    store: Store
    version: Object
    schemas: BuiltinSchemas
    kubelet: Kubelet
    allocations: ServiceAllocations
    address: str
    secure: bool
    issuer: Issuer
    admission_plugins: frozenset[str]
    features: Features
    updaters: dict[tuple[str, str, str, str], Updater]
    more_metrics: list[Callable[[], Iterable[str]]]

    @property
    def before_commit(self) -> Callable[[str, str, Entry | None, Object | None], None] | None:
        """Called before a request stores an object, if there is a harness."""

    @property
    def on_commit(self) -> Callable[[Change], None]:
        """Called with each change after it is stored."""

    def user_of_token(
        self, token: str, context: RequestContext, audiences: Sequence[str] = ()
    ) -> tuple[User, list[str]]:
        """The user of a token, and those of the audiences that it is valid for. Raises 401 for an invalid one."""

    def rules_for(self, user: User, namespace: str) -> Rules:
        """The rules that apply to a user in a namespace."""

    def decide(self, user: User, info: RequestInfo) -> Decision:
        """The authorizer's decision."""

    def registration(self, resource: Resource) -> Registration:
        """The registration of a served resource."""

    def body_registration(self, resource: Resource) -> Registration:
        """The registration of a kind that appears in bodies only, such as Eviction."""

    def committed(self, change: Change, context: RequestContext) -> Change:
        """Calls `on_commit` and reconciles definitions, after a request has changed the store."""

    def stop_serving(self, collection: str) -> None:
        """Stop serving the resources of a definition; drop everything derived from them."""

    def openapi(self, request: Request) -> Response | None:
        """The OpenAPI document at a path, if there is one."""


@dataclass(slots=True)
class Call:
    """A request for a served resource.

    `path` is the storage key of the object that the request names. `converted` maps the `id()` of a stored object to
    the object and its conversion to the version of the request (None: no webhook converts the resource). `conversions`
    are those that field ownership has needed, or the error message: by version, version and encoded object.
    """

    server: Server
    request: Request
    info: RequestInfo
    user: User
    registration: Registration
    context: RequestContext
    representation: Representation = PLAIN
    warnings: list[str] = field(default_factory=list)
    conversions: dict[tuple[str, str, str], Object | str] = field(default_factory=dict)
    sent: Object | None = None
    """The object of a write before it was decoded (None: not known)."""
    stale: int | None = None
    """The revision of the watch cache, which reads with resourceVersion=0 see (None: it does not lag)."""
    resource: Resource = field(init=False)
    strategy: Strategy = field(init=False)
    namespace: str = field(init=False)
    path: str = field(init=False)
    converted: dict[int, tuple[Object, Object]] | None = field(init=False)

    def __post_init__(self) -> None:
        registration = self.registration
        resource = self.resource = registration.resource
        self.strategy = registration.strategy
        self.namespace = self.info.namespace if resource.namespaced else ""
        self.path = path_of(self.namespace, self.info.name)
        version = registration.version
        self.converted = {} if version is not None and version.converts else None

    def pause(self) -> Waiting:
        """Gives other requests their turn between the stages of a large one."""
        if len(self.request.body) >= LARGE:
            yield Delay(0.0)

    def shown(self, entry: Entry) -> Object:
        """A stored object in the version of the request. If a webhook converts it, call `conversion.read` first."""
        if self.converted is not None:
            return self.converted[id(entry.object)][1]
        read = self.registration.read
        return entry.object if read is None else read(entry)

    @property
    def view(self) -> View:
        """The view that shows whole objects."""
        if self.converted is None:
            return self.registration.view
        return View(self.resource.api_version, self.resource.kind, self._shown_object, shared=False)

    def _shown_object(self, entry: Entry) -> Object:
        assert self.converted is not None, "only views of converted objects use this"
        if "name" not in entry.object["metadata"]:  # a bookmark
            return entry.object
        return self.converted[id(entry.object)][1]

    def of_kind(self, registration: Registration) -> Call:
        """The same request with another registration, for bodies of another kind."""
        return replace(self, registration=registration)

    def invalid(self, name: str, errors: Sequence[FieldError]) -> StatusError:
        """A 422 error that names the kind, with one cause per error."""
        return invalid(self.named_group, self.resource.kind, name, errors)

    @property
    def named_group(self) -> str:
        """The group that errors name with the kind."""
        group = self.strategy.named_group
        return self.resource.group if group is None else group

    def stored(self) -> Entry | None:
        """The object of the path. Raises 400 if it cannot be a name (`NamespaceKeyFunc`)."""
        self.check_name()
        return self.server.store.get(self.resource.collection, self.path)

    def check_name(self) -> None:
        """Raises 400 if the name in the path is not one segment of a path."""
        name = self.info.name
        if name[:1] == "." or "%" in name:
            problems = path_segment_problems(name)
            if problems:
                raise bad_request(f"Name parameter invalid: {go_quote(name)}: {';'.join(problems)}")

    def cached(self, revision: int) -> Entry | None:
        """The object in a watch cache that lags at `revision`."""
        store = self.server.store
        return store.collection(self.resource.collection).at(self.path, store.cached(revision))

    def allocator(self, *, dry_run: bool) -> Allocator:
        """The allocator of addresses and ports for this request."""
        return Allocator(self.server.allocations.current(), self.context.fraction, dry_run)
