"""Replaces what differs from run to run: uids, times, resourceVersions, generated names, managedFields."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from controllerlib.client import PathFilter

Object = dict[str, Any]

#: What can be masked.
MASKS = ("uids", "times", "resource_versions", "generated_names", "managed_fields")

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_SPECIAL = re.compile(r"[.\[\]/\\]")


def masked(objects: Iterable[Object], ignore: Sequence[str], masks: Iterable[str]) -> list[Object]:
    """The objects without the paths of `ignore`, with placeholders for what `masks` name.

    A uid of one of the objects becomes its kind and name, so that references are still compared. Generated names are
    numbered in the order of the content of their objects.
    """
    wanted, ignored = frozenset(masks), PathFilter.of(ignore=ignore)
    found = [_without(obj, (), ignored) for obj in objects]
    names = _generated(found, wanted) if "generated_names" in wanted else {}
    uids = _uids(found, names) if "uids" in wanted else {}
    result = [_masked(obj, wanted, uids, names) for obj in found]
    return sorted(result, key=_place) if names else result


def _without(value: Any, path: tuple[str, ...], ignored: PathFilter) -> Any:
    """The value without the fields below ignored paths, which are written as in `controllerlib.client.difference`."""
    if isinstance(value, Mapping):
        entered = {key: (*path, key) if not _SPECIAL.search(key) else _indexed(path, key) for key in value}
        return {key: _without(one, entered[key], ignored) for key, one in value.items() if ignored.counts(entered[key])}
    if isinstance(value, list):
        places = [(_indexed(path, str(index)), one) for index, one in enumerate(value)]
        return [_without(one, place, ignored) for place, one in places if ignored.counts(place)]
    return value


def _indexed(path: tuple[str, ...], inside: str) -> tuple[str, ...]:
    return (*path[:-1], f"{path[-1] if path else ''}[{inside}]")


def _masked(obj: Object, wanted: frozenset[str], uids: Mapping[str, str], names: Mapping[str, str]) -> Object:
    gone = {
        "uid": "uids",
        "creationTimestamp": "times",
        "resourceVersion": "resource_versions",
        "managedFields": "managed_fields",
    }
    meta = {key: value for key, value in obj["metadata"].items() if gone.get(key) not in wanted}

    def text(value: str) -> str:
        if value in names:
            return names[value]
        if "uids" in wanted:
            value = _UID.sub(lambda match: uids.get(match[0], "<uid>"), value)
        return _TIME.sub("<time>", value) if "times" in wanted else value

    found: Object = _mapped({**obj, "metadata": meta}, text)
    return found


def _mapped(value: Any, text: Callable[[str], str]) -> Any:
    """The value with each text replaced, and each key of a map that is a whole text to be replaced."""
    if isinstance(value, dict):
        return {key: _mapped(one, text) for key, one in value.items()}
    if isinstance(value, list):
        return [_mapped(one, text) for one in value]
    return text(value) if isinstance(value, str) else value


def _generated(objects: Sequence[Object], wanted: frozenset[str]) -> dict[str, str]:
    """Generated name -> its prefix with a number."""
    prefixes = {
        meta["name"]: meta["generateName"]
        for meta in (obj["metadata"] for obj in objects)
        if meta.get("generateName") and meta["name"].startswith(meta["generateName"])
    }
    anonymous = {name: f"{prefix}<generated>" for name, prefix in prefixes.items()}
    groups: defaultdict[tuple[str, str, str], list[tuple[bytes, str]]] = defaultdict(list)
    for obj in objects:
        meta = obj["metadata"]
        if meta["name"] in prefixes:
            content = orjson.dumps(_masked(obj, wanted | {"uids", "times"}, {}, anonymous), option=orjson.OPT_SORT_KEYS)
            group = (obj["kind"], meta.get("namespace", ""), meta["generateName"])
            groups[group].append((content, meta["name"]))
    return {
        name: f"{prefixes[name]}<{number}>"
        for members in groups.values()
        for number, (_, name) in enumerate(sorted(members), 1)
    }


def _uids(objects: Sequence[Object], names: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for obj in objects:
        meta = obj["metadata"]
        if "uid" in meta:
            found[meta["uid"]] = f"<uid of {obj['kind']} {names.get(meta['name'], meta['name'])}>"
    return found


def _place(obj: Object) -> tuple[int, str, str, str]:
    """The order of objects whose names are masked: definitions and namespaces are first, as before."""
    first = {"Namespace": 0, "CustomResourceDefinition": 1}.get(obj["kind"], 2)
    return first, obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
