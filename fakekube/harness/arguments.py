"""Checks the arguments of FakeKube. Errors name the argument, its value, what is accepted and how to fix it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from controllerlib import Request
from controllerlib.client import as_object
from fakekube.apiserver.admission.enablement import DEFAULT, OPTIONAL, enabled_plugins
from fakekube.apiserver.auth.authorizer import MODES, parse_modes, with_node_mode
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.features import RECORDED, RefusedGates, features_of
from fakekube.apiserver.registry.core.service.ranges import BadRange, parse_ranges
from fakekube.apiserver.resource import VERBS, Resource
from fakekube.apiserver.wire import codec
from fakekube.clustersettings import ClusterSettings
from fakekube.controllers.catalogue import select
from fakekube.harness.callbacks import takes_nothing
from fakekube.server import bootstrap
from fakekube.virtualtime import Duration, WallClock
from fakekube.virtualtime.durations import microseconds

Object = dict[str, Any]

# --- FakeKube(...) -------------------------------------------------------------------------------------------------


def check_cluster(settings: ClusterSettings) -> None:
    """Checks the arguments of FakeKube. Raises TypeError, ValueError naming the argument."""
    if isinstance(settings.seed, bool) or not isinstance(settings.seed, int | str):
        raise TypeError(f"seed={settings.seed!r}: pass an int or text")
    if not isinstance(settings.rbac, bool):
        raise TypeError(f"rbac={settings.rbac!r}: pass True to check access, False not to")
    if not isinstance(settings.real_connections, bool):
        raise TypeError(f"real_connections={settings.real_connections!r}: pass True to allow them, False not to")
    if not (settings.stepped is None or isinstance(settings.stepped, bool)):
        raise TypeError(f"stepped={settings.stepped!r}: pass True, False, or None (True in sync tests only)")
    _check_wall_clock(settings.wall_clock)
    if settings.transport not in ("direct", "memory", "tcp"):
        raise ValueError(f"transport={settings.transport!r}: pass 'direct', 'memory' or 'tcp'")
    _check_numbers(settings.history_window, settings.patience)
    _check_version(settings.version)
    _check_feature_gates(settings.feature_gates, settings.version)
    _check_range(settings.service_cluster_ip_range)
    if isinstance(settings.controllers, str) or not isinstance(settings.controllers, Sequence):
        raise TypeError(f"controllers={settings.controllers!r}: pass a list of names")
    if not all(isinstance(name, str) for name in settings.controllers):
        raise TypeError(f"controllers={list(settings.controllers)!r}: names are text")
    try:
        select(settings.controllers)
    except ValueError as problem:
        raise ValueError(f"controllers={list(settings.controllers)!r}: {problem}") from None
    _check_nodes(settings.nodes)


def _check_wall_clock(choice: object) -> None:
    if isinstance(choice, str):
        if choice not in ("freezegun", "time-machine"):
            raise ValueError(f"wall_clock={choice!r}: pass True, False, 'freezegun' or 'time-machine'")
    elif not isinstance(choice, bool) and not all(hasattr(choice, name) for name in _WALL_CLOCK):
        raise TypeError(f"wall_clock={choice!r}: pass True to freeze the wall clock, False not to")


def _check_nodes(nodes: object) -> None:
    if nodes is None:
        return
    if isinstance(nodes, bool) or not isinstance(nodes, int):
        raise TypeError(f"nodes={nodes!r}: pass the number of nodes, and use nodes.add() for others")
    if nodes < 0:
        raise ValueError(f"nodes={nodes}: it must not be negative")


def authorization_mode_of(rbac: bool, mode: str | None, *, kubelets: bool = False) -> str:
    """The authorization mode. Raises TypeError, ValueError.

    `kubelets`: they need the Node authorizer, which `rbac=True` includes then.
    """
    if mode is None:
        mode = "RBAC" if rbac else "AlwaysAllow"
        return with_node_mode(mode) if kubelets else mode
    if not isinstance(mode, str):
        raise TypeError(f"authorization_mode={mode!r}: pass text, like 'Node,RBAC'")
    if rbac:
        raise ValueError(f"authorization_mode={mode!r}: it replaces rbac=True; pass one of them")
    try:
        parse_modes(mode)
    except ValueError as problem:
        raise ValueError(f"authorization_mode={mode!r}: {problem} (it has {', '.join(MODES)})") from None
    return mode


def admission_plugins_of(
    enable: Sequence[str], disable: Sequence[str], controllers: Sequence[str] = ()
) -> frozenset[str]:
    """The enabled admission plugins, with those of `controllers`. Raises TypeError, ValueError."""
    for name, value in (("enable_admission_plugins", enable), ("disable_admission_plugins", disable)):
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise TypeError(f"{name}={value!r}: pass a list of names")
    if controllers:
        from fakekube.controllers.catalogue import admission_plugins

        enable = [*enable, *(plugin for plugin in admission_plugins(controllers) if plugin not in disable)]
    try:
        return enabled_plugins(enable, disable)
    except ValueError as problem:
        raise ValueError(f"{problem} (this server has {', '.join(sorted(DEFAULT | OPTIONAL))})") from None


def _check_feature_gates(states: object, version: str | None) -> None:
    if states is None:
        return
    if not isinstance(states, Mapping) or not all(isinstance(one, bool) for one in states.values()):
        raise TypeError(f'feature_gates={states!r}: pass a dict of names and states, like {{"WatchList": False}}')
    try:
        features_of(bootstrap.version_of(version or RECORDED), states)
    except RefusedGates as problem:
        raise ValueError(f"feature_gates={dict(states)!r}: {problem} (Kubernetes {version or RECORDED})") from None


def _check_numbers(history_window: object, patience: object) -> None:
    if isinstance(history_window, bool) or not isinstance(history_window, int):
        raise TypeError(f"history_window={history_window!r}: pass a number of changes, as an int")
    if history_window < 1:
        raise ValueError(f"history_window={history_window}: it must be at least 1")
    if isinstance(patience, bool) or not isinstance(patience, int | float):
        raise TypeError(f"patience={patience!r}: pass a number of real seconds")
    if not patience > 0:
        raise ValueError(f"patience={patience}: it must be above 0")


def _check_version(version: object) -> None:
    if version is not None:
        if not isinstance(version, str):
            raise TypeError(f"version={version!r}: pass text, like version={str(version)!r}")
        bootstrap.version_of(version)


def _check_range(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"service_cluster_ip_range={text!r}: pass text, like '10.0.0.0/12'")
    try:
        parse_ranges(text)
    except BadRange as problem:
        raise ValueError(f"service_cluster_ip_range={text!r}: {problem}") from None


_WALL_CLOCK = tuple(name for name in vars(WallClock) if not name.startswith("_"))


def moment_of(moment: datetime | str) -> datetime:
    """Parses a datetime or text in ISO format. Raises TypeError, ValueError."""
    if isinstance(moment, str):
        try:
            return datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError(f"advance_to({moment!r}): not in ISO format, like '2026-01-01T12:00:00Z'") from None
    if not isinstance(moment, datetime):
        raise TypeError(f"advance_to({moment!r}): pass an aware datetime, or text in ISO format")
    return moment


def seconds_of(name: str, duration: Duration) -> float:
    """The seconds of an operator's option. Raises TypeError, ValueError naming the option."""
    try:
        return microseconds(duration) / 1_000_000
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}={duration!r}: {error}") from None


