"""Keys and names of objects, and tombstones of deleted ones (client-go: tools/cache, object-names.go)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

#: A Kubernetes object as JSON; this package never modifies one in place.
Object = dict[str, Any]


class NoMetadata(Exception):
    """A value without `metadata` was used as an object (client-go: "object has no meta")."""

    def __init__(self, obj: object) -> None:
        super().__init__("object has no meta: object does not implement the Object interfaces")
        self.obj = obj


class KeyFailure(Exception):
    """The key of `obj` could not be computed (client-go: cache.KeyError); `__cause__` is the reason."""

    def __init__(self, obj: object, cause: Exception) -> None:
        super().__init__(f"couldn't create key for object {obj!r}: {cause}")
        self.obj = obj
        self.__cause__: BaseException | None = cause


def key_with(key_func: Callable[[Any], str], obj: Any) -> str:
    """Return the key of `obj` by a key function; raises KeyFailure, whatever the function raises."""
    try:
        return key_func(obj)
    except Exception as error:
        raise KeyFailure(obj, error) from error


class ExplicitKey(str):
    """A key that is used instead of an object; key functions return it unchanged (client-go: cache.ExplicitKey)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeletedFinalStateUnknown:
    """The tombstone of an object whose deletion was missed: its key and its last known state, if any.

    Source: client-go, cache.DeletedFinalStateUnknown.
    """

    key: str
    obj: Any = None


@dataclass(frozen=True, slots=True)
class ObjectName:
    """Namespace and name. Its string is the key, without a slash if there is no namespace.

    Source: client-go, cache.ObjectName.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def metadata(obj: object) -> Mapping[str, Any]:
    """Return the metadata of `obj`; raises NoMetadata."""
    if isinstance(obj, Mapping):
        meta = obj.get("metadata")
        if isinstance(meta, Mapping):
            return meta
    raise NoMetadata(obj)


def meta_namespace_key(obj: object) -> str:
    """Return `namespace/name`, or `name` without a namespace; raises NoMetadata (client-go: MetaNamespaceKeyFunc)."""
    if isinstance(obj, ExplicitKey):
        return str(obj)
    meta: Any = obj.get("metadata") if type(obj) is dict else metadata(obj)
    if meta is None:
        raise NoMetadata(obj)
    namespace = meta.get("namespace")
    name: str = meta.get("name", "")
    return f"{namespace}/{name}" if namespace else name


def deletion_handling_key(obj: object) -> str:
    """As `meta_namespace_key`, but return the key of a tombstone without looking at its object."""
    if type(obj) is DeletedFinalStateUnknown:
        return obj.key
    return meta_namespace_key(obj)


def object_name(obj: object) -> ObjectName:
    """Return the ObjectName of `obj`; raises NoMetadata."""
    meta = metadata(obj)
    return ObjectName(meta.get("namespace") or "", meta.get("name", ""))


def deleted_object_name(obj: object) -> ObjectName:
    """Return the name of a deleted object: from a tombstone's key (split at the first slash), or from the object."""
    if isinstance(obj, DeletedFinalStateUnknown):
        namespace, slash, name = obj.key.partition("/")
        return ObjectName(namespace, name) if slash else ObjectName("", namespace)
    return object_name(obj)


def split_key(key: str) -> tuple[str, str]:
    """Split a key into (namespace, name); ValueError "unexpected key format" if it has more than one slash."""
    parts = key.split("/")
    if len(parts) == 1:
        return "", parts[0]
    if len(parts) == 2:
        return parts[0], parts[1]
    raise ValueError(f'unexpected key format: "{key}"')


def resource_version(obj: object) -> str:
    """Return the object's resourceVersion, an opaque string; "" if it has none."""
    # exact types first, and inline: objects are almost always dicts, and this is called several times per event
    if type(obj) is dict or isinstance(obj, Mapping):
        meta = obj.get("metadata")
        if type(meta) is dict or isinstance(meta, Mapping):
            return meta.get("resourceVersion") or ""
    return ""


def has_metadata(obj: object) -> bool:
    """Return whether `obj` is an object with metadata."""
    if type(obj) is dict:  # the fast path of `isinstance`, as in `resource_version`
        meta = obj.get("metadata")
        return type(meta) is dict or isinstance(meta, Mapping)
    return isinstance(obj, Mapping) and isinstance(obj.get("metadata"), Mapping)


def plain_copy(value: Any) -> Any:
    """Copy a value deeply if it is equal to the JSON that represents it, as most are; None if it is not.

    Maps, lists and tuples are copied, texts stay the same objects.
    """
    try:
        copy = msgspec.to_builtins(value, str_keys=True)
    except TypeError:
        return None
    return copy if copy == value else None


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value; many times faster than copy.deepcopy, which handles arbitrary objects."""
    copy = plain_copy(value)
    return copy if copy is not None else _copied(value)


def _copied(value: Any) -> Any:
    """As `copy_json`. Values that are not JSON's stay the same objects."""
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    if type(value) is list:
        return [_copied(v) for v in value]
    return value
