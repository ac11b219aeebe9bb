"""The RBAC authorizer, which reads roles and bindings from the store (`plugin/pkg/auth/authorizer/rbac`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Entry, Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import together
from fakekube.struct import Struct

GROUP = "rbac.authorization.k8s.io"
SUPERUSERS = "system:masters"


class Decision(Struct, frozen=True):
    """The result of an authorization. The reason names the rule that allows it, or errors in resolving rules."""

    allowed: bool
    reason: str = ""


def authorize(store: Store, user: User, info: RequestInfo) -> Decision:
    """Authorizes a request. Members of system:masters may do everything."""
    if SUPERUSERS in user.groups:
        return ALLOWED
    matching = _matching(store, user, info)
    for decision, names in matching.rules:
        if not names or info.name in names:
            return decision
    return matching.otherwise


ALLOWED, DENIED = Decision(True), Decision(False)


class MatchingRules(Struct, frozen=True):
    """The rules that match a request except for the name of the object, each with its decision and the names that it
    applies to (none: all), and the decision if none of them applies."""

    rules: Sequence[tuple[Decision, Sequence[str]]]
    otherwise: Decision


#: The collections that decisions depend on.
_COLLECTIONS = tuple(f"{kind}.{GROUP}" for kind in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"))

#: The number of kinds of requests whose rules are cached.
CACHE_LIMIT = 10_000


class RuleCache:
    """The rules that match each kind of request, valid while no role and no binding changes."""

    __slots__ = ("_as_of", "_collections", "entries")

    def __init__(self, store: Store) -> None:
        self._collections = [store.collection(name) for name in _COLLECTIONS]
        self._as_of: list[int] = []
        self.entries: dict[tuple[Any, ...], MatchingRules] = {}

    def current(self) -> dict[tuple[Any, ...], MatchingRules]:
        """The entries that are valid for the present roles and bindings."""
        as_of = [collection.revision for collection in self._collections]
        if self._as_of != as_of or len(self.entries) >= CACHE_LIMIT:
            self._as_of = as_of
            self.entries.clear()
        return self.entries


def _matching(store: Store, user: User, info: RequestInfo) -> MatchingRules:
    """The matching rules in the order of the bindings, cached because finding them is slow."""
    cached = store.derived(RuleCache).current()
    path = "" if info.is_resource else info.path
    # namespaces without bindings are the same
    namespace = info.namespace if info.namespace and any(_bindings(store, info.namespace)) else ""
    key = (user.name, user.groups, info.verb, info.resource, namespace, info.group, info.subresource, path)
    found = cached.get(key)
    if found is None:
        problems: list[str] = []
        rules = tuple(
            (Decision(True, reason), (rule.get("resourceNames") or ()) if info.is_resource else ())
            for reason, rule in rules_for(store, user, namespace, problems)
            if _rule_matches(rule, info)
        )
        otherwise = Decision(False, f"RBAC: {together(problems)}") if problems else DENIED
        found = cached[key] = MatchingRules(rules, otherwise)
    return found


def rules_for(
    store: Store, user: User, namespace: str, problems: list[str] | None = None
) -> Iterator[tuple[str, Object]]:
    """The rules of a user in a namespace ("": only cluster-wide rules), each with the reason.

    An error is appended to `problems` for each binding to a role that does not exist.
    """
    problems = [] if problems is None else problems
    for _, entry in store.collection(f"clusterrolebindings.{GROUP}").scan("", "", None):
        yield from _bound(store, user, "ClusterRoleBinding", entry.object, "", problems)
    if namespace:
        for _, entry in _bindings(store, namespace):
            yield from _bound(store, user, "RoleBinding", entry.object, namespace, problems)


def _bindings(store: Store, namespace: str) -> Iterable[tuple[str, Entry]]:
    """The RoleBindings of a namespace."""
    return store.collection(f"rolebindings.{GROUP}").scan(f"{namespace}/", "", None)


def _bound(
    store: Store, user: User, kind: str, binding: Object, namespace: str, problems: list[str]
) -> Iterator[tuple[str, Object]]:
    subject = next((s for s in binding.get("subjects") or () if _is(user, s, namespace)), None)
    if subject is None:
        return
    ref = binding.get("roleRef") or {}
    name = ref.get("name", "")
    if ref.get("kind") == "Role":
        role = store.get(f"roles.{GROUP}", f"{namespace}/{name}")
    else:
        role = store.get(f"clusterroles.{GROUP}", name)
    if role is None:
        resource = "role" if ref.get("kind") == "Role" else "clusterrole"
        problems.append(f'{resource}.{GROUP} "{name}" not found')
        return
    meta = binding["metadata"]
    shown = f"{meta['name']}/{namespace}" if namespace else meta["name"]
    who = subject_text(subject, namespace)
    reason = f'RBAC: allowed by {kind} "{shown}" of {ref.get("kind")} "{name}" to {who}'
    for rule in role.object.get("rules") or ():
        yield reason, rule


def subject_text(subject: Object, namespace: str) -> str:
    if subject.get("kind") == "ServiceAccount":
        return f'ServiceAccount "{subject.get("name")}/{subject.get("namespace") or namespace}"'
    return f'{subject.get("kind")} "{subject.get("name")}"'


def _is(user: User, subject: Object, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name")
    if kind == "User":
        return user.name == name
    if kind == "Group":
        return name in user.groups
    if kind == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return False


def rule_allows(rule: Object, info: RequestInfo) -> bool:
    """Whether a rule allows a request (`RuleAllows`)."""
    names = (rule.get("resourceNames") or ()) if info.is_resource else ()
    return _rule_matches(rule, info) and (not names or info.name in names)


def _rule_matches(rule: Object, info: RequestInfo) -> bool:
    """Whether a rule matches a request, apart from the name of the object."""
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and info.verb not in verbs:
        return False
    if not info.is_resource:
        return any(_url_matches(pattern, info.path) for pattern in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if "*" not in groups and info.group not in groups:
        return False
    return _resource_matches(rule.get("resources") or (), info)


def _resource_matches(resources: Sequence[str], info: RequestInfo) -> bool:
    full = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if "*" in resources or full in resources:
        return True
    return bool(info.subresource) and f"*/{info.subresource}" in resources


def _url_matches(pattern: str, path: str) -> bool:
    if pattern == "*" or pattern == path:
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def denied_text(user: User, info: RequestInfo, reason: str = "") -> str:
    """The message of a 403 after `is forbidden:` (`responsewriters.ForbiddenStatusError`)."""
    text = _denied(user, info)
    return f"{text}: {reason}" if reason else text


def _denied(user: User, info: RequestInfo) -> str:
    if not info.is_resource:
        return f'User "{user.name}" cannot {info.verb} path "{info.path}"'
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    text = f'User "{user.name}" cannot {info.verb} resource "{resource}" in API group "{info.group}"'
    return f'{text} in the namespace "{info.namespace}"' if info.namespace else f"{text} at the cluster scope"
