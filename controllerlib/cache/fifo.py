"""FIFO: the last object of each key, in the order in which keys were first added (client-go: tools/cache/fifo.go)."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from controllerlib.cache.store import KeyFunc
from controllerlib.client.names import KeyFailure, deletion_handling_key


class FIFO:
    """Keys in line and their newest objects; a deleted key keeps its place and is skipped. A failed item is gone.

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
        """Keep `obj` as the newest of its key; a key already in line keeps its place."""
        key = self._key(obj)
        self._populated = True
        if key not in self._items:
            self._line.append(key)
        self._items[key] = obj

    def update(self, obj: Any) -> None:
        """The same as `add`."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Forget the object; its key stays in line and is skipped."""
        self._populated = True
        self._items.pop(self._key(obj), None)

    def replace(self, objs: Iterable[Any], version: str = "") -> None:
        """Hold exactly `objs`, in their order."""
        self._items = {self._key(obj): obj for obj in objs}
        self._line = deque(self._items)
        if not self._populated:
            self._populated, self._initial = True, len(self._items)

    def resync(self) -> None:
        """Put keys that have an object but no place in line back into it."""
        in_line = set(self._line)
        self._line.extend(key for key in self._items if key not in in_line)

    def has_synced(self) -> bool:
        """Whether the first list was taken, or something else came first."""
        return self._populated and self._initial == 0

    def take(self) -> Any:
        """The next object, or None."""
        while self._line:
            key = self._line.popleft()
            if self._initial:
                self._initial -= 1
            if key in self._items:
                return self._items.pop(key)
        return None

    def close(self) -> None:
        """No more is expected; what is in line can still be taken, and adding still works."""
        self.closed = True

    def _key(self, obj: Any) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:  # any key function, any failure: told in one way
            raise KeyFailure(obj, error) from error
