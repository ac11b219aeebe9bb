"""The schema of values, for built-in kinds (from data) and for custom ones (from their definitions)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: The types of scalar values.
SCALARS = frozenset(
    {
        "string", "boolean", "int32", "int64", "integer", "number", "double", "bytes", "quantity", "time", "microtime",
        "int-or-string", "any",
    }
)  # fmt: skip

NO_FIELDS: Mapping[str, Schema] = {}
NO_VALUES: Mapping[str, object] = {}


class Schema:
    """The schema of a value.

    `type` is `object` (known fields), `map` (any keys, values of one type), `list`, or one of SCALARS. `name` is the
    name of the type, if it has one (`core.v1.Container`). Server-side apply uses `list_type` (`map`, `set`, `atomic`),
    `keys` and `map_type` (`granular`, `atomic`); strategic merge patch uses `patch_strategy` and `merge_key`. Types can
    be recursive, so `fields` are created on first use.
    """

    __slots__ = (
        "_fields",
        "_make_fields",
        "always",
        "decoder",
        "default",
        "empty",
        "enum",
        "item_keys",
        "items",
        "keys",
        "list_type",
        "map_type",
        "merge_key",
        "name",
        "nils",
        "patch_strategy",
        "required",
        "shown",
        "struct",
        "type",
        "unchanged",
        "values",
    )

    values: Schema | None
    type: str
    required: frozenset[str]
    patch_strategy: frozenset[str]
    name: str
    merge_key: str
    map_type: str
    list_type: str
    keys: tuple[str, ...]
    items: Schema | None
    enum: tuple[str, ...]
    default: Any

    def __init__(
        self,
        type: str,
        *,
        name: str = "",
        make_fields: Callable[[], Mapping[str, Schema]] | None = None,
        required: frozenset[str] = frozenset(),
        items: Schema | None = None,
        values: Schema | None = None,
        list_type: str = "",
        keys: tuple[str, ...] = (),
        map_type: str = "",
        patch_strategy: frozenset[str] = frozenset(),
        merge_key: str = "",
        enum: tuple[str, ...] = (),
        default: Any = None,
        always: Mapping[str, object] = NO_VALUES,
    ) -> None:
        self.type, self.name, self.required = type, name, required
        self._make_fields = make_fields
        self._fields: Mapping[str, Schema] | None = None
        self.items, self.values = items, values
        self.list_type, self.keys, self.map_type = list_type, keys, map_type
        self.patch_strategy, self.merge_key = patch_strategy, merge_key
        self.enum, self.default = enum, default
        self.always: Mapping[str, object] = always
        """The fields that only some Kubernetes versions encode though they are not set, with their zero values."""
        self.item_keys: tuple[str, ...] | None = self._item_keys()
        self.struct: str = name.rpartition(".")[2]
        """The name of the Go struct: `Container`."""
        self.nils: tuple[tuple[str, bool, Schema | None], ...] | None = None
        """The fields that are, or contain, lists and maps that are nil after storage; a cache of the decoder."""
        self.shown: tuple[tuple[str, Schema | None, Any], ...] | None = None
        """The fields that are always encoded; a cache of the decoder."""
        self.unchanged: Mapping[str, object] | None = None
        """The fields whose values are decoded unchanged, with the Python type of the values; a cache of the decoder."""
        self.empty: dict[str, Any] | None = None
        """The encoding of an empty object of the type, which must not be changed; a cache of `shared_zero`."""
        self.decoder: Callable[[Any], Any] | None = None
        """The decoder of usual values; a cache of the decoder."""

    def _item_keys(self) -> tuple[str, ...] | None:
        """The key fields of an associative list (none: items are their own keys); None: the list is atomic.

        Lists without a list type are associative if strategic merge patch merges them.
        """
        if self.list_type == "map":
            return self.keys
        if self.list_type == "set":
            return ()
        if self.list_type or "merge" not in self.patch_strategy:
            return None
        return (self.merge_key,) if self.merge_key else ()

    @property
    def fields(self) -> Mapping[str, Schema]:
        """The known fields of an `object`."""
        if self._fields is None:
            self._fields = self._make_fields() if self._make_fields else NO_FIELDS
        return self._fields

    @property
    def go_type(self) -> str:
        """The name of the Go type: `[]v1.Container`, `map[string]string`, `int32`."""
        if self.type == "list":
            items = self.items.go_type if self.items else "interface {}"
            return "[]v1.JSON" if items == "interface {}" else f"[]{items}"
        if self.type == "map":
            return "map[string]" + (self.values.go_type if self.values else "interface {}")
        if self.type == "object":
            return ".".join(self.name.split(".")[-2:])
        return GO_SCALARS.get(self.type, self.type)

    def __repr__(self) -> str:
        return f"<Schema {self.name or self.type}>"


#: Scalar type -> Go type.
GO_SCALARS = {
    "boolean": "bool",
    "bytes": "[]uint8",
    "quantity": "resource.Quantity",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
    "int-or-string": "intstr.IntOrString",
    "double": "float64",
    "any": "interface {}",
}
