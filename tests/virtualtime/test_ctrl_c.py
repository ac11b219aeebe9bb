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
        # One at a time: signals that are pending together are one. Again if nothing happens, as from a keyboard: on a busy
        # machine the first one has not always ended the run, and why is not known.
        sent = 0
        for pause in [1] * (times - 1) + [5] * 3:
            run.send_signal(signal.SIGINT)
            sent += 1
            with suppress(subprocess.TimeoutExpired):
                output = run.communicate(timeout=pause)[0]  # all less than the patience
                break
        else:
            pytest.fail("the run goes on")
    assert "KeyboardInterrupt" in output
    assert "RuntimeError" not in output
    if sent == times == 1:
        assert "KeyboardInterrupt: while thread the-operator ran, at File" in output
        assert f"in {function}" in output
