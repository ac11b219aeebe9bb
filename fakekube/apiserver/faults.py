"""Fault injection: the errors, delays and broken connections of a real API server (`FaultRule`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from typing import Self

from fakekube.apiserver.resource import VERBS
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import StatusError, conflict, forbidden, internal_error, too_many_requests

#: HTTP code of an injected error -> the Status, as a real server sends it.
ERRORS: dict[int, Callable[[RequestInfo], StatusError]] = {
    403: lambda info: forbidden(info.qualified, info.name, "injected fault"),
    409: lambda info: conflict(info.qualified, info.name),
    429: lambda info: too_many_requests(
        "the server has received too many requests and has asked us to try again later"
    ),
    500: lambda info: internal_error("injected fault"),
    503: lambda info: StatusError(
        503, "ServiceUnavailable", "the server is currently unable to handle the request", {"retryAfterSeconds": 1}
    ),
    504: lambda info: StatusError(
        504, "Timeout", "the server was unable to return a response in the time allotted", {}
    ),
}

RESETS = ("", "before", "after")


@dataclass(slots=True)
class FaultRule:
    """A rule that injects a fault into matching requests.

    `verb`, `resource`, `name`, `namespace` and `user_agent` are shell patterns; `*` matches everything. `except_agent`
    is a user agent that is not affected unless `user_agent` names it. The first `after` matching requests pass; then
    `times` requests are affected (None: all). `error` is an HTTP code of ERRORS, `delay` a delay in seconds; `reset`
    breaks the connection `before` or `after` the request is processed. `share` is the fraction of matching requests
    that are affected (0.05: one in twenty), decided by `draw(key, attempt)`. Raises TypeError and ValueError, which
    name the invalid argument.

    A rule is active until `disarm()`; used as a context manager, until the end of the block. `seen` and `hits` count
    the matching and the affected requests.
    """

    verb: str = "*"
    resource: str = "*"
    name: str = "*"
    namespace: str = "*"
    user_agent: str = "*"
    except_agent: str = ""
    after: int = 0
    times: int | None = None
    error: int | None = None
    delay: float = 0.0
    reset: str = ""
    share: float = 1.0
    draw: Callable[[str, int], float] | None = None
    seen: int = field(default=0, init=False)
    hits: int = field(default=0, init=False)
    _patterns: tuple[tuple[str, Callable[[str], object]], ...] = field(init=False)
    _meant: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _tries: dict[str, int] = field(default_factory=dict, init=False)
    _rules: list[FaultRule] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_types()
        self._check_values()
        patterns = ((name, getattr(self, name)) for name in ("verb", "resource", "name", "namespace"))
        self._patterns = tuple((name, _fits(pattern)) for name, pattern in patterns if pattern != "*")

    def _check_types(self) -> None:
        for name in ("verb", "resource", "name", "namespace", "user_agent", "except_agent", "reset"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a string")
        for name in ("delay", "share"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int | float):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a number")

    def _check_values(self) -> None:
        if not any(fnmatchcase(verb, self.verb) for verb in VERBS):
            raise ValueError(f"verb={self.verb!r} matches no verb of the API: {', '.join(VERBS)}")
        if self.times is not None and (not _is_count(self.times) or self.times < 1):
            raise ValueError(f"times={self.times!r} must be an integer of at least 1, or None for all requests")
        if not _is_count(self.after) or self.after < 0:
            raise ValueError(f"after={self.after!r} must be an integer of at least 0")
        if self.error is not None and self.error not in ERRORS:
            raise ValueError(f"error={self.error!r} must be one of {sorted(ERRORS)}")
        if self.reset not in RESETS:
            raise ValueError(f"reset={self.reset!r} must be 'before' or 'after'")
        if not 0 < self.share <= 1 or (self.share < 1 and self.draw is None):
            raise ValueError(f"share={self.share} must be greater than 0 and at most 1, and below 1 requires draw")
        if self.delay < 0:
            raise ValueError(f"delay={self.delay} must not be negative")
        if self.error is None and not self.delay and not self.reset:
            raise ValueError("a fault requires an error, a delay or a reset")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.disarm()

    def disarm(self) -> None:
        """Deactivates the rule."""
        self._rules[:] = [rule for rule in self._rules if rule is not self]

    def matches(self, info: RequestInfo, user_agent: str) -> bool:
        """Whether the rule affects this request. Counts the request."""
        request = info.what, info.name  # a field selector can set the name
        meant = self._meant.get(request)
        if meant is None:
            meant = self._meant[request] = all(fits(getattr(info, name)) for name, fits in self._patterns)
        if not meant:
            return False
        if self.user_agent != "*" and not fnmatchcase(user_agent, self.user_agent):
            return False
        if user_agent == self.except_agent and self.user_agent != user_agent:
            return False
        self.seen += 1
        if self.seen <= self.after or (self.times is not None and self.hits >= self.times):
            return False
        if self.share < 1:
            # drawn for each path and attempt, so that the result does not depend on the order of requests
            what = info.what
            attempt = self._tries[what] = self._tries.get(what, 0) + 1
            assert self.draw is not None
            if self.draw(what, attempt) >= self.share:
                return False
        self.hits += 1
        return True

    def give_back(self) -> None:
        """Count the last request as not made: it was abandoned before it was answered."""
        self.seen -= 1
        self.hits -= 1


def _fits(pattern: str) -> Callable[[str], object]:
    """A predicate for a shell pattern; most patterns are plain texts."""
    return re.compile(translate(pattern)).match if any(char in pattern for char in "*?[") else pattern.__eq__


class Faults:
    """The active rules; the first one that matches a request applies."""

    def __init__(self) -> None:
        self.rules: list[FaultRule] = []

    def arm(self, rule: FaultRule) -> None:
        """Activates a rule until it is disarmed."""
        self.rules.append(rule)
        rule._rules = self.rules

    def take(self, info: RequestInfo, user_agent: str) -> FaultRule | None:
        for rule in self.rules:
            if rule.matches(info, user_agent):
                return rule
        return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def error_of(code: int, info: RequestInfo) -> StatusError:
    """The Status of an injected error."""
    return ERRORS[code](info)
