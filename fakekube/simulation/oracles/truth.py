"""O10: a status is that of the current object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.simulation.observation import Observation, Violation


def status_truth(reference: Observation, run: Observation) -> Iterator[Violation]:
    """O10: observedGeneration is the object's generation at the end where it is in the reference, and never greater."""
    for target, obj in run.final.items():
        seen, generation = _generations(obj)
        if seen is None or generation is None:
            continue
        if seen > generation:
            yield Violation("O10", target, f"observedGeneration {seen} is greater than the generation {generation}")
        elif seen < generation and _is_current(reference.final.get(target)):
            yield Violation("O10", target, f"observedGeneration is {seen} at the end, the generation {generation}")


def ahead(reference: Observation) -> Iterator[Violation]:
    """O10 of the reference: no observedGeneration is greater than the generation."""
    for target, obj in reference.final.items():
        seen, generation = _generations(obj)
        if seen is not None and generation is not None and seen > generation:
            text = f"observedGeneration {seen} is greater than the generation {generation}, without a fault"
            yield Violation("O10", target, text)


def _is_current(obj: Mapping[str, Any] | None) -> bool:
    seen, generation = _generations(obj or {})
    return seen is not None and seen == generation


def _generations(obj: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The observed generation, of the status or of all its conditions, and the object's own."""
    status = obj.get("status")
    generation = (obj.get("metadata") or {}).get("generation")
    if not isinstance(status, Mapping):
        return None, generation
    seen = status.get("observedGeneration")
    return (seen if isinstance(seen, int) else None), generation
