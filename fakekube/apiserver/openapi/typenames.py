"""The names of types in OpenAPI documents, and the kinds of types (kube-openapi `pkg/util`)."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META, LIST_META = f"{META}.ObjectMeta", f"{META}.ListMeta"
DELETE_OPTIONS, STATUS, WATCH_EVENT, PATCH = (
    f"{META}.{kind}" for kind in ("DeleteOptions", "Status", "WatchEvent", "Patch")
)

_PACKAGES: Mapping[str, str] = {
    "meta": "io.k8s.apimachinery.pkg.apis.",
    "version": "io.k8s.apimachinery.pkg.",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.",
}

#: Scalar with a named type -> name and schema.
NAMED_SCALARS: Mapping[str, tuple[str, Object]] = {
    "quantity": ("io.k8s.apimachinery.pkg.api.resource.Quantity", {"type": "string"}),
    "time": (f"{META}.Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{META}.MicroTime", {"type": "string", "format": "date-time"}),
    "int-or-string": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"type": "string", "format": "int-or-string"},
    ),
}

#: Types with apiVersion and kind that are not resources.
_BARE_KINDS = {
    "meta.v1.APIGroup": "APIGroup",
    "meta.v1.APIGroupList": "APIGroupList",
    "meta.v1.APIResourceList": "APIResourceList",
    "meta.v1.APIVersions": "APIVersions",
    "meta.v1.DeleteOptions": "DeleteOptions",
    "meta.v1.Status": "Status",
}


def full_name(short: str) -> str:
    """`core.v1.Pod` -> `io.k8s.api.core.v1.Pod`."""
    return _PACKAGES.get(short.partition(".")[0], "io.k8s.api.") + short


def custom_name(group: str, version: str, kind: str) -> str:
    """`example.com` -> `com.example.v1.Widget`."""
    return ".".join([*reversed(group.split(".")), version, kind])


def kinds_of_types(schemas: BuiltinSchemas) -> dict[str, list[Object]]:
    """The groups, versions and kinds of each type by its name."""
    found: dict[str, list[Object]] = {}
    for group, version, kind, name in schemas.kinds():
        found.setdefault(name, []).append({"group": group, "kind": kind, "version": version})
        found.setdefault(f"{name}List", []).append({"group": group, "kind": f"{kind}List", "version": version})
    for name, kind in _BARE_KINDS.items():
        found[name] = [{"group": "", "kind": kind, "version": "v1"}]
    return found
