"""Fault atoms: the faults that a plan combines, each anchored at state changes, and their text.

- `crash@W`: the operator dies after write W is committed, and is started again
- `down(until=E)@W`: it is started again when E has happened
- `lost(504)@W`, `lost(reset)@W`: W is committed, and the client gets an error
- `hold(KIND, E..E2)`: a watch delivers nothing from E on until E2
- `gap(KIND, E..E2)`: a watch is closed, and its history compacted
- `stale(KIND, at=E, when=E2)`: a restart at E2 reads its caches as of E
- `error(CODE, N)@W`: the requests for W fail N times
- `race(OP)@W`: a competing write is committed right before W
- `late(until=E)@W`: the answer of W, or of a read, is late, while watches go on
- `pause(until=E)@W`: the operator is frozen
- `zombie@W`: an old leader writes late
- `hook(timeout)@W`: a webhook times out
- `surge(until=E)@W`: a second replica of the operator starts, and the first one lives on until E
- `jump(SECONDS)@E`: the clock jumps
- `upgrade@W`: the old release of the operator runs until W is committed, then the new one
- `downgrade@W`: the new release runs until W is committed, then the old one
- `old`: the old release runs alone
- `dup`: a resync whenever the test waits
- `order`: watches and requests are late by chance, drawn from the seed
- `fresh`: a new cluster is given the last spec at once
- `rollback`: the last change of the test is taken back at its end

`reconcile` in place of E2 is the end of the next reconcile, `rest` the next time that the cluster is quiescent. What
waits for an end ends after LONGEST seconds at the latest; what waits for `rest` after LAG seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from fakekube.simulation.anchor import Anchor, parse_anchor

Until = Anchor | Literal["reconcile", "rest"]
"""When an atom ends: at a state change, after the next reconcile, or when the cluster is quiescent."""

#: For how many virtual seconds an atom lasts at most. Clients of client-go open a new watch after 5 to 10 minutes
#: (`reflector.go`, defaultMinWatchTimeout), and a kubelet starts a container after at most 5 (MaxContainerBackOff).
LONGEST = 300.0

#: The virtual seconds by which watches are late in a cluster that has no failure.
LAG = 5.0

#: For how many virtual seconds an answer is late at most: half of the limit of kube-apiserver (--request-timeout).
SLOW = 30.0

#: What a competing writer does in `race(OP)`, and the annotation or label that it sets.
RACES, MARK = ("annotate", "label"), "fakekube.dev/race"

#: What a client gets in place of the answer in `lost(...)`.
LOSSES = ("504", "reset")


@dataclass(frozen=True, slots=True)
class Crash:
    """The operator dies after the write is committed; a new incarnation starts at once, or at `until`."""

    name: ClassVar[str] = "crash"
    at: Anchor
    until: Until | None = None

    def __str__(self) -> str:
        return f"crash@{self.at}" if self.until is None else f"down(until={self.until})@{self.at}"


@dataclass(frozen=True, slots=True)
class Lost:
    """The write is committed, but the client gets 504 Timeout or a reset connection."""

    name: ClassVar[str] = "lost"
    at: Anchor
    how: str = "504"

    def __str__(self) -> str:
        return f"lost({self.how})@{self.at}"


@dataclass(frozen=True, slots=True)
class Hold:
    """A watch of a kind delivers nothing, beginning with the event of `since`, until `until`."""

    name: ClassVar[str] = "hold"
    kind: str
    since: Anchor
    until: Until

    def __str__(self) -> str:
        return f"hold({self.kind}, {self.since}..{self.until})"


@dataclass(frozen=True, slots=True)
class Gap:
    """The watches of a kind are closed at `since`; at `until` they must list again, as their history is compacted."""

    name: ClassVar[str] = "gap"
    kind: str
    since: Anchor
    until: Until

    def __str__(self) -> str:
        return f"gap({self.kind}, {self.since}..{self.until})"


@dataclass(frozen=True, slots=True)
class Stale:
    """The operator restarts after `when`, and its first list of a kind is the state right after `at`."""

    name: ClassVar[str] = "stale"
    kind: str
    at: Anchor
    when: Anchor

    def __str__(self) -> str:
        return f"stale({self.kind}, at={self.at}, when={self.when})"


@dataclass(frozen=True, slots=True)
class Failure:
    """The request that would make the write fails with an HTTP code, `times` times, and changes nothing."""

    name: ClassVar[str] = "error"
    at: Anchor
    code: int = 503
    times: int = 1

    def __str__(self) -> str:
        return f"error({self.code}, {self.times})@{self.at}"


@dataclass(frozen=True, slots=True)
class Race:
    """Another client writes the object right before the write would be committed."""

    name: ClassVar[str] = "race"
    at: Anchor
    how: str = "annotate"

    def __str__(self) -> str:
        return f"race({self.how})@{self.at}"


@dataclass(frozen=True, slots=True)
class Late:
    """The answer of the write, or of a read, comes when `until` has happened; watches go on."""

    name: ClassVar[str] = "late"
    at: Anchor
    until: Until

    def __str__(self) -> str:
        return f"late(until={self.until})@{self.at}"


@dataclass(frozen=True, slots=True)
class Pause:
    """The operator is frozen after the write, as by SIGSTOP, until `until`."""

    name: ClassVar[str] = "pause"
    at: Anchor
    until: Until

    def __str__(self) -> str:
        return f"pause(until={self.until})@{self.at}"


@dataclass(frozen=True, slots=True)
class Zombie:
    """The leader is frozen before the write until another replica leads, and then writes."""

    name: ClassVar[str] = "zombie"
    at: Anchor

    def __str__(self) -> str:
        return f"zombie@{self.at}"


@dataclass(frozen=True, slots=True)
class Hook:
    """The webhooks that the write calls time out, once."""

    name: ClassVar[str] = "hook"
    at: Anchor

    def __str__(self) -> str:
        return f"hook(timeout)@{self.at}"


@dataclass(frozen=True, slots=True)
class Jump:
    """The clock jumps ahead by `seconds` after the state change."""

    name: ClassVar[str] = "jump"
    at: Anchor
    seconds: int = 60

    def __str__(self) -> str:
        return f"jump({self.seconds})@{self.at}"


@dataclass(frozen=True, slots=True)
class Dup:
    """Every object is reconciled once more each time that the test has waited, as by a resync."""

    name: ClassVar[str] = "dup"

    def __str__(self) -> str:
        return "dup"


@dataclass(frozen=True, slots=True)
class Order:
    """Some watch events and requests of operators are late by milliseconds; which ones is drawn from the seed."""

    name: ClassVar[str] = "order"

    def __str__(self) -> str:
        return "order"


@dataclass(frozen=True, slots=True)
class Surge:
    """A second replica of the operator starts after the write, as in rolling updates; the first one dies at `until`."""

    name: ClassVar[str] = "surge"
    at: Anchor
    until: Until

    def __str__(self) -> str:
        return f"surge(until={self.until})@{self.at}"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The old release of the operator runs until the write is committed; then it is killed, and the new one starts."""

    name: ClassVar[str] = "upgrade"
    at: Anchor

    def __str__(self) -> str:
        return f"upgrade@{self.at}"


