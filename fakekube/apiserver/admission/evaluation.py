"""Evaluation of the CEL expressions of policies and match conditions (`admission/plugin/cel`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission import admissionreview
from fakekube.apiserver.admission.admissionreview import VersionedAttributes
from fakekube.apiserver.admission.matching import Attributes
from fakekube.apiserver.auth import serviceaccount
from fakekube.apiserver.cel.activation import CALL_LIMIT
from fakekube.apiserver.cel.environment import CompilationError, Environment, compiled
from fakekube.apiserver.cel.library.authorization import AuthorizationCheck, AuthorizationDecision, Authorizer
from fakekube.apiserver.cel.values import CelError
from fakekube.apiserver.user import AUTHENTICATED, User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import together
from fakekube.struct import replace

Object = dict[str, Any]


class Failed(Exception):
    """The evaluation of an expression failed; the text is kube-apiserver's."""


class Variables(dict[str, Any]):
    """The CEL variable `variables`; each composed variable is evaluated on first use."""

    def __init__(self, scope: Scope, expressions: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._scope = scope
        self._places = {name: i for i, (name, _) in enumerate(expressions)}
        self._expressions = tuple(expressions)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Any:
        if not dict.__contains__(self, name):
            i = self._places[name]
            environment = Environment("any", self._scope.takes_params, variables=self._expressions[:i])
            program, _ = compiled(self._expressions[i][1], environment)
            try:
                self[name] = program(self._scope.names(), CALL_LIMIT)[0]
            except CelError as problem:
                raise CelError(f"composited variable {go_quote(name)} fails to evaluate: {problem}") from None
        return dict.__getitem__(self, name)


class Scope:
    """The CEL variables for one request and one parameter object."""

    takes_params: bool
    attributes: Attributes

    def __init__(
        self, versioned: VersionedAttributes, *, params: Object | None = None, takes_params: bool = False,
        variables: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        attributes = versioned.attributes
        self.attributes, self.takes_params = attributes, takes_params
        self._variables = tuple(variables)
        call = attributes.call
        self._names: dict[str, Any] = {
            "object": versioned.obj,
            "oldObject": versioned.old,
            "request": admissionreview.request(attributes, versioned.resource, ""),
            "namespaceObject": _namespace(attributes),
            "authorizer": _authorizer(attributes),
            "params": params,
        }
        if variables:
            self._names["variables"] = Variables(self, variables)
        self._user = call.user

    def names(self) -> dict[str, Any]:
        return self._names

    def value(self, text: str, result: str = "bool") -> Any:
        """Evaluate an expression. `result` is the type of its value; for a mutation, its patch type. Raises Failed."""
        patches = result in ("ApplyConfiguration", "JSONPatch")
        environment = Environment(result, self.takes_params, variables=self._variables, patches=patches)
        try:
            program, _ = compiled(text, environment)
            return program(self._names, CALL_LIMIT)[0]
        except CompilationError as problem:
            raise Failed(f"compilation error: {problem}") from None
        except CelError as problem:
            raise Failed(f"expression '{text}' resulted in error: {problem}") from None


def all_hold(conditions: Iterable[Mapping[str, Any]], scope: Scope) -> bool:
    """Whether all match conditions are true. Raises Failed if some fail and none is false."""
    problems: list[str] = []
    for condition in conditions:
        try:
            if scope.value(condition["expression"]) is not True:
                return False
        except Failed as problem:
            problems.append(str(problem))
    if problems:
        raise Failed(together(problems))
    return True


def _namespace(attributes: Attributes) -> Object | None:
    name = attributes.namespace
    entry = attributes.call.server.store.get("namespaces", name) if name else None
    if entry is None:
        return None
    obj = entry.object
    meta = {key: value for key, value in obj["metadata"].items() if key not in ("uid", "managedFields")}
    return {"metadata": meta, "spec": obj.get("spec") or {}, "status": obj.get("status") or {}}


def _authorizer(attributes: Attributes) -> Authorizer:
    call = attributes.call

    def ask(check: AuthorizationCheck, verb: str) -> AuthorizationDecision:
        if check.path:
            info = RequestInfo(verb, check.path)
        else:
            group, namespace, name = (check.fields.get(key, "") for key in ("group", "namespace", "name"))
            resource, subresource = (check.fields.get(key, "") for key in ("resource", "subresource"))
            info = RequestInfo(
                verb, "", is_resource=True, group=group, version="*", namespace=namespace, resource=resource, name=name,
                subresource=subresource,
            )  # fmt: skip
        decision = call.server.decide(check.user, info)
        return AuthorizationDecision(decision.allowed, decision.reason)

    def account(namespace: str, name: str) -> User:
        groups = (*serviceaccount.groups_of(namespace), AUTHENTICATED)
        return User(serviceaccount.user_name(namespace, name), groups=groups)

    own = AuthorizationCheck(ask, call.user)
    info = call.info
    fields = {
        "group": info.group, "resource": info.resource, "subresource": info.subresource, "namespace": info.namespace,
        "name": attributes.name,
    }  # fmt: skip
    return Authorizer(own, replace(own, fields=fields), account)
