"""The hooks of detectors: which ones have them, and in which order they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeVar, cast

from fakekube.harness.detectors.detector import Detector
from fakekube.harness.detectors.knowndetectors import KNOWN

T = TypeVar("T")


def hooks_of(detectors: Iterable[Detector], name: str) -> tuple[Callable[..., None], ...]:
    """The methods of this name, of the detectors that have it."""
    having = _having(name)
    return tuple([getattr(one, name) for one in detectors if type(one) in having])


def hooks_by(detectors: Iterable[Detector], name: str, attribute: str) -> dict[str, tuple[Callable[..., None], ...]]:
    """The methods of this name, by each of what their detectors name in an attribute; of detectors that have both."""
    found: dict[str, tuple[Callable[..., None], ...]] = {}
    having = _having(name) & _having(attribute)
    for detector in [one for one in detectors if type(one) in having]:
        for one in getattr(detector, attribute):
            found[one] = (*found.get(one, ()), getattr(detector, name))
    return found


@cache
def _having(name: str) -> frozenset[type]:
    """The known detectors that have a hook, or an attribute."""
    return frozenset({cast(type, one) for one in KNOWN if hasattr(one, name)})


def with_hook(
    detectors: Sequence[Detector], hooks: tuple[Callable[..., None], ...], added: Callable[..., None]
) -> tuple[Callable[..., None], ...]:
    """The hooks with this one, in the order of their detectors: those that raise come last."""
    if added in hooks:
        return hooks
    return tuple(sorted((*hooks, added), key=lambda hook: detectors.index(hook.__self__)))  # type: ignore[attr-defined]


def each(listeners: Sequence[Callable[[T], None]]) -> Callable[[T], None]:
    """Calls all of them."""

    def call(value: T) -> None:
        for one in listeners:
            one(value)

    return call
