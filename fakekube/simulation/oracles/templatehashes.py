"""The hashes of pod templates: what a competing writer has set changes them, and with them names and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fakekube.simulation.observation import Commit, Observation
from fakekube.simulation.racemark import has_mark

#: The label that a ReplicaSet and its pods have.
_LABEL = "pod-template-hash"


def with_usual_hashes(reference: Observation, run: Observation) -> Observation:
    """The run with the hashes of the reference for templates that contain the mark of a competing writer."""
    usual: dict[tuple[str, Any], str] = {_owner(one): _hash(one) for one in _replica_sets(reference)}
    swaps = {
        _hash(one): usual[_owner(one)]
        for one in _replica_sets(run)
        if has_mark((one.after or {}).get("spec")) and _owner(one) in usual
    }
    if not swaps:
        return run
    return replace(
        run,
        final={_swapped(target, swaps): _swapped(obj, swaps) for target, obj in run.final.items()},
        commits=[
            replace(one, anchor=replace(one.anchor, target=_swapped(one.anchor.target, swaps))) for one in run.commits
        ],
    )


def _replica_sets(run: Observation) -> Iterator[Commit]:
    return (one for one in run.commits if one.anchor.verb == "create" and _hash(one))


def _hash(commit: Commit) -> str:
    labels = ((commit.after or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(_LABEL, "")) if commit.kind in ("rs", "replicaset") else ""


def _owner(commit: Commit) -> tuple[str, Any]:
    owners = ((commit.after or {}).get("metadata") or {}).get("ownerReferences") or [{}]
    return commit.namespace, owners[0].get("name")


def _swapped(value: Any, swaps: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for found, usual in swaps.items():
            value = value.replace(found, usual)
        return value
    if isinstance(value, Mapping):
        return {name: _swapped(one, swaps) for name, one in value.items()}
    return [_swapped(one, swaps) for one in value] if isinstance(value, list | tuple) else value
