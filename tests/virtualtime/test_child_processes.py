"""The processes that a bubble has started, at its end."""

import subprocess
import threading
from contextlib import suppress

from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.patches.commands.childprocesses import Children


def test_a_thread_that_awaited_a_killed_process_has_cleaned_up_before_it_is_interrupted():
    children, closed = Children(patience=60), []

    def await_it(process):
        with suppress(BubbleClosed), children.awaiting(process):
            waits.set()
            process.wait()
            closed.append(sum(range(1_000_000)))  # takes longer than the return of a call

    waits = threading.Event()
    with subprocess.Popen(["sleep", "3600"]) as process:
        children.add(process)
        thread = threading.Thread(target=await_it, args=(process,))
        thread.start()
        waits.wait()
        children.kill_all()
        assert closed
        thread.join()
