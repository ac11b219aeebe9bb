"""The audit policy (`--audit-policy-file`) and the events of audit.k8s.io/v1 (`apiserver/pkg/audit/policy`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import orjson

from fakekube.apiserver.apply.managedfields import without_entries
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.struct import Struct

Object = dict[str, Any]

LEVELS = ("None", "Metadata", "Request", "RequestResponse")
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")

VERSION = "audit.k8s.io/v1"


class InvalidPolicy(Exception):
    """A document that is no audit policy; the message names the field."""


class Audited(Struct, frozen=True):
    """What is recorded of a request: its level, the stages that are not, and whether managedFields are left out."""

    level: str
    omitted: frozenset[str]
    omits_managed_fields: bool


NOTHING = Audited("None", frozenset(), False)


class AuditPolicy:
    """The rules of a policy, of which the first that matches decides. Raises InvalidPolicy."""

    def __init__(self, document: Any) -> None:
        if not isinstance(document, Mapping) or (document.get("apiVersion"), document.get("kind")) != (
            VERSION,
            "Policy",
        ):
            raise InvalidPolicy(f"expected a document of kind Policy in {VERSION}")
        rules = document.get("rules") or []
        if not isinstance(rules, list) or not rules:
            raise InvalidPolicy("loaded illegal policy with 0 rules")
        self._rules: Sequence[Object] = rules
        self._stages = frozenset(document.get("omitStages") or ())
        self._omits = bool(document.get("omitManagedFields"))
        for number, rule in enumerate(rules):
            _check(f"rules[{number}]", rule)

    def of(self, user: User, info: RequestInfo) -> Audited:
        """What is recorded of a request. The stages that a rule omits are added to those of the policy."""
        for rule in self._rules:
            if _matches(rule, user, info):
                omits = rule.get("omitManagedFields")
                stages = self._stages | frozenset(rule.get("omitStages") or ())
                return Audited(rule["level"], stages, self._omits if omits is None else bool(omits))
        return NOTHING


def _check(path: str, rule: Any) -> None:
    if not isinstance(rule, Mapping):
        raise InvalidPolicy(f"{path}: expected a map")
    if rule.get("level") not in LEVELS:
        supported = ", ".join(f'"{one}"' for one in LEVELS)
        raise InvalidPolicy(f'{path}.level: Unsupported value: "{rule.get("level")}": supported values: {supported}')
    for number, stage in enumerate(rule.get("omitStages") or ()):
        if stage not in STAGES:
            raise InvalidPolicy(
                f'{path}.omitStages[{number}]: Invalid value: "{stage}": allowed stages are {",".join(STAGES)}'
            )
    if rule.get("nonResourceURLs") and (rule.get("resources") or rule.get("namespaces")):
        raise InvalidPolicy(
            f"{path}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"
        )


def _matches(rule: Mapping[str, Any], user: User, info: RequestInfo) -> bool:
    if (users := rule.get("users")) and user.name not in users:
        return False
    if (groups := rule.get("userGroups")) and not set(groups) & set(user.groups):
        return False
    if (verbs := rule.get("verbs")) and info.verb not in verbs:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return info.is_resource and _matches_resource(rule, info)
    if urls := rule.get("nonResourceURLs"):
        return not info.is_resource and any(_matches_path(info.path, one) for one in urls)
    return True


def _matches_path(path: str, pattern: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _matches_resource(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    if (namespaces := rule.get("namespaces")) and info.namespace not in namespaces:
        return False
    every = rule.get("resources")
    return not every or any(_is_of(one, info) for one in every)


def _is_of(wanted: Mapping[str, Any], info: RequestInfo) -> bool:
    if wanted.get("group", "") != info.group:
        return False
    if not (resources := wanted.get("resources")):
        return True
    if (names := wanted.get("resourceNames")) and info.name not in names:
        return False
    whole = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    accepted = {"*", whole, f"{info.resource}/*", *([f"*/{info.subresource}"] if info.subresource else [])}
    return not accepted.isdisjoint(resources)


# --- events


def event(
    id: str,
    audited: Audited,
    exchange: tuple[Request, RequestInfo, Response, RequestRecord],
    now: datetime,
    took: float,
) -> Object:
    """The event of an answered request; for a watch, that its answer has started."""
    request, info, response, record = exchange
    query = urlencode([(name, value) for name, values in request.query.items() for value in values])
    user: Object = {"username": request.user.name}
    if request.user.uid:
        user["uid"] = request.user.uid
    if request.user.groups:
        user["groups"] = list(request.user.groups)
    found: Object = {
        "kind": "Event",
        "apiVersion": VERSION,
        "level": audited.level,
        "auditID": id,
        "stage": "ResponseStarted" if response.watch is not None else "ResponseComplete",
        "requestURI": f"{request.path}?{query}" if query else request.path,
        "verb": info.verb,
        "user": user,
        "userAgent": record.user_agent,
    }
    sent = _object(request.body)
    if info.is_resource:
        found["objectRef"] = _reference(info, record, sent)
    found["responseStatus"] = _status(record)
    if audited.level in ("Request", "RequestResponse") and sent is not None:
        found["requestObject"] = _shown(sent, audited)
    if audited.level == "RequestResponse" and response.body is not None and response.watch is None:
        answer = response.body.to_object()
        if isinstance(answer, dict):
            found["responseObject"] = _shown(answer, audited)
    found["requestReceivedTimestamp"] = _stamp(now - timedelta(seconds=took))
    found["stageTimestamp"] = _stamp(now)
    denied = record.code == 403 and record.reason == "Forbidden"
    found["annotations"] = {"authorization.k8s.io/decision": "forbid" if denied else "allow"}
    return found


def received(of: Object) -> Object:
    """The event of the stage RequestReceived that precedes another one."""
    parts = {name: value for name, value in of.items() if name not in _OF_AN_ANSWER}
    return {**parts, "stage": "RequestReceived", "stageTimestamp": of["requestReceivedTimestamp"]}


_OF_AN_ANSWER = frozenset({"responseStatus", "requestObject", "responseObject", "annotations"})


def _reference(info: RequestInfo, record: RequestRecord, sent: Object | None) -> Object:
    meta = sent.get("metadata") if sent is not None else None
    meta = meta if isinstance(meta, dict) else {}
    found = {
        "resource": info.resource, "namespace": info.namespace, "name": record.name, "uid": meta.get("uid"),
        "apiGroup": info.group, "apiVersion": info.version, "resourceVersion": meta.get("resourceVersion"),
        "subresource": info.subresource,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _status(record: RequestRecord) -> Object:
    failed = {"status": "Failure", "message": record.message, "reason": record.reason} if record.code >= 400 else {}
    return {"metadata": {}, **failed, "code": record.code}


def _object(body: Any) -> Object | None:
    if isinstance(body, bytes):
        try:
            body = orjson.loads(body) if body else None
        except orjson.JSONDecodeError:
            return None
    return body if isinstance(body, dict) else None


def _shown(obj: Object, audited: Audited) -> Object:
    if not audited.omits_managed_fields or not isinstance(obj.get("metadata"), dict):
        return obj
    return without_entries(obj)


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
