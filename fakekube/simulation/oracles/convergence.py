"""O8 and O9: the state depends on the last spec and not on the way there, and a change can be taken back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.simulation.allocations import Allocations
from fakekube.simulation.intents import last_step, state_before
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.oracles.finalstate import is_garbage
from fakekube.simulation.statemask import HISTORY, Mask, is_compared

Object = Mapping[str, Any]

#: Fields that the cluster chooses, in another order if objects come in another one.
_CHOSEN = re.compile(r"spec\.(nodeName|volumeName)\b|metadata\.annotations\.\S*revision")

#: Fields of a status that tell whether an object is well.
_HEALTH = re.compile(r"status\.(phase|state|ready|health)|status\.conditions\[.*\]\.(status|type)", re.IGNORECASE)


#: What a status says of an object that is well. Whether another word is better or worse is not known.
_GOOD = frozenset(
    {
        *("active", "available", "bound", "complete", "completed", "deployed", "done", "healthy", "installed", "ok"),
        *(
            "online",
            "open",
            "provisioned",
            "ready",
            "running",
            "serving",
            "succeeded",
            "synced",
            "true",
            "up",
            "uptodate",
        ),
    }
)


def _is_good(value: Any) -> bool:
    return str(value).lower().replace("-", "").replace("_", "") in _GOOD


def same_as_new(reference: Observation, run: Observation, mask: Mask) -> Iterator[Violation]:
    """O8: a new cluster that is given the last spec at once has the objects of the reference, with the same content.

    Compared is what operators have made, and the test's own objects, without status, generated names, and kinds that
    keep history (HISTORY).
    """
    targets = _made(reference) | _made(run)
    allocated = mask.allocations(run.final, reference.final)
    for target in [one for one in dict.fromkeys([*reference.final, *run.final]) if one in targets]:
        old, new = reference.final.get(target), run.final.get(target)
        if old is None:
            yield Violation("O8", target, "is absent at the end (a new cluster that is given the last spec has it)")
        elif new is None:
            if is_garbage(old, reference.final):
                continue  # a garbage collector deletes it
            text = "is left at the end (a new cluster that is given the last spec does not have it)"
            yield Violation("O8", target, text)
        else:
            yield from _content(target, old, new, mask, allocated)
    for target in mask.items(reference.external) - mask.items(run.external):
        yield Violation("O8", target, "is left at the end (with the last spec alone it is never made)")


def _made(run: Observation) -> set[str]:
    """What operators and the test have created, and a name of its own."""
    return {
        one.anchor.target
        for one in run.commits
        if one.anchor.verb == "create"
        and (one.by_operator or one.actor == "test")
        and is_compared(one.kind)
        and one.kind not in HISTORY
        and "*" not in one.anchor.target
    }


def _content(target: str, old: Object, new: Object, mask: Mask, allocated: Allocations) -> Iterator[Violation]:
    differing = [
        (path, was, now)
        for path, was, now in mask.differences(target, new, old, allocated)
        if not path.startswith("status") and not _CHOSEN.match(path) and not _counts(path, was, now)
    ]
    if differing:
        shown = "; ".join(f"{path} {now!r}, in a new cluster {was!r}" for path, was, now in differing[:3])
        yield Violation("O8", target, f"{shown} (given the last spec at once)")


def _counts(path: str, was: Any, now: Any) -> bool:
    """Whether an annotation or a label counts something."""
    return path.startswith("metadata.") and all(str(one).isdigit() for one in (was, now))


def recovers(reference: Observation, run: Observation, mask: Mask) -> Iterator[Violation]:
    """O9: when the test's last change is taken back, the objects from before are there again, and well if they were."""
    step = last_step(reference)
    if step is None:
        return
    before = state_before(reference, step.revision)
    targets = _made(reference)
    for target, was in before.items():
        if target not in targets:
            continue
        now = run.final.get(target)
        if now is None:
            yield Violation("O9", target, "is absent after the last change is taken back (it was there before it)")
            continue
        differing = [one for one in mask.differences(target, was, now) if _HEALTH.match(one[0]) and _is_good(one[1])]
        if differing:
            shown = "; ".join(f"{path} {now!r}, before it {old!r}" for path, old, now in differing[:3])
            yield Violation("O9", target, f"{shown} (after the last change is taken back)")
