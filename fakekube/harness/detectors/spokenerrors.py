"""Whether what an operator writes for its users speaks of an error: a status, an annotation, an Event."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

#: Words by which a text reports an error.
_WORDS = re.compile(r"fail|error|denied|forbid|invalid|degraded|reject|refuse|exceed|warning|unable", re.IGNORECASE)

#: Names of conditions and fields that state a trouble.
_NEGATIVE = re.compile(
    r"fail|error|degraded|stalled|invalid|denied|reject|refuse|exceed|unavailable|unhealthy|broken|conflict|pressure|"
    r"not_?ready|unable",
    re.IGNORECASE,
)

#: Names that state neither: what goes on, or what is wanted.
_NEUTRAL = re.compile(
    r".*(?<!runn|serv|work)ing|.*(paused|suspended|stopped|disabled|deleted|immutable|optional|controller"
    r"|blockOwnerDeletion|stdin|tty)",
    re.IGNORECASE,
)


def speaks_of_an_error(value: Any) -> bool:
    """Whether a JSON value reports an error.

    A condition does if its type is a positive statement at "False" (`Ready`), a negative one at "True" (`Degraded`), or
    if its reason or message has a word for errors. A field that is false or true is judged by its name like that.
    """
    if isinstance(value, str):
        return speaks_of_an_error(_decoded(value)) if value.startswith(("{", "[")) else _WORDS.search(value) is not None
    if isinstance(value, Mapping):
        if isinstance(value.get("type"), str) and isinstance(value.get("status"), str):
            return _is_condition_of_an_error(value)
        return any(_field_speaks(str(name), one) for name, one in value.items())
    return isinstance(value, Sequence) and any(map(speaks_of_an_error, value))


def _is_condition_of_an_error(condition: Mapping[str, Any]) -> bool:
    name, state = condition["type"], condition["status"]
    if _states_trouble(name, state):
        return True
    if _NEGATIVE.search(name) and state == "False":
        return False
    return any(speaks_of_an_error(condition.get(field)) for field in ("reason", "message"))


def _field_speaks(name: str, value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false")):
        return _states_trouble(name, str(value).capitalize())
    if _NEGATIVE.search(name):
        return bool(value)
    return speaks_of_an_error(value)


def _states_trouble(name: str, state: str) -> bool:
    """Whether a statement means trouble if it is "True" or "False"."""
    if _NEGATIVE.search(name):
        return state == "True"
    return state == "False" and _NEUTRAL.fullmatch(name) is None


def _decoded(text: str) -> Any:
    """The JSON in a text; a field with the text, if it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"text": f" {text}"}