# --- objects -------------------------------------------------------------------------------------------------------


def written(caller: str, value: Any) -> Object:
    """The JSON object of a mapping or of a model of the official client.

    Raises TypeError, ValueError naming the type, or the path of a value that JSON cannot represent.
    """
    if value is None or isinstance(value, str | bytes | list | tuple | set | type):
        raise TypeError(
            f"{caller}() takes an object, a dict or a model of the official client, not {_named(value)}"
            + (": apply() takes several" if isinstance(value, list | tuple) and caller != "apply" else "")
            + (": apply() takes files" if isinstance(value, str) and caller != "apply" else "")
        )
    found: Object | None = _plain_copy(value) if isinstance(value, dict) else None
    if found is None:
        check_values(caller, value)
        try:
            found = as_object(value)
        except TypeError as error:
            raise TypeError(f"{caller}() takes an object, a dict or a model of the official client: {error}") from None
    for field in ("apiVersion", "kind"):
        if not isinstance(found.get(field), str) or not found[field]:
            raise ValueError(f"{caller}(): the object has no {field} (it has {', '.join(found) or 'no fields'})")
    if not isinstance(found.get("metadata") or {}, dict):
        raise TypeError(f"{caller}(): metadata of a {found['kind']} must be a mapping, not {_named(found['metadata'])}")
    return found


def check_values(caller: str, value: Any) -> None:
    """Raises TypeError naming the path of a value that JSON cannot represent."""
    if _plain_copy(value) is None and (problem := next(_not_json(value, ""), None)):
        raise TypeError(f"{caller}(): {problem}")


def _plain_copy(value: Any) -> Any:
    """A deep copy of a value that is equal to what JSON represents it as; None for others."""
    try:
        copy = codec.copied(value)
    except TypeError:
        return None
    return copy if copy == value else None


