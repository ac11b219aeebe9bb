"""Names with a random part that operators make themselves: where runs are compared they are `*`, as generated names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from fakekube.simulation.anchor import numbered
from fakekube.simulation.observation import Observation
from fakekube.simulation.statemask import is_compared

Object = Mapping[str, Any]

#: What separates the parts of a name; the random part is as long as the parts are that differ.
_SEPARATORS = "-._:"


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The names of the objects of one kind in one namespace: `group` is their target up to the name."""

    group: str
    names: re.Pattern[str]
    text: str

    def matches(self, group: str, name: str) -> bool:
        """Whether it is a name of this pattern."""
        return self.group == group and self.names.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class RandomNames:
    """The names of two reference runs under different seeds that have another random part in each.

    `known`: the targets that both runs have, whose names are not random.
    """

    patterns: tuple[_Pattern, ...] = ()
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, first: Observation, second: Observation) -> RandomNames:
        """Compare what was created in two reference runs, in the order of creation."""
        before, after = _targets(first), _targets(second)
        known = frozenset(before) & frozenset(after)
        groups: dict[str, tuple[list[str], list[str]]] = {}
        for side, targets in enumerate((before, after)):
            for target in targets:
                if target not in known:
                    group, _, name = target.rpartition("/")
                    groups.setdefault(group, ([], []))[side].append(name)
        found = (
            pattern
            for group, (names, others) in groups.items()
            for name, other in zip(names, others, strict=False)
            if (pattern := _pattern(group, name, other)) is not None
        )
        return cls(tuple(dict.fromkeys(found)), known)

    def general(self, target: str) -> str:
        """The target with `*` in place of the random part of its name, and without the number of a generated name."""
        if (found := self._general(target)) is not None:
            return found
        kind, slash, rest = target.partition("/")
        owner, generated, _ = rest.rpartition("-*")
        if kind == "pod" and generated and (found := self._general(f"rs{slash}{owner}")) is not None:
            return f"{kind}{found.removeprefix('rs')}{generated}"
        return target

    def _general(self, target: str) -> str | None:
        """The general target of a name that matches a pattern."""
        group, _, name = target.rpartition("/")
        if target in self.known:
            return None
        return next((f"{group}/{one.text}" for one in self.patterns if one.matches(group, name)), None)

    def applied(self, run: Observation) -> Observation:
        """The run with general targets."""
        if not self.patterns:
            return run
        final: dict[str, Object] = {}
        for target, obj in run.final.items():
            general = self.general(target)
            if general != target:
                general = numbered(general, final)
            final[general] = obj
        commits = [
            one
            if (target := self.general(one.anchor.target)) == one.anchor.target
            else replace(one, anchor=replace(one.anchor, target=target))
            for one in run.commits
        ]
        return replace(run, final=final, commits=commits)


def _targets(run: Observation) -> Sequence[str]:
    """What was created, in order, and what is there at the end."""
    return list(dict.fromkeys([*_created(run), *(one for one in run.final if is_compared(one) and "*" not in one)]))


def _created(run: Observation) -> Iterator[str]:
    return (
        one.anchor.target
        for one in run.commits
        if one.anchor.verb == "create" and is_compared(one.kind) and "*" not in one.anchor.target
    )


def _pattern(group: str, name: str, other: str) -> _Pattern | None:
    """What two names have in common at both ends, up to a separator; None if nothing differs between the ends."""
    head = _head(name, other)
    tail = _head(name[len(head) :][::-1], other[len(head) :][::-1])[::-1]
    middles = [one[len(head) : len(one) - len(tail)] for one in (name, other)]
    if not all(middles):
        return None
    characters = "[0-9A-Za-z]" if all(one.isalnum() for one in middles) else r"[^/*]"
    lengths = {len(one) for one in middles}
    is_hash = group.partition("/")[0] in ("rs", "replicaset")  # of the template: mostly of 10 letters, some of fewer
    times = f"{{{lengths.pop()}}}" if len(lengths) == 1 and not is_hash else "+"
    names = re.compile(f"{re.escape(head)}{characters}{times}{re.escape(tail)}")
    return _Pattern(group, names, f"{head}*{tail}")


def _head(name: str, other: str) -> str:
    """The common beginning, up to its last separator."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
    return name[: max(name.rfind(one, 0, common) for one in _SEPARATORS) + 1]
