"""Observes the log records of the code under test, whatever handlers and levels its loggers have."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from fakekube.virtualtime.simulatedprocess import current_client

LogListener = Callable[[logging.LogRecord, str], None]


class LogRecords:
    """Calls listeners with each record that an operator, a task or a thread of the cluster makes, and with its name.

    The factory of records is replaced, not a handler added: a handler would change what `logging.basicConfig` does.
    """

    def __init__(self, listeners: Sequence[LogListener]) -> None:
        self._listeners = listeners
        self._before: Callable[..., logging.LogRecord] = logging.getLogRecordFactory()

    def install(self) -> None:
        logging.setLogRecordFactory(self.make)

    def make(self, *args: Any, **named: Any) -> logging.LogRecord:
        """The record that the factory before this one makes."""
        record = self._before(*args, **named)
        client = current_client() if self._listeners else None
        if client is not None:
            for listener in self._listeners:
                listener(record, client.name)
        return record

    def remove(self) -> None:
        """Restore the factory, unless the code under test has set one of its own since."""
        self._listeners = ()
        if logging.getLogRecordFactory() == self.make:
            logging.setLogRecordFactory(self._before)
