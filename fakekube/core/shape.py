"""The JSON types of the fields that the server itself reads: what it relies on where a kind has no schema yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fakekube.core import gojson

Object = dict[str, Any]

MAP, LIST, TEXT, INTEGER, BOOLEAN = "map", "list", "string", "int64", "bool"

#: What each type takes, beside null (which is as good as absent, but not as an item of a list).
TAKES: Mapping[str, Callable[[Any], bool]] = {
    MAP: lambda value: isinstance(value, dict),
    LIST: lambda value: isinstance(value, list),
    TEXT: lambda value: isinstance(value, str),
    INTEGER: lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63,
    BOOLEAN: lambda value: isinstance(value, bool),
}

#: Of every built-in kind.
COMMON = {"spec": MAP, "status": MAP}

_TEXTS = {"": LIST, "[]": TEXT}


def _under(path: str, fields: Mapping[str, str]) -> dict[str, str]:
    return {path + rest: type for rest, type in fields.items()}


_ROLE = _under("rules", {"": LIST, "[]": MAP}) | {
    f"rules[].{name}{rest}": type
    for name in ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    for rest, type in _TEXTS.items()
}
_BINDING = (
    _under("subjects", {"": LIST, "[]": MAP, "[].kind": TEXT, "[].name": TEXT, "[].namespace": TEXT})
    | _under("roleRef", {"": MAP, ".kind": TEXT, ".name": TEXT})
)  # fmt: skip
_REVIEW = (
    _under("spec.resourceAttributes", {"": MAP, ".*": TEXT})
    | _under("spec.nonResourceAttributes", {"": MAP, ".*": TEXT})
    | {"spec.user": TEXT, "spec.uid": TEXT}
    | _under("spec.groups", _TEXTS)
)
#: Attributes of a review that are no text.
_SELECTORS = ("fieldSelector", "labelSelector")

_DEFINITION = (
    {"spec.group": TEXT, "spec.scope": TEXT, "spec.names": MAP, "spec.versions": LIST, "spec.versions[]": MAP}
    | {f"spec.names.{name}": TEXT for name in ("plural", "singular", "kind", "listKind")}
    | _under("spec.names.shortNames", _TEXTS)
    | _under("spec.names.categories", _TEXTS)
    | _under("spec.versions[]", {".name": TEXT, ".served": BOOLEAN, ".storage": BOOLEAN, ".schema": MAP})
    | _under("spec.versions[].schema.openAPIV3Schema", {"": MAP})
    | _under("spec.versions[].subresources", {"": MAP, ".*": MAP})
    | _under("spec.versions[].selectableFields", {"": LIST, "[]": MAP, "[].jsonPath": TEXT})
)

#: Resource -> field -> type. `*` stands for every member of a map, `[]` for every item of a list.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "namespaces": _under("spec.finalizers", _TEXTS) | {"status.phase": TEXT},
    "nodes": {"spec.unschedulable": BOOLEAN},
    "pods": {
        "spec.nodeName": TEXT,
        "spec.terminationGracePeriodSeconds": INTEGER,
        "status.phase": TEXT,
        "status.podIP": TEXT,
        **_under("status.podIPs", {"": LIST, "[]": MAP, "[].ip": TEXT}),
        **_under("status.conditions", {"": LIST, "[]": MAP}),
    },
    "bindings": {"target": MAP, "target.name": TEXT, "metadata": MAP, "metadata.annotations": MAP, "metadata.annotations.*": TEXT},
    "configmaps": {"data": MAP, "data.*": TEXT, "binaryData": MAP, "binaryData.*": TEXT},
    "secrets": {"data": MAP, "data.*": TEXT, "stringData": MAP, "stringData.*": TEXT, "type": TEXT},
    "roles.rbac.authorization.k8s.io": _ROLE,
    "clusterroles.rbac.authorization.k8s.io": _ROLE,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "certificatesigningrequests.certificates.k8s.io": {"spec.signerName": TEXT},
    "customresourcedefinitions.apiextensions.k8s.io": _DEFINITION,
    "selfsubjectaccessreviews.authorization.k8s.io": _REVIEW,
    "subjectaccessreviews.authorization.k8s.io": _REVIEW,
    "localsubjectaccessreviews.authorization.k8s.io": _REVIEW,
}  # fmt: skip


def problem(obj: Object, resource: str, kind: str) -> str | None:
    """What Go's decoder would say of the first field of the wrong type; None where all are right."""
    for path, type in {**COMMON, **FIELDS.get(resource, {})}.items():
        item = path.endswith("[]")
        for value in _values(obj, path.replace("[]", ".[]").split(".")):
            if TAKES[type](value) or (value is None and not item):
                continue
            shown = f"number {value}" if isinstance(value, float | int) else gojson.type_name(value)
            shown = "bool" if isinstance(value, bool) else shown
            where = path.replace("[]", "").removesuffix(".*")
            return f"json: cannot unmarshal {shown} into Go struct field {kind}.{where} of type {type}"
    return None


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    """What stands at a path; nothing where the way to it is of another type (which is found by itself)."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if step == "[]":
        inner = value if isinstance(value, list) else ()
    elif not isinstance(value, dict):
        inner = ()
    elif step == "*":
        inner = [item for key, item in value.items() if key not in _SELECTORS]
    else:
        inner = [value.get(step)]
    for item in inner:
        yield from _values(item, rest)
