"""The API server without its network: requests in, responses out, one store beneath (`apiserver/pkg/server`).

`answer` is a generator. Where a request must wait, it yields what it needs (`call.Need`) and is resumed with the
answer; nothing else in the core knows of waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fakekube.apiserver import openapi
from fakekube.apiserver.apply.updater import Updater
from fakekube.apiserver.auth import escalation, rbac, serviceaccount
from fakekube.apiserver.auth.accessreviews import REVIEWS
from fakekube.apiserver.auth.authentication import ANONYMOUS, User, bearer_token
from fakekube.apiserver.auth.impersonation import Impersonation
from fakekube.apiserver.call import Call, RequestContext, Step
from fakekube.apiserver.crd import controllers, typed
from fakekube.apiserver.crd import definition as crd
from fakekube.apiserver.crd.custom import CustomVersion, compile_versions
from fakekube.apiserver.endpoints import conversion, nonresource
from fakekube.apiserver.endpoints import representation as shape
from fakekube.apiserver.endpoints.binding import bind_by_name
from fakekube.apiserver.endpoints.customscale import SCALE
from fakekube.apiserver.endpoints.discovery import UNSTORED, Catalog
from fakekube.apiserver.endpoints.representation import SHAPES
from fakekube.apiserver.endpoints.subresources import SUBRESOURCES, unsupported
from fakekube.apiserver.endpoints.verbs import VERBS
from fakekube.apiserver.faults import Faults, error_of
from fakekube.apiserver.kubelet import Kubelet
from fakekube.apiserver.needs import Delay, Need
from fakekube.apiserver.registry.builtin import STRATEGIES, printer_of
from fakekube.apiserver.registry.core.service.allocation import ServiceAllocations
from fakekube.apiserver.registry.custom.table import DEFAULT_COLUMNS, SCALE_COLUMNS
from fakekube.apiserver.registry.custom.table import printer as custom_printer
from fakekube.apiserver.registry.generic.strategy import DEFAULT, Convert, Strategy
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.builtin import BuiltinSchemas
from fakekube.apiserver.schema.decode import zero
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.storage.store import Change, Store
from fakekube.apiserver.storage.watch import View
from fakekube.apiserver.wire.negotiation import check_shape_fits, negotiate, refusal_media_type, refuse_stream
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.response import Document, Response, Text
from fakekube.apiserver.wire.status import (
    PlainAnswer,
    StatusError,
    bad_request,
    forbidden,
    method_not_allowed,
    no_such_resource,
    not_found,
    not_implemented,
    together,
    unauthorized,
)

Object = dict[str, Any]

Authorizer = Callable[[Store, User, RequestInfo], rbac.Decision]


_ALLOWED = rbac.Decision(True)


def always_allow(store: Store, user: User, info: RequestInfo) -> rbac.Decision:
    return _ALLOWED


#: `--authorization-mode` -> who decides.
AUTHORIZERS: Mapping[str, Authorizer] = {"AlwaysAllow": always_allow, "RBAC": rbac.authorize}


def _nobody(change: Change) -> None:
    """Hears of a change, and minds its own business."""


_CUSTOM_SCALE = custom_printer(SCALE_COLUMNS)


@dataclass(slots=True)
class ApiServer:
    """The state of a server: what it serves, what it stores, who may do what, and which faults it has.

    `on_commit` is called with each change, after it stands in the store. `version` is what `/version` says;
    `address` what clients are told to dial.
    """

    catalog: Catalog
    store: Store
    version: Object
    schemas: BuiltinSchemas
    authorizer: Authorizer = always_allow
    faults: Faults = field(default_factory=Faults)
    kubelet: Kubelet = field(default_factory=Kubelet)
    on_commit: Callable[[Change], None] = _nobody
    address: str = ""
    allocations: ServiceAllocations = field(init=False)
    impersonation: Impersonation = field(init=False)
    _strategies: dict[tuple[str, str, str], Strategy] = field(default_factory=dict)
    _views: dict[tuple[str, str, str], View] = field(default_factory=dict)
    _schemas: dict[tuple[str, str, str], Schema | None] = field(default_factory=dict)
    tokens: Mapping[str, User] = field(default_factory=dict)
    """Static bearer tokens. With none at all everybody is anonymous but service accounts, whatever they send."""
    updaters: dict[tuple[str, str, str, str], Updater] = field(default_factory=dict)
    _apply_schemas: dict[tuple[str, str, str], Schema] = field(default_factory=dict)
    _printers: dict[tuple[str, str, str], Printer] = field(default_factory=dict)
    _customs: dict[str, dict[str, CustomVersion]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.impersonation = Impersonation(partial(self.authorizer, self.store))
        self.allocations = ServiceAllocations(self.store)

    def answer(self, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        """Answer one request; refusals become responses, too."""
        try:
            return (yield from self._admitted(request, info, user, context))
        except StatusError as error:
            return refusal(error, request)
        except PlainAnswer as plain:
            return Response(plain.code, Text(plain.text), content_type="text/plain; charset=utf-8")

    def _admitted(self, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        decision = self.authorizer(self.store, user, info)
        if not decision.allowed:
            raise forbidden(*self._denied_subject(info), rbac.denied_text(user, info, decision.reason))
        rule = self.faults.take(info, request.user_agent) if self.faults.rules else None
        if rule is not None:
            if rule.delay:
                yield Delay(rule.delay)
            if rule.reset == "before":
                return Response(reset=True)
            if rule.error is not None:
                raise error_of(rule.error, info)
        if not info.is_resource:
            return nonresource.answer(self, request)
        response: Response = yield from self._served(request, info, user, context)
        if rule is not None and rule.reset == "after":
            return Response(reset=True)
        return response

    @staticmethod
    def _denied_subject(info: RequestInfo) -> tuple[str, str]:
        return (info.qualified, info.name) if info.is_resource else ("", "")

    def user_of(self, authorization: str | None, now: str) -> User:
        """The user of an Authorization header. Raises 401 Unauthorized for a token that nobody has."""
        token = bearer_token(authorization)
        if not token:
            return ANONYMOUS
        try:
            user, _ = self.user_of_token(token, now)
        except (serviceaccount.BadToken, StatusError):
            if not self.tokens and not serviceaccount.is_ours(token):
                return ANONYMOUS
            raise unauthorized() from None
        return user

    def user_of_token(self, token: str, now: str, audiences: list[str] | None = None) -> tuple[User, list[str]]:
        """The user of a static token, or of a service account's, and for which audiences it is. Raises BadToken, or
        what is missing."""
        user = self.tokens.get(token)
        good = [one for one in audiences or [serviceaccount.ISSUER] if one == serviceaccount.ISSUER]
        if user is not None and good:
            return user, good
        if serviceaccount.is_ours(token):
            return serviceaccount.user_of(self.store, token, serviceaccount.unix(now), audiences)
        raise serviceaccount.BadToken("invalid bearer token")

    def rules_for(self, user: User, namespace: str) -> tuple[list[Object], str]:
        """The rules that hold for a user in a namespace, and what stood in the way of finding more ("": nothing)."""
        if self.authorizer is always_allow:
            return list(escalation.FULL_AUTHORITY), ""
        problems: list[str] = []
        rules = [rule for _, rule in rbac.rules_for(self.store, user, namespace, problems)]
        return rules, together(problems)

    def decide(self, user: User, info: RequestInfo) -> rbac.Decision:
        """The answer to an access review."""
        return self.authorizer(self.store, user, info)

    # --- routing ---------------------------------------------------------------------------------------------------

    def _served(self, request: Request, info: RequestInfo, user: User, context: RequestContext) -> Step:
        resource = self.catalog.find(info.group, info.version, info.resource)
        if resource is None:
            if self.catalog.serves_group(info.group) and not self.catalog.is_custom_group(info.group):
                raise no_such_resource()
            raise PlainAnswer(404, "404 page not found\n")
        if resource.custom:
            info = check_custom_route(request, info, resource)
        else:
            check_route(request, info, resource)
        representation = negotiate(
            request.headers.get("accept"), custom=resource.custom, listing=not info.name and info.verb != "create",
            shapes=SHAPES,
        )  # fmt: skip
        if info.verb == "watch" and representation.media_type != "application/json":
            raise refuse_stream()
        check_shape_fits(representation, info, resource)
        custom = self.custom(resource) if resource.custom else None
        call = Call(self, request, info, user, resource, self.strategy(resource), context, representation, custom)
        if call.strategy.deprecation:
            call.warnings.append(call.strategy.deprecation)
        try:
            response = yield from conversion.answered(call, self._handler(call))
        except StatusError as error:
            error.warnings = tuple(call.warnings)
            raise
        response.warnings = call.warnings
        if representation.media_type != "application/json" and response.watch is None:
            response.content_type = representation.media_type
        return response

    def _handler(self, call: Call) -> Callable[[Call], Step]:
        info, resource = call.info, call.resource
        if info.subresource:
            special = SUBRESOURCES.get((resource.collection, info.subresource, info.verb))
            if special is not None:
                return special
            if resource.custom and info.subresource == "scale":
                return SCALE[info.verb]
            if info.subresource != "status":
                raise unsupported(call)
        if resource.qualified in UNSTORED:
            review = REVIEWS.get(resource.qualified)
            if review is None:
                return self._unstored(call)
            return review
        return VERBS[info.verb]

    def _unstored(self, call: Call) -> Callable[[Call], Step]:
        if call.resource.plural == "componentstatuses":
            return _component_statuses
        if call.resource.plural == "bindings":
            return bind_by_name
        raise not_implemented(f"{call.resource.qualified} yet")

    # --- what verbs ask --------------------------------------------------------------------------------------------

    def strategy(self, resource: Resource) -> Strategy:
        key = (resource.group, resource.version, resource.plural)
        found = self._strategies.get(key)
        if found is None:
            own = STRATEGIES.get(f"{resource.qualified}/{resource.version}")
            found = own or STRATEGIES.get(resource.qualified, DEFAULT)
            if resource.custom:
                definition = self.store.get(crd.COLLECTION, resource.collection)
                custom = self.custom(resource)
                if definition is not None and custom is not None:
                    found = crd.strategy_of(definition.object, resource.version, custom)
            elif resource.collection == crd.COLLECTION:
                found = crd.definition_strategy(self.schemas.type("meta.v1.ObjectMeta"))
            self._strategies[key] = found
        return found

    def schema(self, resource: Resource) -> Schema | None:
        """The fields of a built-in kind; None for a custom one."""
        key = (resource.group, resource.version, resource.plural)
        if key not in self._schemas:
            known = not resource.custom
            found = self.schemas.of_kind(resource.group, resource.version, resource.kind) if known else None
            self._schemas[key] = found
        return self._schemas[key]

    def apply_schema(self, resource: Resource) -> Schema:
        """The schema that server-side apply goes by, of a built-in kind or of a custom one."""
        key = (resource.group, resource.version, resource.plural)
        found = self._apply_schemas.get(key)
        if found is None:
            found = self._apply_schemas[key] = self._make_apply_schema(resource)
        return found

    def _make_apply_schema(self, resource: Resource) -> Schema:
        if not resource.custom:
            return self.schema(resource) or typed.DEDUCED
        definition = self.store.get(crd.COLLECTION, resource.collection)
        openapi = crd.openapi_of(definition.object, resource.version) if definition else None
        return typed.apply_schema(openapi, self.schemas.type("meta.v1.ObjectMeta"))

    def custom(self, resource: Resource) -> CustomVersion | None:
        """The version of a definition that a custom resource is of, compiled; None where it is gone."""
        found = self._customs.get(resource.collection)
        if found is None:
            definition = self.store.get(crd.COLLECTION, resource.collection)
            meta = self.schemas.type("meta.v1.ObjectMeta")
            if definition is None:
                return None
            found = self._customs[resource.collection] = compile_versions(definition.object, meta)
        return found.get(resource.version)

    def empty(self, resource: Resource) -> Object:
        """What even an object without anything shows, beside its metadata."""
        schema = self.schema(resource)
        if schema is None:
            return {}
        return {key: value for key, value in zero(schema).items() if key != "metadata"}

    def view(self, resource: Resource) -> View:
        key = (resource.group, resource.version, resource.plural)
        found = self._views.get(key)
        if found is None:
            custom = self.custom(resource) if resource.custom else None
            convert: Convert | None = None if custom is None or custom.reads_as_stored else custom.read
            if not resource.custom:
                convert = self.strategy(resource).read
            found = self._views[key] = View(resource.api_version, resource.kind, convert)
        return found

    def printer(self, resource: Resource, kind: str = "") -> Printer:
        """How the resource is shown as a table; `kind` is that of a subresource which speaks another one."""
        if kind == "Scale" and self.store.get(crd.COLLECTION, resource.collection.removesuffix("/scale")):
            return _CUSTOM_SCALE
        if not resource.custom:
            return printer_of(resource.qualified, kind)
        key = (resource.group, resource.version, resource.plural)
        if key not in self._printers:
            definition = self.store.get(crd.COLLECTION, resource.collection)
            declared = crd.printer_columns(definition.object, resource.version) if definition else ()
            self._printers[key] = custom_printer(declared or DEFAULT_COLUMNS)
        return self._printers[key]

    def committed(self, change: Change, context: RequestContext) -> Change:
        """Every write passes here once it stands: definitions take effect, and whoever listens is told."""
        if change.collection == crd.COLLECTION:
            self.on_commit(change)
            controllers.changed(self, change, context)
        else:
            self.on_commit(change)
            if change.after is None:
                controllers.object_gone(self, change, context)
        return change

    def restore(self, collection: str, path: str, obj: Object) -> None:
        """Put an object there without a request: what exists when a server starts."""
        self.on_commit(self.store.create(collection, path, obj))

    def retire(self) -> None:
        """Let go of all that knows this."""
        self.on_commit = _nobody
        self.updaters.clear()

    # --- definitions -----------------------------------------------------------------------------------------------

    def stop_serving(self, collection: str) -> None:
        """Forget the resources that a definition made, and what was made for them."""
        self._customs.pop(collection, None)
        for known in [r for r in self.catalog.resources() if r.custom and r.collection == collection]:
            self.catalog.remove(known)
            for made in (self._strategies, self._views, self._apply_schemas, self._printers):
                made.pop((known.group, known.version, known.plural), None)
            for key in [key for key in self.updaters if key[:3] == (known.group, known.version, known.plural)]:
                del self.updaters[key]

    def openapi(self, request: Request) -> Response | None:
        """The OpenAPI document of a path, where it has one."""
        return openapi.answer(self, request)


def _component_statuses(call: Call) -> Step:
    """Deprecated, and of components that are not here: an empty list."""
    yield from ()
    if call.info.name:
        raise not_found("componentstatuses", call.info.name)
    call.warnings.append("v1 ComponentStatus is deprecated in v1.19+")
    return Response(body=shape.listed(call, {}, ()))


def refusal(error: StatusError, request: Request) -> Response:
    """A Status, in the media type that the client wants its answers in."""
    return Response(
        error.code,
        Document(error.to_object()),
        content_type=refusal_media_type(request.headers.get("accept")),
        headers=dict(error.headers),
        warnings=error.warnings,
    )


#: Method -> verb, on a collection and on an object. What is not there is 405.
COLLECTION_METHODS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_METHODS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def check_route(request: Request, info: RequestInfo, resource: Resource) -> None:
    """A built-in's paths: raises 404 for one that it has not, 405 for a method that a path has not."""
    method, name = request.method, info.parts[1] if len(info.parts) > 1 else ""
    in_namespace = bool(info.namespace) and info.resource != "namespaces"
    if in_namespace and not resource.namespaced:
        raise no_such_resource()
    if info.rest and info.subresource not in ("proxy",):
        raise no_such_resource()
    if info.watch_path:
        if info.subresource or "watch" not in resource.verbs or (name and resource.namespaced and not in_namespace):
            raise no_such_resource()
        if method != "GET":
            raise method_not_allowed()
    elif not name:
        verb = COLLECTION_METHODS.get(method)
        if verb is None or verb not in resource.verbs or (method != "GET" and resource.namespaced and not in_namespace):
            raise method_not_allowed()
    elif resource.namespaced and not in_namespace:
        raise no_such_resource()
    elif info.subresource:
        _check_subresource_route(method, info, resource)
    elif not resource.verbs & set(OBJECT_METHODS.values()):
        raise no_such_resource()
    elif OBJECT_METHODS.get(method) not in resource.verbs:
        raise method_not_allowed()


