"""Leader election as a manager asks for it."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol


class Election(Protocol):
    """Waits for leadership, keeps it, and returns when it is lost."""

    async def run(self, manager: Any, lead: Callable[[], Awaitable[None]]) -> None:
        """Call `lead` once elected; return when leadership is lost. Cancelled, give it up if so configured."""
        ...
