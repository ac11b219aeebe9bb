"""The request policies of capacities that several claims can share (`validateRequestPolicy`)."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from itertools import pairwise

from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.schema.quantity import canonical, value_of

MOST_VALUES = 10


def validate_capacity(capacity: Field, *, shared: bool) -> None:
    """`shared`: the device allows multiple allocations."""
    policy = capacity.get("requestPolicy")
    if not shared:
        policy.forbidden("allowMultipleAllocations must be true")
        return
    values, limits, default = policy["validValues"], policy["validRange"], policy["default"]
    if values and limits.value is not None:
        policy.forbidden(
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        )
    elif values:
        if default.value is None:
            default.missing("required when validValues is defined")
        else:
            _validate_values(values, default, capacity["value"])
    elif limits.value is not None:
        if default.value is None:
            default.missing("required when validRange is defined")
        else:
            _validate_range(limits, default, capacity["value"])


def _number(quantity: Field) -> Decimal:
    return value_of(quantity.value or 0)


def _text(quantity: Field) -> str:
    return canonical(str(quantity.value or 0))


def _validate_values(values: Field, default: Field, most: Field) -> None:
    items = list(values)
    for before, after in pairwise(items):
        if _number(before) > _number(after):
            after.invalid("values must be sorted in ascending order", _text(after))
    if len(items) > MOST_VALUES:
        values.too_many(MOST_VALUES)
        items = []
    for item in items:
        if _number(item) > _number(most):
            item.invalid(f"option is larger than capacity value: {_text(most)}", _text(item))
    seen: set[str] = set()
    for item in items:
        item.unique(seen, _text(item))
    if all(_number(item) != _number(default) for item in items):
        values.invalid("default value is not valid according to the requestPolicy", _text(default))


def _validate_range(limits: Field, default: Field, most: Field) -> None:
    low, high, step = limits["min"], limits["max"], limits["step"]
    if low.value is None:
        low.missing("required when validRange is defined")
        return
    if _number(low) > _number(most):
        low.invalid(f"min is larger than capacity value: {_text(most)}", _text(low))
    if _number(default) < _number(low):
        low.invalid(f"default is less than min: {_text(low)}", _text(default))
    if high.value is not None:
        if _number(low) > _number(high):
            high.invalid(f"min is larger than max: {_text(high)}", _text(low))
        if _number(high) > _number(most):
            high.invalid(f"max is larger than capacity value: {_text(most)}", _text(high))
        if _number(default) > _number(high):
            high.invalid(f"default is more than max: {_text(high)}", _text(default))
    if step.value is not None:
        _validate_step(step, low, most, [default, *([high] if high.value is not None else [])])


def _validate_step(step: Field, low: Field, most: Field, values: list[Field]) -> None:
    added = _number(low) + _number(step)
    if added > _number(most):
        shown = canonical(str(added.normalize().to_integral_value() if added == added.to_integral_value() else added))
        step.invalid(f"one step {shown} is larger than capacity value: {_text(most)}", _text(step))
    size = _whole(step)
    for value in values:
        if size and (_whole(value) - _whole(low)) % size:
            why = f"value is not a multiple of a given step ({_text(step)}) from ({_text(low)})"
            step.invalid(why, _text(value))


def _whole(quantity: Field) -> int:
    """The value, rounded up (`Quantity.Value`)."""
    return int(_number(quantity).to_integral_value(ROUND_CEILING))
