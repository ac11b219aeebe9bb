"""O6: nothing is left of an owner that is gone: no child, no finalizer, no item of an external API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.statemask import Mask, is_compared

Object = Mapping[str, Any]


def leaks(
    reference: Observation, run: Observation, mask: Mask, owner_labels: Sequence[str] = ()
) -> Iterator[Violation]:
    """O6: children, finalizers and external items whose owner is gone, which the reference does not have.

    `owner_labels`: labels whose value is the name of the owner.
    """
    yield from orphans(reference, run, owner_labels)
    yield from _external(reference, run, mask)


def orphans(reference: Observation, run: Observation, owner_labels: Sequence[str] = ()) -> Iterator[Violation]:
    """O6 without external items."""
    known = {(target, text) for target, text in _leaks(reference, owner_labels)}
    for target, text in _leaks(run, owner_labels):
        if (target, text) not in known:
            yield Violation("O6", target, text)


def _external(reference: Observation, run: Observation, mask: Mask) -> Iterator[Violation]:
    """Items of external APIs that the reference does not have at the end."""
    usual = mask.items(reference.external)
    known = {mask.external(one.anchor.target) for one in reference.commits}
    for target, times in mask.items(run.external).items():
        if times > max(usual[target], 1):
            yield Violation("O6", target, f"is there {times} times at the end (in the reference {usual[target]})")
        elif times > usual[target]:
            what = "has removed it" if target in known else "does not make it"
            yield Violation("O6", target, f"is left at the end (the reference {what})")


def _leaks(run: Observation, owner_labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    uids = {(obj.get("metadata") or {}).get("uid") for obj in run.final.values()}
    names = {(obj.get("metadata") or {}).get("name") for obj in run.final.values()}
    for target, obj in run.final.items():
        if not is_compared(target):
            continue
        meta = obj.get("metadata") or {}
        for owner in meta.get("ownerReferences") or ():
            if owner.get("uid") not in uids:
                yield target, f"has an owner that is gone: {owner.get('kind')} {owner.get('name')}"
        for label in owner_labels:
            owner = (meta.get("labels") or {}).get(label)
            if owner is not None and owner not in names:
                yield target, f"has an owner that is gone: {label}={owner}"
        if meta.get("deletionTimestamp") and meta.get("finalizers"):
            yield target, f"is being deleted and keeps its finalizers {', '.join(meta['finalizers'])}"
