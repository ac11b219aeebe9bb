"""Compares what an operator did with its RBAC roles: missing and unused permissions, and minimal roles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from fakekube.apiserver.auth import rbac, serviceaccount
from fakekube.apiserver.auth.escalation import parts
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import VERBS, qualify
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.struct import Struct, replace

Object = dict[str, Any]
Rule = dict[str, Any]

#: Paths that every user may read, by system:discovery and system:public-info-viewer.
OPEN = ("/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")


#: In the reason of a rule that every cluster grants, like those of discovery.
_OF_EVERY_CLUSTER = 'ClusterRoleBinding "system:'


class Access(Struct, frozen=True, order=True):
    """One permission. `resource` includes the subresource (`pods/log`); an empty `namespace` stands for all.

    `name` is set if a rule is limited to that object; `path` is a non-resource URL.
    """

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"{self.verb} {self.path}"
        what = qualify(self.resource, self.group)
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {what}{named} {f'in {self.namespace}' if self.namespace else 'in all namespaces'}"


class AccessReport(Struct, frozen=True):
    """The permissions that a user has used, those of them that its roles lack, and those that it has not used."""

    user: str
    used: Sequence[Access]
    missing: Sequence[Access]
    unused: Sequence[Access]
    _subject: Mapping[str, str]

    @property
    def minimal_roles(self) -> list[Object]:
        """Minimal roles for `used`: a ClusterRole for requests in all namespaces, and a Role for each namespace."""
        used = with_lists(self.used)
        everywhere = [one for one in used if not one.namespace]
        covered = {(one.group, one.resource, one.verb) for one in everywhere}
        found = [self._role("ClusterRole", "", everywhere)] if everywhere else []
        for namespace in sorted({one.namespace for one in used} - {""}):
            own = [one for one in used if one.namespace == namespace]
            left = [one for one in own if (one.group, one.resource, one.verb) not in covered]
            if left:
                found.append(self._role("Role", namespace, left))
        return found

    @property
    def minimal(self) -> str:
        """`minimal_roles` as YAML."""
        return yaml.safe_dump_all(self.minimal_roles, sort_keys=False)

    def _role(self, kind: str, namespace: str, used: Iterable[Access]) -> Object:
        meta = {"name": self._subject["name"], **({"namespace": namespace} if namespace else {})}
        return {"apiVersion": f"{rbac.GROUP}/v1", "kind": kind, "metadata": meta, "rules": rules_of(used)}

    def __str__(self) -> str:
        lines = [f"access of {self.user}: {len(self.used)} used"]
        for word, found in (("missing", self.missing), ("unused", self.unused)):
            lines += [f"{word}: {one}" for one in found]
        return "\n".join(lines)


def with_lists(used: Iterable[Access]) -> list[Access]:
    """The permissions, with `list` for each `watch`: an informer lists first where the server does not stream lists."""
    used = list(used)
    return sorted({*used, *(replace(one, verb="list") for one in used if one.verb == "watch")})


def rules_of(used: Iterable[Access]) -> list[Rule]:
    """RBAC rules for these permissions; resources of a group with equal verbs share a rule."""
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for one in used:
        verbs.setdefault((one.group, one.resource, one.path), set()).add(one.verb)
    merged: dict[tuple[str, bool, tuple[str, ...]], list[str]] = {}
    for (group, resource, path), its_verbs in sorted(verbs.items()):
        merged.setdefault((group, bool(path), in_order(its_verbs)), []).append(path or resource)
    rules: list[Rule] = []
    for (group, of_paths, its), whats in merged.items():
        what = {"nonResourceURLs": whats} if of_paths else {"apiGroups": [group], "resources": whats}
        rules.append({**what, "verbs": list(its)})
    return rules


def in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(verbs, key=lambda verb: (VERBS.index(verb) if verb in VERBS else len(VERBS), verb)))


# --- what was used ---------------------------------------------------------------------------------------------------


def used_by(records: Iterable[RequestRecord], user: str) -> list[Access]:
    """The permissions that the requests of a user needed, each once. An apply that creates also needs `create`."""
    found: dict[Access, None] = {}
    for record in records:
        if record.user == user:
            for access in _needed(record):
                found[access] = None
    return sorted(found)


def _needed(record: RequestRecord) -> Iterator[Access]:
    if not record.resource:
        if not record.path.startswith(OPEN):
            yield Access("", "", "", record.verb, path=record.path)
        return
    resource = f"{record.resource}/{record.subresource}" if record.subresource else record.resource
    yield Access(record.namespace, record.group, resource, record.verb)
    if record.verb == "patch" and record.code == 201:
        yield Access(record.namespace, record.group, resource, "create")


# --- what is allowed -------------------------------------------------------------------------------------------------


class _Grant(Struct, frozen=True):
    """A rule in a namespace (empty: in all); `own` if a binding of the test has it for the user, or for groups of
    service accounts that the user belongs to."""

    namespace: str
    rule: Rule
    own: bool

    def allows(self, access: Access, name: str) -> bool:
        resource, _, subresource = access.resource.partition("/")
        info = RequestInfo(
            access.verb, access.path, is_resource=not access.path, group=access.group, version="*",
            namespace=access.namespace, resource=resource, subresource=subresource, name=name,
        )  # fmt: skip
        return self.namespace in ("", access.namespace) and rbac.rule_allows(self.rule, info)


def report(store: Store, records: Iterable[RequestRecord], user: User) -> AccessReport:
    """Compare the requests of a user with the roles that are bound to it now."""
    own = [record for record in records if record.user == user.name]
    used = used_by(own, user.name)
    names = _names(own)
    grants = list(_grants(store, user))
    missing = [one for one in used if not all(_is_granted(one, name, grants) for name in names.get(one, ("",)))]
    needed = with_lists(used)
    unused = sorted(
        access
        for grant in grants
        if grant.own
        for part in parts(grant.rule)
        for access in _accesses(grant.namespace, part)
        if not _is_used(_Grant(grant.namespace, part, own=True), needed, names)
    )
    account = serviceaccount.split(user.name)
    subject = {"name": account[1] if account is not None else user.name.replace(":", "-")}
    return AccessReport(user.name, used, missing, list(dict.fromkeys(unused)), subject)


def _names(records: Iterable[RequestRecord]) -> Mapping[Access, Sequence[str]]:
    """The names of the objects of each permission (empty: requests without a name)."""
    found: dict[Access, dict[str, None]] = {}
    for record in records:
        for access in _needed(record):
            found.setdefault(access, {})[record.name if access.verb != "create" else ""] = None
    return {access: list(names) for access, names in found.items()}


def _is_granted(access: Access, name: str, grants: Iterable[_Grant]) -> bool:
    return any(grant.allows(access, name) for grant in grants)


def _is_used(grant: _Grant, used: Iterable[Access], names: Mapping[Access, Sequence[str]]) -> bool:
    return any(grant.allows(one, name) for one in used for name in names.get(one, ("",)))


def _accesses(namespace: str, part: Rule) -> Iterator[Access]:
    """A rule of one verb and one resource or path, as permissions."""
    (verb,) = part["verbs"]
    for path in part.get("nonResourceURLs") or ():
        yield Access("", "", "", verb, path=path)
    for resource in part.get("resources") or ():
        yield Access(namespace, part["apiGroups"][0], resource, verb, (part.get("resourceNames") or [""])[0])


def _grants(store: Store, user: User) -> Iterator[_Grant]:
    alone = User(user.name, groups=tuple(one for one in user.groups if one.startswith(serviceaccount.ALL)))
    everywhere = list(rbac.rules_for(store, user, ""))
    own = [rule for reason, rule in rbac.rules_for(store, alone, "") if _OF_EVERY_CLUSTER not in reason]
    for _, rule in everywhere:
        yield _Grant("", rule, rule in own)
    for namespace in _namespaces(store):
        in_namespace = list(rbac.rules_for(store, user, namespace))[len(everywhere) :]
        of_user = [rule for _, rule in rbac.rules_for(store, alone, namespace)]
        for _, rule in in_namespace:
            yield _Grant(namespace, rule, rule in of_user)


def _namespaces(store: Store) -> set[str]:
    """The namespaces that have RoleBindings."""
    return {path.partition("/")[0] for path, _ in store.collection(f"rolebindings.{rbac.GROUP}").scan("", "", None)}
