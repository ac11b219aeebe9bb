"""What a real API server never does: a rule that injects it anyway has to say so (`unrealistic=True`)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Protocol

from fakekube.apiserver.faults.injectederrors import UNREALISTIC
from fakekube.apiserver.resource import VERBS
from fakekube.apiserver.wire.negotiation import CONNECTED

#: Errors after which a write may have been committed: etcd's or a proxy's time-out, and a connection that broke.
MAY_BE_COMMITTED = frozenset({500, 502, 504})

#: Requests whose resourceVersion or continue token may be too old.
MAY_BE_GONE = frozenset({"list", "watch"})

#: Requests that change nothing.
READS = frozenset({"get", "list", "watch"})

#: Requests that the watch cache answers with an older state, if the client sends resourceVersion=0.
MAY_BE_STALE = READS


class Rule(Protocol):
    """The fields of a FaultRule that these rules are about."""

    verb: str
    subresource: str
    error: int | None
    committed: bool
    stale: int | str | None
    times: int | None


def is_of_writes(rule: Rule) -> bool:
    """Whether a fault can only happen to writes: a conflict, or an error after the write was committed."""
    return rule.error == 409 or rule.committed


def is_read(verb: str, subresource: str) -> bool:
    """Whether a request changes nothing, and passes no admission, as a connection with the verb `get` does."""
    return verb in READS and subresource not in CONNECTED


def broken_rules(rule: Rule) -> Iterator[str]:
    """The rules of a real server that a fault breaks, each as a sentence."""
    if rule.error in UNREALISTIC:
        yield f"error={rule.error}: a server answers a correct request with {_listed(UNREALISTIC)} never by chance"
    if rule.committed and rule.error not in MAY_BE_COMMITTED:
        yield (
            f"error={rule.error} with committed=True: only {_listed(MAY_BE_COMMITTED)} may follow a request that was "
            "processed; a server answers with all others, 429 for example, before it processes the request"
        )
    if is_of_writes(rule) and not any(
        fnmatchcase(verb, rule.verb) and not is_read(verb, rule.subresource) for verb in VERBS
    ):
        what = "committed=True" if rule.committed else "error=409"
        yield (
            f"{what} with verb={rule.verb!r}: a read changes nothing, so that it meets no conflict and is not "
            "committed: pass the verb of a write, like verb='update'"
        )
    if rule.error == 410 and rule.verb not in MAY_BE_GONE:
        yield (
            f"error=410 with verb={rule.verb!r}: only a watch, or a list at a resourceVersion, can be too old for the "
            "compacted history: pass verb='watch' or verb='list'"
        )
    if rule.stale is not None and rule.verb not in MAY_BE_STALE:
        yield (
            f"stale={rule.stale!r} with verb={rule.verb!r}: only reads with resourceVersion=0 are answered from the "
            "watch cache, which may lag: pass verb='list', verb='get' or verb='watch'"
        )


def _listed(codes: object) -> str:
    return ", ".join(map(str, sorted(codes)))  # type: ignore[call-overload]
