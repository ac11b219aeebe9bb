"""A directory with the changes of a server: SQLite in WAL mode, one row for each revision, as kine has it, and a mapped
file of the newest."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from fakekube.apiserver.storage.store import Change
from fakekube.server.persistence.rowlog import Row, RowLog
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
#: A row that a process which was killed left in the mapped file may be in the database, too.
_INSERT = "INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?, ?, ?)"


class DataDir:
    """An open directory, which one process has at a time. Raises CannotServe, which names the file and what is wrong.

    `fsync`: "commit" survives a loss of power: changes are noted, and `flush` makes one transaction of them. "off"
    survives the end of the process by any signal: each change is in the mapped file (RowLog), and `flush` moves all
    into the database when that is full.
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
        self._pending: list[Row] = []
        self._log: RowLog | None = None
        try:
            self._open(path / "state.db", fsync)
            self._open_log(path / "newest.log", fsync)
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

    def _open_log(self, file: Path, fsync: Fsync) -> None:
        """Move what a process that was killed has left in the mapped file into the database."""
        try:
            if fsync == "off" or file.exists():
                self._log = RowLog(file)
                self._pending = list(self._log.rows())
                self.flush()
            if fsync == "commit" and self._log is not None:
                self._log.close(remove=True)
                self._log = None
        except (sqlite3.Error, OSError, ValueError) as error:
            if self._log is not None:
                self._log.close(remove=False)
            self._database.close()
            why = reason(error) if isinstance(error, OSError) else error
            raise CannotServe(f"--data-dir {self._path}: {file.name}: {why}") from None

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
        """The changes in the database, oldest first."""
        for revision, name, path, gone, version, value in self._database.execute(
            "SELECT * FROM changes ORDER BY revision"
        ):
            yield Row(revision, name, path, bool(gone), version, value)

    @property
    def is_written_at_once(self) -> bool:
        """Whether a change is stored as soon as `append` returns, and not when `flush` does."""
        return self._log is not None

    def append(self, change: Change) -> None:
        """Note a change. Raises sqlite3.Error, if it is written at once."""
        row = _row(change)
        self._pending.append(row)
        if self._log is not None and not self._log.add(row):
            self.flush()

    def flush(self) -> None:
        """Write the noted changes into the database, in one transaction. Raises sqlite3.Error."""
        rows, self._pending = self._pending, []
        if not rows:
            return  # `close` has written them
        if len(rows) > 1:
            self._database.execute("BEGIN")
        self._database.executemany(_INSERT, rows)
        if len(rows) > 1:
            self._database.execute("COMMIT")
        if self._log is not None:
            self._log.clear()
        self._written += len(rows)

    def replace(self, rows: Iterable[Row], compacted: int) -> None:
        """Write these changes in place of all others, at once."""
        self.flush()  # what is in the mapped file must not follow them
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
        """Write what is pending, and free the directory. Raises sqlite3.Error if something is lost."""
        is_complete = False
        try:
            self.flush()
            is_complete = True
        except sqlite3.Error:
            if self._log is None:
                raise
            # it stays in the mapped file, and the next server says so if there is still no room
        finally:
            self._written = 0
            self._database.close()
            if self._log is not None:
                self._log.close(remove=is_complete)
                self._log = None
            os.close(self._lock)


def _row(change: Change) -> Row:
    after = change.after
    if after is None:
        return Row(change.revision, change.collection, change.path, True, "", b"")
    return Row(change.revision, change.collection, change.path, False, after.version, after.json)
