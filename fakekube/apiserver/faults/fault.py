"""What happens to one request."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.apiserver.damage import Damage
from fakekube.struct import Struct


class Fault(Struct, frozen=True):
    """What happens to one request. The default does nothing.

    In this order: `delay` seconds pass; `before` is called; `reset` "before" breaks the connection; an `error`, unless
    `committed`, is answered (410: the history is compacted); the request is processed, and lists from the watch
    cache read the state at `stale`; `reset` "after" breaks the connection; a `committed` error is answered; the body
    arrives with `damage`.
    """

    delay: float = 0.0
    before: Callable[[], object] | None = None
    reset: str = ""
    error: int | None = None
    committed: bool = False
    stale: int | None = None
    damage: Damage | None = None
