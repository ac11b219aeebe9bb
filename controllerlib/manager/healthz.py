"""Answers of health endpoints (controller-runtime: pkg/healthz)."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

#: A health check; it raises if the process is unhealthy (controller-runtime: healthz.Checker).
Checker = Callable[[], Awaitable[None] | None]
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response."""

    code: int
    body: bytes
    content_type: str = PLAIN


NOT_FOUND = Reply(404, b"404 page not found\n")


def single(error: str | None) -> Reply:
    """Return the response for one check; `error` is its failure, or None."""
    return Reply(200, b"ok") if error is None else Reply(500, f"internal server error: {error}\n".encode())


def aggregated(healthy: Mapping[str, bool], excluded: Collection[str], *, verbose: bool) -> Reply:
    """Return the response for all checks: "ok" if all passed, unless `verbose`; the causes of failures are omitted.

    `excluded`: the names in the request's `exclude`; excluded checks count as healthy.
    """
    failed = not all(healthy.values())
    if not failed and not verbose:
        return Reply(200, b"ok")
    known = set(healthy) & set(excluded)
    lines = [_line(name, healthy[name], name in known) for name in sorted(healthy)]
    unknown = [name for name in dict.fromkeys(excluded) if name not in known]
    if unknown:
        names = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    lines.append("healthz check failed" if failed else "healthz check passed")
    return Reply(500 if failed else 200, "".join(f"{line}\n" for line in lines).encode())


def _line(name: str, healthy: bool, excluded: bool) -> str:
    if excluded:
        return f"[+]{name} excluded: ok"
    return f"[+]{name} ok" if healthy else f"[-]{name} failed: reason withheld"
