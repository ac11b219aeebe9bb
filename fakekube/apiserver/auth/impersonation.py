"""Impersonation with the `Impersonate-*` headers (`endpoints/filters/impersonation`).

The constrained modes are tried first; they require a permission to impersonate, and one to make the request while
impersonating. Then the plain permission to impersonate is checked. The mode that succeeds is tried first the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from fakekube.apiserver import names
from fakekube.apiserver.auth import rbac, serviceaccount
from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import PlainAnswer, StatusError, bad_request, forbidden
from fakekube.struct import Struct, field

USER, UID, GROUP, EXTRA = "impersonate-user", "impersonate-uid", "impersonate-group", "impersonate-extra-"
NODE = "system:node:"
NODES = "system:nodes"
MASTERS = "system:masters"

#: With this many groups, the permission for all groups is checked first.
MANY = 4

Decide = Callable[[User, RequestInfo], rbac.Decision]


def wanted(request: Request) -> User | None:
    """The user of the impersonation headers; None without such headers. Raises 400."""
    headers = request.headers
    name, uid = headers.get(USER, ""), headers.get(UID, "")
    groups = request.header_values(GROUP)
    extra: dict[str, tuple[str, ...]] = {}
    for header in dict.fromkeys(headers):
        if header.startswith(EXTRA):
            key = unquote(header.removeprefix(EXTRA))
            extra[key] = (*extra.get(key, ()), *request.header_values(header))
    user = User(name, uid, groups, extra)
    if name:
        return user
    if uid or groups or extra:
        if not since(35):
            path = go_quote(request.path)
            why = f"requested {_references(user)} without impersonating a user"
            raise PlainAnswer(500, f"Internal Server Error: {path}: {why}\n")
        raise bad_request(f"requested {_go_syntax(user)} without impersonating a user name")
    return None


def _references(user: User) -> str:
    """What is impersonated, as Go prints a list of ObjectReferences: kind, namespace, name, uid, version and path."""
    named = [f"{{Group  {one}    }}" for one in user.groups]
    versioned = " authentication.k8s.io/v1  "
    named += [f"{{UserExtra  {value} {versioned}{key}}}" for key, values in user.extra.items() for value in values]
    named += [f"{{UID  {user.uid} {versioned}}}"] if user.uid else []
    return f"[{' '.join(named)}]"


def _go_syntax(user: User) -> str:
    groups = "[]string(nil)"
    if user.groups:
        groups = "[]string{" + ", ".join(map(go_quote, user.groups)) + "}"
    extra = "map[string][]string(nil)"
    if user.extra:
        pairs = (
            f"{go_quote(key)}:[]string{{{', '.join(map(go_quote, user.extra[key]))}}}" for key in sorted(user.extra)
        )
        extra = "map[string][]string{" + ", ".join(pairs) + "}"
    return f"&user.DefaultInfo{{Name:{go_quote(user.name)}, UID:{go_quote(user.uid)}, Groups:{groups}, Extra:{extra}}}"


class Impersonation(Struct):
    """Authorizes impersonation with `decide`."""

    decide: Decide
    _good: dict[Any, str] = field(default_factory=dict)
    """The mode that last succeeded for a user."""

    def effective(self, request: Request, info: RequestInfo) -> User:
        """The effective user of a request. Raises 400 and 403."""
        user = wanted(request)
        if user is None:
            return request.user
        requestor = request.user
        key = (requestor.name, requestor.uid, requestor.groups)
        first: StatusError | None = None
        offered = MODES if enabled("ConstrainedImpersonation") else (PLAIN,)
        modes = [mode for mode in offered if _applies(mode, user, requestor)]
        modes.sort(key=lambda mode: mode != self._good.get(key))
        for mode in modes:
            try:
                found = self._checked(mode, requestor, user, info)
            except StatusError as refused:
                first = first or refused
                continue
            self._good[key] = mode
            return found
        assert first is not None, "the plain mode applies to every user"
        raise first

    def _checked(self, mode: str, requestor: User, user: User, info: RequestInfo) -> User:
        plain = mode == PLAIN
        verb = "impersonate" if plain else f"impersonate:{mode}"
        if not plain:
            self._allow(requestor, replace(info, verb=f"impersonate-on:{mode}:{info.verb}"))
        group = "" if plain else "authentication.k8s.io"
        groups = self._user(requestor, user, verb, group, plain=plain)
        if user.uid:
            self._allow(requestor, _right(verb, "authentication.k8s.io", "uids", user.uid))
        self._groups(requestor, user.groups, verb, group, plain=plain)
        for key, values in user.extra.items():
            for value in values:
                self._allow(requestor, _right(verb, "authentication.k8s.io", "userextras", value, subresource=key))
        return replace(user, groups=_complete(user.name, groups))

    def _user(self, requestor: User, user: User, verb: str, group: str, *, plain: bool) -> tuple[str, ...]:
        """The groups of the impersonated user. Raises 403."""
        account = serviceaccount.split(user.name)
        node = _node(user.name)
        if account is not None:
            namespace, name = account
            self._allow(requestor, _right(verb, group, "serviceaccounts", name, namespace=namespace))
            return user.groups or serviceaccount.groups_of(namespace)
        if node and not plain:
            name = "*" if verb.endswith("associated-node") else node
            self._allow(requestor, _right(verb, group, "nodes", name))
            return (NODES,)
        self._allow(requestor, _right(verb, group, "users", user.name))
        return user.groups

    def _groups(self, requestor: User, groups: tuple[str, ...], verb: str, group: str, *, plain: bool) -> None:
        right = _right(verb, group, "groups", "")
        if not plain and "" in groups:
            raise _refused(requestor, right, "impersonating the empty string group is not allowed")
        if not plain and MASTERS in groups:
            why = "impersonating the system:masters group is not allowed"
            raise _refused(requestor, replace(right, name=MASTERS), why)
        if not plain and len(groups) >= MANY and self.decide(requestor, replace(right, name="*")).allowed:
            return
        for name in groups:
            self._allow(requestor, replace(right, name=name))

    def _allow(self, requestor: User, info: RequestInfo) -> None:
        decision = self.decide(requestor, info)
        if not decision.allowed:
            raise _refused(requestor, info, decision.reason)


def _right(
    verb: str, group: str, resource: str, name: str, *, namespace: str = "", subresource: str = ""
) -> RequestInfo:
    return RequestInfo(
        verb, "", is_resource=True, group=group, version="v1", namespace=namespace, resource=resource, name=name,
        subresource=subresource,
    )  # fmt: skip


def _refused(requestor: User, info: RequestInfo, why: str) -> StatusError:
    subject = (info.qualified, info.name) if info.is_resource else ("", "")
    return forbidden(*subject, rbac.denied_text(requestor, info, why))


def _complete(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if name == ANONYMOUS.name:
        needed = UNAUTHENTICATED
    elif UNAUTHENTICATED in groups:
        return groups
    else:
        needed = AUTHENTICATED
    return groups if needed in groups else (*groups, needed)


def _node(user: str) -> str:
    """The name of the node of a node user; "" for any other user."""
    name = user.removeprefix(NODE)
    return name if user.startswith(NODE) and not names.dns_subdomain_problems(name) else ""


def _alone(user: User) -> bool:
    return not (user.uid or user.groups or user.extra)


def _own_node(user: User, requestor: User) -> bool:
    own = requestor.extra.get("authentication.kubernetes.io/node-name", ())
    return _alone(user) and serviceaccount.split(requestor.name) is not None and own == (_node(user.name),)


PLAIN = "plain"

#: Mode -> whether it applies to a user and a requestor, in the order of the checks.
MODES: Mapping[str, Callable[[User, User], bool]] = {
    "associated-node": _own_node,
    "arbitrary-node": lambda user, _: _alone(user) and bool(_node(user.name)),
    "serviceaccount": lambda user, _: _alone(user) and serviceaccount.split(user.name) is not None,
    "user-info": lambda user, _: not _node(user.name) and serviceaccount.split(user.name) is None,
    PLAIN: lambda user, _: True,
}


def _applies(mode: str, user: User, requestor: User) -> bool:
    return MODES[mode](user, requestor)
