"""Strategic merge patch: a merge patch that merges lists by the merge keys of the schema (apimachinery
`util/strategicpatch`).

The directives of a patch are `$patch` (`replace`, `delete`), `$retainKeys`, `$setElementOrder/FIELD` and
`$deleteFromPrimitiveList/FIELD`. Neither the document nor the patch is modified.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire import codec, goprint

PATCH, RETAIN_KEYS = "$patch", "$retainKeys"
DELETE_FROM, SET_ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


class BadPatch(Exception):
    """A patch that cannot be applied; the message is the library's.

    `code` is the HTTP status: 400 or 422 for an error that the server attributes to the client, else 500.
    """

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


def _bad_format(directive: str) -> BadPatch:
    return BadPatch(f"invalid patch format of {directive}", 400)


def _no_merge_key(item: Object, merge_key: str) -> BadPatch:
    return BadPatch(f"map: {goprint.plain(item)} does not contain declared merge key: {merge_key}")


def _unknown_directive(item: Object) -> BadPatch:
    directive = item[PATCH]
    if directive is None:
        shown = "%!s(<nil>)"
    elif isinstance(directive, str):
        shown = directive
    else:
        shown = f"%!s({goprint.type_of(directive)}={goprint.plain(directive)})"
    return BadPatch(f"unknown patch type: {shown} in map: {goprint.plain(item)}")


def _check_list(value: Any) -> None:
    if not isinstance(value, list):
        raise _bad_type("[]interface {}", value)


def _check_map(value: Any) -> None:
    if not isinstance(value, dict):
        raise _bad_type("map[string]interface {}", value)


def _bad_type(expected: str, value: Any) -> BadPatch:
    what = "%!s(<nil>)" if value is None else goprint.type_of(value)
    return BadPatch(f"expected a {expected}, but received a {what}")


def apply(document: Object, patch: Object, schema: Schema) -> Object:
    """Merges a patch into a document, whose other parts the result shares. Raises BadPatch."""
    return _merge_map(document, codec.copied(patch), schema)


def without_applied_directives(patch: Any) -> Any:
    """What is left of a patch after its application, which removes the directives of the maps that it merges."""
    if not isinstance(patch, dict):
        return patch
    if PATCH in patch:
        return {key: value for key, value in patch.items() if key != PATCH}
    ordered = {key.removeprefix(SET_ORDER) for key in patch if key.startswith(SET_ORDER)}
    return {
        key: without_applied_directives(value)
        for key, value in patch.items()
        if key != RETAIN_KEYS and key not in ordered and not key.startswith((SET_ORDER, DELETE_FROM))
    }


def _field(schema: Schema | None, name: str, original: Any) -> Schema:
    """The schema of a field of both document and patch. Raises BadPatch if the kind does not have the field."""
    if schema is not None and schema.type == "object":
        found = schema.fields.get(name)
        if found is None:
            raise BadPatch(f'unable to find api field in struct {schema.struct} for the json field "{name}"')
        return found
    if schema is not None and schema.type == "map" and schema.values is not None:
        return schema.values
    if schema is not None and schema.type != "any":
        raise BadPatch(f"unrecognized type: {schema.type}")
    return Schema("any")


def _merge_map(document: Object, patch: Object, schema: Schema | None) -> Object:
    if PATCH in patch:
        return _directive_of_map(patch)
    original = dict(document)
    if "$" in "".join(patch):  # hardly any patch has directives
        _retain_keys(original, patch)
        _merge_ordered_lists(original, patch, schema)
    for key, value in patch.items():
        name, deleting = (key.removeprefix(DELETE_FROM), True) if key.startswith(DELETE_FROM) else (key, False)
        if value is None:
            original.pop(name, None)
            continue
        present: Any = original.get(name)
        if name not in original or not _same_type(present, value):
            if not deleting:
                _set(original, name, without_directives(without_nulls(value)))
            continue
        if isinstance(value, dict):
            field = _field(schema, name, present)
            replaced = "replace" in field.patch_strategy
            original[name] = value if replaced else _merge_map(present, value, field)
        elif isinstance(value, list):
            field = _field(schema, name, present)
            if "merge" in field.patch_strategy or deleting:
                original[name] = _merge_list(present, value, field, deleting)
            else:
                original[name] = value
        else:
            original[name] = value
    return original


def _same_type(left: Any, right: Any) -> bool:
    return _kind(left) == _kind(right)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "slice"
    return "scalar"


def _directive_of_map(patch: Object) -> Object:
    directive = patch[PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _retain_keys(original: Object, patch: Object) -> None:
    """Removes the fields that `$retainKeys` does not list; every field of the patch must be listed."""
    if RETAIN_KEYS not in patch:
        return
    wanted = patch.pop(RETAIN_KEYS)
    if not isinstance(wanted, list):
        raise _bad_format("retainKeys")
    for key, value in patch.items():
        if key.startswith((DELETE_FROM, SET_ORDER)) or value is None:
            continue
        if key not in wanted:
            raise _bad_format("retainKeys")
    for key in [key for key in original if key not in wanted]:
        del original[key]


def _merge_ordered_lists(original: Object, patch: Object, schema: Schema | None) -> None:
    """Merges the lists whose order the patch specifies with `$setElementOrder`."""
    for key in [key for key in patch if key.startswith(SET_ORDER)]:
        order = patch.pop(key)
        _check_list(order)
        name = key.removeprefix(SET_ORDER)
        field = _field(schema, name, None)
        for side in (original, patch):
            if name in side:
                _check_list(side[name])
        items = patch.pop(name, None)
        deletions = patch.pop(DELETE_FROM + name, None)
        present = original.get(name)
        if items is not None:
            _check_order(items, order, field.merge_key)
        if present is None and items is None:
            continue
        before = list(present or ())
        merged = list(before)
        if deletions is not None:
            merged = _merge_list(merged, deletions, field, True)
        if items is not None:
            if present is None:
                merged = without_directives(items)
            elif "merge" not in field.patch_strategy:
                merged = items
            else:
                merged = _merge_list(merged, items, field, False)
        _check_ordered(merged, order, field.merge_key)
        if _item_type(before, items or []) is dict:
            _check_maps(order)
        original[name] = _in_order(merged, order, before, field.merge_key)


def _check_order(items: list[Any], order: list[Any], merge_key: str) -> None:
    """Raises BadPatch if the items of the patch are not in the specified order (`validatePatchWithSetOrderList`)."""
    if not order or not items:
        return
    if merge_key:
        _check_maps(items)
    kept = [item for item in items if not (merge_key and item.get(PATCH) == "delete")]
    at = 0
    for place in order:
        while at < len(kept) and isinstance(kept[at], dict) and PATCH in kept[at]:
            at += 1
        if at == len(kept):
            return
        if merge_key:
            _check_map(place)
            for one in (kept[at], place):
                if merge_key not in one:
                    raise _no_merge_key(one, merge_key)
        item, wanted = (one[merge_key] if merge_key else one for one in (kept[at], place))
        if type(item) is type(wanted) and item == wanted:
            at += 1
    if at < len(kept):
        raise BadPatch(
            f"The order in patch list:\n{goprint.plain(items)}\n"
            f" doesn't match $setElementOrder list:\n{goprint.plain(order)}\n"
        )


def _check_maps(values: list[Any]) -> None:
    for value in values:
        _check_map(value)


def _check_ordered(merged: list[Any], order: list[Any], merge_key: str) -> None:
    """Raises BadPatch if items are looked for in an order that is no list of maps (`partitionMapsByPresentInList`)."""
    for item in merged if merge_key else ():
        _check_map(item)
        if merge_key not in item:
            raise _no_merge_key(item, merge_key)
        for i, place in enumerate(order):
            if not isinstance(place, dict):
                raise BadPatch(f"value for key {i} is not a map")
            if merge_key in place and place[merge_key] == item[merge_key]:
                break


def _merge_list(original: list[Any], patch: list[Any], schema: Schema, deleting: bool) -> list[Any]:
    if not original and not patch:
        return original
    if _item_type(original, patch) is not dict:
        if deleting:
            return [item for item in original if item not in patch]
        merged = list(dict.fromkeys([*original, *patch]))
        return _in_order(merged, patch, original, "")
    merge_key = schema.merge_key
    if not merge_key:
        raise BadPatch("cannot merge lists without merge key for struct")
    before = list(original)
    original, patch = _special_items(original, patch, merge_key)
    for item in patch:
        if merge_key not in item:
            raise _no_merge_key(item, merge_key)
        position = _find(original, item[merge_key], merge_key)
        if position is None:
            original.append(item)
        else:
            original[position] = _merge_map(original[position], item, schema.items)
    return _in_order(original, patch, before, merge_key)


def _item_type(original: list[Any], patch: list[Any]) -> type:
    """The type of all items (`sliceElementType`). Raises BadPatch if the types differ, or if items are lists."""
    found: type | None = None
    for item in (*original, *patch):
        if found is None:
            found = type(item)
            if found is list:
                raise BadPatch("lists of lists are not supported", 422)
        elif type(item) is not found:
            raise BadPatch(f"list element types are not identical: {goprint.plain([original, patch])}")
    if found is None:
        raise BadPatch("no elements in any of the given slices")
    return found


def _special_items(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Applies the directives among the items of a patch: `delete` removes an item, `replace` all existing ones."""
    plain: list[Any] = []
    replace = False
    kept = list(original)
    for item in patch:
        directive = item.get(PATCH)
        if directive is None:
            plain.append(item)
        elif directive == "delete":
            if merge_key not in item:
                raise _no_merge_key(item, merge_key)
            kept = [one for one in kept if one.get(merge_key) != item[merge_key]]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise BadPatch("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    return ([], plain) if replace else (kept, plain)


def _find(items: list[Any], value: Any, merge_key: str) -> int | None:
    for i, item in enumerate(items):
        if merge_key in item and item[merge_key] == value:
            return i
    return None


def _key_of(item: Any, merge_key: str) -> Any:
    return item.get(merge_key) if isinstance(item, dict) else item


def _in_order(merged: Sequence[Any], order: Sequence[Any], before: Sequence[Any], merge_key: str) -> list[Any]:
    """Merges the items of the patch, in its order, with the other items, in the order before the patch.

    Raises BadPatch for an item without its key, which may be one that was there before.
    """
    for item in (*merged, *order) if merge_key else ():
        if isinstance(item, dict) and merge_key not in item:
            raise _no_merge_key(item, merge_key)
    wanted, keys = [_key_of(item, merge_key) for item in order], [_key_of(item, merge_key) for item in merged]
    if wanted == keys and all(wanted.index(key) == i for i, key in enumerate(keys)):
        return list(merged)  # as usual
    named, served = _positions(wanted), _positions([_key_of(item, merge_key) for item in before])
    ours: list[tuple[int, Any, Any]] = []
    theirs: deque[tuple[Any, Any]] = deque()
    for key, item in zip(keys, merged, strict=True):
        position = named(key)
        if position is None:
            theirs.append((key, item))
        else:
            ours.append((position, key, item))
    ours.sort(key=itemgetter(0))
    result: list[Any] = []
    for _, key, item in ours:
        while theirs and (left := served(theirs[0][0])) is not None and (right := served(key)) is not None:
            if left >= right:
                break
            result.append(theirs.popleft()[1])
        result.append(item)
    return [*result, *(item for _, item in theirs)]


def _positions(keys: list[Any]) -> Callable[[Any], int | None]:
    """Returns the first position of a key; None if it is not there. Keys are JSON values of any type."""
    try:
        found = {key: len(keys) - 1 - i for i, key in enumerate(reversed(keys))}
    except TypeError:  # some are maps or lists
        return lambda key: keys.index(key) if key in keys else None
    return lambda key: None if isinstance(key, dict | list) else found.get(key)


def without_nulls(value: Any) -> Any:
    """A new value without nulls."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _set(original: Object, name: str, value: Any) -> None:
    """A value that is a directive itself removes the member."""
    if value is _DIRECTIVE:
        original.pop(name, None)
    else:
        original[name] = value


_DIRECTIVE = object()


def without_directives(value: Any) -> Any:
    """A value without the maps in it that have a `$patch` (`removeDirectives`); _DIRECTIVE if it is such a map."""
    if isinstance(value, dict):
        if PATCH in value:
            return _DIRECTIVE
        found = {key: without_directives(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item is not _DIRECTIVE}
    if isinstance(value, list):
        return [item for item in map(without_directives, value) if item is not _DIRECTIVE]
    return value
