"""The objects that `select.poll()` and `select.epoll()` return, which wait in virtual time."""

import select
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

#: The selector of the bubble's own loop calls these; `select` is also used by `selectors`, which has a name of its own.
REAL_SELECT = select.select
#: eventlet deletes it; a bubble refuses eventlet when it is opened, with an error that names it.
REAL_POLL: Any = getattr(select, "poll", None)
#: Linux has the first, BSD and macOS the second.
REAL_EPOLL: Any = getattr(select, "epoll", None)
REAL_KQUEUE: Any = getattr(select, "kqueue", None)

ORIGINALS = {"select": REAL_SELECT, "poll": REAL_POLL, "epoll": REAL_EPOLL, "kqueue": REAL_KQUEUE}


class Waits(Protocol):
    """Waits for descriptors in virtual time."""

    def concerns(self) -> bool: ...
    def wait(
        self, probe: Callable[[], Any], real: Callable[[], Any], descriptors: Iterable[int], timeout: float | None
    ) -> Any: ...


class Poll:
    """As the object that `select.poll()` returns."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._real = REAL_POLL()
        self._descriptors: dict[int, None] = {}

    def register(self, fd: Any, *mask: int) -> None:
        self._real.register(fd, *mask)
        self._descriptors[fileno(fd)] = None

    def modify(self, fd: Any, mask: int) -> None:
        self._real.modify(fd, mask)

    def unregister(self, fd: Any) -> None:
        self._real.unregister(fd)
        self._descriptors.pop(fileno(fd), None)

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        found: list[tuple[int, int]]
        if timeout == 0 or not self._waits.concerns():
            found = self._real.poll(timeout)
            return found
        found = self._waits.wait(
            lambda: self._real.poll(0),
            lambda: self._real.poll(timeout),
            self._descriptors,
            None if timeout is None or timeout < 0 else timeout / 1000,
        )
        return found


class Epoll:
    """As the object that `select.epoll()` returns; time-outs are in seconds."""

    def __init__(self, waits: Waits, *args: Any, **options: Any) -> None:
        self._waits = waits
        self._real = REAL_EPOLL(*args, **options)
        self._descriptors: dict[int, None] = {}

    @property
    def closed(self) -> bool:
        return bool(self._real.closed)

    def close(self) -> None:
        self._real.close()

    def fileno(self) -> int:
        return int(self._real.fileno())

    def register(self, fd: Any, *args: Any, **options: Any) -> None:
        self._real.register(fd, *args, **options)
        self._descriptors[fileno(fd)] = None

    def modify(self, fd: Any, eventmask: int) -> None:
        self._real.modify(fd, eventmask)

    def unregister(self, fd: Any) -> None:
        self._descriptors.pop(fileno(fd), None)
        self._real.unregister(fd)

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        real = self._real.poll
        found: list[tuple[int, int]]
        if timeout == 0 or not self._waits.concerns():
            found = real(timeout, maxevents)
        else:
            limit = None if timeout is None or timeout < 0 else timeout
            descriptors = tuple(self._descriptors)
            found = self._waits.wait(lambda: real(0, maxevents), lambda: real(timeout, maxevents), descriptors, limit)
        return found

    def __enter__(self) -> Self:
        self._real.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def fileno(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())
