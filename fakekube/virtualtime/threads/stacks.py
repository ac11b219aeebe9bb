"""The stacks of all threads, for error messages."""

import faulthandler
import tempfile


def dump() -> str:
    """Every thread's stack, as faulthandler writes it.

    `traceback` would walk the frames of running threads, which is suspected to crash CPython 3.11.
    """
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        return file.read().decode(errors="replace")
