"""How fast an autoscaler may follow its metrics: stabilization windows and scaling policies.

Source: kubernetes, normalizeDesiredReplicas and normalizeDesiredReplicasWithBehaviors (`podautoscaler/horizontal.go`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from fakekube.struct import Struct, field

#: Seconds in which the highest recommendation counts before replicas are removed
#: (kube-controller-manager: --horizontal-pod-autoscaler-downscale-stabilization).
DOWNSCALE = 300

#: Without a behavior, replicas are at most doubled, or brought to four.
_LIMIT_FACTOR, _LIMIT_MINIMUM = 2, 4

_UP = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_DOWN = "recent recommendations were higher than current one, applying the highest recent recommendation"
_TOO_MANY = "the desired replica count is more than the maximum replica count"
_TOO_FEW = "the desired replica count is less than the minimum replica count"
_UP_LIMIT = "the desired replica count is increasing faster than the maximum scale rate"
_DOWN_LIMIT = "the desired replica count is decreasing faster than the maximum scale rate"
_READY = ("ReadyForNewScale", "recommended size matches current size")
_IN_RANGE = ("DesiredWithinRange", "the desired count is within the acceptable range")

Rules = Mapping[str, Any]
Reason = tuple[str, str]


class Moment(Struct, frozen=True):
    """A number and when it was noted: a recommendation, or by how many replicas the target was scaled."""

    number: int
    time: datetime


class Memory(Struct):
    """What is remembered of one autoscaler."""

    recommendations: list[Moment] = field(default_factory=list)
    scaled_up: list[Moment] = field(default_factory=list)
    scaled_down: list[Moment] = field(default_factory=list)


class Bounds(Struct, frozen=True):
    """The replicas that there are, and those that there may be."""

    current: int
    minimum: int
    maximum: int


class Normalized(Struct, frozen=True):
    """The replicas, why the recommendation was or was not changed, and why it was limited, if `limited`."""

    replicas: int
    able: Reason
    limit: Reason
    limited: bool


def normalize(memory: Memory, bounds: Bounds, desired: int, now: datetime) -> Normalized:
    """The replicas without a behavior: the highest recommendation of the downscale window, at most doubled."""
    cutoff = now - timedelta(seconds=DOWNSCALE)
    recent = [one.number for one in memory.recommendations if one.time >= cutoff]
    stable = max([desired, *recent])
    _remember(memory.recommendations, Moment(desired, now), lambda one: one.time < cutoff)
    able = _READY if stable == desired else ("ScaleDownStabilized", _DOWN)
    limit = max(_LIMIT_FACTOR * bounds.current, _LIMIT_MINIMUM)
    most, reason = (limit, ("ScaleUpLimit", _UP_LIMIT)) if bounds.maximum > limit else (bounds.maximum, _many())
    if stable < bounds.minimum:
        return Normalized(bounds.minimum, able, ("TooFewReplicas", _TOO_FEW), True)
    if stable > most:
        return Normalized(most, able, reason, True)
    return Normalized(stable, able, _IN_RANGE, False)


def normalize_by_behavior(
    memory: Memory, bounds: Bounds, desired: int, behavior: Mapping[str, Rules], now: datetime
) -> Normalized:
    """The replicas by the rules of `spec.behavior`."""
    stable = _stabilized(memory, bounds, desired, behavior, now)
    if stable == desired:
        able = _READY
    else:
        able = ("ScaleUpStabilized", _UP) if desired >= bounds.current else ("ScaleDownStabilized", _DOWN)
    replicas, limit = _limited(memory, bounds, stable, behavior, now)
    return Normalized(replicas, able, limit, replicas != stable)


def note_scaling(memory: Memory, behavior: Mapping[str, Rules] | None, before: int, after: int, now: datetime) -> None:
    """Remember by how many replicas the target was scaled, for the policies of a behavior (storeScaleEvent)."""
    if behavior is None:
        return
    up = after > before
    periods = [policy["periodSeconds"] for policy in behavior["scaleUp" if up else "scaleDown"].get("policies") or ()]
    cutoff = now - timedelta(seconds=max(periods, default=0))
    events = memory.scaled_up if up else memory.scaled_down
    _remember(events, Moment(abs(after - before), now), lambda one: one.time < cutoff)


def _remember(moments: list[Moment], new: Moment, outdated: Callable[[Moment], bool]) -> None:
    """Note a moment in the place of the last outdated one, or else at the end."""
    old = [position for position, one in enumerate(moments) if outdated(one)]
    if old:
        moments[old[-1]] = new
    else:
        moments.append(new)


def _stabilized(memory: Memory, bounds: Bounds, desired: int, behavior: Mapping[str, Rules], now: datetime) -> int:
    """The present replicas, moved into the range of the recommendations of both windows."""
    up, down = (_cutoff(behavior, name, default, now) for name, default in (("scaleUp", 0), ("scaleDown", DOWNSCALE)))
    lowest = min([desired, *(one.number for one in memory.recommendations if one.time > up)])
    highest = max([desired, *(one.number for one in memory.recommendations if one.time > down)])
    _remember(memory.recommendations, Moment(desired, now), lambda one: one.time < up and one.time < down)
    return min(max(bounds.current, lowest), highest)


def _cutoff(behavior: Mapping[str, Rules], name: str, default: int, now: datetime) -> datetime:
    window = (behavior.get(name) or {}).get("stabilizationWindowSeconds")
    return now - timedelta(seconds=default if window is None else window)


def _limited(
    memory: Memory, bounds: Bounds, desired: int, behavior: Mapping[str, Rules], now: datetime
) -> tuple[int, Reason]:
    """The replicas that the policies allow (convertDesiredReplicasWithBehaviorRate)."""
    if desired > bounds.current:
        limit = max(bounds.current, _policy_limit(memory, bounds.current, behavior["scaleUp"], now, up=True))
        if bounds.maximum > limit:
            most, reason = limit, ("ScaleUpLimit", _UP_LIMIT)
        else:
            most, reason = bounds.maximum, _many()
        if desired > most:
            return most, reason
    elif desired < bounds.current:
        limit = min(bounds.current, _policy_limit(memory, bounds.current, behavior["scaleDown"], now, up=False))
        if bounds.minimum < limit:
            least, reason = limit, ("ScaleDownLimit", _DOWN_LIMIT)
        else:
            least, reason = bounds.minimum, ("TooFewReplicas", _TOO_FEW)
        if desired < least:
            return least, reason
    return desired, _IN_RANGE


def _policy_limit(memory: Memory, current: int, rules: Rules, now: datetime, *, up: bool) -> int:
    """The replicas that the selected policy allows."""
    select = rules.get("selectPolicy") or "Max"
    if select == "Disabled":
        return current
    limits: list[int] = []
    for policy in rules.get("policies") or ():
        cutoff = now - timedelta(seconds=policy["periodSeconds"])
        start = current - _changed(memory.scaled_up, cutoff) + _changed(memory.scaled_down, cutoff)
        if policy["type"] == "Pods":
            limits.append(start + policy["value"] if up else start - policy["value"])
        elif up:
            limits.append(math.ceil(start * (1 + policy["value"] / 100)))
        else:
            limits.append(int(start * (1 - policy["value"] / 100)))
    largest_change = select != "Min"
    return max(limits) if largest_change == up else min(limits)


def _changed(moments: Sequence[Moment], cutoff: datetime) -> int:
    return sum(one.number for one in moments if one.time > cutoff)


def _many() -> Reason:
    return ("TooManyReplicas", _TOO_MANY)
