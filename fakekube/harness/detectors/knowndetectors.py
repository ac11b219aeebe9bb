"""The detectors: every class in `DETECTORS` of a module of a group of `known`, and their default levels.

To add a detector, add a module to a group, its test, and its rows to docs/detectors.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import get_args

from fakekube.harness.detectors import known
from fakekube.harness.detectors.detector import Detector, DetectorClass, Scene
from fakekube.harness.detectors.levels import ALL, Level


def discovered() -> Iterator[DetectorClass]:
    """Import all modules of the groups and yield their detectors."""
    for group in iter_modules(known.__path__, f"{known.__name__}."):
        for module in iter_modules(import_module(group.name).__path__, f"{group.name}."):
            yield from import_module(module.name).DETECTORS


def defaults_of(detectors: Collection[DetectorClass]) -> dict[str, Level]:
    """The default level of each name, in alphabetical order. Raises ValueError if two detectors disagree about one."""
    found: dict[str, Level] = {}
    for one in detectors:
        for name, level in one.levels.items():
            if found.setdefault(name, level) != level:
                raise ValueError(f"{one.__name__}: {name!r} has the default level {found[name]!r} in another detector")
    return dict(sorted(found.items()))


#: Those that raise in a reconcile come last: the others have to know of the reconcile by then.
KNOWN: Sequence[DetectorClass] = sorted(discovered(), key=lambda one: getattr(one, "raises", False))

#: The default level of each detector. An `error` is a defect in every cluster; a `warn` may be intended.
DEFAULTS: Mapping[str, Level] = defaults_of(KNOWN)


def detectors_for(names: Collection[str], scene: Scene) -> Sequence[Detector]:
    """The detectors that report something with one of these names."""
    return [make(scene) for make in _named(frozenset(names))]


@cache
def _named(names: frozenset[str]) -> tuple[DetectorClass, ...]:
    return tuple(make for make in KNOWN if not names.isdisjoint(make.levels))


def levels_of(chosen: Mapping[str, str]) -> dict[str, Level]:
    """The level of each detector. `all` sets every one that is not named itself. Raises TypeError, ValueError."""
    if not isinstance(chosen, Mapping):
        raise TypeError(f"detect={chosen!r}: pass a mapping, like {{'noop-write': 'off'}}")
    for name, level in chosen.items():
        if name != ALL:
            check_name("detect", name)
        if level not in get_args(Level):
            raise ValueError(f"detect={{{name!r}: {level!r}}}: the level is 'error', 'warn' or 'off'")
    levels = dict(DEFAULTS)
    if ALL in chosen:
        levels = dict.fromkeys(DEFAULTS, _level(chosen[ALL]))
    return {**levels, **{name: _level(level) for name, level in chosen.items() if name != ALL}}


def check_name(caller: str, name: object) -> None:
    """Raises ValueError for the name of a detector that does not exist."""
    if name not in DEFAULTS:
        raise ValueError(f"{caller}: there is no detector {name!r} (detectors: {', '.join(DEFAULTS)})")


def _level(text: str) -> Level:
    return {"error": "error", "warn": "warn"}.get(text, "off")  # type: ignore[return-value]