@dataclass(frozen=True, slots=True)
class Downgrade:
    """The new release of the operator runs until the write is committed; then it is killed, and the old one starts."""

    name: ClassVar[str] = "downgrade"
    at: Anchor

    def __str__(self) -> str:
        return f"downgrade@{self.at}"


@dataclass(frozen=True, slots=True)
class Old:
    """The old release of the operator runs instead of the new one."""

    name: ClassVar[str] = "old"

    def __str__(self) -> str:
        return "old"


@dataclass(frozen=True, slots=True)
class Fresh:
    """What the test writes to its objects is folded into their creation: a new cluster is given the last spec (O8)."""

    name: ClassVar[str] = "fresh"

    def __str__(self) -> str:
        return "fresh"


@dataclass(frozen=True, slots=True)
class Rollback:
    """The last change that the test makes of an object is taken back when it is over (O9)."""

    name: ClassVar[str] = "rollback"

    def __str__(self) -> str:
        return "rollback"


Atom = (
    Crash
    | Lost
    | Hold
    | Gap
    | Stale
    | Failure
    | Race
    | Late
    | Pause
    | Zombie
    | Hook
    | Jump
    | Surge
    | Upgrade
    | Downgrade
    | Dup
    | Order
    | Fresh
    | Rollback
    | Old
)

Unanchored = Dup | Order | Fresh | Rollback | Old
"""Atoms that concern the whole run."""

#: The names of faults that a marker selects; `down` belongs to `crash`.
FAULTS = (
    *("crash", "lost", "hold", "gap", "stale", "error", "race", "late", "pause", "zombie", "hook", "jump", "dup"),
    *("order", "upgrade", "downgrade"),
)

#: Faults that only a marker which names them selects: they concern operators that are deployed in one way.
OPT_IN = ("surge",)

_ATOM = re.compile(r"(?P<name>[a-z]+)(?:\((?P<arguments>.*?)\))?(?:@(?P<anchor>.+))?", re.S)


