"""The names of types in OpenAPI documents, and the kinds of types (kube-openapi `pkg/util`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META, LIST_META = f"{META}.ObjectMeta", f"{META}.ListMeta"
VERSION_INFO = "io.k8s.apimachinery.pkg.version.Info"
SCALE = "io.k8s.api.autoscaling.v1.Scale"
DELETE_OPTIONS, STATUS, WATCH_EVENT, PATCH = (
    f"{META}.{kind}" for kind in ("DeleteOptions", "Status", "WatchEvent", "Patch")
)

_PACKAGES: Mapping[str, str] = {
    "meta": "io.k8s.apimachinery.pkg.apis.",
    "runtime": "io.k8s.apimachinery.pkg.",
    "version": "io.k8s.apimachinery.pkg.",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.",
}

#: Scalar with a named type -> its name.
NAMED_SCALARS: Mapping[str, str] = {
    "quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "time": f"{META}.Time",
    "microtime": f"{META}.MicroTime",
    "int-or-string": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}

#: Types with apiVersion and kind that are not resources.
_BARE_KINDS = ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status")

#: Types that each group and version registers (apimachinery `meta/v1`, AddToGroupVersion).
_CROSS_REGISTERED = ("DeleteOptions", "WatchEvent")

#: Groups and versions of the client library's scheme, which has them for kinds that are no longer served.
_CLIENT_VERSIONS = """\
admissionregistration.k8s.io/v1 admissionregistration.k8s.io/v1alpha1 admissionregistration.k8s.io/v1beta1 apps/v1
apps/v1beta1 apps/v1beta2 authentication.k8s.io/v1 authentication.k8s.io/v1alpha1 authentication.k8s.io/v1beta1
authorization.k8s.io/v1 authorization.k8s.io/v1beta1 autoscaling/v1 autoscaling/v2 batch/v1 batch/v1beta1
certificates.k8s.io/v1 certificates.k8s.io/v1alpha1 certificates.k8s.io/v1beta1 coordination.k8s.io/v1
coordination.k8s.io/v1alpha2 coordination.k8s.io/v1beta1 discovery.k8s.io/v1 discovery.k8s.io/v1beta1 events.k8s.io/v1
events.k8s.io/v1beta1 extensions/v1beta1 flowcontrol.apiserver.k8s.io/v1 flowcontrol.apiserver.k8s.io/v1beta1
flowcontrol.apiserver.k8s.io/v1beta2 flowcontrol.apiserver.k8s.io/v1beta3 internal.apiserver.k8s.io/v1alpha1
networking.k8s.io/v1 networking.k8s.io/v1beta1 node.k8s.io/v1 node.k8s.io/v1alpha1 node.k8s.io/v1beta1 policy/v1
policy/v1beta1 rbac.authorization.k8s.io/v1 rbac.authorization.k8s.io/v1alpha1 rbac.authorization.k8s.io/v1beta1
resource.k8s.io/v1 resource.k8s.io/v1alpha3 resource.k8s.io/v1beta1 resource.k8s.io/v1beta2 scheduling.k8s.io/v1
scheduling.k8s.io/v1alpha2 scheduling.k8s.io/v1beta1 storage.k8s.io/v1 storage.k8s.io/v1alpha1 storage.k8s.io/v1beta1
storagemigration.k8s.io/v1beta1
"""

#: The groups and versions that the server's own scheme has in addition.
_SERVER_VERSIONS = """\
admission.k8s.io/v1 admission.k8s.io/v1beta1 apiextensions.k8s.io/v1 apiextensions.k8s.io/v1beta1
apiregistration.k8s.io/v1 apiregistration.k8s.io/v1beta1 imagepolicy.k8s.io/v1alpha1
"""


def full_name(short: str) -> str:
    """`core.v1.Pod` -> `io.k8s.api.core.v1.Pod`."""
    return _PACKAGES.get(short.partition(".")[0], "io.k8s.api.") + short


def short_name(full: str) -> str:
    """`io.k8s.api.core.v1.Pod` -> `core.v1.Pod`."""
    for prefix in (*sorted(_PACKAGES.values(), reverse=True), "io.k8s.api."):
        if full.startswith(prefix):
            return full.removeprefix(prefix)
    return full


def custom_name(group: str, version: str, kind: str) -> str:
    """`example.com` -> `com.example.v1.Widget`."""
    return ".".join([*reversed(group.split(".")), version, kind])


@lru_cache(maxsize=2)
def kinds_of_types(schemas: BuiltinSchemas) -> Mapping[str, list[Object]]:
    """The groups, versions and kinds of each type by its name; without the types that all groups register."""
    found: dict[str, list[Object]] = {}
    for group, version, kind, name in schemas.kinds():
        found.setdefault(name, []).append({"group": group, "kind": kind, "version": version})
        found.setdefault(f"{name}List", []).append({"group": group, "kind": f"{kind}List", "version": version})
    for kind in _BARE_KINDS:
        found[f"meta.v1.{kind}"] = [{"group": "", "kind": kind, "version": "v1"}]
    return found


def cross_registered(group_versions: Iterable[str]) -> dict[str, list[Object]]:
    """The groups, versions and kinds of the types that all groups register, for the core group and these."""
    pairs = [("", "v1"), *(one.partition("/")[::2] for one in sorted(group_versions))]
    return {
        f"meta.v1.{kind}": [{"group": group, "kind": kind, "version": version} for group, version in pairs]
        for kind in _CROSS_REGISTERED
    }


def client_versions() -> list[str]:
    """The groups and versions that the documents of custom resources name."""
    return _CLIENT_VERSIONS.split()


def all_versions() -> list[str]:
    """The groups and versions that the OpenAPI 2 document names."""
    return (_CLIENT_VERSIONS + _SERVER_VERSIONS).split()
