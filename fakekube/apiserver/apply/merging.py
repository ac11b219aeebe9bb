"""Merges two values of a schema, and removes fields from one (structured-merge-diff `typed.Merge`, `RemoveItems`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.apply import fieldset
from fakekube.apiserver.apply.fieldset import Tree
from fakekube.apiserver.apply.pathelement import BadItem, of_item
from fakekube.apiserver.apply.typed import ABSENT, ANY, child_schema, is_list, is_map
from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema


def merge(live: Object, config: Object, schema: Schema) -> Object:
    """Merges a configuration into the live value (`Merge`). Nothing is removed."""
    merged: Object = _merge_maps(live, config, schema)
    return merged


def _merge(live: Any, config: Any, schema: Schema) -> Any:
    if config is ABSENT:
        return live
    if live is ABSENT:
        return config
    if is_map(schema, config) or (config is None and is_map(schema, live)):
        before, after = live if isinstance(live, dict) else {}, config if isinstance(config, dict) else {}
        return _merge_maps(before, after, schema) if before or after else config
    if is_list(schema):
        one, other = live if isinstance(live, list) else [], config if isinstance(config, list) else []
        return _merge_lists(one, other, schema) if one or other else config
    return config


def _merge_maps(live: Object, config: Object, schema: Schema) -> Object:
    out = dict(live)
    for key, value in config.items():
        child = child_schema(schema, key)
        out[key] = value if child.type == "string" else _merge(live.get(key, ABSENT), value, child)
    return out


def _merge_lists(live: list[Any], config: list[Any], schema: Schema) -> list[Any]:
    """Merges lists. The items of the configuration keep its order; other items keep their place if possible."""
    items = schema.items or ANY
    mine = [(element, item) for item in live if (element := _element(item, schema)) is not None]
    theirs = {of_item(item, schema): item for item in config}
    if [element for element, _ in mine] == list(theirs):  # most lists have the same items
        return [_merge(item, theirs[element], items) for element, item in mine]
    return _interleaved(mine, theirs, items)


def _interleaved(mine: list[tuple[str, Any]], theirs: dict[str, Any], items: Schema) -> list[Any]:
    """Merges the named items of the live list with those of the configuration."""
    counts: dict[str, int] = {}
    for element, _ in mine:
        counts[element] = counts.get(element, 0) + 1
    have = {element: item for element, item in mine if counts[element] == 1}

    def merged(element: str) -> Any:
        return _merge(have.get(element, ABSENT), theirs[element], items)

    order = list(theirs)
    shared = iter([element for element in order if element in counts])
    upcoming = next(shared, None)
    out: list[Any] = []
    done: set[str] = set()
    left = right = 0
    while left < len(mine) or right < len(order):
        if left < len(mine) and right < len(order):
            element = mine[left][0]
            if element == order[right]:
                done.add(element)
                out.append(merged(element))
                left, right, upcoming = left + 1, right + 1, next(shared, None)
                continue
            if element in theirs and upcoming is not None and upcoming != element:
                left += 1  # in both lists, and later in the configuration
                continue
        if left < len(mine):
            element, item = mine[left]
            if element not in theirs:
                out.append(item)
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(order):
            element = order[right]
            done.add(element)
            out.append(merged(element))
            right += 1
            if upcoming == element:
                upcoming = next(shared, None)
    return out


def _element(item: Any, schema: Schema) -> str | None:
    """The path element of an item; None if it cannot be named."""
    try:
        return of_item(item, schema)
    except BadItem:
        return None


def remove(value: Object, tree: Tree, schema: Schema) -> Object:
    """The value without these fields and items (`RemoveItems`).

    A map or list stays, empty, if it loses only what is in it; it is null if it is removed from its atomic parent.
    """
    left: Object = _remove(value, tree, schema) or {}
    return left


def _remove(value: Any, tree: Tree, schema: Schema) -> Any:
    if is_map(schema, value):
        return _remove_from_map(value, tree, schema) if isinstance(value, dict) else None
    if is_list(schema):
        return _remove_from_list(value, tree, schema) if isinstance(value, list) else None
    return None if isinstance(value, dict | list) else value


def _remove_from_map(value: Object, tree: Tree, schema: Schema) -> Object | None:
    out, entered = {}, False
    for key, item in value.items():
        node = tree.get("f:" + key)
        if node is None:
            out[key] = item
        elif not fieldset.is_member(node):
            out[key] = _remove_within(item, node, child_schema(schema, key))
            entered = True
    return out if out or (entered and since(35)) else None


def _remove_from_list(value: list[Any], tree: Tree, schema: Schema) -> list[Any] | None:
    out, entered = [], False
    for item in value:
        element = _element(item, schema)
        node = None if element is None else tree.get(element)
        if node is None:
            out.append(item)
        elif not fieldset.is_member(node):
            out.append(_remove_within(item, node, schema.items or ANY))
            entered = True
    return out if out or (entered and since(35)) else None


def _remove_within(value: Any, tree: Tree, schema: Schema) -> Any:
    """What is left of a map or a list in which something is removed; before 1.35 it became null when it was empty."""
    left = _remove(value, tree, schema)
    if not since(35):
        return left
    return type(value)() if left is None and isinstance(value, dict | list) else left
