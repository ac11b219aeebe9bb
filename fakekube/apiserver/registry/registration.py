"""The interface between endpoints and resources, which built-in and custom resources implement.

In kube-apiserver the same interface consists of `rest.Storage` and RequestScope.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from fakekube.apiserver.crd.applyschema import DEDUCED
from fakekube.apiserver.crd.customversion import CustomVersion
from fakekube.apiserver.features import RECORDED, since
from fakekube.apiserver.registry.builtin import printer_of
from fakekube.apiserver.registry.generic.strategy import Convert, Strategy
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.objectmeta import stored_layout
from fakekube.apiserver.schema.zerovalues import settled, shared_zero, without_unknown
from fakekube.apiserver.storage.watch import Read, View
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.messages import message_of
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import (
    StatusError,
    bad_request,
    method_not_allowed,
    no_such_resource,
    unsupported_media_type,
)

Object = dict[str, Any]


class Registration(Protocol):
    """The implementation of one resource in one version.

    `read` and `write` convert between the stored form and this version (None: they are the same). `version` is the
    version of the CustomResourceDefinition of a custom resource, else None; `stored_version` is the name of the version
    in which its objects are stored ("": a built-in resource). `unstructured`: kube-apiserver handles the
    objects without Go types, which affects lists (items have a kind) and some messages. `has_message`: the kind has a
    protobuf message.
    """

    resource: Resource
    strategy: Strategy
    schema: Schema | None
    read: Read | None
    write: Convert | None
    version: CustomVersion | None
    stored_version: str
    view: View
    empty: Object
    unstructured: bool
    has_message: bool
    storage_prefix: str

    @property
    def apply_schema(self) -> Schema:
        """The schema that server-side apply uses."""

    def decode(self, obj: Object, unknown: list[str]) -> Object:
        """Decode a body: the object with defaults, without apiVersion and kind.

        Appends the paths of unknown fields to `unknown`. Raises WrongType, or StatusError 400.
        """

    def decode_changed(self, obj: Object, stored: Object, unknown: list[str]) -> Object:
        """Decode the result of an update or a patch of `stored`, whose unchanged fields are taken over."""

    def decode_applied(self, obj: Object) -> Object:
        """Decode the result of a server-side apply. Raises WrongType."""

    def settled(self, obj: Object) -> Object:
        """The decoded object as it is read after storage."""

    def printer(self, kind: str) -> Printer:
        """The table printer; `kind` is the kind of the subresource if it is not the resource's ("": it is)."""

    def check_kind(self, api_version: str, kind: str, obj: Object) -> None:
        """Report the apiVersion and kind of a body that differ from the resource's. Raises 400 or 422."""

    def check_route(self, request: Request, info: RequestInfo) -> None:
        """Check that the path and the method are served. Raises 404, 405, 400."""

    def refuse_patch_type(self) -> StatusError:
        """The 415 error for a patch type that the resource does not support."""

    def patch_text(self, result: Any) -> str:
        """The result of a patch as error messages show it. Raises TypeError for one nested too deeply."""


#: HTTP method -> verb, for collections and objects. Other methods are answered with 405.
COLLECTION_METHODS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_METHODS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

SCHEME = 'in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
#: The same in versions before 1.32.
SCHEME_BEFORE = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'

#: The schemes of the groups of other API servers that kube-apiserver contains.
SCHEMES = {
    "apiextensions.k8s.io": 'in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"',
    "apiregistration.k8s.io": 'in scheme "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28"',
}


_REVIEWS = "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
_BINDINGS = "ClusterRole ClusterRoleBinding Role RoleBinding"
_POLICIES = (
    "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
)
_DEVICES = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"

