"""Ctrl-C while a thread of the bubble runs: the run ends soon, and names the thread."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.innerruns import LEAN

TEST = """
import os
import socket

def compute():
    os.write({fd}, b"!")
    while True:
        pass

def wait():
    a, b = socket.socketpair()
    os.write({fd}, b"!")
    a.recv(1)

def test_it(fakekube):
    fakekube.thread({function}, name="the-operator")
    fakekube.settle()
"""


#: On one core the thread often sends the signal before the main thread waits in the kernel, where signals end a wait.
SIGNALS = """
import os, signal, threading, time
from fakekube.virtualtime.threads.bubblethread import BubbleThread

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

def interrupt(thread):
    thread.wait_until_resumed()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(100)

for _ in range(30):
    thread = BubbleThread("operator", lambda: None)
    threading.Thread(target=interrupt, args=[thread], daemon=True).start()
    try:
        thread.resume(patience=100)
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.slow
def test_ctrl_c_is_seen_before_the_wait_for_a_thread_reaches_the_kernel():
    run = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines() == ["interrupted"] * 30


@pytest.mark.slow
@pytest.mark.parametrize(("function", "times"), [("compute", 2), ("wait", 1)])
def test_ctrl_c_ends_the_run_and_names_the_thread(tmp_path, function, times):
    reader, writer = os.pipe()
    (tmp_path / "test_one.py").write_text(TEST.format(fd=writer, function=function))
    command = [sys.executable, "-m", "pytest", "-q", *LEAN, "-Wignore", "test_one.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, pass_fds=[writer], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        os.close(writer)
        assert os.read(reader, 1) == b"!"
        os.close(reader)
        for _ in range(times - 1):  # one at a time: signals that are pending together are one
            run.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                run.wait(timeout=1)
        run.send_signal(signal.SIGINT)
        output = run.communicate(timeout=20)[0]  # less than the patience
    assert "KeyboardInterrupt" in output
    assert "RuntimeError" not in output
    if times == 1:
        assert "KeyboardInterrupt: while thread the-operator ran, at File" in output
        assert f"in {function}" in output
