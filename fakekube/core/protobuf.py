"""Requests in protobuf: as many kinds as kubectl's own commands and small Go clients send that way.

Kubernetes wraps a message in an envelope: four magic bytes and a `runtime.Unknown`. Only requests are read; answers
are JSON, which every such client takes as well. A kind that is not in `MESSAGES` is refused, and the refusal says
what to do.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fakekube.core.status import StatusError, unsupported_media_type

Object = dict[str, Any]

MAGIC = b"k8s\x00"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: its JSON name and type (a scalar, or another message's name); `repeated`, or a `map` of
    it."""

    name: str
    type: str = "string"
    repeated: bool = False
    map: bool = False


def _text(*names: str) -> dict[int, Field]:
    """Text fields, numbered from 1."""
    return {i: Field(name) for i, name in enumerate(names, 1)}


_META = {1: Field("metadata", "ObjectMeta")}

#: Message -> field number -> field (the field numbers of the published API).
MESSAGES: Mapping[str, Mapping[int, Field]] = {
    "TypeMeta": _text("apiVersion", "kind"),
    "ObjectMeta": {
        **_text("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"),
        7: Field("generation", "int"),
        10: Field("deletionGracePeriodSeconds", "int"),
        11: Field("labels", map=True),
        12: Field("annotations", map=True),
        13: Field("ownerReferences", "OwnerReference", repeated=True),
        14: Field("finalizers", repeated=True),
    },
    "OwnerReference": {
        1: Field("kind"),
        3: Field("name"),
        4: Field("uid"),
        5: Field("apiVersion"),
        6: Field("controller", "bool"),
        7: Field("blockOwnerDeletion", "bool"),
    },
    "ConfigMap": {
        **_META,
        2: Field("data", map=True),
        3: Field("binaryData", "bytes", map=True),
        4: Field("immutable", "bool"),
    },
    "Secret": {
        **_META,
        2: Field("data", "bytes", map=True),
        3: Field("type"),
        4: Field("stringData", map=True),
        5: Field("immutable", "bool"),
    },
    "Namespace": {**_META, 2: Field("spec", "NamespaceSpec")},
    "NamespaceSpec": {1: Field("finalizers", repeated=True)},
    "ServiceAccount": {
        **_META,
        2: Field("secrets", "ObjectReference", repeated=True),
        3: Field("imagePullSecrets", "LocalObjectReference", repeated=True),
        4: Field("automountServiceAccountToken", "bool"),
    },
    "ObjectReference": _text("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
    "LocalObjectReference": _text("name"),
    "Role": {**_META, 2: Field("rules", "PolicyRule", repeated=True)},
    "ClusterRole": {**_META, 2: Field("rules", "PolicyRule", repeated=True)},
    "PolicyRule": {
        i: Field(name, repeated=True)
        for i, name in enumerate(("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"), 1)
    },
    "RoleBinding": {**_META, 2: Field("subjects", "Subject", repeated=True), 3: Field("roleRef", "RoleRef")},
    "ClusterRoleBinding": {**_META, 2: Field("subjects", "Subject", repeated=True), 3: Field("roleRef", "RoleRef")},
    "Subject": _text("kind", "apiGroup", "name", "namespace"),
    "RoleRef": _text("apiGroup", "kind", "name"),
    "SelfSubjectAccessReview": {**_META, 2: Field("spec", "SelfSubjectAccessReviewSpec")},
    "SelfSubjectAccessReviewSpec": {
        1: Field("resourceAttributes", "ResourceAttributes"),
        2: Field("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": _text("namespace", "verb", "group", "version", "resource", "subresource", "name"),
    "NonResourceAttributes": _text("path", "verb"),
    "SelfSubjectRulesReview": {**_META, 2: Field("spec", "SelfSubjectRulesReviewSpec")},
    "SelfSubjectRulesReviewSpec": _text("namespace"),
    "SelfSubjectReview": _META,
    "DeleteOptions": {
        1: Field("gracePeriodSeconds", "int"),
        2: Field("preconditions", "Preconditions"),
        3: Field("orphanDependents", "bool"),
        4: Field("propagationPolicy"),
        5: Field("dryRun", repeated=True),
    },
    "Preconditions": _text("uid", "resourceVersion"),
}


#: Messages that come in an envelope of their own.
KINDS = frozenset(name for name, fields in MESSAGES.items() if fields[1] == _META[1]) | {"DeleteOptions"}


class Malformed(Exception):
    """The bytes are no message of the kind."""


def decode(body: bytes) -> Object:
    """The object in an envelope. Raises Malformed, and 415 for a kind that is not known here."""
    if not body.startswith(MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    kind, api_version, raw = "", "", b""
    for number, value in _fields(body[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            header = _message("TypeMeta", value)
            api_version, kind = header.get("apiVersion", ""), header.get("kind", "")
        elif number == 2 and isinstance(value, bytes):
            raw = value
    if kind not in KINDS:
        raise _unknown_kind(kind)
    return {"apiVersion": api_version, "kind": kind, **_message(kind, raw)}


def _unknown_kind(kind: str) -> StatusError:
    return unsupported_media_type(
        f"fakekube does not read {kind or 'objects'} in protobuf: set the client's content type to application/json"
    )


def _message(name: str, data: bytes) -> Object:
    known, found = MESSAGES[name], dict[str, Any]()
    for number, value in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.map:
            key, item = _entry(field.type, value)
            found.setdefault(field.name, {})[key] = item
        elif field.repeated:
            found.setdefault(field.name, []).append(_value(field.type, value))
        else:
            found[field.name] = _value(field.type, value)
    return {key: value for key, value in found.items() if value not in ("", {}) or key == "spec"}


def _entry(type: str, data: bytes | int) -> tuple[str, Any]:
    key, item = "", _value(type, b"")
    if isinstance(data, int):
        raise Malformed("a map entry is no number")
    for number, value in _fields(data):
        if number == 1:
            key = _value("string", value)
        elif number == 2:
            item = _value(type, value)
    return key, item


def _value(type: str, value: bytes | int) -> Any:
    if type == "int" and isinstance(value, int):
        return value - (1 << 64) if value >= 1 << 63 else value
    if type == "bool" and isinstance(value, int):
        return bool(value)
    if isinstance(value, int):
        raise Malformed(f"a number where {type} was expected")
    if type == "string":
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Malformed("text that is not UTF-8") from None
    if type == "bytes":
        return base64.b64encode(value).decode()
    if type in MESSAGES:
        return _message(type, value)
    raise Malformed(f"bytes where {type} was expected")


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message: number, and bytes or an integer."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise Malformed("unexpected EOF")
            yield number, data[at : at + length]
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
            if at > len(data):
                raise Malformed("unexpected EOF")
        else:
            raise Malformed(f"wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("unexpected EOF")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
