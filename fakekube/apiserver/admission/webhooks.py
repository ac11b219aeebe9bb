"""Admission webhooks: who is asked, what is sent, and what the answers mean (`admission/plugin/webhook`)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fakekube.apiserver.admission import admissionreview
from fakekube.apiserver.admission.evaluation import Failed, Scope, all_hold
from fakekube.apiserver.admission.matching import EXEMPT, Attributes, matches
from fakekube.apiserver.admission.reinvocation import Calls
from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints.body import typed
from fakekube.apiserver.needs import Need, Post, Posts, Reply, Service
from fakekube.apiserver.patch import json_patch
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.decode import WrongType
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, bad_request, internal_error

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = f"mutatingwebhookconfigurations.{GROUP}", f"validatingwebhookconfigurations.{GROUP}"

#: Versions of AdmissionReview that can be sent, best first.
REVIEWS = ("v1", "v1beta1")


class CallFailed(Exception):
    """A webhook that could not be asked, or whose answer makes no sense: failurePolicy says what follows."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a configuration, and the version of the resource in which it takes the request."""

    spec: Mapping[str, Any]
    resource: Resource

    @property
    def name(self) -> str:
        found: str = self.spec["name"]
        return found


# --- plugins ---------------------------------------------------------------------------------------------------------


def has_any(call: Call, collection: str) -> bool:
    """Whether there are configurations of this kind at all: most clusters have none."""
    return bool(call.server.store.collection(collection).keys)


def mutate(attributes: Attributes, calls: Calls) -> Generator[Need, Any, Object | None]:
    """The object as the mutating webhooks leave it, one after the other; each sees what those before it did."""
    for key, spec in configured(attributes.call, MUTATING):
        hook = _wanted(spec, attributes)
        if hook is None or not calls.is_wanted(key):
            continue
        changed = yield from _changed_by(hook, attributes)
        again = spec.get("reinvocationPolicy") == "IfNeeded"
        calls.called(key, changed=changed != attributes.obj, reinvocable=again)
        attributes = replace(attributes, obj=changed)
    calls.end(attributes.obj)
    return attributes.obj


def validate(attributes: Attributes) -> Generator[Need, Any, None]:
    """Raises the first refusal of the validating webhooks, which are all asked at the same time."""
    asked = list(hooks(attributes, VALIDATING))
    if not asked:
        return
    for hook in asked:
        _check_dry_run(hook, attributes)
    uids = [_uid(hook, attributes) for hook in asked]
    replies: Sequence[Reply] = yield Posts(
        tuple(_post(hook, attributes, uid) for hook, uid in zip(asked, uids, strict=True))
    )
    for hook, uid, reply in zip(asked, uids, replies, strict=True):
        try:
            response = _response(hook, reply, uid, mutating=False)
        except CallFailed as failed:
            _failed(hook, failed)
            continue
        _take(hook, attributes.call, response)


def hooks(attributes: Attributes, collection: str) -> Iterator[Hook]:
    """The webhooks for a request, by configuration's name and then as they stand."""
    for _, spec in configured(attributes.call, collection):
        hook = _wanted(spec, attributes)
        if hook is not None:
            yield hook


def configured(call: Call, collection: str) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    """Every webhook, and what tells it apart."""
    if call.resource.qualified in EXEMPT:
        return
    for path, entry in call.server.store.collection(collection).scan("", "", None):
        for i, spec in enumerate(entry.object.get("webhooks") or ()):
            yield (path, i), spec


def _wanted(spec: Mapping[str, Any], attributes: Attributes) -> Hook | None:
    """The webhook, if it is for the request as it now is. Raises 500 where its conditions fail."""
    resource = matches(spec, attributes)
    if resource is None:
        return None
    hook = Hook(spec, resource)
    try:
        return hook if _conditions_hold(hook, attributes) else None
    except Failed as problem:
        _failed(hook, CallFailed(str(problem)))
        return None


def _conditions_hold(hook: Hook, attributes: Attributes) -> bool:
    conditions = hook.spec.get("matchConditions")
    if not conditions:
        return True
    return all_hold(conditions, Scope(attributes, hook.resource))


def _failed(hook: Hook, failed: CallFailed) -> None:
    """Raises 500 unless the webhook is one to be ignored."""
    if hook.spec.get("failurePolicy") != "Ignore":
        raise internal_error(f"failed calling webhook {go_quote(hook.name)}: {failed}")


def _check_dry_run(hook: Hook, attributes: Attributes) -> None:
    if attributes.dry_run and hook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
        raise bad_request(f"admission webhook {go_quote(hook.name)} does not support dry run")


