"""The API server without network and clock: it turns requests into responses (`apiserver/pkg/server`).

`answer` is a generator. If a request must wait, the generator yields a `needs.Need` and is resumed with the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from fakekube.apiserver import aggregation, crd, openapi
from fakekube.apiserver.admission import enablement
from fakekube.apiserver.apply.updater import Updater
from fakekube.apiserver.auth import authentication, jsonwebtoken, rbac, serviceaccounttoken
from fakekube.apiserver.auth.authorizer import Authorizer, Rules
from fakekube.apiserver.auth.impersonation import Impersonation
from fakekube.apiserver.call import Call, RequestContext, Step
from fakekube.apiserver.catalog import Catalog
from fakekube.apiserver.crd import customversion, definitioncontrollers
from fakekube.apiserver.endpoints import nonresource, rest
from fakekube.apiserver.endpoints.representation import represented
from fakekube.apiserver.faults import Fault, FaultRule, Faults, error_of
from fakekube.apiserver.faults.injectederrors import HTML, ProxyAnswer
from fakekube.apiserver.features import Features, since
from fakekube.apiserver.kubelet import Kubelet
from fakekube.apiserver.needs import Abandoned, Delay
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.strategy import definition_strategy
from fakekube.apiserver.registry.builtin import strategy_of
from fakekube.apiserver.registry.core.service.allocation import ServiceAllocations
from fakekube.apiserver.registry.core.service.ranges import DEFAULT_RANGE, Network, parse_ranges
from fakekube.apiserver.registry.custom.registration import CustomRegistration
from fakekube.apiserver.registry.generic.strategy import DEFAULT
from fakekube.apiserver.registry.registration import BuiltinRegistration, Registration
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.response import Cached, Document, Response, Text
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.servercontrollers import ServerControllers
from fakekube.apiserver.storage.store import Change, Entry, Store
from fakekube.apiserver.user import ANONYMOUS, User
from fakekube.apiserver.wire.codec import JSON
from fakekube.apiserver.wire.negotiation import (
    CONNECTED,
    MESSAGES,
    PLAIN,
    TABLELESS,
    UNCONVERTED,
    UNSTRUCTURED,
    Representation,
    Restrictions,
    choose,
    negotiate,
)
from fakekube.apiserver.wire.options import check_timeout, parse_list_options
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import (
    PlainAnswer,
    StatusError,
    forbidden,
    is_routing_error,
    no_such_resource,
    unauthorized,
)

Object = dict[str, Any]


def _ignore_change(change: Change) -> None:
    """Ignores changes; the default of `on_commit`."""


def _ignore_release() -> None:
    """The default of `on_release`."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """A saved state of a server: its store, and the custom resources that it served with their compiled versions."""

    store: Store
    custom: tuple[Resource, ...]
    versions: Mapping[str, dict[str, customversion.CustomVersion]]


@dataclass(slots=True)
class ApiServer:
    """The state of a server: its catalog, its store, its authorizer and its injected faults.

    `on_commit` is called with each change after it is stored, `on_release` when a held watch may go on. `version` is
    the document at `/version`, `address` the server address that discovery reports, `secure` whether it is one of
    HTTPS, `networks` the ranges of cluster IPs.
    """

    catalog: Catalog
    store: Store
    version: Object
    schemas: BuiltinSchemas
    issuer: serviceaccounttoken.Issuer
    authorizer: Authorizer
    features: Features
    admission_plugins: frozenset[str] = enablement.DEFAULT
    faults: Faults = field(default_factory=Faults)
    kubelet: Kubelet = field(default_factory=Kubelet)
    on_commit: Callable[[Change], None] = _ignore_change
    before_commit: Callable[[str, str, Entry | None, Object | None], None] | None = None
    """Called before a request stores an object: collection, path, the present and the new object (None: deletion).

    It may raise StatusError, so that the request fails, and write the object itself before a creation or an update.
    """
    on_release: Callable[[], None] = _ignore_release
    address: str = ""
    networks: tuple[Network, ...] = parse_ranges(DEFAULT_RANGE)
    secure: bool = True
    allocations: ServiceAllocations = field(init=False)
    impersonation: Impersonation = field(init=False)
    tokens: Mapping[str, User] = field(default_factory=dict)
    """Static bearer tokens."""
    updaters: dict[tuple[str, str, str, str], Updater] = field(default_factory=dict)
    more_metrics: list[Callable[[], Iterable[str]]] = field(default_factory=list)
    """What `/metrics` has besides: families as text."""
    _registrations: dict[tuple[str, str, str], Registration] = field(default_factory=dict)
    _bodies: dict[tuple[str, str], Registration] = field(default_factory=dict)
    _versions: dict[str, dict[str, customversion.CustomVersion]] = field(default_factory=dict)
    controllers: ServerControllers = field(init=False)

    def __post_init__(self) -> None:
        self.impersonation = Impersonation(partial(self.authorizer.decide, self.store))
        tracked = self.catalog.find("networking.k8s.io", "v1", "ipaddresses") is not None
        self.allocations = ServiceAllocations(self.store, self.networks, tracked)
        self.controllers = ServerControllers(self)

    def answer(self, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        """Answer one request; errors become responses with a Status."""
        try:
            return (yield from self._admitted(request, info, user, context))
        except StatusError as error:
            return refusal(error, request)
        except PlainAnswer as plain:
            return plain_response(plain)
        except ProxyAnswer as page:
            return Response(page.code, Text(page.text), content_type=HTML)

    def _admitted(self, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        if request.query:
            check_timeout(request, info)
        decision = self.authorizer.decide(self.store, user, info)
        if not decision.allowed:
            raise _denied(*self._denied_subject(info), rbac.denied_text(user, info, decision.reason))
        if "//" in request.path and info.subresource != "proxy":
            raise no_such_resource() if _is_routed(request.path) else PlainAnswer(404, "404 page not found\n")
        rule = self.faults.take(info, request.user_agent, request.query) if self.faults.rules else None
        if rule is not None:
            return (yield from self._ruled(rule, request, info, user, context))
        if self.faults.choose is not None:
            fault = self.faults.choose(request, info)
            if fault is not None:
                return (yield from self._faulty(fault, request, info, user, context))
        if self.controllers.aggregates:
            remote = aggregation.api_service_of(self.store, request.path)
            if remote is not None:
                return (yield from aggregation.forwarded(remote, request, user))
        if not info.is_resource:
            yield from openapi.prepared(self, request)
            return nonresource.answer(self, request)
        return (yield from self._served(request, info, user, context))

    def _processed(
        self, request: Request, info: RequestInfo, user: User, context: RequestContext, stale: int | None = None
    ) -> Step:
        """As `_admitted`, for a request with a fault (it is not called there, as every request goes that way)."""
        if self.controllers.aggregates:
            remote = aggregation.api_service_of(self.store, request.path)
            if remote is not None:
                return (yield from aggregation.forwarded(remote, request, user))
        if not info.is_resource:
            yield from openapi.prepared(self, request)
            return nonresource.answer(self, request)
        return (yield from self._served(request, info, user, context, stale))

    def _ruled(self, rule: FaultRule, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        """Answer a request that a rule affects."""
        try:
            response = yield from self._faulty(rule.fault(), request, info, user, context)
        except Abandoned:
            rule.give_back()
            raise
        if response.watch is not None:
            response.watch.fault = rule.watch_fault()
            if response.watch.fault is not None:
                rule.on_disarm.append(self.on_release)
        return response

    def _faulty(self, fault: Fault, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        """Answer a request to which a fault applies."""
        if fault.delay:
            yield Delay(fault.delay)
        if fault.before is not None:
            fault.before()
        if fault.reset == "before":
            return Response(reset=True)
        if fault.error == 410:
            self.store.compact_with_key()
        elif fault.error is not None and not fault.committed:
            raise error_of(fault.error, info)
        response = yield from self._processed(request, info, user, context, fault.stale)
        if fault.reset == "after":
            return Response(reset=True)
        if fault.committed and fault.error is not None:
            raise error_of(fault.error, info)
        response.damage = fault.damage
        return response

    @staticmethod
    def _denied_subject(info: RequestInfo) -> tuple[str, str]:
        return (info.qualified, info.name) if info.is_resource else ("", "")

    def user_of(self, authorization: str | None, context: RequestContext) -> User:
        """The user of an Authorization header. Raises 401 for an invalid token."""
        token = authentication.bearer_token(authorization)
        if not token:
            return ANONYMOUS
        try:
            user, _ = self.user_of_token(token, context)
        except (jsonwebtoken.BadToken, StatusError):
            raise unauthorized() from None
        return user

    def user_of_token(
        self, token: str, context: RequestContext, audiences: Sequence[str] = ()
    ) -> tuple[User, list[str]]:
        """The user of a static or service account token, and the requested audiences that it is valid for. Raises
        BadToken, or StatusError 404 if the service account does not exist."""
        user, own = self.tokens.get(token), self.issuer.own_audiences
        good = [one for one in own if one in (audiences or own)]
        if user is not None and good:
            return user, good
        if self.issuer.issued(token):
            moment = serviceaccounttoken.unix(context.now)
            return serviceaccounttoken.user_of(self.issuer, self.store, token, moment, audiences)
        raise jsonwebtoken.BadToken("invalid bearer token")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """The rules that apply to a user in a namespace."""
        return self.authorizer.rules_for(self.store, user, namespace)

    def decide(self, user: User, info: RequestInfo) -> rbac.Decision:
        """The authorizer's decision."""
        return self.authorizer.decide(self.store, user, info)

    # --- routing ---------------------------------------------------------------------------------------------------

    def _served(
        self, request: Request, info: RequestInfo, user: User, context: RequestContext, stale: int | None = None
    ) -> Step:
        resource = self.catalog.find(info.group, info.version, info.resource)
        if resource is None:
            if self.catalog.serves_group(info.group) and not self.catalog.is_custom_group(info.group):
                raise no_such_resource()
            raise PlainAnswer(404, "404 page not found\n")
        registration = self.registration(resource)
        warnings = (registration.strategy.deprecation,) if registration.strategy.deprecation else ()
        warns = registration.unstructured  # a built-in resource warns from its handler, a custom one before
        try:
            registration.check_route(request, info)
            warns = True
            representation = _representation(registration, request, info)
        except StatusError as error:
            error.warnings = warnings if warns and not is_routing_error(error) else ()
            raise
        call = Call(self, request, info, user, registration, context, representation)
        call.warnings += warnings
        call.stale = stale
        try:
            response = rest.endpoint(call)(call)
            if not isinstance(response, Response):
                response = yield from response
            if representation is not PLAIN:
                response = represented(call, response)
        except StatusError as error:
            error.warnings = () if is_routing_error(error) else tuple(call.warnings)
            raise
        response.warnings = call.warnings
        return response

    # --- resources -------------------------------------------------------------------------------------------------

    def registration(self, resource: Resource) -> Registration:
        """The registration of a served resource; cached. Only here are custom and built-in resources distinguished."""
        key = (resource.group, resource.version, resource.plural)
        found = self._registrations.get(key)
        if found is None:
            found = self._custom(resource) if resource.custom else self._builtin(resource)
            self._registrations[key] = found
        return found

    def _builtin(self, resource: Resource) -> Registration:
        strategy = strategy_of(resource.qualified, resource.version, self.features.minor)
        if resource.collection == crd.COLLECTION:
            strategy = definition_strategy(self.schemas.type("meta.v1.ObjectMeta"))
        return BuiltinRegistration(resource, strategy, self.schemas, self.catalog.serves_group)

    def _custom(self, resource: Resource) -> Registration:
        definition = self.store.get(crd.COLLECTION, resource.collection)
        assert definition is not None, "a resource is served as long as its definition exists"
        meta = self.schemas.type("meta.v1.ObjectMeta")
        versions = self._versions.get(resource.collection)
        if versions is None:
            versions = self._versions[resource.collection] = customversion.compile_versions(definition.object, meta)
        return CustomRegistration(resource, definition.object, versions[resource.version], meta)

    def definition(self, resource: Resource) -> Object | None:
        """The definition of a custom resource; None: the resource is built-in."""
        stored = self.store.get(crd.COLLECTION, resource.collection) if resource.custom else None
        return stored.object if stored else None

    def body_registration(self, resource: Resource) -> Registration:
        """The registration of a kind that appears in bodies only, such as Eviction."""
        key = (resource.collection, resource.kind)
        found = self._bodies.get(key)
        if found is None:
            found = BuiltinRegistration(resource, DEFAULT, self.schemas, self.catalog.serves_group)
            self._bodies[key] = found
        return found

    # --- commits ---------------------------------------------------------------------------------------------------

    def committed(self, change: Change, context: RequestContext) -> Change:
        """Called with every write after it is stored: notifies `on_commit` and applies changed definitions."""
        self.on_commit(change)
        if change.collection == crd.COLLECTION:
            definitioncontrollers.changed(self, change, context)
        elif change.after is None:
            definitioncontrollers.object_gone(self, change, context)
        self.controllers.changed(change, context)
        return change

    def write(self, collection: str, path: str, obj: Object | None) -> None:
        """Create, update or delete (None) an object without a request, as the server's own controllers do."""
        before = self.store.get(collection, path)
        if before is None:
            assert obj is not None, f"{collection} {path}: there is no object to delete"
            self.on_commit(self.store.create(collection, path, obj))
        elif obj is None:
            self.on_commit(self.store.delete(collection, path, before))
        else:
            self.on_commit(self.store.update(collection, path, before, obj))

    # --- saved states ----------------------------------------------------------------------------------------------

    def save(self) -> ServerState:
        """The state, which shares the stored objects with this server and with those that restore it."""
        custom = tuple(resource for resource in self.catalog.resources() if resource.custom)
        return ServerState(self.store.copy(self.store.window), custom, dict(self._versions))

    def restore(self, state: ServerState, *, after: int | None = None) -> None:
        """Return to a saved state of this server or of one with the same settings; `after`: see `Store.restore`."""
        definitions = self.store.collection(crd.COLLECTION).live
        self.store.restore(state.store, after=after)
        if self.store.collection(crd.COLLECTION).live != definitions:
            for name in dict.fromkeys(one.collection for one in self.catalog.resources() if one.custom):
                self.stop_serving(name)
            for resource in state.custom:
                self.catalog.add(resource)
            self._versions = dict(state.versions)
        self.allocations = ServiceAllocations(self.store, self.networks, self.allocations.tracked)
        self.controllers.resume()

    def retire(self) -> None:
        """Break reference cycles so that the server is freed at once."""
        self.on_commit, self.on_release = _ignore_change, _ignore_release
        self.before_commit = None
        self.faults.choose = None
        self.controllers.retire()
        self.updaters.clear()
        self.more_metrics.clear()

    # --- definitions -----------------------------------------------------------------------------------------------

    def stop_serving(self, collection: str) -> None:
        """Stop serving the resources of a definition; drop everything derived from them."""
        self._versions.pop(collection, None)
        for known in [one for one in self.catalog.resources() if one.collection == collection]:
            self.catalog.remove(known)
            key = (known.group, known.version, known.plural)
            self._registrations.pop(key, None)
            for other in [other for other in self.updaters if other[:3] == key]:
                del self.updaters[other]

    def openapi(self, request: Request) -> Response | None:
        """The OpenAPI document at a path, if there is one."""
        return openapi.answer(self, request)


