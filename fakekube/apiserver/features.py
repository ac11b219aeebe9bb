"""What the rules of the API depend on: the Kubernetes version, and the feature gates of kube-apiserver.

A rule asks `enabled(gate)` where kube-apiserver has a gate (`utilfeature.DefaultFeatureGate.Enabled`), and
`since(minor)` where the rule came with a version and without a gate. Both answer for the server that answers the
present request, as several servers of different versions can run in one process. Outside of requests they answer for
the default version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache

from fakekube import data
from fakekube.struct import Struct

#: The version of the recordings, which is the default.
RECORDED = "1.36"

ALPHA, BETA, GA, DEPRECATED = "Alpha", "Beta", "GA", "Deprecated"

#: Gates that set all others of a stage.
GROUPS = {"AllAlpha": ALPHA, "AllBeta": BETA}


class UnknownGate(LookupError):
    """No version of kube-apiserver has the gate that a rule asks for."""


class RefusedGates(ValueError):
    """Feature gates that kube-apiserver does not accept, in its words."""


class Gate(Struct, frozen=True):
    """A feature gate in one version: its stage, its default, and whether the default cannot be changed."""

    name: str
    stage: str
    default: bool
    locked: bool = False


class Features(Struct, frozen=True, eq=False):
    """The behaviour of a server: its version (1.`minor`) and the states of the gates of all versions. Equal ones are
    one object."""

    minor: int
    states: Mapping[str, bool]
    gates: tuple[Gate, ...] = ()
    """Those of this version, by name."""


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


@cache
def _known(version: str) -> tuple[Mapping[str, Gate], Mapping[str, bool]]:
    """The gates of a version, and the states of those that it does not have (yet): off before a gate was added; as it
    was at last after it was removed."""
    minor, gates, others = _minor(version), {}, {}
    for name, rows in data.load("feature-gates.json").items():
        reached = [row for row in rows if _minor(row[0]) <= minor]
        if reached and len(reached[-1]) > 1:
            gates[name] = Gate(name, *reached[-1][1:])
        else:
            others[name] = bool(reached) and bool(reached[-2][2])
    return gates, others


def features_of(version: str, states: Mapping[str, bool] | None = None) -> Features:
    """The behaviour of a minor version with some gates set; equal arguments give one object. Raises RefusedGates."""
    return _features(version, tuple(sorted((states or {}).items())))


@lru_cache(maxsize=64)
def _features(version: str, states: tuple[tuple[str, bool], ...]) -> Features:
    gates, others = _known(version)
    asked = dict(states)
    problems = [problem for name, value in states if (problem := _refused(gates, name, value))]
    if problems:
        raise RefusedGates(problems[0])
    found = {**others, **{one.name: one.default for one in gates.values()}}
    for group, stage in GROUPS.items():
        if group in asked:
            found |= {one.name: asked[group] for one in gates.values() if one.stage == stage and not one.locked}
    found |= {name: value for name, value in asked.items() if name not in GROUPS}
    return Features(_minor(version), found, tuple(sorted(gates.values(), key=lambda one: one.name)))


def _refused(gates: Mapping[str, Gate], name: str, value: bool) -> str:
    """Why a gate cannot be set (`featureGate.unsafeSetFromMap`); "": it can."""
    if name in GROUPS:
        return ""
    gate = gates.get(name)
    if gate is None:
        return f"unrecognized feature gate: {name}"
    if gate.locked and gate.default != value:
        shown = str(value).lower()
        return f"cannot set feature gate {name} to {shown}, feature is locked to {str(gate.default).lower()}"
    return ""


def parse_gates(texts: Iterable[str]) -> dict[str, bool]:
    """The gates of `A=true,B=false`. Raises RefusedGates in kube-apiserver's words."""
    return dict(_parsed(texts))


#: The texts that Go's `strconv.ParseBool` accepts.
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _parsed(texts: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for one in (part.strip() for text in texts for part in text.split(",")):
        if not one:
            continue
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals:
            raise RefusedGates(f"missing bool value for {name}")
        if value not in _BOOLEANS:
            why = f'strconv.ParseBool: parsing "{value}": invalid syntax'
            raise RefusedGates(f"invalid value of {name}={value}, err: {why}")
        yield name, _BOOLEANS[value]


_current: ContextVar[Features] = ContextVar("features", default=features_of(RECORDED))  # noqa: B039 - it is immutable


#: Make rules answer for a server; returns the token for `leave`. Every request calls both, so they are not functions of
#: their own.
use = _current.set
leave = _current.reset


#: The behaviour of the server.
current = _current.get


def minor() -> int:
    """The minor version of the server."""
    return _current.get().minor


def since(minor: int) -> bool:
    """Whether the server is of Kubernetes 1.`minor` or later."""
    return _current.get().minor >= minor


def enabled(gate: str) -> bool:
    """Whether a feature gate is on. Raises UnknownGate."""
    try:
        return _current.get().states[gate]
    except KeyError:
        raise UnknownGate(gate) from None
