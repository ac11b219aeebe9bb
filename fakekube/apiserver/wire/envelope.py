"""Objects in protobuf as they are sent: in an envelope, and as events of a watch (`serializer/protobuf`)."""

from __future__ import annotations

from collections.abc import Iterable

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.marshal import delimited, marshaler, marshaler_of, varint
from fakekube.apiserver.wire.protobuf import MAGIC


def wrap(api_version: str, kind: str, message: bytes) -> bytes:
    """An envelope: `runtime.Unknown` without content encoding and content type."""
    header = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return b"".join((MAGIC, delimited(1, header), delimited(2, message), b"\x1a\x00\x22\x00"))


def wrap_list(api_version: str, kind: str, metadata: Object, items: Iterable[bytes]) -> bytes:
    """A list of encoded items in an envelope."""
    first = 2 if (api_version, kind) == _REVERSED else 1
    head, tag = delimited(first, marshaler("meta.v1.ListMeta")(metadata)), varint((3 - first) << 3 | 2)
    parts = [head] if first == 1 else []
    for item in items:
        parts += (tag, varint(len(item)), item)
    return wrap(api_version, kind, b"".join(parts if first == 1 else [*parts, head]))


#: The only list whose items have a lower number than its metadata.
_REVERSED = ("meta.k8s.io/v1beta1", "PartialObjectMetadataList")


def encode(obj: Object) -> bytes:
    """An object or a list in an envelope. The kind must have a message."""
    api_version, kind = obj.get("apiVersion", ""), obj["kind"]
    marshal = marshaler_of(api_version, kind)
    if marshal is not None:
        return wrap(api_version, kind, marshal(obj))
    marshal = marshaler_of(api_version, kind.removesuffix("List"))
    assert marshal is not None, f"{api_version} {kind} has no message"
    return wrap_list(api_version, kind, obj["metadata"], map(marshal, obj.get("items") or ()))


def event(type: str, wrapped: bytes) -> bytes:
    """An event of a watch stream: a `WatchEvent` that follows its length in four bytes."""
    message = delimited(1, type.encode()) + delimited(2, delimited(1, wrapped))
    return len(message).to_bytes(4, "big") + message
