"""API Priority and Fairness: which FlowSchema and priority level a request has (`apiserver/pkg/util/flowcontrol`).

Requests are classified but never queued or rejected.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.struct import Struct

Object = dict[str, Any]

GROUP = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS, PRIORITY_LEVELS = f"flowschemas.{GROUP}", f"prioritylevelconfigurations.{GROUP}"

#: The manager of the status of FlowSchemas.
MANAGER = "api-priority-and-fairness-config-consumer-v1"

#: `--max-requests-inflight` and `--max-mutating-requests-inflight` together.
CONCURRENCY = 400 + 200

#: The number of kinds of requests whose classification is cached.
CACHE_LIMIT = 10_000

_CATCH_ALL = "catch-all"
_SERVICE_ACCOUNT = "system:serviceaccount:"

#: Requests that are not classified, because they run long and are not watches (`BasicLongRunningRequestCheck`).
_LONG_RUNNING_VERBS = frozenset({"proxy"})
_LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "proxy", "log", "portforward"})


class Classification(Struct, frozen=True):
    """The FlowSchema and the priority level of a request: names, and the headers with their uids."""

    flow_schema: str
    priority_level: str
    headers: Mapping[str, str]


class Classifier:
    """Classifies requests by the stored FlowSchemas; see `Store.derived`. `dispatched` counts them."""

    __slots__ = ("_as_of", "_cache", "_collections", "_schemas", "dispatched")

    def __init__(self, store: Store) -> None:
        self._collections = (store.collection(FLOW_SCHEMAS), store.collection(PRIORITY_LEVELS))
        self._as_of: tuple[int, ...] = ()
        self._cache: dict[tuple[Any, ...], Classification | None] = {}
        self._schemas: list[tuple[Object, Classification]] = []
        self.dispatched: Counter[tuple[str, str]] = Counter()

    def dispatch(self, user: User, info: RequestInfo) -> Mapping[str, str]:
        """Count a request. Returns the headers of its response."""
        schemas, levels = self._collections
        as_of = (schemas.revision, levels.revision)
        if as_of != self._as_of or len(self._cache) >= CACHE_LIMIT:
            self._as_of = as_of
            self._cache.clear()
            self._schemas = self._sorted_schemas()
        path = "" if info.is_resource else info.path
        key = (user.name, user.groups, info.verb, info.group, info.resource, info.subresource, info.namespace, path)
        try:
            found = self._cache[key]
        except KeyError:
            found = self._cache[key] = self._classified(user, info)
        if found is None:
            return {}
        self.dispatched[found.flow_schema, found.priority_level] += 1
        return found.headers

    def _classified(self, user: User, info: RequestInfo) -> Classification | None:
        if runs_long(info):
            return None
        for schema, classification in self._schemas:
            if any(_matches(rule, user, info) for rule in schema["spec"].get("rules") or ()):
                return classification
        return next((one for _, one in self._schemas if one.flow_schema == _CATCH_ALL), None)

    def _sorted_schemas(self) -> list[tuple[Object, Classification]]:
        """The FlowSchemas whose priority level exists, by precedence and name."""
        schemas, levels = (collection.live for collection in self._collections)
        found = []
        for name, entry in schemas.items():
            spec = entry.object["spec"]
            level = levels.get(spec["priorityLevelConfiguration"]["name"])
            if level is None:
                continue
            headers = {
                "X-Kubernetes-PF-FlowSchema-UID": entry.object["metadata"]["uid"],
                "X-Kubernetes-PF-PriorityLevel-UID": level.object["metadata"]["uid"],
            }
            classification = Classification(name, level.object["metadata"]["name"], headers)
            found.append((spec.get("matchingPrecedence", 1000), name, entry.object, classification))
        found.sort(key=lambda one: one[:2])
        return [(schema, classification) for _, _, schema, classification in found]


def runs_long(info: RequestInfo) -> bool:
    """Whether a request is not limited because it lasts (`BasicLongRunningRequestCheck`); a beginning watch is."""
    return info.verb in _LONG_RUNNING_VERBS or (info.subresource in _LONG_RUNNING_SUBRESOURCES and info.verb != "watch")


# --- matching ---------------------------------------------------------------------------------------------------------


def _matches(rule: Object, user: User, info: RequestInfo) -> bool:
    if not any(_is_subject(user, subject) for subject in rule.get("subjects") or ()):
        return False
    if info.is_resource:
        return any(_matches_resource(one, info) for one in rule.get("resourceRules") or ())
    return any(
        _contains(one["verbs"], info.verb) and _matches_path(one["nonResourceURLs"], info.path)
        for one in rule.get("nonResourceRules") or ()
    )


def _is_subject(user: User, subject: Object) -> bool:
    kind = subject["kind"]
    if kind == "User":
        return (subject.get("user") or {}).get("name") in ("*", user.name)
    if kind == "Group":
        name = (subject.get("group") or {}).get("name")
        return name == "*" or name in user.groups
    account = subject.get("serviceAccount")
    if kind != "ServiceAccount" or account is None:
        return False
    if account["name"] == "*":
        return user.name.startswith(f"{_SERVICE_ACCOUNT}{account['namespace']}:")
    return user.name == f"{_SERVICE_ACCOUNT}{account['namespace']}:{account['name']}"


def _matches_resource(rule: Object, info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (
        _contains(rule["verbs"], info.verb)
        and _contains(rule["resources"], resource)
        and _contains(rule["apiGroups"], info.group)
    ):
        return False
    if not info.namespace:
        return bool(rule.get("clusterScope"))
    return _contains(rule.get("namespaces") or (), info.namespace)


def _matches_path(patterns: Sequence[str], path: str) -> bool:
    for pattern in patterns:
        prefix = pattern.removesuffix("*")
        if pattern in ("*", path) or path.startswith(prefix if prefix.endswith("/") else f"{prefix}/"):
            return True
    return False


def _contains(values: Sequence[str], value: str) -> bool:
    return value in values or tuple(values) == ("*",)


# --- the status of FlowSchemas ----------------------------------------------------------------------------------------


def status_updates(store: Store, now: str) -> Iterator[tuple[str, Object]]:
    """The FlowSchemas whose status does not tell whether their priority level exists, with the correct status."""
    levels = store.collection(PRIORITY_LEVELS).live
    for path, entry in list(store.collection(FLOW_SCHEMAS).live.items()):
        name = entry.object["spec"]["priorityLevelConfiguration"]["name"]
        wanted = _dangling(name, name in levels)
        conditions = (entry.object.get("status") or {}).get("conditions") or []
        present: Object = next((one for one in conditions if one["type"] == "Dangling"), {})
        if any(present.get(key) != value for key, value in wanted.items()):
            condition = {
                "type": wanted["type"],
                "status": wanted["status"],
                "lastTransitionTime": now,
                "reason": wanted["reason"],
                "message": wanted["message"],
            }
            others = [one for one in conditions if one["type"] != "Dangling"]
            updated = {
                **entry.object,
                "status": {**(entry.object.get("status") or {}), "conditions": [*others, condition]},
            }
            yield path, {**updated, "metadata": _managed(updated["metadata"], now)}


def _dangling(name: str, exists: bool) -> Object:
    what = f"This FlowSchema references the PriorityLevelConfiguration object named {go_quote(name)}"
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f"{what} and it exists" if exists else f"{what} but there is no such object",
    }


def _managed(meta: Object, now: str) -> Object:
    """The metadata with the entry of the controller, which applies the condition."""
    fields: Object = {f"f:{key}": {} for key in ("lastTransitionTime", "message", "reason", "status", "type")}
    entry = {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": f"{GROUP}/v1",
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {'k:{"type":"Dangling"}': {".": {}, **fields}}}},
        "subresource": "status",
    }
    others = [one for one in meta.get("managedFields") or () if one.get("manager") != MANAGER]
    return {**meta, "managedFields": [entry, *others]}


# --- metrics ----------------------------------------------------------------------------------------------------------


class Seats(Struct, frozen=True):
    """The seats of a priority level: nominal, the lower and the upper limit, and the current limit."""

    nominal: int
    lower: int
    upper: int
    current: int


def seats(store: Store) -> dict[str, Seats]:
    """The seats of each priority level, without load (`finishQueueSetReconfigsLocked`)."""
    levels = {path: entry.object["spec"] for path, entry in sorted(store.collection(PRIORITY_LEVELS).live.items())}
    settings: dict[str, Object] = {
        name: spec.get("limited") or spec.get("exempt") or {} for name, spec in levels.items()
    }
    total = sum(one.get("nominalConcurrencyShares") or 0 for one in settings.values())
    found = {}
    for name, one in settings.items():
        nominal = math.ceil(CONCURRENCY * (one.get("nominalConcurrencyShares") or 0) / total) if total else 0
        lendable = _percent(nominal, one.get("lendablePercent") or 0)
        borrowing = one.get("borrowingLimitPercent")
        upper = nominal + (CONCURRENCY if borrowing is None else _percent(nominal, borrowing))
        found[name] = Seats(nominal, nominal - lendable, upper, nominal - lendable // 2)
    return found


def _percent(value: int, percent: int) -> int:
    """Rounded half away from zero, as Go's math.Round does."""
    return math.floor(value * percent / 100 + 0.5)