def _not_json(value: Any, path: str) -> Iterator[str]:
    """A message for each value that JSON cannot represent, with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                yield f"the key {key!r} of {path or 'the object'} is not text: keys of JSON objects are text"
            yield from _not_json(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _not_json(item, f"{path}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{path}={value!r}: JSON cannot represent this number"
    elif isinstance(value, bytes):
        yield f"{path} is bytes: pass text (the data of a Secret in base64)"
    elif (
        isinstance(value, set | frozenset | complex | type | timedelta) or inspect.isgenerator(value) or callable(value)
    ):
        yield f"{path} is {_named(value)}: JSON cannot represent it"


def items_of(obj: Object) -> Sequence[Object]:
    """The items of a List, or the object itself."""
    items, kind = obj.get("items"), obj["kind"]
    if not (kind.endswith("List") and isinstance(items, list)):
        return [obj]
    named = {"apiVersion": obj["apiVersion"], "kind": kind.removesuffix("List")} if kind != "List" else {}
    return [written("apply", {**named, **item} if isinstance(item, dict) else item) for item in items]


def is_text_of_manifests(source: str) -> bool:
    """Whether this is YAML or JSON, and not the path of a file."""
    return "\n" in source or source.lstrip().startswith(("apiVersion:", "kind:", "{", "---"))


def selector(name: str, wanted: Any) -> str:
    """A selector as text, also from a mapping. Raises TypeError."""
    if isinstance(wanted, Mapping):
        return ",".join(f"{key}={value}" for key, value in wanted.items())
    if wanted is None or isinstance(wanted, str):
        return wanted or ""
    raise TypeError(f"{name}={wanted!r}: pass text ('a=b,c!=d') or a mapping of equal values")


# --- keys and faults -------------------------------------------------------------------------------------------------


def key_of(key: str | Request) -> str:
    """A controller's key as text. Raises TypeError, ValueError if it cannot be a key."""
    if isinstance(key, Request):
        return str(key)
    if not isinstance(key, str):
        raise TypeError(f"key={key!r}: pass 'namespace/name' ('name' for cluster-scoped objects) or a Request")
    return str(Request.parse(key))


def in_seconds(rule: Any) -> Any:
    """The arguments of a fault with delays in seconds. Raises TypeError, ValueError naming the argument."""
    delays = {name: rule[name] for name in ("delay", "body_delay", "event_delay") if name in rule}
    texts = {name: value for name, value in delays.items() if isinstance(value, str | timedelta)}
    return {**rule, **{name: seconds_of(name, value) for name, value in texts.items()}}


def check_fault(rule: FaultRule, served: Iterable[Resource]) -> None:
    """Checks the callable and the resource of a fault. Raises TypeError, ValueError with a suggestion."""
    if rule.before is not None and not takes_nothing(rule.before):
        raise TypeError(f"before={rule.before!r}: it is called without arguments, like `before=lambda: ...`")
    check_resource(rule.resource, list(served))


def check_resource(asked: str, resources: Sequence[Resource]) -> None:
    """Checks the plural of a resource, or a shell pattern. Raises ValueError, with a suggestion."""
    if set(asked) & set("*?[") or any(asked == one.plural for one in resources):
        return
    for one in resources:
        if asked.lower() in (one.kind.lower(), one.singular, one.plural, *one.short_names):
            raise ValueError(f"resource={asked!r}: did you mean {one.plural!r}?")
    plain = asked.partition("/")[0].partition(".")[0]
    if plain != asked:
        raise ValueError(
            f"resource={asked!r}: pass the plural without group and subresource, which subresource= selects: did you "
            f"mean {plain!r}?"
        )
    if not asked or asked != asked.lower():
        raise ValueError(f"resource={asked!r}: pass the plural: did you mean {asked.lower() + 's'!r}?")


def check_requests(wanted: Mapping[str, Any], served: Iterable[Resource], seen: Callable[[str], bool]) -> None:
    """Checks the verb and the resource of requests that a test looks for. Raises ValueError, with a suggestion.

    `seen`: whether there was a request for this resource. Without one, a plural that is like that of a served resource
    is a mistake.
    """
    verb, resource = wanted.get("verb"), wanted.get("resource")
    verbs = VERBS if resource else (*VERBS, *_METHODS)
    if verb is not None and not any(fnmatchcase(one, verb) for one in verbs):
        near = _METHODS.get(verb.lower()) or next(iter(get_close_matches(verb.lower(), VERBS, cutoff=0.5)), "")
        raise ValueError(f"verb={verb!r} matches no verb of the API: {_did_you_mean(near)}{', '.join(VERBS)}")
    if not resource:  # "": requests for no resource
        return
    resources = list(served)
    check_resource(resource, resources)
    plurals = {one.plural for one in resources}
    if resource in plurals or set(resource) & set("*?[") or seen(resource):
        return
    if near := next(iter(get_close_matches(resource, plurals, cutoff=0.85)), ""):
        raise ValueError(f"resource={resource!r}: the cluster does not have it: did you mean {near!r}?")


def _did_you_mean(near: str) -> str:
    return f"did you mean {near!r}? It has " if near else ""


#: The verbs of requests for no resource that are no verbs of resources, and those of resources that they stand for.
_METHODS = {"post": "create", "put": "update", "head": "get", "options": ""}


def _named(value: Any) -> str:
    return (
        "None"
        if value is None
        else f"a {type(value).__name__}"
        if not isinstance(value, type)
        else f"the class {value.__name__}"
    )
