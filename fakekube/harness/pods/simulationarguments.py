"""Checks the arguments of simulated nodes and pods. Errors name the argument, its value and what is accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

from fakekube.apiserver.kubelet import ExecResult
from fakekube.apiserver.names import dns_subdomain_problems, label_value_problems, qualified_name_problems
from fakekube.apiserver.schema.quantity import InvalidQuantity, value_of
from fakekube.controllers.kubelet.nodestatus import Pressure
from fakekube.controllers.kubelet.stage import Moment, Probe, Stage
from fakekube.controllers.kubelet.stagedocument import check_object
from fakekube.controllers.nodespec import NodeSpec
from fakekube.harness.arguments import is_text_of_manifests
from fakekube.harness.keywords import NodeOptions, check_names
from fakekube.server import manifests

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_spec(name: str, options: Mapping[str, Any]) -> NodeSpec:
    """The node of nodes.add(). Raises TypeError, ValueError naming the argument."""
    check_names("nodes.add", options, NodeOptions)
    if not isinstance(name, str):
        raise TypeError(f"nodes.add({name!r}): pass the name of the node")
    if problems := dns_subdomain_problems(name):
        raise ValueError(f"nodes.add({name!r}): {problems[0]}")
    for option in ("pods", "lease_duration"):
        _check_count(option, options.get(option, 0))
    for option in ("labels", "annotations", "resources"):
        if not isinstance(options.get(option, {}), Mapping):
            raise TypeError(f"{option}={options[option]!r}: pass a mapping")
    for option in ("labels", "annotations"):
        _check_labels(option, options.get(option, {}))
    amounts = {key: options[key] for key in ("cpu", "memory", "storage") if key in options}
    for option, amount in {**amounts, **options.get("resources", {})}.items():
        _check_amount(option, amount)
    return NodeSpec(name, **{**options, "taints": _taints(options.get("taints", ()))})


def _check_count(option: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{option}={value!r}: pass an int")
    if value < 0:
        raise ValueError(f"{option}={value}: it must not be negative")


def _check_labels(option: str, labels: Mapping[Any, Any]) -> None:
    for key, value in labels.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"{option}={ {key: value}!r}: names and values are text")
        problems = qualified_name_problems(key if option == "labels" else key.lower())
        if option == "labels":
            problems = [*problems, *label_value_problems(value)]
        if problems:
            raise ValueError(f"{option}={ {key: value}!r}: {problems[0]}")


def _check_amount(option: str, amount: object) -> None:
    """Raises TypeError, ValueError if `amount` is no quantity."""
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        raise TypeError(f"{option}={amount!r}: pass a number, or a quantity such as '500m' or '64Gi'")
    try:
        negative = value_of(str(amount)) < 0
    except InvalidQuantity:
        raise ValueError(f"{option}={amount!r}: it is no quantity such as '500m' or '64Gi'") from None
    if negative:
        raise ValueError(f"{option}={amount!r}: it must not be negative")


def _taints(taints: object) -> Sequence[dict[str, str]]:
    if isinstance(taints, str | Mapping) or not isinstance(taints, Sequence):
        raise TypeError(f"taints={taints!r}: pass a list, ['key=value:NoSchedule']")
    return [_taint(one) for one in taints]


def _taint(taint: object) -> dict[str, str]:
    """A taint as a mapping, also of text: `key=value:NoSchedule`, `key:NoExecute`."""
    found = _parsed(taint) if isinstance(taint, str) else dict(taint) if isinstance(taint, Mapping) else {}
    if not found.get("key") or found.get("effect") not in EFFECTS:
        raise ValueError(f"taints={taint!r}: expected 'key=value:Effect', with {', '.join(EFFECTS)}")
    return found


def _parsed(taint: str) -> dict[str, str]:
    start, _, effect = taint.rpartition(":")
    key, _, value = start.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def check_pods(namespace: object, name: object) -> None:
    """Checks the arguments of pods(). Raises TypeError."""
    if not (namespace is None or isinstance(namespace, str)):
        raise TypeError(f"namespace={namespace!r}: pass a name, or None for all namespaces")
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: pass the name of a pod, or a shell pattern")


def check_stage(stage: object) -> None:
    """Raises TypeError, ValueError."""
    if not isinstance(stage, Stage):
        raise TypeError(f"add_stages({stage!r}): pass a Stage, YAML, or the path of a YAML file")
    _check_choice("at", stage.at, get_args(Moment))


def check_pressure(kind: object) -> None:
    """Raises ValueError."""
    _check_choice("kind", kind, get_args(Pressure))


def check_probe(probe: object) -> None:
    """Raises ValueError."""
    _check_choice("probe", probe, get_args(Probe))


def _check_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{argument}={value!r}: pass {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}")


def check_exit_code(code: object) -> None:
    """Raises TypeError, ValueError."""
    if isinstance(code, bool) or not isinstance(code, int):
        raise TypeError(f"exit_code={code!r}: pass an int")
    if not 0 <= code <= 255:
        raise ValueError(f"exit_code={code}: pass 0 to 255")


def check_log(text: object) -> None:
    """Raises TypeError."""
    if not (isinstance(text, str | bytes | list | tuple) or callable(text)):
        raise TypeError(f"logs({text!r}): pass text, bytes, a list of (seconds, line), or a function of the request")


def check_command(handler: object) -> None:
    """Raises TypeError."""
    if not (isinstance(handler, str | bytes | ExecResult) or callable(handler)):
        raise TypeError(f"exec({handler!r}): pass an output, an ExecResult, or a function of the request")


def objects_of(effect: object) -> Sequence[dict[str, Any]]:
    """The objects of run(): copies. Raises TypeError, ValueError, ManifestError for what is none."""
    if isinstance(effect, str) and is_text_of_manifests(effect):
        found: Sequence[Any] = manifests.parsed(effect, "run(): the text")
    elif isinstance(effect, str | Path):
        found = manifests.read(effect)
    elif isinstance(effect, Mapping):
        found = [effect]
    elif isinstance(effect, Sequence):
        found = effect
    else:
        raise TypeError(f"run({effect!r}): pass objects, the text or path of manifests, or a function of the pod")
    for one in found:
        try:
            check_object(one)
        except ValueError as problem:
            raise ValueError(f"run(): {problem}") from None
    return [deepcopy(dict(one)) for one in found]
