"""FIFO: the newest object of each key, in the order in which keys were added (client-go: tools/cache/fifo.go)."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from controllerlib.cache.store import KeyFunc
from controllerlib.client.names import deletion_handling_key, key_with


class FIFO:
    """A queue of keys with their newest objects. A deleted key keeps its position and is skipped.

    Source: client-go, cache.FIFO.
    """

    closed: bool

    def __init__(self, key_func: KeyFunc = deletion_handling_key) -> None:
        self._key_func = key_func
        self._items: dict[str, Any] = {}
        self._line: deque[str] = deque()
        self._populated = False
        self._initial = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def add(self, obj: Any) -> None:
        """Set the newest object of its key; a queued key keeps its position."""
        key = self._key(obj)
        self._populated = True
        if key not in self._items:
            self._line.append(key)
        self._items[key] = obj

    def update(self, obj: Any) -> None:
        """Set the newest object of its key; a queued key keeps its position."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Drop the object; its key remains queued and is skipped."""
        self._populated = True
        self._items.pop(self._key(obj), None)

    def replace(self, objs: Iterable[Any], version: str = "") -> None:
        """Replace the whole content, in the order of `objs`."""
        self._items = {self._key(obj): obj for obj in objs}
        self._line = deque(self._items)
        if not self._populated:
            self._populated, self._initial = True, len(self._items)

    def resync(self) -> None:
        """Append the keys that have an object but are not queued."""
        in_line = set(self._line)
        self._line.extend(key for key in self._items if key not in in_line)

    def has_synced(self) -> bool:
        """Return whether the first list was consumed, or a change arrived before any list."""
        return self._populated and self._initial == 0

    def take(self) -> Any:
        """Take the next object; None if there is none."""
        while self._line:
            key = self._line.popleft()
            if self._initial:
                self._initial -= 1
            if key in self._items:
                return self._items.pop(key)
        return None

    def close(self) -> None:
        """Set `closed`; objects can still be added and taken."""
        self.closed = True

    def _key(self, obj: Any) -> str:
        return key_with(self._key_func, obj)
