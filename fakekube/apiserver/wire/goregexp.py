"""Regular expressions with the syntax of Go (RE2), which match in linear time even for hostile patterns.

The package `google-re2` binds the C++ library RE2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

#: Error messages of RE2 -> those of Go.
_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


class BadPattern(Exception):
    """An invalid regular expression; the message is Go's."""


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Any:
    """The compiled expression, with `search`, `finditer` and `groups`. Raises BadPattern."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as problem:
        text = problem.args[0].decode() if isinstance(problem.args[0], bytes) else str(problem.args[0])
    what, _, where = text.partition(": ")
    raise BadPattern(
        f"error parsing regexp: {_WORDS.get(what, what)}: `{'' if what.startswith('trailing') else where}`"
    )