def parse_atom(text: str) -> Atom:
    """The atom of a text. Raises ValueError naming what is wrong."""
    found = _ATOM.fullmatch(text.strip())
    if found is None or found["name"] not in _PARSERS:
        raise ValueError(f"atom {text!r}: expected one of {', '.join(_PARSERS)}")
    arguments = _split(found["arguments"] or "")
    anchor = parse_anchor(found["anchor"]) if found["anchor"] else None
    try:
        return _PARSERS[found["name"]](arguments, anchor)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"atom {text!r}: {error}") from None


def _split(text: str) -> list[str]:
    """The arguments; a comma between braces belongs to the fields of an anchor."""
    return [part.strip() for part in re.split(r",(?![^{]*\})", text) if part.strip()]


def _needed(anchor: Anchor | None) -> Anchor:
    if anchor is None:
        raise ValueError("an anchor is missing: @VERB KIND/NAME#OCCURRENCE")
    return anchor


def until_of(text: str) -> Until:
    """When an atom ends: `reconcile`, `rest` or an anchor. Raises ValueError."""
    text = text.strip()
    if text == "reconcile":
        return "reconcile"
    if text == "rest":
        return "rest"
    return parse_anchor(text)


def _named(arguments: Sequence[str], name: str) -> str:
    for one in arguments:
        if one.startswith(f"{name}="):
            return one.removeprefix(f"{name}=")
    raise ValueError(f"the argument {name}= is missing")


def _choice(arguments: Sequence[str], choices: Sequence[str]) -> str:
    chosen = arguments[0] if arguments else choices[0]
    if chosen not in choices:
        raise ValueError(f"{chosen!r} is none of {', '.join(choices)}")
    return chosen


def _span(arguments: Sequence[str]) -> tuple[str, Anchor, Until]:
    if len(arguments) != 2 or ".." not in arguments[1]:
        raise ValueError("expected (KIND, E..E2)")
    since, _, until = arguments[1].partition("..")
    return arguments[0], parse_anchor(since), until_of(until)


def _alone(atom: Unanchored, arguments: Sequence[str], anchor: Anchor | None) -> Unanchored:
    if arguments or anchor is not None:
        raise ValueError("it has neither arguments nor an anchor")
    return atom


def _failure(arguments: Sequence[str], anchor: Anchor | None) -> Failure:
    code, times = ([*map(int, arguments), 1][:2]) if arguments else (503, 1)
    return Failure(_needed(anchor), code, times)


_PARSERS: dict[str, Callable[[list[str], Anchor | None], Atom]] = {
    "crash": lambda arguments, anchor: Crash(_needed(anchor)),
    "down": lambda arguments, anchor: Crash(_needed(anchor), until_of(_named(arguments, "until"))),
    "lost": lambda arguments, anchor: Lost(_needed(anchor), _choice(arguments, LOSSES)),
    "hold": lambda arguments, anchor: Hold(*_span(arguments)),
    "gap": lambda arguments, anchor: Gap(*_span(arguments)),
    "stale": lambda arguments, anchor: Stale(
        arguments[0], parse_anchor(_named(arguments, "at")), parse_anchor(_named(arguments, "when"))
    ),
    "error": _failure,
    "race": lambda arguments, anchor: Race(_needed(anchor), _choice(arguments, RACES)),
    "late": lambda arguments, anchor: Late(_needed(anchor), until_of(_named(arguments, "until"))),
    "pause": lambda arguments, anchor: Pause(_needed(anchor), until_of(_named(arguments, "until"))),
    "zombie": lambda arguments, anchor: Zombie(_needed(anchor)),
    "hook": lambda arguments, anchor: Hook(_needed(anchor)),
    "jump": lambda arguments, anchor: Jump(_needed(anchor), int(arguments[0])),
    "surge": lambda arguments, anchor: Surge(_needed(anchor), until_of(_named(arguments, "until"))),
    "upgrade": lambda arguments, anchor: Upgrade(_needed(anchor)),
    "downgrade": lambda arguments, anchor: Downgrade(_needed(anchor)),
    "old": lambda arguments, anchor: _alone(Old(), arguments, anchor),
    "dup": lambda arguments, anchor: _alone(Dup(), arguments, anchor),
    "order": lambda arguments, anchor: _alone(Order(), arguments, anchor),
    "fresh": lambda arguments, anchor: _alone(Fresh(), arguments, anchor),
    "rollback": lambda arguments, anchor: _alone(Rollback(), arguments, anchor),
}
