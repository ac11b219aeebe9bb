"""RBAC privilege-escalation checks on writes of roles and bindings (`registry/rbac`, `policybased`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fakekube.apiserver.auth import rbac
from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import StatusError, forbidden, not_found, together

Rule = dict[str, Any]

#: Rules that allow everything: aggregated roles can contain any rule.
FULL_AUTHORITY: Sequence[Rule] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)


class Authorizer(Protocol):
    """The parts of the API server that decide on access."""

    store: Store

    def decide(self, user: User, info: RequestInfo) -> rbac.Decision: ...


class Write(Protocol):
    """A request that writes a role or a binding."""

    @property
    def server(self) -> Authorizer: ...

    @property
    def user(self) -> User: ...

    @property
    def info(self) -> RequestInfo: ...

    @property
    def resource(self) -> Resource: ...

    @property
    def namespace(self) -> str: ...


_COLLECTED = ("ownerReferences", "finalizers")


def check(write: Write, obj: Object, old: Object | None) -> None:
    """Raises 403 if a role or a binding grants permissions that the user does not have."""
    checks = CHECKS.get(write.resource.qualified)
    if checks is None or rbac.SUPERUSERS in write.user.groups:
        return
    if old is not None and _only_for_collection(obj, old):
        return
    checks(write, obj)


def _only_for_collection(new: Object, old: Object) -> bool:
    """Whether only owner references and finalizers differ, as in writes of the garbage collector
    (`IsOnlyMutatingGCFields`)."""

    def rest(obj: Object) -> Object:
        ignored = (*_COLLECTED, "managedFields")
        return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k not in ignored}}

    return rest(new) == rest(old) and any(new["metadata"].get(key) != old["metadata"].get(key) for key in _COLLECTED)


def _check_role(write: Write, role: Object) -> None:
    if _may(write, "escalate", write.resource.plural, role["metadata"].get("name") or ""):
        return
    missing = _missing(write, role.get("rules") or ())
    if missing:
        raise _refused(write, role, missing)
    if role.get("aggregationRule") and _missing(write, FULL_AUTHORITY):
        raise _refused(write, role, "must have cluster-admin privileges to use the aggregationRule")


def _check_binding(write: Write, binding: Object) -> None:
    ref = binding.get("roleRef") or {}
    name = ref.get("name") or ""
    plural = "roles" if ref.get("kind") == "Role" else "clusterroles"
    if _may(write, "bind", plural, name):
        return
    path = f"{write.namespace}/{name}" if plural == "roles" else name
    role = write.server.store.get(f"{plural}.{rbac.GROUP}", path)
    if role is None:
        raise not_found(write.resource.qualified if since(32) else f"{plural}.{rbac.GROUP}", name)
    missing = _missing(write, role.object.get("rules") or ())
    if missing:
        raise _refused(write, binding, missing)


def _refused(write: Write, obj: Object, why: str) -> StatusError:
    return forbidden(write.resource.qualified, obj["metadata"].get("name") or "", why)


def _may(write: Write, verb: str, plural: str, name: str) -> bool:
    info = replace(write.info, verb=verb, resource=plural, name=name, subresource="")
    return write.server.decide(write.user, info).allowed


CHECKS: Mapping[str, Callable[[Write, Object], None]] = {
    f"roles.{rbac.GROUP}": _check_role,
    f"clusterroles.{rbac.GROUP}": _check_role,
    f"rolebindings.{rbac.GROUP}": _check_binding,
    f"clusterrolebindings.{rbac.GROUP}": _check_binding,
}


# --- coverage of rules -----------------------------------------------------------------------------------------------


def _missing(write: Write, rules: Iterable[Rule]) -> str:
    """The error for the rules that the user does not have; "" if the user has all of them."""
    user = write.user
    problems: list[str] = []
    have = [rule for _, rule in rbac.rules_for(write.server.store, user, write.namespace, problems)]
    lacking = [part for rule in rules for part in parts(rule) if not any(covers(own, part) for own in have)]
    if not lacking:
        return ""
    lines = sorted({shown(rule) for rule in compact(lacking)})
    groups = " ".join(map(go_quote, user.groups))
    text = f"user {go_quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:"
    errors = f"; resolution errors: [{together(problems)}]" if problems else ""
    return "\n".join([text, *lines]) + errors


def parts(rule: Rule) -> Iterator[Rule]:
    """Splits a rule into rules with one group, resource and verb, and at most one name (`BreakdownRule`)."""
    names = rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                one = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                if not names:
                    yield one
                for name in names:
                    yield {**one, "resourceNames": [name]}
    for url in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [url], "verbs": [verb]}


def covers(own: Rule, part: Rule) -> bool:
    """Whether a rule allows everything that a part allows (`ruleCovers`)."""
    own_names, names = own.get("resourceNames") or (), part.get("resourceNames") or ()
    return (
        _has(own.get("verbs"), part["verbs"])
        and _has(own.get("apiGroups"), part.get("apiGroups") or ())
        and all(_has_resource(own.get("resources") or (), one) for one in part.get("resources") or ())
        and all(_has_url(own.get("nonResourceURLs") or (), url) for url in part.get("nonResourceURLs") or ())
        and (not own_names or (bool(names) and set(names) <= set(own_names)))
    )


def _has(own: Sequence[str] | None, wanted: Sequence[str]) -> bool:
    return "*" in (own or ()) or set(wanted) <= set(own or ())


def _has_resource(own: Sequence[str], wanted: str) -> bool:
    if "*" in own or wanted in own:
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in own


def _has_url(own: Sequence[str], url: str) -> bool:
    return any(one in ("*", url) or (one.endswith("*") and url.startswith(one.rstrip("*"))) for one in own)


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Merges rules that differ only in their verbs (`CompactRules`)."""
    merged: dict[tuple[tuple[str, tuple[str, ...]], ...], Rule] = {}
    for rule in rules:
        key = tuple((name, tuple(values)) for name, values in sorted(rule.items()) if name != "verbs")
        have = merged.setdefault(key, {**rule, "verbs": []})
        have["verbs"] += [verb for verb in rule["verbs"] if verb not in have["verbs"]]
    return list(merged.values())


_SHOWN = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


def shown(rule: Rule) -> str:
    """A rule in a message: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}` (`CompactString`)."""
    fields = (f"{label}:[{' '.join(map(go_quote, rule[name]))}]" for name, label in _SHOWN.items() if rule.get(name))
    return "{" + ", ".join(fields) + "}"
