"""Regular expressions as Go has them (RE2): no back-tracking, so that a hostile pattern takes linear time.

`google-re2` carries this: RE2 itself, maintained, with wheels for the platforms that Python has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

#: RE2's words -> Go's.
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
    """A text that is no regular expression; the message is Go's."""


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
