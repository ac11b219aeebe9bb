"""The events of fake recorders, as lines of text."""

import asyncio
import queue
from collections.abc import Mapping
from typing import Any

from controllerlib.client.models import as_object


class Lines:
    """At most `size` lines, oldest first (Go's buffered channel of strings).

    When full, `put` blocks like a channel; on a running event loop it raises queue.Full instead of blocking forever.
    """

    def __init__(self, size: int) -> None:
        self._queue: queue.Queue[str] = queue.Queue(size)

    def __repr__(self) -> str:
        return f"<Lines {self._queue.qsize()} of {self._queue.maxsize}>"

    def __len__(self) -> int:
        return self._queue.qsize()

    def put(self, line: str) -> None:
        """Add a line."""
        self._queue.put(line, block=asyncio._get_running_loop() is None)

    def get(self) -> str:
        """Remove and return the oldest line; queue.Empty if there is none."""
        return self._queue.get_nowait()

    def drain(self) -> list[str]:
        """Remove and return all lines."""
        return [self.get() for _ in range(len(self))]


def annotations_text(annotations: Mapping[str, str] | None) -> str:
    """Format annotations like a Go map, after a space; "" if there are none."""
    if not annotations:
        return ""
    return " map[" + " ".join(f"{key}:{annotations[key]}" for key in sorted(annotations)) + "]"


def kind_text(obj: Any) -> str:
    """Format an object's kind and apiVersion."""
    found = as_object(obj)
    return f"{{kind={found.get('kind', '')},apiVersion={found.get('apiVersion', '')}}}"
