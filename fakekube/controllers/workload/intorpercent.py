"""Numbers in texts: percentages (apimachinery: `intstr.GetScaledValueFromIntOrPercent`), labels and annotations."""

from __future__ import annotations


def scaled_value(value: int | str, total: int, *, round_up: bool = True) -> int:
    """The number that `value` names: itself, or a percentage of `total` like "25%". Raises ValueError."""
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError("invalid value for IntOrString: invalid type: string is not a percentage")
    percent = int(value[:-1])
    return -(-percent * total // 100) if round_up else percent * total // 100


def integer(text: str | None) -> int | None:
    """The number that a label or an annotation is, None if it is missing or not a number."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