def _changed_by(hook: Hook, attributes: Attributes) -> Generator[Need, Any, Object | None]:
    _check_dry_run(hook, attributes)
    uid = _uid(hook, attributes)
    (reply,) = yield Posts((_post(hook, attributes, uid),))
    try:
        response = _response(hook, reply, uid, mutating=True)
        _take(hook, attributes.call, response)
        return _patched(hook, attributes, response)
    except CallFailed as failed:
        _failed(hook, failed)
        return attributes.obj


def _uid(hook: Hook, attributes: Attributes) -> str:
    call = attributes.call
    return call.context.uid(f"admission/{hook.name}/{call.resource.collection}/{call.path}")


# --- what is sent ----------------------------------------------------------------------------------------------------


def _post(hook: Hook, attributes: Attributes, uid: str) -> Post:
    seconds = hook.spec.get("timeoutSeconds") or 10
    body = admissionreview.review(attributes, hook.resource, uid, _review_version(hook))
    return post(hook.spec["clientConfig"], body, seconds)


def post(config: Mapping[str, Any], body: Object, seconds: int) -> Post:
    """A document for a webhook, reached as its clientConfig says."""
    ca = config.get("caBundle") or ""
    pem = base64.b64decode(ca).decode("ascii", "replace") if ca else ""
    ref = config.get("service")
    if ref is None:
        url = config["url"]
        return Post(f"{url}{'&' if '?' in url else '?'}timeout={seconds}s", body, float(seconds), pem)
    service = Service(ref["namespace"], ref["name"], ref.get("port") or 443)
    path = (ref.get("path") or "/").lstrip("/")
    url = f"https://{service.name}.{service.namespace}.svc:{service.port}/{path}?timeout={seconds}s"
    return Post(url, body, float(seconds), pem, service)


# --- what is answered ------------------------------------------------------------------------------------------------


def _response(hook: Hook, reply: Reply, uid: str, *, mutating: bool) -> Object:
    """The answer to a review (`VerifyAdmissionResponse`). Raises CallFailed where there is none, or none that can be
    one."""
    if reply.problem:
        raise CallFailed(reply.problem)
    document = reply.document if isinstance(reply.document, dict) else {}
    response = document.get("response")
    if not isinstance(response, dict):
        raise CallFailed("received invalid webhook response: webhook response was absent")
    version = _review_version(hook)
    problem = _problem(document, response, uid, mutating=mutating) if version == "v1" else ""
    if problem:
        raise CallFailed(f"received invalid webhook response: {problem}")
    return response


def _review_version(hook: Hook) -> str:
    return next((one for one in hook.spec.get("admissionReviewVersions") or () if one in REVIEWS), REVIEWS[0])


def _problem(document: Object, response: Object, uid: str, *, mutating: bool) -> str:
    """What is wrong with an answer in v1; older ones were not looked at so closely."""
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


def _take(hook: Hook, call: Call, response: Object) -> None:
    """Pass warnings on; raises what the webhook refuses with."""
    call.warnings += [str(one) for one in response.get("warnings") or ()]
    if not response.get("allowed"):
        raise refusal(hook.name, response.get("status") or {})


def refusal(name: str, status: Mapping[str, Any]) -> StatusError:
    """The webhook's Status, naming it (`ToStatusErr`)."""
    denied = f"admission webhook {go_quote(name)} denied the request"
    message, reason = status.get("message") or "", status.get("reason") or ""
    code = status.get("code") or 0
    told = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    return StatusError(max(code, 400), reason, told, status.get("details"))


def _patched(hook: Hook, attributes: Attributes, response: Object) -> Object | None:
    """The object with the webhook's JSON Patch. Raises CallFailed, and 500 for a result that is no such object."""
    text = response.get("patch")
    if not text:
        return attributes.obj
    try:
        patch = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error) as problem:
        raise CallFailed(f"received undecodable patch in webhook response: {problem}") from None
    if not patch:
        return attributes.obj
    if attributes.obj is None:
        raise internal_error(
            f"admission webhook {go_quote(hook.name)} attempted to modify the object, which is not supported for this "
            "operation"
        )
    patch_type = response.get("patchType")
    if patch_type not in (None, "JSONPatch"):
        raise CallFailed(f"unsupported patch type {go_quote(str(patch_type))}")
    call = attributes.call
    shown = admissionreview.shown(call, attributes.obj, hook.resource)
    try:
        result = json_patch.apply(shown, json_patch.check(patch))
    except StatusError as refused:
        raise internal_error(refused.message) from None
    if hook.resource.api_version != call.resource.api_version:
        result = call.in_version(_without_kind(result), call.resource, source=hook.resource)
    try:
        return typed(call, codec.copied(result), [])
    except (WrongType, StatusError) as problem:
        raise internal_error(str(problem)) from None


def _without_kind(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
