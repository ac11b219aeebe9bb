"""Values that are a number or a percentage (apimachinery: `intstr.GetScaledValueFromIntOrPercent`)."""

from __future__ import annotations


def scaled_value(value: int | str, total: int, *, round_up: bool = True) -> int:
    """The number that `value` names: itself, or a percentage of `total` like "25%". Raises ValueError."""
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError("invalid value for IntOrString: invalid type: string is not a percentage")
    percent = int(value[:-1])
    return -(-percent * total // 100) if round_up else percent * total // 100
