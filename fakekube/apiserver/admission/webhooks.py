"""Admission webhooks: matching, AdmissionReview calls and their responses (`admission/plugin/webhook`)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission import admissionreview
from fakekube.apiserver.admission.admissionreview import VersionedAttributes
from fakekube.apiserver.admission.evaluation import Failed, Scope, all_hold
from fakekube.apiserver.admission.matching import CONNECT, EXEMPT, Attributes, matches
from fakekube.apiserver.admission.reinvocation import Calls
from fakekube.apiserver.call import Call
from fakekube.apiserver.needs import Need, Post, Posts, Reply, Waiting, webhook_post
from fakekube.apiserver.patch import json_patch
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, bad_request, forbidden, internal_error
from fakekube.struct import Struct, replace

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = f"mutatingwebhookconfigurations.{GROUP}", f"validatingwebhookconfigurations.{GROUP}"

#: The supported versions of AdmissionReview, the preferred one first.
REVIEWS = ("v1", "v1beta1")


class CallFailed(Exception):
    """The call of a webhook failed or its response is invalid; failurePolicy decides about the request."""


class Hook(Struct, frozen=True):
    """A matching webhook, with the request in the version that it matches."""

    spec: Mapping[str, Any]
    versioned: VersionedAttributes

    @property
    def name(self) -> str:
        found: str = self.spec["name"]
        return found


# --- plugins ---------------------------------------------------------------------------------------------------------


def mutate(attributes: Attributes, calls: Calls) -> Generator[Need, Any, Object | None]:
    """Call the matching mutating webhooks in order. Returns the changed object."""
    for key, spec in configured(attributes.call, MUTATING):
        hook = yield from _matching(spec, attributes)
        if hook is None or not calls.is_wanted(key):
            continue
        changed = yield from _changed_by(hook, attributes)
        again = spec.get("reinvocationPolicy") == "IfNeeded"
        calls.called(key, changed=changed != attributes.obj, reinvocable=again)
        attributes = replace(attributes, obj=changed)
    calls.end(attributes.obj)
    return attributes.obj


def validate(attributes: Attributes) -> Waiting:
    """Call the matching validating webhooks concurrently. Raises the first rejection."""
    hooks: list[Hook] = []
    for _, spec in configured(attributes.call, VALIDATING):
        hook = yield from _matching(spec, attributes)
        if hook is not None:
            hooks.append(hook)
    if not hooks:
        return
    for hook in hooks:
        _check_dry_run(hook, attributes)
    uids = [_uid(hook, attributes) for hook in hooks]
    posts = tuple(_post(hook, uid) for hook, uid in zip(hooks, uids, strict=True))
    replies: Sequence[Reply] = yield Posts(posts)
    for hook, uid, reply in zip(hooks, uids, replies, strict=True):
        try:
            response = _response(hook, reply, uid, mutating=False)
        except CallFailed as failed:
            _failed(hook, failed)
            continue
        _check_allowed(hook, attributes.call, response)


def configured(call: Call, collection: str) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    """The webhooks of all configurations in a collection, with their keys."""
    if call.resource.qualified in EXEMPT:
        return
    for path, entry in call.server.store.collection(collection).scan("", "", None):
        for i, spec in enumerate(entry.object.get("webhooks") or ()):
            yield (path, i), spec


def _matching(spec: Mapping[str, Any], attributes: Attributes) -> Generator[Need, Any, Hook | None]:
    """The webhook, if it matches the request. Raises 403 if its matchConditions cannot be evaluated, unless its
    failurePolicy is Ignore."""
    resource = matches(spec, attributes)
    if resource is None:
        return None
    versioned = yield from admissionreview.versioned(attributes, resource)
    hook = Hook(spec, versioned)
    try:
        return hook if _conditions_hold(hook) else None
    except Failed as problem:
        if spec.get("failurePolicy") == "Ignore":
            return None
        raise forbidden(attributes.call.resource.qualified, attributes.name, str(problem)) from None


def _conditions_hold(hook: Hook) -> bool:
    conditions = hook.spec.get("matchConditions")
    return not conditions or all_hold(conditions, Scope(hook.versioned))


def _failed(hook: Hook, failed: CallFailed) -> None:
    """Raises 500 unless the failurePolicy of the webhook is Ignore."""
    if hook.spec.get("failurePolicy") != "Ignore":
        raise internal_error(f"failed calling webhook {go_quote(hook.name)}: {failed}")


def _check_dry_run(hook: Hook, attributes: Attributes) -> None:
    if attributes.dry_run and hook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
        raise bad_request(f"admission webhook {go_quote(hook.name)} does not support dry run")


def _changed_by(hook: Hook, attributes: Attributes) -> Generator[Need, Any, Object | None]:
    _check_dry_run(hook, attributes)
    uid = _uid(hook, attributes)
    (reply,) = yield Posts((_post(hook, uid),))
    try:
        response = _response(hook, reply, uid, mutating=True)
        _check_allowed(hook, attributes.call, response)
        return (yield from _patched(hook, response))
    except CallFailed as failed:
        _failed(hook, failed)
        return attributes.obj


def _uid(hook: Hook, attributes: Attributes) -> str:
    call = attributes.call
    return call.context.uid(f"admission/{hook.name}/{call.resource.collection}/{call.path}")


# --- requests -------------------------------------------------------------------------------------------------------


def _post(hook: Hook, uid: str) -> Post:
    seconds = hook.spec.get("timeoutSeconds") or 10
    return webhook_post(
        hook.spec["clientConfig"], admissionreview.review(hook.versioned, uid, _review_version(hook)), seconds
    )


# --- responses -------------------------------------------------------------------------------------------------------


def _response(hook: Hook, reply: Reply, uid: str, *, mutating: bool) -> Object:
    """The response of an AdmissionReview (`VerifyAdmissionResponse`). Raises CallFailed if it is missing or invalid."""
    if reply.problem:
        raise CallFailed(reply.problem)
    try:
        document = admissionreview.answer(reply.document)
    except WrongType as wrong:
        raise CallFailed(f"failed to call webhook: {wrong}") from None
    response = document.get("response")
    if not isinstance(response, dict):
        raise CallFailed("received invalid webhook response: webhook response was absent")
    version = _review_version(hook)
    problem = _problem(document, response, uid, mutating=mutating) if version == "v1" else ""
    if problem:
        raise CallFailed(f"received invalid webhook response: {problem}")
    if version == "v1beta1" and response.get("patch"):
        return {**response, "patchType": "JSONPatch"}  # no other was ever supported, and v1beta1 does not check it
    return response


def _review_version(hook: Hook) -> str:
    return next((one for one in hook.spec.get("admissionReviewVersions") or () if one in REVIEWS), REVIEWS[0])


def _problem(document: Object, response: Object, uid: str, *, mutating: bool) -> str:
    """The error in a response of version v1 ("": none); v1beta1 responses are not checked."""
    if response.get("uid") != uid:
        return f"expected response.uid={go_quote(uid)}, got {go_quote(str(response.get('uid') or ''))}"
    wanted = "admission.k8s.io/v1, Kind=AdmissionReview"
    got = f"{document.get('apiVersion') or '/'}, Kind={document.get('kind') or ''}"
    if got != wanted:
        return f"expected webhook response of {wanted}, got {got}"
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        return (
            f"validating webhook may not return response.{'patch' if patch else 'patchType'}"
            if (patch or patch_type is not None)
            else ""
        )
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    if patch_type == "":
        return 'webhook returned invalid response.patchType of ""'
    return ""


def _check_allowed(hook: Hook, call: Call, response: Object) -> None:
    """Add the warnings of a response. Raises its Status if the webhook rejects the request."""
    call.warnings += [str(one) for one in response.get("warnings") or ()]
    if not response.get("allowed"):
        raise refusal(hook.name, response.get("status") or {})


def refusal(name: str, status: Mapping[str, Any]) -> StatusError:
    """The error of a rejection, which names the webhook (`ToStatusErr`)."""
    denied = f"admission webhook {go_quote(name)} denied the request"
    message, reason = status.get("message") or "", status.get("reason") or ""
    code = status.get("code") or 0
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    return StatusError(max(code, 400), reason, text, status.get("details"))


def _patch_problem(patch: Any) -> str:
    """Why a decoded value is no JSON Patch ("": it is one)."""
    if patch is not None and not isinstance(patch, list):
        return f"json: cannot unmarshal {gojson.type_name(patch)} into Go value of type jsonpatch.Patch"
    for operation in patch or ():
        if operation is not None and not isinstance(operation, dict):
            return f"json: cannot unmarshal {gojson.type_name(operation)} into Go value of type jsonpatch.Operation"
    return ""


def _patched(hook: Hook, response: Object) -> Generator[Need, Any, Object | None]:
    """Apply the JSON Patch of a response. Raises CallFailed, or 500 if the patch or its result is invalid."""
    attributes = hook.versioned.attributes
    text = response.get("patch")
    if not text:
        return attributes.obj
    try:
        patch = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error, RecursionError) as problem:
        raise CallFailed(f"received undecodable patch in webhook response: {problem}") from None
    unusable = _patch_problem(patch)
    if unusable:
        raise CallFailed(f"received undecodable patch in webhook response: {unusable}")
    if not patch:
        return attributes.obj
    if hook.versioned.obj is None or attributes.operation == CONNECT:
        raise internal_error(
            f"admission webhook {go_quote(hook.name)} attempted to modify the object, which is not supported for this "
            "operation"
        )
    patch_type = response.get("patchType")
    if patch_type not in (None, "JSONPatch"):
        raise CallFailed(f"unsupported patch type {go_quote(str(patch_type))}")
    try:
        result = json_patch.applied(hook.versioned.obj, [operation or {} for operation in patch])
    except json_patch.Rejected as problem:
        raise internal_error(str(problem)) from None
    resource = hook.versioned.resource
    try:
        decoded = admissionreview.decoded(attributes, resource, result)
    except admissionreview.Undecodable as problem:
        raise internal_error(str(problem)) from None
    return (yield from admissionreview.unversioned(attributes, decoded, resource))
