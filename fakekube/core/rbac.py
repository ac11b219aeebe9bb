"""Who may do what: RBAC, read from the roles and bindings in the store (`plugin/pkg/auth/authorizer/rbac`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.core.authentication import User
from fakekube.core.request import RequestInfo
from fakekube.core.store import Store

Object = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
SUPERUSERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and which rule says so ("" where none does)."""

    allowed: bool
    reason: str = ""


def authorize(store: Store, user: User, info: RequestInfo) -> Decision:
    """The decision for a request. Members of system:masters may do everything."""
    if SUPERUSERS in user.groups:
        return Decision(True)
    for reason, rule in rules_for(store, user, info.namespace):
        if rule_allows(rule, info):
            return Decision(True, reason)
    return Decision(False)


def rules_for(store: Store, user: User, namespace: str) -> Iterator[tuple[str, Object]]:
    """Every rule that holds for the user in a namespace ("": cluster-wide only), each with why."""
    for _, entry in store.collection(f"clusterrolebindings.{GROUP}").scan("", "", None):
        yield from _bound(store, user, "ClusterRoleBinding", entry.object, "")
    if namespace:
        for _, entry in store.collection(f"rolebindings.{GROUP}").scan(f"{namespace}/", "", None):
            yield from _bound(store, user, "RoleBinding", entry.object, namespace)


def _bound(store: Store, user: User, kind: str, binding: Object, namespace: str) -> Iterator[tuple[str, Object]]:
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
    """One rule against one request (`RuleAllows`)."""
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and info.verb not in verbs:
        return False
    if not info.is_resource:
        return any(_url_matches(pattern, info.path) for pattern in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if "*" not in groups and info.group not in groups:
        return False
    if not _resource_matches(rule.get("resources") or (), info):
        return False
    names = rule.get("resourceNames") or ()
    return not names or info.name in names


def _resource_matches(resources: Sequence[str], info: RequestInfo) -> bool:
    full = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if "*" in resources or full in resources:
        return True
    return bool(info.subresource) and f"*/{info.subresource}" in resources


def _url_matches(pattern: str, path: str) -> bool:
    if pattern == "*" or pattern == path:
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def denied_text(user: User, info: RequestInfo) -> str:
    """What a 403 says behind `is forbidden:` (`endpoints/handlers/responsewriters.forbiddenMessage`)."""
    if not info.is_resource:
        return f'User "{user.name}" cannot {info.verb} path "{info.path}"'
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    text = f'User "{user.name}" cannot {info.verb} resource "{resource}" in API group "{info.group}"'
    return f'{text} in the namespace "{info.namespace}"' if info.namespace else f"{text} at the cluster scope"
