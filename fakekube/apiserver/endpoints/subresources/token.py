"""POST `/serviceaccounts/NAME/token`: issues a token for a service account (`serviceaccount/storage.TokenREST`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fakekube.apiserver.auth import serviceaccounttoken
from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.write import Action
from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.response import Document, Response
from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.objectmeta import stored_layout
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.options import WriteOptions
from fakekube.apiserver.wire.status import bad_request, conflict, field_invalid, invalid, not_found

Object = dict[str, Any]

DEFAULT_SECONDS = 3600
SHORTEST, LONGEST = 600, 1 << 32

_TOKEN_REQUEST = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="tokenrequests",
    singular="",
    kind="TokenRequest",
    list_kind="TokenRequestList",
    namespaced=True,
    verbs=frozenset(),
    collection="tokenrequests.authentication.k8s.io",
)


def _as_request(call: Call) -> Call:
    return call.of_kind(call.server.body_registration(_TOKEN_REQUEST))


def _check_request(call: Call, sent: Object) -> None:
    """Raises 400, 404, 422."""
    _check_place(call, _metadata(sent))
    if call.stored() is None:
        raise not_found("serviceaccounts", call.info.name)
    _check(sent["spec"]["expirationSeconds"])


def _metadata(sent: Object) -> Object:
    return {key: value for key, value in (sent.get("metadata") or {}).items() if value}


def create_token(call: Call, sent: Object, options: WriteOptions) -> Response:
    """Issue a token for the service account of the path. Raises 404, 409."""
    meta = _metadata(sent)
    account = call.stored()
    if account is None:
        raise not_found("serviceaccounts", call.info.name)
    uid = account.object["metadata"]["uid"]
    if meta.get("uid") and meta["uid"] != uid:
        why = f"the UID in the token request ({meta['uid']}) does not match the UID of the service account ({uid})"
        raise conflict("TokenRequest.authentication.k8s.io", call.info.name, why)
    spec = sent["spec"]
    seconds: int = spec["expirationSeconds"]
    audiences = spec.get("audiences") or list(call.server.issuer.own_audiences)
    issued = serviceaccounttoken.unix(call.context.now)
    bound = _bound(call, spec.get("boundObjectRef"))
    token = serviceaccounttoken.mint(
        call.server.issuer, call.server.store, account.object, audiences=audiences, issued=issued, seconds=seconds,
        bound=bound, id=call.context.uid(f"tokens/{call.path}"),
    )  # fmt: skip
    ends = datetime.fromtimestamp(issued + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            **meta,
            "name": call.info.name,
            "namespace": call.namespace,
            **({"uid": uid} if since(34) else {}),
            "creationTimestamp": call.context.now,
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {"token": token, "expirationTimestamp": ends},
    }
    return Response(201, Document(shown))


def _check_place(call: Call, meta: Object) -> None:
    """Raises 400 if the namespace is not that of the path, 422 if the name is not."""
    if meta.get("namespace", call.namespace) != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    name = meta.get("name", call.info.name)
    if name != call.info.name:
        error = field_invalid("metadata.name", name, "must match the service account name if specified")
        raise invalid("authentication.k8s.io", "TokenRequest", call.info.name, [error])


#: The encoded spec of an empty request: a boundObjectRef changes from null, so that only its fields are owned.
_EMPTY_SPEC = {"audiences": None, "expirationSeconds": None, "boundObjectRef": None}


def _read(call: Call, body: Call, options: WriteOptions) -> Object:
    content_type, api_version = call.request.headers.get("content-type"), "authentication.k8s.io/v1"
    sent = codec.decode(call.request.body, content_type, kind="TokenRequest", api_version=api_version).object
    named = (sent.get("apiVersion") or api_version, sent.get("kind") or "TokenRequest")
    if named != (api_version, "TokenRequest"):
        _as_request(call).registration.check_kind(*named, sent)
    try:
        draft = stored_layout(decode(call.server.schemas.type("authentication.v1.TokenRequest"), sent, []))
    except WrongType as problem:
        raise bad_request(f'TokenRequest in version "v1" cannot be handled as a TokenRequest: {problem}') from None
    spec = {"expirationSeconds": DEFAULT_SECONDS, **(draft.get("spec") or {})}
    if isinstance((sent.get("spec") or {}).get("audiences"), list):
        spec["audiences"] = sent["spec"]["audiences"]
    draft = {**draft, "metadata": draft.get("metadata") or {}, "spec": spec}
    request = _as_request(call)
    return ownership.changed(request, draft, {**ownership.empty(request), "spec": _EMPTY_SPEC}, options)


def _check(seconds: int) -> None:
    why = ""
    if seconds < SHORTEST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        raise invalid(
            "authentication.k8s.io", "TokenRequest", "", [field_invalid("spec.expirationSeconds", seconds, why)]
        )


def _bound(call: Call, ref: Object | None) -> serviceaccounttoken.BoundObjectReference | None:
    """The object to which the token is bound. Raises 400, 404, 409."""
    if ref is None:
        return None
    version, kind, name = ref.get("apiVersion") or "", ref.get("kind") or "", ref.get("name") or ""
    group, _, short = version.rpartition("/")
    found = serviceaccounttoken.BINDABLE.get(kind) if not group else None
    if found is None:
        raise bad_request(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
    if not name:
        raise bad_request("Name parameter required.")
    collection, claim = found
    path = name if collection == "nodes" else f"{call.namespace}/{name}"
    entry = call.server.store.get(collection, path)
    if entry is None:
        raise not_found(collection, name)
    uid = entry.object["metadata"]["uid"]
    if collection == "pods" and (entry.object["spec"].get("serviceAccountName") or "") != call.info.name:
        raise bad_request(
            f'cannot bind token for serviceaccount "{call.info.name}" to pod running with different serviceaccount '
            "name."
        )
    if ref.get("uid") and ref["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise conflict(kind, name, why)
    return serviceaccounttoken.BoundObjectReference(claim, collection, path, name, uid)


TOKEN = Action(_check_request, create_token, body=_as_request, read=_read)
