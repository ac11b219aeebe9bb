"""What is wrong with an argument, said at the call: its name, what it was, and what to write instead."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, get_type_hints

from controllerlib import Request
from controllerlib.client import as_object
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import Resource
from fakekube.server import bootstrap
from fakekube.virtualtime import Duration, WallClock
from fakekube.virtualtime.durations import microseconds

Object = dict[str, Any]

#: The fields of DeleteOptions that a test can give.
DELETE_OPTIONS = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "preconditions", "propagationPolicy",
)  # fmt: skip

#: The fields of an Event that a test can ask for.
EVENT_FIELDS = (
    "action", "count", "eventTime", "firstTimestamp", "involvedObject", "lastTimestamp", "message", "metadata",
    "reason", "related", "reportingComponent", "reportingInstance", "series", "source", "type",
)  # fmt: skip

_RECORD = {
    name: (int, float) if kind in (int, float) else (str,) for name, kind in get_type_hints(RequestRecord).items()
}


# --- a cluster's ---------------------------------------------------------------------------------------------------


def check_cluster(
    *,
    seed: object,
    rbac: object,
    stepped: object,
    wall_clock: object,
    transport: object,
    history_window: object,
    patience: object,
    version: object,
    controllers: object,
) -> None:
    """The arguments of FakeKube. Raises TypeError, ValueError naming the argument."""
    if isinstance(seed, bool) or not isinstance(seed, int | str):
        raise TypeError(f"seed={seed!r}: a seed is an int or a text")
    if not isinstance(rbac, bool):
        raise TypeError(f"rbac={rbac!r}: access is checked (True) or not (False)")
    if not (stepped is None or isinstance(stepped, bool)):
        raise TypeError(f"stepped={stepped!r}: True, False, or None (in sync tests, not in async ones)")
    if not isinstance(wall_clock, bool) and not all(hasattr(wall_clock, name) for name in _WALL_CLOCK):
        raise TypeError(f"wall_clock={wall_clock!r}: everybody's clock is the cluster's (True) or not (False)")
    if transport not in ("direct", "memory", "tcp"):
        raise ValueError(f"transport={transport!r}: operators are reached 'direct', over 'memory' or over 'tcp'")
    _check_numbers(history_window, patience)
    _check_version(version)
    if isinstance(controllers, str) or not isinstance(controllers, Sequence):
        raise TypeError(f"controllers={controllers!r}: a list of names")
    if controllers:
        raise ValueError(f"controllers={list(controllers)!r}: this release has no built-in controllers")


def _check_numbers(history_window: object, patience: object) -> None:
    if isinstance(history_window, bool) or not isinstance(history_window, int):
        raise TypeError(f"history_window={history_window!r}: a number of changes, as an int")
    if history_window < 1:
        raise ValueError(f"history_window={history_window}: watches need at least one change to read")
    if isinstance(patience, bool) or not isinstance(patience, int | float):
        raise TypeError(f"patience={patience!r}: real seconds, as a number")
    if not patience > 0:
        raise ValueError(f"patience={patience}: threads need some time to come back")


def _check_version(version: object) -> None:
    if version is not None:
        if not isinstance(version, str):
            raise TypeError(f"version={version!r}: a Kubernetes version is a text, like version={str(version)!r}")
        bootstrap.version_of(version)


_WALL_CLOCK = tuple(name for name in vars(WallClock) if not name.startswith("_"))


def moment_of(moment: datetime | str) -> datetime:
    """The moment that a datetime or an ISO text is. Raises TypeError, ValueError."""
    if isinstance(moment, str):
        try:
            return datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError(f"advance_to({moment!r}): that is no ISO time, like '2026-01-01T12:00:00Z'") from None
    if not isinstance(moment, datetime):
        raise TypeError(f"advance_to({moment!r}): it takes an aware datetime, or an ISO text")
    return moment


def seconds_of(name: str, duration: Duration) -> float:
    """An option of an operator that is a length of time. Raises TypeError, ValueError naming it."""
    try:
        return microseconds(duration) / 1_000_000
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}={duration!r}: {error}") from None


# --- objects -------------------------------------------------------------------------------------------------------


def written(caller: str, value: Any) -> Object:
    """The JSON object of a mapping, or of a model of the official client, that a test writes.

    Raises TypeError, ValueError that say what it is instead, or which of its values JSON cannot hold.
    """
    if value is None or isinstance(value, str | bytes | list | tuple | set | type):
        raise TypeError(
            f"{caller}() takes an object, as a dict or as a model of the official client, not {_named(value)}"
            + (": apply() takes several" if isinstance(value, list | tuple) and caller != "apply" else "")
            + (": apply() takes files" if isinstance(value, str) and caller != "apply" else "")
        )
    check_values(caller, value)
    try:
        found = as_object(value)
    except TypeError as error:
        raise TypeError(
            f"{caller}() takes an object, as a dict or as a model of the official client: {error}"
        ) from None
    for field in ("apiVersion", "kind"):
        if not isinstance(found.get(field), str) or not found[field]:
            raise ValueError(f"{caller}(): the object has no {field} (it has {', '.join(found) or 'no fields'})")
    if not isinstance(found.get("metadata") or {}, dict):
        raise TypeError(f"{caller}(): metadata of a {found['kind']} is a map, not {_named(found['metadata'])}")
    return found


def check_values(caller: str, value: Any) -> None:
    """Raises TypeError naming the path of a value that JSON cannot hold."""
    if problem := next(_unholdable(value, ""), None):
        raise TypeError(f"{caller}(): {problem}")


def _unholdable(value: Any, path: str) -> Iterator[str]:
    """What JSON cannot hold, each with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                yield f"the key {key!r} of {path or 'the object'} is no text: JSON has only texts as keys"
            yield from _unholdable(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _unholdable(item, f"{path}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{path}={value!r}: JSON has no such number"
    elif isinstance(value, bytes):
        yield f"{path} is bytes: give it as text (the data of a Secret in base64)"
    elif (
        isinstance(value, set | frozenset | complex | type | timedelta) or inspect.isgenerator(value) or callable(value)
    ):
        yield f"{path} is {_named(value)}: JSON cannot hold that"


def taken_apart(obj: Object) -> Sequence[Object]:
    """The objects of a List, or the one that is none."""
    items, kind = obj.get("items"), obj["kind"]
    if not (kind.endswith("List") and isinstance(items, list)):
        return [obj]
    named = {"apiVersion": obj["apiVersion"], "kind": kind.removesuffix("List")} if kind != "List" else {}
    return [written("apply", {**named, **item} if isinstance(item, dict) else item) for item in items]


def is_text_of_manifests(source: str) -> bool:
    """Whether this is YAML or JSON itself, and not the path of a file that has it."""
    return "\n" in source or source.lstrip().startswith(("apiVersion:", "kind:", "{", "---"))


def selector(name: str, wanted: Any) -> str:
    """A selector as text; a mapping is joined. Raises TypeError."""
    if isinstance(wanted, Mapping):
        return ",".join(f"{key}={value}" for key, value in wanted.items())
    if wanted is None or isinstance(wanted, str):
        return wanted or ""
    raise TypeError(f"{name}={wanted!r}: a selector is a text ('a=b,c!=d') or a mapping of what is equal")


def check_delete_options(options: Mapping[str, Any]) -> None:
    if unknown := sorted(options.keys() - set(DELETE_OPTIONS)):
        raise TypeError(f"delete() has no option {', '.join(unknown)} (DeleteOptions has {', '.join(DELETE_OPTIONS)})")


# --- questions -----------------------------------------------------------------------------------------------------


def key_of(key: str | Request) -> str:
    """A controller's key. Raises TypeError for what is none, ValueError for a text that can be none."""
    if isinstance(key, Request):
        return str(key)
    if not isinstance(key, str):
        raise TypeError(f"a key is 'namespace/name' ('name' of what is cluster-scoped) or a Request, not {_named(key)}")
    return str(Request.parse(key))


def check_event_fields(wanted: Mapping[str, Any]) -> None:
    if unknown := sorted(wanted.keys() - set(EVENT_FIELDS)):
        raise TypeError(f"events() has no field {', '.join(unknown)} (an Event has {', '.join(EVENT_FIELDS)})")


def check_record_fields(wanted: Mapping[str, Any]) -> None:
    """Raises TypeError for a field that a RequestRecord does not have, or a value that the field never has."""
    if unknown := sorted(wanted.keys() - _RECORD.keys()):
        raise TypeError(f"requests() has no field {', '.join(unknown)} (it has {', '.join(_RECORD)})")
    for name, value in wanted.items():
        if isinstance(value, bool) or not isinstance(value, _RECORD[name]):
            kind = "text" if _RECORD[name] == (str,) else "a number"
            raise TypeError(f"requests({name}={value!r}): {name} is {kind}, not {_named(value)}")


# --- trouble -------------------------------------------------------------------------------------------------------


def check_fault(rule: FaultRule, served: Iterable[Resource]) -> None:
    """Whether a fault's resource can be one. Raises ValueError that says what may have been meant."""
    asked = rule.resource
    if set(asked) & set("*?["):
        return
    resources = list(served)
    plurals = {one.plural for one in resources}
    if asked in plurals:
        return
    for one in resources:
        if asked.lower() in (one.kind.lower(), one.singular, one.plural, *one.short_names):
            raise ValueError(f"resource={asked!r}: did you mean {one.plural!r}?")
    plain = asked.partition("/")[0].partition(".")[0]
    if plain != asked:
        raise ValueError(
            f"resource={asked!r}: the plural alone, without group and subresource: did you mean {plain!r}?"
        )
    if not asked or asked != asked.lower():
        raise ValueError(f"resource={asked!r}: that is no plural: did you mean {asked.lower() + 's'!r}?")


def _named(value: Any) -> str:
    return (
        "None"
        if value is None
        else f"a {type(value).__name__}"
        if not isinstance(value, type)
        else f"the class {value.__name__}"
    )
