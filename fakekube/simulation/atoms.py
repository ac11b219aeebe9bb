"""Fault atoms: the faults that a plan combines, each anchored at state changes, and their text.

The text of an atom is its name and the form with which its class is declared: `lost(504)@create cm/a#1`. In place of
the end of an atom, `reconcile` is the end of the next reconcile, and `rest` the next time that the cluster is
quiescent. What waits for an end ends after LONGEST seconds at the latest; what waits for `rest` after LAG seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform
from urllib.parse import unquote

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

#: The values of `how`, by the name of the atom.
_CHOICES = {"lost": LOSSES, "race": RACES}


T = TypeVar("T")

#: The class of each atom and the form of its text, by name.
_FORMS: dict[str, tuple[type[Any], str]] = {}


@dataclass_transform(frozen_default=True)
def _atom(form: str = "", **others: str) -> Callable[[type[T]], type[T]]:
    """Declare an atom: a frozen dataclass whose text is its name and `form`.

    `others`: forms by names of their own, each for atoms that have all of its fields.
    """

    def declared(cls: Any) -> Any:
        def text(self: Any) -> str:
            for name, one in others.items():
                if all(getattr(self, field) is not None for field in _FIELD.findall(one)):
                    return _filled(self, name, one)
            return _filled(self, cls.name, form)

        cls.__str__ = text
        made = dataclass(frozen=True, slots=True)(cls)
        _FORMS.update({name: (made, one) for name, one in {cls.name: form, **others}.items()})
        return made

    return declared


_FIELD = re.compile(r"{(\w+)}")


def _filled(atom: object, name: str, form: str) -> str:
    return name + _FIELD.sub(lambda found: str(getattr(atom, found[1])), form)


@_atom("@{at}", down="(until={until})@{at}")
class Crash:
    """The operator dies after the write is committed; a new incarnation starts at once, or at `until`."""

    name: ClassVar[str] = "crash"
    at: Anchor
    until: Until | None = None


@_atom("({how})@{at}")
class Lost:
    """The write is committed, but the client gets 504 Timeout or a reset connection."""

    name: ClassVar[str] = "lost"
    at: Anchor
    how: str = "504"


@_atom("({kind}, {since}..{until})")
class Hold:
    """A watch of a kind delivers nothing, beginning with the event of `since`, until `until`."""

    name: ClassVar[str] = "hold"
    kind: str
    since: Anchor
    until: Until


@_atom("({kind}, {since}..{until})")
class Gap:
    """The watches of a kind are closed at `since`; at `until` they must list again, as their history is compacted."""

    name: ClassVar[str] = "gap"
    kind: str
    since: Anchor
    until: Until


@_atom("({kind}, at={at}, when={when})")
class Stale:
    """The operator restarts after `when`, and its first list of a kind is the state right after `at`."""

    name: ClassVar[str] = "stale"
    kind: str
    at: Anchor
    when: Anchor


@_atom("({code}, {times})@{at}")
class Failure:
    """The request that would make the write fails with an HTTP code, `times` times, and changes nothing."""

    name: ClassVar[str] = "error"
    at: Anchor
    code: int = 503
    times: int = 1


@_atom("({how})@{at}")
class Race:
    """Another client writes the object right before the write would be committed."""

    name: ClassVar[str] = "race"
    at: Anchor
    how: str = "annotate"


@_atom("(until={until})@{at}")
class Late:
    """The answer of the write, or of a read, comes when `until` has happened; watches go on."""

    name: ClassVar[str] = "late"
    at: Anchor
    until: Until


@_atom("(until={until})@{at}")
class Pause:
    """The operator is frozen after the write, as by SIGSTOP, until `until`."""

    name: ClassVar[str] = "pause"
    at: Anchor
    until: Until


@_atom("@{at}")
class Zombie:
    """The leader is frozen before the write until another replica leads, and then writes."""

    name: ClassVar[str] = "zombie"
    at: Anchor


@_atom("(timeout)@{at}")
class Hook:
    """The webhooks that the write calls time out, once."""

    name: ClassVar[str] = "hook"
    at: Anchor


@_atom("({seconds})@{at}")
class Jump:
    """The clock jumps ahead by `seconds` after the state change."""

    name: ClassVar[str] = "jump"
    at: Anchor
    seconds: int = 60


@_atom()
class Dup:
    """Every object is reconciled once more each time that the test has waited, as by a resync."""

    name: ClassVar[str] = "dup"


@_atom()
class Order:
    """Some watch events and requests of operators are late by milliseconds; which ones is drawn from the seed."""

    name: ClassVar[str] = "order"


@_atom("(until={until})@{at}")
class Surge:
    """A second replica of the operator starts after the write, as in rolling updates; the first one dies at `until`."""

    name: ClassVar[str] = "surge"
    at: Anchor
    until: Until


@_atom("@{at}")
class Upgrade:
    """The old release of the operator runs until the write is committed; then it is killed, and the new one starts."""

    name: ClassVar[str] = "upgrade"
    at: Anchor


@_atom("@{at}")
class Downgrade:
    """The new release of the operator runs until the write is committed; then it is killed, and the old one starts."""

    name: ClassVar[str] = "downgrade"
    at: Anchor


@_atom()
class Old:
    """The old release of the operator runs instead of the new one."""

    name: ClassVar[str] = "old"


@_atom()
class Fresh:
    """What the test writes to its objects is folded into their creation: a new cluster is given the last spec (O8)."""

    name: ClassVar[str] = "fresh"


@_atom()
class Rollback:
    """The last change that the test makes of an object is taken back when it is over (O9)."""

    name: ClassVar[str] = "rollback"


@_atom("({pod})@{at}")
class Evict:
    """A pod is evicted after the write, as soon as its disruption budget allows it."""

    name: ClassVar[str] = "evict"
    pod: str
    at: Anchor


@_atom("({pod})@{at}")
class Preempt:
    """A pod makes room for one of a higher priority, which ends at once."""

    name: ClassVar[str] = "preempt"
    pod: str
    at: Anchor


@_atom("({pod}, {seconds})@{at}")
class Drain:
    """The node of a pod is cordoned and its pods are evicted; after so many seconds it is uncordoned."""

    name: ClassVar[str] = "drain"
    pod: str
    seconds: int
    at: Anchor


@_atom("({pod}, {seconds})@{at}")
class Lose:
    """The node of a pod stops answering for so many seconds."""

    name: ClassVar[str] = "lose"
    pod: str
    seconds: int
    at: Anchor


NodeFault = Evict | Preempt | Drain | Lose
"""Atoms that take a pod from its node. `pod`: its target, `pod/web-*`; the first one of several."""


@_atom("({target}, {path}={value})")
class SpecChange:
    """After the test, a field of an object is changed, as `store/a, spec.size=3`; `value` is JSON, or empty."""

    name: ClassVar[str] = "change"
    target: str
    path: str
    value: str


Atom = (
    Crash | Lost | Hold | Gap | Stale | Failure | Race | Late | Pause | Zombie | Hook | Jump | Surge | Upgrade
    | Downgrade | Evict | Preempt | Drain | Lose | Dup | Order | Fresh | Rollback | Old | SpecChange
)  # fmt: skip

Unanchored = Dup | Order | Fresh | Rollback | Old
"""Atoms that concern the whole run."""

#: The names of faults that a marker selects; `down` belongs to `crash`.
FAULTS = (
    *("crash", "lost", "hold", "gap", "stale", "error", "race", "late", "pause", "zombie", "hook", "jump", "dup"),
    *("order", "upgrade", "downgrade", "evict", "preempt", "drain", "lose", "fresh", "rollback"),
)

#: Faults that only a marker which names them selects: they concern operators that are deployed in one way.
OPT_IN = ("surge",)

#: The arguments of forms with two fields in one argument, by what is between these.
_EXPECTED = {"..": "(KIND, E..E2)", "=": "(OBJECT, PATH=VALUE)"}

_ATOM = re.compile(r"(?P<name>[a-z]+)(?:\((?P<arguments>.*?)\))?(?:@(?P<anchor>.+))?", re.S)


def parse_atom(text: str) -> Atom:
    """The atom of a text. Raises ValueError naming what is wrong."""
    found = _ATOM.fullmatch(text.strip())
    if found is None or found["name"] not in _FORMS:
        raise ValueError(f"atom {text!r}: expected one of {', '.join(_FORMS)}")
    kind, form = _FORMS[found["name"]]
    arguments = _split(found["arguments"] or "")
    try:
        if not form and (arguments or found["anchor"]):
            raise ValueError("it has neither arguments nor an anchor")
        values = _values(form, arguments)
        if form.endswith("@{at}"):
            values["at"] = found["anchor"] or ""
        made: Atom = kind(**{name: _read(kind.name, name, value) for name, value in values.items()})
    except (TypeError, ValueError) as error:
        raise ValueError(f"atom {text!r}: {error}") from None
    return made


def _split(text: str) -> list[str]:
    """The arguments; a comma between braces belongs to the fields of an anchor."""
    return [part.strip() for part in re.split(r",(?![^{]*\})", text) if part.strip()]


def _values(form: str, arguments: Sequence[str]) -> dict[str, str]:
    """The texts of the fields that a form has arguments for. One that is left out has its default."""
    found = {}
    for number, part in enumerate(_split(form.partition("@")[0].strip("()"))):
        names = _FIELD.findall(part)
        if len(names) == 2:
            between = part.partition("}")[2].partition("{")[0]
            if len(arguments) != 2 or between not in arguments[1]:
                raise ValueError(f"expected {_EXPECTED[between]}")
            found[names[0]], _, found[names[1]] = arguments[1].partition(between)
        elif names and "=" in part:
            found[names[0]] = _named(arguments, names[0])
        elif names and number < len(arguments):
            found[names[0]] = arguments[number]
    return found


def _named(arguments: Sequence[str], name: str) -> str:
    for one in arguments:
        if one.startswith(f"{name}="):
            return one.removeprefix(f"{name}=")
    raise ValueError(f"the argument {name}= is missing")


def _read(atom: str, name: str, text: str) -> object:
    """The value of a field."""
    if name == "until":
        return until_of(text)
    if name in ("at", "since", "when"):
        if not text:
            raise ValueError("an anchor is missing: @VERB KIND/NAME#OCCURRENCE")
        return parse_anchor(text)
    if name == "how" and text not in (choices := _CHOICES[atom]):
        raise ValueError(f"{text!r} is none of {', '.join(choices)}")
    if name == "value" and text:
        json.loads(unquote(text))
    return int(text) if name in ("code", "times", "seconds") else text


def until_of(text: str) -> Until:
    """When an atom ends: `reconcile`, `rest` or an anchor. Raises ValueError."""
    text = text.strip()
    if text == "reconcile":
        return "reconcile"
    if text == "rest":
        return "rest"
    return parse_anchor(text)