#: Subresources with kinds of their own that are not stored.
_ACTIONS = frozenset({"binding", "eviction", "token"})

_READ = frozenset({"get", "list"})


def _representation(registration: Registration, request: Request, info: RequestInfo) -> Representation:
    """The negotiated representation of the response. Raises 406."""
    accept = request.headers.get("accept")
    if accept is None or info.subresource in CONNECTED:
        return PLAIN
    try:
        return negotiate(
            accept,
            _restrictions(registration, info),
            restful=not registration.unstructured,
            listing=not info.name and info.verb != "create",
            log=info.subresource == "log",
        )
    except StatusError as error:
        # before 1.36 the handlers looked at the options first
        if info.verb in ("list", "watch") and not since(36) and not is_routing_error(error):
            parse_list_options(request, watch=info.verb == "watch")
        raise


def _restrictions(registration: Registration, info: RequestInfo) -> Restrictions:
    """What the endpoint supports. Kinds that are not stored, such as reviews, have no table."""
    if registration.resource.verbs.isdisjoint(_READ) or info.subresource in _ACTIONS:
        return TABLELESS
    return MESSAGES if registration.has_message else UNSTRUCTURED


def _is_routed(path: str) -> bool:
    """Whether go-restful routes a path."""
    return path.startswith("/api/") or (path.startswith("/apis/") and not path.startswith("/apis//"))


def _denied(qualified: str, name: str, why: str) -> StatusError:
    """The error of a request that its user may not make (`responsewriters.Forbidden`)."""
    error = forbidden(qualified, name, why)
    error.headers = {**error.headers, "X-Content-Type-Options": "nosniff"}
    return error


def plain_response(plain: PlainAnswer) -> Response:
    """The response with a plain text error."""
    headers = {"X-Content-Type-Options": "nosniff"}
    return Response(plain.code, Text(plain.text), content_type="text/plain; charset=utf-8", headers=headers)


def refusal(error: StatusError, request: Request) -> Response:
    """The response with a Status, in a media type that the client accepts; indented JSON if there is none."""
    found, status = choose(request.headers.get("accept"), UNCONVERTED), error.to_object()
    return Response(
        error.code,
        Document(status) if found is not None else Cached(orjson.dumps(status, option=orjson.OPT_INDENT_2)),
        content_type=found.media_type if found is not None else JSON,
        headers=dict(error.headers),
        warnings=error.warnings,
    )