#: Versions that are registered in the scheme (`pkg/apis/*/install`), but no longer served: a body of them is decoded.
_NOT_SERVED = {
    version: frozenset(kinds.split())
    for version, kinds in {
        "admissionregistration.k8s.io/v1alpha1": _POLICIES,
        "admissionregistration.k8s.io/v1beta1": (
            f"{_POLICIES} MutatingWebhookConfiguration ValidatingWebhookConfiguration"
        ),
        "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
        "apiregistration.k8s.io/v1beta1": "APIService",
        "apps/v1beta1": "ControllerRevision Deployment Scale StatefulSet",
        "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet",
        "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
        "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
        "authorization.k8s.io/v1beta1": _REVIEWS,
        "batch/v1beta1": "CronJob",
        "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
        "coordination.k8s.io/v1beta1": "Lease",
        "discovery.k8s.io/v1beta1": "EndpointSlice",
        "events.k8s.io/v1beta1": "Event",
        "extensions/v1beta1": "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet Scale",
        **dict.fromkeys(
            [f"flowcontrol.apiserver.k8s.io/v1beta{i}" for i in (1, 2, 3)], "FlowSchema PriorityLevelConfiguration"
        ),
        "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
        "node.k8s.io/v1alpha1": "RuntimeClass",
        "node.k8s.io/v1beta1": "RuntimeClass",
        "policy/v1beta1": "Eviction PodDisruptionBudget",
        "rbac.authorization.k8s.io/v1alpha1": _BINDINGS,
        "rbac.authorization.k8s.io/v1beta1": _BINDINGS,
        "resource.k8s.io/v1beta1": _DEVICES,
        "resource.k8s.io/v1beta2": _DEVICES,
        "scheduling.k8s.io/v1beta1": "PriorityClass",
        "storage.k8s.io/v1alpha1": "CSIStorageCapacity VolumeAttachment VolumeAttributesClass",
        "storage.k8s.io/v1beta1": (
            "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass"
        ),
    }.items()
}

#: Kinds that more than one group has: objects of one are converted to those of the other.
_MOVED = {
    **dict.fromkeys(("DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"), ("extensions",)),
    "Event": ("", "events.k8s.io"),
    "Scale": ("apps", "extensions"),
}


def scheme_of(group: str) -> str:
    """The scheme of a group, as error messages name it."""
    return SCHEMES.get(group, SCHEME if since(32) else SCHEME_BEFORE)


def _reader(convert: Convert | None) -> Read | None:
    return None if convert is None else lambda entry: convert(entry.object)


