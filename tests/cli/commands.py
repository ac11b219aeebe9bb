"""The command line as a separate process."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

FAKEKUBE = (sys.executable, "-m", "fakekube")

#: Real seconds after which a command that does not answer has failed.
FUSE = 60


def environment(folder: Path) -> dict[str, str]:
    """An environment with temporary files in `folder`, and without the user's configuration."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG")}
    return {**kept, "TMPDIR": str(folder), "HOME": str(folder)}


def fakekube(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    command = [*FAKEKUBE, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=FUSE, check=False, env=environment(folder), cwd=folder
    )


class Started:
    """A running command and its output lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[str | None] = queue.Queue()  # None: it says no more
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line(self) -> str:
        line = self._lines.get(timeout=FUSE)
        assert line is not None, "it has ended"
        return line

    def lines_to(self, last: str) -> Sequence[str]:
        found = [self.line()]
        while found[-1] != last:
            found.append(self.line())
        return found

    def is_closed(self, within: float) -> bool:
        """Whether all processes that can write to its output end in this real time."""
        self._reader.join(within)
        return not self._reader.is_alive()

    def end(self, number: signal.Signals) -> tuple[int, Sequence[str]]:
        """Send a signal; returns the exit status and the output after it."""
        self.process.send_signal(number)
        status = self.process.wait(FUSE)
        self._reader.join(FUSE)
        return status, list(iter(self._lines.get, None))


@contextmanager
def started(*arguments: str | Path, folder: Path, prefix: Sequence[str] = ()) -> Iterator[Started]:
    """A command that runs until it is ended; stderr is merged into its output. `prefix`: a command that runs it."""
    with subprocess.Popen(
        [*prefix, *FAKEKUBE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment(folder),
        cwd=folder,
        start_new_session=True,
    ) as process:
        command = Started(process)
        try:
            yield command
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
            process.wait(FUSE)
            command._reader.join(FUSE)


READY = "  press Ctrl-C to stop"


def url_of(lines: Sequence[str]) -> str:
    """The address in the first line of `serve`: `ready URL`."""
    assert lines[1].startswith("fakekube serves the Kubernetes API v1.")
    assert lines[0] == f"ready {lines[1].rpartition(' at ')[2]}"
    return lines[0].removeprefix("ready ")
