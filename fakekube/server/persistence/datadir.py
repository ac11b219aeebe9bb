"""A directory with the changes of a server: SQLite in WAL mode, one row for each revision, as kine has it."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from fakekube.apiserver.storage.store import Change
from fakekube.server.process.listening import CannotServe, reason

Fsync = Literal["off", "commit"]

#: What marks the database as one of fakekube ("fake"), and the version of its tables.
APPLICATION, VERSION = 0x66616B65, 1

#: Changes after which those that nothing can read any more are deleted.
TIDIED = 10_000

_TABLES = """
CREATE TABLE changes (
  revision INTEGER PRIMARY KEY, collection TEXT NOT NULL, path TEXT NOT NULL, deleted INTEGER NOT NULL,
  version TEXT NOT NULL, value BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""
_INSERT = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)"


class Row(NamedTuple):
    """A stored change. `value`: the object as JSON; empty if it was deleted."""

    revision: int
    collection: str
    path: str
    deleted: bool
    version: str
    value: bytes


class DataDir:
    """An open directory, which one process has at a time. Raises CannotServe, which names the file and what is wrong.

    `fsync`: "commit" survives a loss of power, "off" the end of the process by any signal.
    """

    def __init__(self, path: Path, fsync: Fsync = "off") -> None:
        self._path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CannotServe(f"--data-dir {path}: {reason(error)}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise CannotServe(f"--data-dir {path}: another server uses it") from None
        self._written = 0
        self._pending: list[Change] = []
        try:
            self._open(path / "state.db", fsync)
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self, file: Path, fsync: Fsync) -> None:
        try:
            self._database = sqlite3.connect(file, isolation_level=None)
            try:
                self._prepare(file, fsync)
            except BaseException:
                self._database.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise CannotServe(f"--data-dir {self._path}: {file.name}: {error}") from None

    def _prepare(self, file: Path, fsync: Fsync) -> None:
        """Make a new file, or check an old one. Raises CannotServe, sqlite3.Error and OSError."""
        file.chmod(0o600)  # it has keys
        self._database.execute("PRAGMA locking_mode=EXCLUSIVE")  # the lock file is; this saves system calls
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA wal_autocheckpoint=4000")
        self._database.execute(f"PRAGMA synchronous={'FULL' if fsync == 'commit' else 'OFF'}")
        application, version = (self._pragma(name) for name in ("application_id", "user_version"))
        if application == 0 and not self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._database.executescript(_TABLES)
            self._database.execute(f"PRAGMA application_id={APPLICATION}")
            self._database.execute(f"PRAGMA user_version={VERSION}")
            return
        if application != APPLICATION:
            raise CannotServe(f"--data-dir {self._path}: {file.name} is not a file of fakekube")
        if version > VERSION:
            raise CannotServe(
                f"--data-dir {self._path}: {file.name} is of a newer version ({version}, known: {VERSION})"
            )
        (found,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise CannotServe(f"--data-dir {self._path}: {file.name} is damaged: {found}")

    def _pragma(self, name: str) -> int:
        (found,) = self._database.execute(f"PRAGMA {name}").fetchone()
        return int(found)

    # --- meta

    def get(self, name: str) -> bytes | None:
        """A value that was set, if any."""
        found = self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return bytes(found[0]) if found is not None else None

    def set(self, name: str, value: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def kept(self, name: str, make: Callable[[], bytes]) -> bytes:
        """A value that is made once."""
        found = self.get(name)
        if found is None:
            found = make()
            self.set(name, found)
        return found

    # --- changes

    def rows(self) -> Iterator[Row]:
        """The changes, oldest first."""
        for revision, name, path, gone, version, value in self._database.execute(
            "SELECT * FROM changes ORDER BY revision"
        ):
            yield Row(revision, name, path, bool(gone), version, value)

    def append(self, change: Change) -> None:
        """Note a change, which `flush` writes."""
        self._pending.append(change)

    def flush(self) -> None:
        """Write the noted changes in one transaction. Raises sqlite3.Error."""
        changes, self._pending = self._pending, []
        if not changes:
            return  # `close` has written them
        if len(changes) > 1:
            self._database.execute("BEGIN")
        self._database.executemany(_INSERT, [_row(one) for one in changes])
        if len(changes) > 1:
            self._database.execute("COMMIT")
        self._written += len(changes)

    def replace(self, rows: Iterable[Row], compacted: int) -> None:
        """Write these changes in place of all others, at once."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute("DELETE FROM changes")
            self._database.executemany(_INSERT, rows)
            self.set("compacted", str(compacted).encode())

    @property
    def is_untidy(self) -> bool:
        """Whether many changes were written since the last `tidy`."""
        return self._written >= TIDIED

    def tidy(self, compacted: int) -> None:
        """Delete the changes up to a revision that later ones of the same object follow."""
        self._written = 0
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute(
                # not a look for a later change of each one, which would compare all with all
                "DELETE FROM changes WHERE revision <= ? AND (deleted OR revision NOT IN "
                "(SELECT max(revision) FROM changes WHERE revision <= ? GROUP BY collection, path))",
                (compacted, compacted),
            )
            self.set("compacted", str(compacted).encode())

    def close(self) -> None:
        """Write what is pending, and let another process have the directory. Raises sqlite3.Error."""
        try:
            self.flush()
        finally:
            self._written = 0
            self._database.close()
            os.close(self._lock)


def _row(change: Change) -> Row:
    after = change.after
    if after is None:
        return Row(change.revision, change.collection, change.path, True, "", b"")
    return Row(change.revision, change.collection, change.path, False, after.version, after.json)
