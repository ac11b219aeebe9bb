"""Fault injection: the errors, delays and broken connections of a real API server (`FaultRule`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from typing import Literal, Self

from fakekube.apiserver.damage import BROKEN_BODIES, Damage
from fakekube.apiserver.faults.fault import Fault
from fakekube.apiserver.faults.injectederrors import ERRORS, UNREALISTIC
from fakekube.apiserver.faults.legality import broken_rules, is_of_writes, is_read
from fakekube.apiserver.needs import Post
from fakekube.apiserver.resource import VERBS
from fakekube.apiserver.storage.watchfault import WatchFault
from fakekube.apiserver.wire.request import Request, RequestInfo

RESETS = ("", "before", "after")

Reset = Literal["", "before", "after"]
BrokenBody = Literal["", "cut", "truncated", "malformed"]

Query = Mapping[str, Sequence[str]]
NO_QUERY: Query = {}

#: The fields that are shell patterns, or other text.
_TEXTS = (
    "verb", "resource", "name", "namespace", "user_agent", "subresource", "except_agent", "reset", "body", "cut_at",
    "webhook",
)  # fmt: skip
_NUMBERS = ("delay", "share", "body_delay", "event_delay")
_COUNTS = ("cut_after", "hold_after", "gone_after")


@dataclass(slots=True)
class FaultRule:
    """A rule that injects a fault into matching requests.

    `verb`, `resource`, `name`, `namespace`, `subresource` ("": the object itself) and `user_agent` are shell patterns;
    `*` matches everything. `except_agent` is a user agent that is not affected unless `user_agent` names it ("": there
    is none). The first `after` matching requests pass; then `times` requests are affected (None: all). `share` is the
    fraction of matching requests that are affected (0.05: one in twenty), decided by `draw(key, attempt)`.

    What happens to a request:
    error: it is answered with this HTTP code, and with `committed` it has been processed nevertheless; 409 and
        `committed` are of writes. 502 and 408 are pages of a proxy. 410 compacts the history, so that the server
        answers a request with an old resourceVersion so.
    delay: it waits for so many seconds. before: a function without arguments that is called before it is processed, for
        example with a competing write. What it raises is answered with 500, and raised by the next step of the test.
    reset: the connection breaks `before` or `after` it is processed.
    body: the connection closes in the middle of the answer (`cut`), the JSON ends there (`truncated`), or a proxy
        answers with a page instead (`malformed`). body_delay: the seconds between the two halves of the body.
    stale: reads with resourceVersion=0 see the state at this resourceVersion, as from a watch cache that lags.

    What happens to a watch:
    cut_after, cut_at: it ends after so many events, or before an event (`"MODIFIED web-*"`: type and name); with
        `reset="after"` the connection breaks instead. hold_after: it delivers nothing after so many events until the
        rule is disarmed. gone_after: after so many events the history is compacted before it can read the next one, so
        that it gets 410. event_delay: the seconds before each event.

    webhook: calls of webhooks at this URL or Service (`namespace/name`, a shell pattern) do not answer in time; with
        `reset="before"` they are not reached.

    Only what a real server may do is accepted, unless `unrealistic` is set. Raises TypeError and ValueError, which name
    the invalid argument and the rule that it breaks.

    A rule is active until `disarm()`; used as a context manager, until the end of the block. `seen` and `hits` count
    the matching and the affected requests, without those that were `abandoned` before they were answered.
    """

    verb: str = "*"
    resource: str = "*"
    name: str = "*"
    namespace: str = "*"
    user_agent: str = "*"
    subresource: str = "*"
    except_agent: str = ""
    after: int = 0
    times: int | None = None
    error: int | None = None
    delay: float = 0.0
    reset: Reset = ""
    share: float = 1.0
    draw: Callable[[str, int], float] | None = None
    committed: bool = False
    before: Callable[[], object] | None = None
    body: BrokenBody = ""
    body_delay: float = 0.0
    stale: int | str | None = None
    cut_after: int | None = None
    cut_at: str = ""
    hold_after: int | None = None
    gone_after: int | None = None
    event_delay: float = 0.0
    webhook: str = ""
    unrealistic: bool = False
    seen: int = field(default=0, init=False)
    hits: int = field(default=0, init=False)
    abandoned: int = field(default=0, init=False, repr=False, compare=False)
    armed: bool = field(default=True, init=False)
    on_hit: Callable[[RequestInfo], object] | None = field(default=None, init=False, repr=False, compare=False)
    on_disarm: list[Callable[[], object]] = field(default_factory=list, init=False, repr=False, compare=False)
    _patterns: tuple[tuple[str, Callable[[str], object]], ...] = field(init=False)
    _depends_on_query: bool = field(default=False, init=False, repr=False, compare=False)
    _meant: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _tries: dict[str, int] = field(default_factory=dict, init=False)
    _rules: list[FaultRule] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_types()
        self._check_values()
        patterns = ((name, getattr(self, name)) for name in ("verb", "resource", "name", "namespace", "subresource"))
        self._patterns = tuple((name, _fits(pattern)) for name, pattern in patterns if pattern != "*")
        self._depends_on_query = not self.unrealistic and (self.error == 410 or self.stale is not None)

    def _check_types(self) -> None:
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a string")
        for name in _NUMBERS:
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int | float):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a number")
        for name in ("before", "draw"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a function")

    def _check_values(self) -> None:
        if not any(fnmatchcase(verb, self.verb) for verb in VERBS):
            raise ValueError(f"verb={self.verb!r} matches no verb of the API: {', '.join(VERBS)}")
        if self.times is not None and (not _is_count(self.times) or self.times < 1):
            raise ValueError(f"times={self.times!r} must be an integer of at least 1, or None for all requests")
        if not _is_count(self.after) or self.after < 0:
            raise ValueError(f"after={self.after!r} must be an integer of at least 0")
        if self.error is not None and self.error not in (*ERRORS, 410, *UNREALISTIC):
            raise ValueError(f"error={self.error!r} must be one of {sorted((*ERRORS, 410))}")
        if self.reset not in RESETS:
            raise ValueError(f"reset={self.reset!r} must be 'before' or 'after'")
        if self.body not in ("", *BROKEN_BODIES):
            raise ValueError(f"body={self.body!r} must be one of {', '.join(map(repr, BROKEN_BODIES))}")
        if not 0 < self.share <= 1 or (self.share < 1 and self.draw is None):
            raise ValueError(f"share={self.share} must be greater than 0 and at most 1, and below 1 requires draw")
        for name in _NUMBERS:
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative")
        for name in _COUNTS:
            count = getattr(self, name)
            if count is not None and (not _is_count(count) or count < 0):
                raise ValueError(f"{name}={count!r} must be a number of events, of at least 0")
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self._of_body() and self.verb == "watch":
            raise ValueError(
                "body= and body_delay= damage whole responses: for a watch, use cut_after, cut_at or event_delay"
            )
        if self.webhook:
            other = self.error is not None or self.body or self._of_watch() or self.stale is not None
            if other or self.reset == "after":
                raise ValueError("webhook= takes only reset='before', delay, after, times and share beside it")
        elif not (
            self.error is not None or self.delay or self.reset or self.before or self.body or self.body_delay
        ) and (self.stale is None and not self._of_watch()):
            raise ValueError("a fault requires an error, a delay or a reset, or another thing that happens to requests")
        if self._of_watch() and not fnmatchcase("watch", self.verb):
            raise ValueError(
                f"verb={self.verb!r}: cut_after, cut_at, hold_after, gone_after and event_delay are of watches"
            )
        if self.stale is not None and not str(self.stale).isdigit():
            raise ValueError(f"stale={self.stale!r} must be a resourceVersion")
        if self.committed and self.error is None:
            raise ValueError("committed=True requires an error")
        if not self.unrealistic and (problem := next(broken_rules(self), "")):
            raise ValueError(f"{problem} (unrealistic=True injects it nevertheless)")

    def _of_watch(self) -> bool:
        counts = (self.cut_after, self.hold_after, self.gone_after)
        return any(count is not None for count in counts) or bool(self.cut_at or self.event_delay)

    def _of_body(self) -> bool:
        return bool(self.body or self.body_delay)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.disarm()

    def disarm(self) -> None:
        """Deactivates the rule."""
        self._rules[:] = [rule for rule in self._rules if rule is not self]
        self.armed = False
        callbacks, self.on_disarm = self.on_disarm, []
        for callback in callbacks:
            callback()

    def fault(self) -> Fault:
        """What happens to an affected request."""
        damage = Damage(self.body, self.body_delay) if self._of_body() else None
        stale = None if self.stale is None else int(self.stale)
        reset = "" if self._of_watch() else self.reset
        return Fault(self.delay, self.before, reset, self.error, self.committed, stale, damage)

    def watch_fault(self) -> WatchFault | None:
        """What happens to the stream of an affected watch."""
        if not self._of_watch():
            return None
        return WatchFault(
            cut_after=self.cut_after,
            cut_at=self.cut_at,
            reset=self.reset == "after",
            hold_after=self.hold_after,
            gone_after=self.gone_after,
            delay=self.event_delay,
            holds=lambda: self.armed,
        )

    def matches_webhook(self, post: Post) -> bool:
        """Whether the rule affects this call of a webhook. Counts the call."""
        service = f"{post.service.namespace}/{post.service.name}" if post.service is not None else ""
        if not self.webhook or not any(fnmatchcase(one, self.webhook) for one in (post.url, service)):
            return False
        return self._takes(f"webhook {post.url}")

    def matches(self, info: RequestInfo, user_agent: str, query: Query = NO_QUERY) -> bool:
        """Whether the rule affects this request. Counts the request."""
        request = info.what, info.name  # a field selector can set the name
        meant = self._meant.get(request)
        if meant is None:
            meant = self._meant[request] = self._is_meant(info)
        if not meant or (self._depends_on_query and not self._fits_query(query)):
            return False
        if self.user_agent != "*" and not fnmatchcase(user_agent, self.user_agent):
            return False
        if self.except_agent and user_agent == self.except_agent != self.user_agent:
            return False
        taken = self._takes(info.what)
        if taken and self.on_hit is not None:
            self.on_hit(info)
        return taken

    def _is_meant(self, info: RequestInfo) -> bool:
        """Whether the rule is about such a request, and the fault can happen to it on a real server."""
        if self.webhook or not all(fits(getattr(info, name)) for name, fits in self._patterns):
            return False
        if self.error == 410 and not self.unrealistic:
            return True  # the query decides: see `_fits_query`
        if is_of_writes(self) and not self.unrealistic and is_read(info.verb, info.subresource):
            return False
        if info.verb == "watch":
            return not self._of_body()
        return not self._of_watch()

    def _fits_query(self, query: Query) -> bool:
        """Whether a fault that depends on the query can happen to the request on a real server."""
        if self.error == 410:
            return _is_old(query)
        return "sendInitialEvents" not in query and query.get("resourceVersion", ("",))[0] == "0"

    def _takes(self, what: str) -> bool:
        """Whether this matching request is affected."""
        self.seen += 1
        if self.seen <= self.after or (self.times is not None and self.hits >= self.times):
            return False
        if self.share < 1:
            # drawn for each path and attempt, so that the result does not depend on the order of requests
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
        self.abandoned += 1


def _fits(pattern: str) -> Callable[[str], object]:
    """A predicate for a shell pattern; most patterns are plain texts."""
    return re.compile(translate(pattern)).match if any(char in pattern for char in "*?[") else pattern.__eq__


class Faults:
    """The active rules; the first one that matches a request applies. If none does, `choose` decides."""

    def __init__(self) -> None:
        self.rules: list[FaultRule] = []
        self.choose: Callable[[Request, RequestInfo], Fault | None] | None = None

    def arm(self, rule: FaultRule) -> None:
        """Activates a rule until it is disarmed."""
        self.rules.append(rule)
        rule._rules = self.rules

    def take(self, info: RequestInfo, user_agent: str, query: Query = NO_QUERY) -> FaultRule | None:
        for rule in self.rules:
            if rule.matches(info, user_agent, query):
                return rule
        return None

    def take_webhook(self, post: Post) -> FaultRule | None:
        """The rule that affects a call of a webhook."""
        return next((rule for rule in self.rules if rule.matches_webhook(post)), None)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_old(query: Query) -> bool:
    """Whether a request resumes or reads at a resourceVersion, which a compaction can make too old."""
    version = query.get("resourceVersion", ("",))[0]
    return bool(query.get("continue", ("",))[0]) or version not in ("", "0")