def _check_subresource_route(method: str, info: RequestInfo, resource: Resource) -> None:
    found = resource.subresources.get(info.subresource)
    if found is None:
        raise no_such_resource()
    if info.verb not in found.verbs or method == "HEAD":
        raise method_not_allowed()


def check_custom_route(request: Request, info: RequestInfo, resource: Resource) -> RequestInfo:
    """A custom resource's paths, which another handler serves, with refusals of its own."""
    name = info.parts[1] if len(info.parts) > 1 else ""
    in_namespace = bool(info.namespace)
    if resource.namespaced:
        writing = info.verb not in ("list", "watch")
        if not in_namespace and (name or writing):
            raise _nothing_here()
    elif in_namespace:
        raise _nothing_here()
    if info.rest:
        raise _nothing_here()
    if info.subresource and info.subresource not in resource.subresources:
        raise not_found(resource.qualified, info.name)
    if request.method == "PUT" and not name:
        raise bad_request("name must be provided")
    verbs = resource.subresources[info.subresource].verbs if info.subresource else resource.verbs
    if info.verb not in verbs or (request.method == "POST" and name):
        why = f'{info.verb} is not supported on resources of kind "{resource.qualified}"'
        details: Object = {"group": resource.group, "kind": resource.plural}
        raise StatusError(405, "MethodNotAllowed", why if info.verb else " " + why.lstrip(), details)
    return info


def _nothing_here() -> PlainAnswer:
    return PlainAnswer(404, "404 page not found\n")


Answer = Generator[Need, Any, Response]