class BuiltinRegistration:
    """The registration of a built-in resource, or of a kind that is not stored, such as Eviction."""

    strategy: Strategy
    resource: Resource
    read: Read | None
    write: Convert | None

    version: CustomVersion | None = None
    stored_version = ""
    unstructured = False

    def __init__(
        self, resource: Resource, strategy: Strategy, schemas: BuiltinSchemas, serves_group: Callable[[str], bool]
    ) -> None:
        self.resource, self.strategy = resource, strategy
        self._schemas, self._serves_group = schemas, serves_group
        self.schema: Schema | None = schemas.of_kind(resource.group, resource.version, resource.kind)
        self.read, self.write = _reader(strategy.read), strategy.write
        self.view: View = View(resource.api_version, resource.kind, self.read)
        zeros = shared_zero(self.schema) if self.schema is not None else {}
        self.empty: Object = {key: value for key, value in zeros.items() if key != "metadata"}
        self.storage_prefix: str = storage_prefix(resource)
        self.has_message: bool = message_of(resource.api_version, resource.kind) is not None

    @property
    def apply_schema(self) -> Schema:
        return self.schema or DEDUCED

    def decode(self, obj: Object, unknown: list[str]) -> Object:
        return self._decoded(obj, {}, unknown)

    def decode_changed(self, obj: Object, stored: Object, unknown: list[str]) -> Object:
        """Fields that the request does not change are not decoded again, for speed."""
        # what is read in another version, or decoded with another version's defaults, may be decoded differently
        same = gojson.fields_kept(obj, stored) if self.read is None and self._schemas.version == RECORDED else {}
        if not same:
            return self.decode(obj, unknown)
        try:  # defaults are set in place, of metadata in the map itself, and a stored object need not have all of them
            done = {key: dict(value) if key == "metadata" else codec.copied(value) for key, value in same.items()}
        except TypeError:  # numbers that JSON of orjson does not have
            return self.decode(obj, unknown)
        draft = self._decoded({key: value for key, value in obj.items() if key not in same}, done, unknown)
        return draft | {key: value for key, value in same.items() if draft.get(key) == value}

    def _decoded(self, obj: Object, done: Object, unknown: list[str]) -> Object:
        """`done`: fields of the object that are decoded. Their defaults are set in place."""
        assert self.schema is not None, f"{self.resource.kind} has no schema"
        draft = stored_layout(decode(self.schema, obj, unknown)) | done
        if (obj.get("metadata") or {}).get("managedFields") == []:
            draft["metadata"] = {**draft["metadata"], "managedFields": [{}]}  # both reset them
        self.strategy.default(draft)
        if self._schemas.version != RECORDED:
            # the defaults are those of the recorded version: drop fields that this version does not have
            return stored_layout(without_unknown(self.schema, draft))
        return draft

    def decode_applied(self, obj: Object) -> Object:
        return self.decode(obj, [])

    def settled(self, obj: Object) -> Object:
        return settled(self.schema, obj) if self.schema is not None else obj

    def printer(self, kind: str) -> Printer:
        return printer_of(self.resource.qualified, kind)

    def check_kind(self, api_version: str, kind: str, obj: Object) -> None:
        resource = self.resource
        group, _, version = api_version.rpartition("/")
        subject = f'{kind} in version "{version}" cannot be handled as a {resource.kind}'
        registered = self._schemas.of_kind(group, version, kind) is not None or kind in _NOT_SERVED.get(api_version, ())
        if registered and kind == resource.kind and not self._is_another(group, kind):
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )
        if not registered:
            named = go_quote(api_version if group else version)
            where = scheme_of(resource.group)
            raise bad_request(f"{subject}: no kind {go_quote(kind)} is registered for version {named} {where}")
        short = resource.group.partition(".")[0] or "core"
        raise bad_request(f"{subject}: converting ({version}.{kind}) to ({short}.{resource.kind}): unknown conversion")

    def _is_another(self, group: str, kind: str) -> bool:
        """Whether a kind of this name in another group is another kind."""
        return group not in {self.resource.group, *_MOVED.get(kind, ())}

    def check_route(self, request: Request, info: RequestInfo) -> None:
        resource, method, name = self.resource, request.method, info.parts[1] if len(info.parts) > 1 else ""
        in_namespace = bool(info.namespace) and info.resource != "namespaces"
        if in_namespace and not resource.namespaced:
            raise no_such_resource()
        if info.rest and info.subresource not in ("proxy",):
            raise no_such_resource()
        if info.watch_path:
            if info.subresource or "watch" not in resource.verbs or (name and resource.namespaced and not in_namespace):
                raise no_such_resource()
            if method != "GET":
                raise method_not_allowed()
        elif not name:
            verb = COLLECTION_METHODS.get(method)
            placeless = method != "GET" and resource.namespaced and not in_namespace
            if verb is None or verb not in resource.verbs or placeless:
                raise method_not_allowed()
        elif resource.namespaced and not in_namespace:
            raise no_such_resource()
        elif info.subresource:
            self._check_subresource(method, info)
        elif not resource.verbs & set(OBJECT_METHODS.values()):
            raise no_such_resource()
        elif OBJECT_METHODS.get(method) not in resource.verbs:
            raise method_not_allowed()

    def _check_subresource(self, method: str, info: RequestInfo) -> None:
        found = self.resource.subresources.get(info.subresource)
        if found is None:
            raise no_such_resource()
        if info.verb not in found.verbs or method == "HEAD":
            raise method_not_allowed()

    def refuse_patch_type(self) -> StatusError:
        return unsupported_media_type("415: Unsupported Media Type", {})

    def patch_text(self, result: Any) -> str:
        return gojson.escaped(gojson.encode(result).decode())


#: Collections whose storage prefix is not their plural (`pkg/kubeapiserver.SpecialDefaultResourcePrefixes`).
SPECIAL_PREFIXES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses.networking.k8s.io": "ingress",
}
GROUPED_PREFIXES = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})


def storage_prefix(resource: Resource) -> str:
    """The storage prefix of a built-in collection, which error messages of the storage contain."""
    if resource.group in GROUPED_PREFIXES:
        return f"{resource.group}/{resource.plural}"
    return SPECIAL_PREFIXES.get(resource.collection, resource.plural)


def options_resource(kind: str) -> Resource:
    """The pseudo-resource of a kind that appears in query parameters only, such as PodExecOptions."""
    return Resource(
        group="",
        version="v1",
        plural=kind.lower(),
        singular="",
        kind=kind,
        list_kind="",
        namespaced=True,
        verbs=frozenset(),
        collection=kind,
    )
