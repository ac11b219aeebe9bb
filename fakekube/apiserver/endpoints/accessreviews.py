"""Reviews, which are created but not stored: access reviews, rules reviews, TokenReview and SelfSubjectReview."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.auth.jsonwebtoken import BadToken
from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints import ownership, selectorattributes
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.write import Action
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.response import Document, Response
from fakekube.apiserver.schema.objectmeta import without_system_fields
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.gojson import go_json_ordered
from fakekube.apiserver.wire.goprint import Literal, go_quote
from fakekube.apiserver.wire.options import WriteOptions
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import FieldError, StatusError, bad_request, field_invalid, invalid, together
from fakekube.apiserver.wire.structorder import in_struct_order

Object = dict[str, Any]


def _read(call: Call, body: Call, options: WriteOptions) -> Object:
    review = check_place(call, decode_object(call, field_validation=options.field_validation), naming=False)
    return ownership.created(call, without_system_fields(review), options)


def _answer(call: Call, review: Object, status: Object) -> Response:
    meta = dict(review.get("metadata") or {})
    if call.namespace:
        meta["namespace"] = call.namespace
    if not since(34):
        meta.setdefault("creationTimestamp", None)
    shown = {"kind": call.resource.kind, "apiVersion": call.resource.api_version, **review, "metadata": meta}
    return Response(201, Document({**shown, "status": status}))


_GATED = GatedFields(
    ("AuthorizeWithSelectors", tuple(f"spec.resourceAttributes.{kind}" for kind in ("fieldSelector", "labelSelector"))),
)


def described_request(call: Call, review: Object, *, of_user: bool = False) -> RequestInfo:
    """The request that an access review describes. Raises 422 if the review is invalid (`authorization/validation`)."""
    spec, meta = review.get("spec") or {}, review.get("metadata") or {}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors: list[FieldError] = []
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(field_invalid("spec.nonResourceAttributes", _as_struct(other), why))
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(field_invalid("spec.resourceAttributes", None, why))
    if of_user and not spec.get("user") and not spec.get("groups"):
        errors.append(field_invalid("spec.user", "", "at least one of user or group must be specified"))
    errors += selectorattributes.errors_of(resource) if resource is not None else []
    errors += _meta_errors(call, meta) + (_local_errors(call, resource, other) if call.namespace else [])
    if errors:
        raise invalid("authorization.k8s.io", "", "", errors)
    if resource is None:
        assert other is not None
        return RequestInfo(other.get("verb", ""), other.get("path", ""))
    return RequestInfo(
        verb=resource.get("verb", ""),
        path="",
        is_resource=True,
        group=resource.get("group", ""),
        version=resource.get("version", ""),
        namespace=resource.get("namespace", ""),
        resource=resource.get("resource", ""),
        name=resource.get("name", ""),
        subresource=resource.get("subresource", ""),
        field_terms=selectorattributes.field_terms(resource),
    )


def _as_struct(attributes: Object) -> Literal:
    """NonResourceAttributes as Go encodes them."""
    path, verb = attributes.get("path", ""), attributes.get("verb", "")
    literal = f"authorization.NonResourceAttributes{{Path:{go_quote(path)}, Verb:{go_quote(verb)}}}"
    return Literal(literal, {"Path": path, "Verb": verb})


def _meta_errors(call: Call, meta: Object) -> list[FieldError]:
    """Check that the metadata is empty except for the namespace of a LocalSubjectAccessReview."""
    given = {key: value for key, value in meta.items() if value}
    if call.namespace:
        given.setdefault("namespace", call.namespace)
    if not given.keys() - ({"managedFields", "namespace"} if call.namespace else {"managedFields"}):
        return []
    resource = call.resource
    given = in_struct_order({"metadata": given}, resource.api_version, resource.kind)["metadata"]
    why = "must be empty except for namespace" if call.namespace else "must be empty"
    return [FieldError("metadata", "FieldValueInvalid", f"Invalid value: {go_json_ordered(given)}: {why}")]


def _local_errors(call: Call, resource: Object | None, other: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if resource is not None and resource.get("namespace", "") != call.namespace:
        where = "spec.resourceAttributes.namespace"
        errors.append(field_invalid(where, resource.get("namespace", ""), "must match metadata.namespace"))
    if other is not None:
        shown = _as_struct(other)
        errors.append(field_invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return errors


def _decided(call: Call, user: User, info: RequestInfo, review: Object) -> Object:
    decision = call.server.decide(user, info)
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    problems = selectorattributes.problems_of((review.get("spec") or {}).get("resourceAttributes") or {})
    if problems:
        status["evaluationError"] = together(problems)
    return status


def self_subject_access_review(call: Call, review: Object, options: WriteOptions) -> Response:
    review = _GATED.drop_disabled(review)
    return _answer(call, review, _decided(call, call.user, described_request(call, review), review))


def _check_own(call: Call, review: Object) -> None:
    described_request(call, _GATED.drop_disabled(review))


def subject_access_review(call: Call, review: Object, options: WriteOptions) -> Response:
    review = _GATED.drop_disabled(review)
    spec = review.get("spec") or {}
    info = described_request(call, review, of_user=True)
    user = User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()))
    return _answer(call, review, _decided(call, user, info, review))


def _check_of_user(call: Call, review: Object) -> None:
    described_request(call, _GATED.drop_disabled(review), of_user=True)


def self_subject_rules_review(call: Call, review: Object, options: WriteOptions) -> Response:
    """The rules that apply to the user in a namespace (`RulesFor`)."""
    namespace = (review.get("spec") or {}).get("namespace") or ""
    found = call.server.rules_for(call.user, namespace)
    rules, problem = found.rules, found.problem
    status: Object = {
        "resourceRules": [
            _picked(rule, "apiGroups", "resources", "resourceNames") for rule in rules if rule.get("resources")
        ],
        "nonResourceRules": [_picked(rule, "nonResourceURLs") for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": found.incomplete,
    }
    if problem:
        status["evaluationError"] = problem
    return _answer(call, {"metadata": {}, "spec": {}}, status)  # a new object


def _picked(rule: Object, *fields: str) -> Object:
    return {key: rule[key] for key in ("verbs", *fields) if rule.get(key)}


def token_review(call: Call, review: Object, options: WriteOptions) -> Response:
    """Authenticate a token. The first error is that of the authenticator of the loopback client, whose only token is
    another one."""
    spec = review.get("spec") or {}
    token, audiences = spec.get("token") or "", spec.get("audiences") or []
    try:
        user, good = call.server.user_of_token(token, call.context, audiences)
    except (BadToken, StatusError) as problem:
        return _answer(call, review, {"user": {}, "error": together(["invalid bearer token", str(problem)])})
    return _answer(call, review, {"authenticated": True, "user": _shown_user(user), "audiences": good})


def _shown_user(user: User) -> Object:
    shown: Object = {"username": user.name}
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in user.extra.items()}
    return shown


def self_subject_review(call: Call, review: Object, options: WriteOptions) -> Response:
    meta = {"creationTimestamp": call.context.now}
    shown = {"kind": call.resource.kind, "apiVersion": call.resource.api_version, **review, "metadata": meta}
    return Response(201, Document({**shown, "status": {"userInfo": _shown_user(call.user)}}))


def _check_namespace(call: Call, review: Object) -> None:
    if not (review.get("spec") or {}).get("namespace"):
        raise bad_request("no namespace on request")


def _check_token(call: Call, review: Object) -> None:
    if not (review.get("spec") or {}).get("token"):
        raise bad_request("token is required for TokenReview in authentication")


def _check_nothing(call: Call, review: Object) -> None:
    """Accept every SelfSubjectReview: its spec is empty."""


_Check = Callable[[Call, Object], None]
_Act = Callable[[Call, Object, WriteOptions], Response]

_REVIEWS: Mapping[str, tuple[_Check, _Act]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": (_check_own, self_subject_access_review),
    "subjectaccessreviews.authorization.k8s.io": (_check_of_user, subject_access_review),
    "localsubjectaccessreviews.authorization.k8s.io": (_check_of_user, subject_access_review),
    "selfsubjectrulesreviews.authorization.k8s.io": (_check_namespace, self_subject_rules_review),
    "selfsubjectreviews.authentication.k8s.io": (_check_nothing, self_subject_review),
    "tokenreviews.authentication.k8s.io": (_check_token, token_review),
}

#: Qualified resource -> the action of its POST.
REVIEWS = {name: Action(check, act, read=_read) for name, (check, act) in _REVIEWS.items()}
