"""Faults that a real API server may show, made to order: errors, delays, broken connections (`FaultRule`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from typing import Self

from fakekube.apiserver.resource import VERBS
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import StatusError, conflict, forbidden, internal_error, too_many_requests

#: What an error code is answered with; each is something a real server says.
ERRORS = {
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
    """Which requests to hit, and with what.

    `verb`, `resource`, `name`, `namespace`, `user_agent`: shell patterns; `*` takes all. `except_agent`: a user
    agent that is spared, unless `user_agent` asks for it. `after`: let so many matching
    requests through first. `times`: hit so many, None all. `error`: an HTTP code of ERRORS; `delay`: seconds that the
    request takes longer; `reset`: break the connection `before` or `after` the work is done.
    `share`: hit this part of the matching requests (0.05: one in twenty), as `draw(what, attempt)` decides.
    Raises TypeError, ValueError naming the argument that makes no sense.

    A rule in force is so until `disarm()`; as a context manager, until the end of the block. `seen`, `hits`: how many
    requests have matched, and were hit.
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
                raise TypeError(f"{name}={getattr(self, name)!r}: that must be text")
        for name in ("delay", "share"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int | float):
                raise TypeError(f"{name}={getattr(self, name)!r}: that must be a number")

    def _check_values(self) -> None:
        if not any(fnmatchcase(verb, self.verb) for verb in VERBS):
            raise ValueError(f"verb={self.verb!r}: the verbs of the API are {', '.join(VERBS)}")
        if self.times is not None and (not _is_count(self.times) or self.times < 1):
            raise ValueError(f"times={self.times!r}: hit so many requests, at least one, or None for all")
        if not _is_count(self.after) or self.after < 0:
            raise ValueError(f"after={self.after!r}: let so many requests through first, 0 or more")
        if self.error is not None and self.error not in ERRORS:
            raise ValueError(f"error={self.error!r}: a fault can be one of {sorted(ERRORS)}")
        if self.reset not in RESETS:
            raise ValueError(f"reset={self.reset!r}: a connection breaks 'before' or 'after' the work is done")
        if not 0 < self.share <= 1 or (self.share < 1 and self.draw is None):
            raise ValueError(
                f"share={self.share}: a part of the requests is above 0 and at most 1, and somebody draws it"
            )
        if self.delay < 0:
            raise ValueError(f"delay={self.delay}: a request cannot take less than no time")
        if self.error is None and not self.delay and not self.reset:
            raise ValueError("a fault needs an error, a delay or a reset")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.disarm()

    def disarm(self) -> None:
        """Hit nothing from now on."""
        self._rules[:] = [rule for rule in self._rules if rule is not self]

    def matches(self, info: RequestInfo, user_agent: str) -> bool:
        """This request is to be hit; counts it."""
        request = info.what, info.name  # a field selector can name what the path does not
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
            # drawn for each object and attempt, so that no draw depends on the order of requests
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
    """Whether a text is as a shell pattern says; most name just one text."""
    return re.compile(translate(pattern)).match if any(char in pattern for char in "*?[") else pattern.__eq__


class Faults:
    """The rules in force; the first that matches a request hits it."""

    def __init__(self) -> None:
        self.rules: list[FaultRule] = []

    def arm(self, rule: FaultRule) -> None:
        """In force from now on, until it is disarmed."""
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
    """What an error code is answered with."""
    return ERRORS[code](info)
