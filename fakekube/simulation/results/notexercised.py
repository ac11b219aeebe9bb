"""Why an atom of a plan did not take effect: a kind that does not exist, or an anchor that did not occur."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from fakekube.simulation.anchor import EXTERNAL, Anchor
from fakekube.simulation.atoms import Atom
from fakekube.simulation.observation import Observation

#: The fields of atoms that name where they begin.
_BEGINS = ("at", "since", "when")

#: At most so many anchors are listed.
_MOST = 5

#: From which similarity on a text is suggested (0 to 1).
_CLOSE = 0.75


def not_exercised(atom: Atom, run: Observation, kinds: Mapping[str, str]) -> str:
    """A line that names the atom, and why it did not take effect as far as its anchors tell.

    `kinds`: the names of kinds in anchors, by all their names.
    """
    return ": ".join([f"not exercised: {atom}", *list(_reasons(atom, run, kinds))[:1]])


def _reasons(atom: Atom, run: Observation, kinds: Mapping[str, str]) -> Iterator[str]:
    anchors = [one for name in _BEGINS if isinstance(one := getattr(atom, name, None), Anchor)]
    named = [getattr(atom, "kind", ""), *(one.kind for one in anchors)]
    for kind in dict.fromkeys(named):
        if kinds and kind and kind != EXTERNAL and kind not in kinds.values():
            yield f"the cluster has no kind {kind!r}{_suggested(kind, kinds)}"
    changes = [one.anchor for one in run.commits if not one.rest]
    occurred = [*changes, *run.reads, *(anchor for anchor, _ in run.calls)]
    for anchor in anchors:
        if anchor not in occurred:
            yield f"{str(anchor)!r} did not occur; {_of_target(anchor.target, occurred)}"


def _of_target(target: str, occurred: list[Anchor]) -> str:
    """What occurred of an object, or which objects have a similar name."""
    found = [str(one) for one in dict.fromkeys(occurred) if one.target == target]
    if found:
        return f"of {target} there is {', '.join(found[:_MOST])}{', ...' if len(found) > _MOST else ''}"
    return f"there is nothing of {target}{_suggested(target, {one.target: '' for one in occurred})}"


def _suggested(text: str, known: Mapping[str, str]) -> str:
    close = get_close_matches(text, known, 1, _CLOSE)
    return f" (did you mean {close[0]!r}?)" if close else ""
